"""The report: what `bench.json` holds as one HTML page that needs no other file, no script and no network."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from augrecipes.bench import charts
from augrecipes.bench.charts import Report
from augrecipes.bench.gate import Judgement
from augrecipes.bench.record import Bench, write
from augrecipes.bench.sides import STOCK, Setting
from augrecipes.bench.verdicts import MARGIN, figure, how_sure, percent, rate, readers
from augrecipes.errors import AugrecipesError, BenchError
from augrecipes.paths import write_file
from augrecipes.preview.display import jpeg_uri, within
from augrecipes.preview.sheet import Sheet
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe
from augrecipes.report import to_plain
from augrecipes.sources.opening import words_of

PAGE, RECORD = "index.html", "bench.json"
_LARGEST = 1600  # px of the image of samples


def headline(report: Report) -> str:
    """One sentence: of several recipes which is fastest, of one how it compares with stock or with its other level."""
    last = _last(report)
    names = [name_of(side) for side in sorted(last, key=lambda side: float(side["ms"]))]
    verdicts = {frozenset((one["one"], one["other"])): one for one in report["verdicts"]}

    def text(verdict: Report) -> str:
        return str(verdict["text"]) if verdict["differs"] else str(verdict["text"]).rpartition(" (")[0]

    if len(names) == 2:
        return text(verdicts[frozenset(names)])
    if len(names) > 2:
        tied = [name for name in names[1:] if not verdicts[frozenset((names[0], name))]["differs"]]
        if tied:
            several = f"{', '.join([names[0], *tied[:-1]])} and {tied[-1]}"
            return f"{several} are the fastest of {len(names)}, with no significant difference between them"
        return f"{names[0]} is the fastest of {len(names)}; {text(verdicts[frozenset(names[:2])])}"
    mine = [one for pair, one in verdicts.items() if names[0] in pair]
    against = [one for one in mine if one["other"].endswith(f" · {STOCK}")] or mine
    return text(against[0]) if against else f"{names[0]}: {rate(last[0]['samples_per_second'])} samples a second"


def _last(report: Report) -> list[Report]:
    """Of each recipe the level that counts: the last that was measured."""
    return list({side["recipe"]: side for side in report["sides"] if side["level"] != STOCK}.values())


def name_of(side: Report) -> str:
    """Recipe and level, as verdicts have it."""
    return f"{side['recipe']} · {side['level']}"


def write_report(
    bench: Bench,
    folder: Path,
    recipes: Mapping[str, Recipe],
    setting: Setting,
    judgement: Judgement | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write a comparison as a page, and the record next to it; other files of the folder are left alone.

    Args:
        bench: the comparison.
        folder: is made where it is not there; files of an earlier report are replaced.
        recipes: that were compared, for the images of what they do.
        setting: as they were compared.
        judgement: of the gate, where there was one.
        progress: called with (samples done, samples).

    Returns:
        The page.

    Raises:
        BenchError: as `usable_folder`.
        OSError: a file cannot be written.
    """
    usable_folder(folder)
    write(bench, folder / RECORD)
    report = bench.to_json()
    levels = {side["recipe"]: side["level"] for side in _last(report)}
    try:
        sheet: Sheet | str = charts.samples_sheet(recipes, setting, levels, progress)
    except AugrecipesError as error:
        sheet = str(error)  # what was measured is reported all the same
    write_file(folder / PAGE, page(report, sheet, judgement).encode("utf-8", "replace"))
    return folder / PAGE


def usable_folder(folder: Path) -> None:
    """Refuse a place where no report can be written, before anything is measured.

    Raises:
        BenchError: it is a file, or lies in one, or may not be written, or has folders under the names of a report.
    """
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise BenchError(f"{there} is a file; a report is written into a folder: -o report/")
    if not os.access(there, os.W_OK | os.X_OK):
        raise BenchError(f"{there}: no permission to write there; give another folder to -o")
    for name in (PAGE, RECORD):
        if (folder / name).is_dir():
            raise BenchError(f"{folder / name} is a folder, and a report has a file of this name; give another to -o")


def page(report: Report, samples: Sheet | str, judgement: Judgement | None) -> str:
    """A comparison as an HTML page.

    Args:
        report: as `Bench.to_json()` has it, or as `bench.json` was read.
        samples: as the recipes make them, or why there are none.
        judgement: of the gate.
    """
    owner = {name_of(side): side["recipe"] for side in report["sides"]}
    between = [one for one in report["verdicts"] if owner[one["one"]] != owner[one["other"]]]
    inside = [one for one in report["verdicts"] if one not in between]
    sweep = report["sweep"]
    points = groupby(sweep["points"], lambda one: (name_of(one), one["samples"])) if sweep else ()
    return _ENVIRONMENT.get_template("page.html.j2").render(
        report=report, samples=samples, judgement=judgement, record=RECORD, headline=headline(report),
        gates=to_plain(judgement.gates) if judgement else [], last=_last(report), data=words_of(report["data"]),
        how_sure=how_sure(), margin=1 + MARGIN, charts=charts, name_of=name_of, shown=between or inside,
        folded=inside if between else [], sweep=[(*key, list(found)) for key, found in points], readers=readers,
        stock=[side["recipe"] for side in report["sides"] if side["level"] == STOCK],
    )  # fmt: skip


def _label(label: str) -> str:
    """A step's label with what groups it, and without the ordinals that say nothing.

    >>> _label("OneOf#1/Blur#1"), _label("JoinedWarps(Rotate#1 + Rotate#2)")
    ('OneOf / Blur', 'JoinedWarps (Rotate + Rotate#2)')
    """
    return re.sub(r"#1(?!\d)", "", label).replace("/", " / ").replace("(", " (")


def _short(label: str) -> str:
    """The same without its groups and what it stands for: short enough for a bar.

    >>> _short("OneOf#1/Blur#1"), _short("JoinedWarps(Rotate#1 + Resize#1)"), _short("Rotate#2")
    ('Blur', 'JoinedWarps', 'Rotate#2')
    """
    return label.partition("(")[0].rpartition("/")[2].removesuffix("#1")


def _speed(verdict: Report) -> Report:
    """How many times as fast the side that a verdict's text names first is as the other."""
    ratio = verdict["ratio"]
    if not verdict["text"].startswith(f"{verdict['one']} "):
        return dict(ratio)
    return {"low": 1 / ratio["high"], "middle": 1 / ratio["middle"], "high": 1 / ratio["low"]}


def _levels(values: Sequence[float | None], between: str = " ", digits: int = 0) -> str:
    return between.join("–" if value is None else f"{value:.{digits}f}" for value in values)


_ENVIRONMENT = Environment(
    loader=PackageLoader("augrecipes.bench"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {
    "ms": figure, "percent": percent, "levels": _levels, "label": _label, "short": _short, "speed": _speed,
    "rate": rate, "uri": lambda sheet: jpeg_uri(within(sheet.pixels, _LARGEST)), "count": lambda n: f"{n:,.0f}",
    "plain": lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
    "spread": lambda mad, value: f"± {figure(mad, mad)}",
    "figures": lambda one: "{middle:.2f} ({low:.2f}–{high:.2f})".format(**one) if one else "",
    "differs": lambda one: bool(one["low"] > 1 + MARGIN or one["high"] < 1 / (1 + MARGIN)),
    "places": lambda value: f"{value:.3f}".rstrip("0").rstrip("."),
}  # fmt: skip
