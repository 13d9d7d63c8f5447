"""The HTML report of a comparison: one page without scripts, other files or network access."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from augrecipes.bench.fidelity import mean_text
from augrecipes.bench.gate import Judgement
from augrecipes.bench.record import Bench, write
from augrecipes.bench.scales import Scale
from augrecipes.bench.sides import STOCK, Setting, compiled
from augrecipes.bench.verdicts import MARGIN, figure, how_sure, percent, rate, readers
from augrecipes.diff.images import ComparedSample, RecipeRun, run_sample
from augrecipes.errors import AugrecipesError, BenchError
from augrecipes.paths import write_file
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import jpeg_uri, rgb_of_input, rgb_of_output, size_text, within
from augrecipes.preview.rows import annotated, images_of, left_out, short_path, show_rows
from augrecipes.preview.sheet import Sheet
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe
from augrecipes.report import to_plain
from augrecipes.sources.opening import words_of

Report = Mapping[str, Any]  # a comparison, or a part of it, in the form of `Bench.to_json()`

_STYLE = (files("augrecipes.bench") / "templates" / "style.css").read_text(encoding="utf-8")
# Colours of the light theme by their names in the style sheet.
LIGHT: dict[str, str] = dict(re.findall(r"--([\w-]+): (#\w{6})", _STYLE.partition("@media")[0]))
_STEPS = 6  # shades of blue
# Colours of the parts of a training step.
_TRAINING = {
    "loading": "decode", "to device": "read", "device stage": "sink", "forward": "step-1", "backward": "step-0",
    "optimiser": "step-4", "training step": "step-2",
}  # fmt: skip
_ORDER = ["read", "decode", "step", "sink", "collate", "overhead", *_TRAINING]
_SAMPLES = 6


def stage_bars(report: Report) -> list[Report]:
    """Return a bar of stages for each side; for stock, whose stages are not measured, a bar of the total."""
    shades: dict[str, int] = {}
    return [_bar(side, side["stages"], shades) for side in sides_in_order(report)]


def training_bars(report: Report) -> list[Report]:
    """Return a bar of the parts of a training step for each measured case."""
    return [
        _bar(case, case["parts"], {}, f"{readers(case['backend'], case['workers'])}, {case['device']}")
        for case in report["training"]
    ]


def _bar(measured: Report, parts: Sequence[Report], shades: dict[str, int], note: str = "") -> Report:
    """Return a stacked bar: its parts from left to right (none: drawn in one piece), and its length in milliseconds."""
    stacked = [_part(part, shades) for part in parts]
    length = sum(part["ms"] for part in stacked) or measured.get("ms", 0.0)
    mad = measured["mad"] if "mad" in measured else max(part["mad"] for part in stacked)
    about = {"name": measured["recipe"], "level": measured["level"], "note": note}
    return {**about, "parts": stacked, "length": length, "mad": mad}


def _part(stage: Report, shades: dict[str, int]) -> Report:
    """Add the name of its colour and its rank to a stage of a sample or a part of a training step."""
    name = str(stage["name"])
    kind = str(stage.get("kind", name))
    colour = _TRAINING.get(kind, kind)
    if kind == "step":
        site = name.rpartition("(")[2].rstrip(")").split(" + ")[0]  # a joined step takes the shade of its first member
        colour = f"step-{shades.setdefault(site, len(shades)) % _STEPS}"
    name = "output conversion" if kind == "sink" else name
    return {**stage, "name": name, "colour": colour, "place": _ORDER.index(kind)}


def rows_of(bars: Sequence[Report]) -> list[tuple[Report, list[Report | None]]]:
    """Return a table row per part, by rank: the part from the first bar that has it, and each bar's own or None."""
    tables = [{part["name"]: part for part in bar["parts"]} for bar in bars if bar["parts"]]
    first = {name: part for table in reversed(tables) for name, part in table.items()}
    names = sorted(dict.fromkeys(name for table in tables for name in table), key=lambda name: first[name]["place"])
    return [(first[name], [table.get(name) for table in tables]) for name in names]


def sides_in_order(report: Report) -> list[Report]:
    """Return the sides, stock next to its recipe."""
    names = [recipe["name"] for recipe in report["recipes"]]
    return sorted(report["sides"], key=lambda side: names.index(side["recipe"]))


def samples_sheet(
    recipes: Mapping[str, Recipe], setting: Setting, levels: Mapping[str, Any], progress: Progress | None = None
) -> Sheet:
    """Draw the outputs of every recipe for the same samples, evenly spread over the data; a row shows a sample.

    Args:
        recipes: recipes of one kind by the names that the report shows.
        setting: data, section and seed.
        levels: levels of the optimiser by recipe name.
        progress: called with (samples done, samples).

    Raises:
        DataError: no sample can be shown, or the recipes do not read the same files.
        LintError, RecipeError, StoreError: as `sides_of`.
    """
    runs = []
    for name, recipe in recipes.items():
        left, _ = setting.remaining_recipe(recipe)
        pipeline = compiled(left, setting, levels[name])
        runs.append(RecipeRun(name, left, pipeline, setting.reader(left, pipeline)))
    count, show = min(len(run.reader) for run in runs), partial(run_sample, runs, epoch=0)
    shown, skipped = show_rows(count, _SAMPLES, show, data=words_of(setting.data), path=str, progress=progress)
    return Sheet([_row(sample, runs) for sample in shown], footers=left_out(skipped))


def _row(sample: ComparedSample, runs: Sequence[RecipeRun]) -> SheetRow:
    """Draw a sample as each recipe returns it, with mask, boxes and keypoints over the images."""
    groups, source_sample = [], sample.given
    for run, output, stretch in zip(runs, sample.outputs, sample.stretches, strict=True):
        facts = run.recipe.facts
        for target, view, image, overlay in images_of(output, run.pipeline.outputs):
            plain = rgb_of_output(image, run.recipe.outputs.get(target, run.recipe.output), stretch)
            named = [view] if facts.scales or facts.views else []
            words = [run.name, run.pipeline.optimize, *named, size_text(plain)]
            groups.append(CellGroup([annotated(plain, overlay, run.recipe)], " · ".join(words)))
    stretch = sample.stretches[0]
    first = rgb_of_input(next(iter(source_sample.images.values())), stretch)
    source = CellGroup([Cell(first)], "source", quiet=True)
    place = f"tile {source_sample.tile}" if runs[0].recipe.facts.tiles else f"index {source_sample.index}"
    return SheetRow(groups, source, short_path(source_sample.path), [place, stretch.words])


PAGE, RECORD = "index.html", "bench.json"
_LARGEST = 1600  # px of the image of samples


def headline(report: Report) -> str:
    """Return a sentence: the fastest of several recipes, or how one recipe compares with stock or its other level."""
    last = _last(report)
    names = [name_of(side) for side in sorted(last, key=lambda side: float(side["ms"]))]
    verdicts = {frozenset((verdict["one"], verdict["other"])): verdict for verdict in report["verdicts"]}

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
    mine = [verdict for pair, verdict in verdicts.items() if names[0] in pair]
    against = [verdict for verdict in mine if verdict["other"].endswith(f" · {STOCK}")] or mine
    return text(against[0]) if against else f"{names[0]}: {rate(last[0]['samples_per_second'])} samples a second"


def _last(report: Report) -> list[Report]:
    """Return the side of each recipe's last level, which stands for the recipe."""
    return list({side["recipe"]: side for side in report["sides"] if side["level"] != STOCK}.values())


def name_of(side: Report) -> str:
    """Return the name that verdicts use: recipe and level."""
    return f"{side['recipe']} · {side['level']}"


def write_report(
    bench: Bench,
    folder: Path,
    recipes: Mapping[str, Recipe],
    setting: Setting,
    judgement: Judgement | None = None,
    progress: Progress | None = None,
    **more: Any,
) -> Path:
    """Write a comparison as an HTML page with its record, `bench.json`, beside it.

    Args:
        bench: the comparison.
        folder: created if missing; an earlier report in it is replaced, other files stay.
        recipes: the compared recipes, which the page shows sample images of.
        setting: the setting of the comparison.
        judgement: the result of the gate, if there was one.
        progress: called with (samples done, samples).
        more: passed on to `page`.

    Returns:
        The path of the page.

    Raises:
        BenchError: as `usable_folder`.
        OSError: a file cannot be written.
    """
    usable_folder(folder)
    write(bench, folder / RECORD)
    report = bench.to_json()
    levels = {side["recipe"]: side["level"] for side in _last(report)}
    try:
        sheet: Sheet | str = samples_sheet(recipes, setting, levels, progress)
    except AugrecipesError as error:
        sheet = str(error)  # the report gives the measurements all the same
    write_file(folder / PAGE, page(report, sheet, judgement, **more).encode("utf-8", "replace"))
    return folder / PAGE


def usable_folder(folder: Path) -> None:
    """Check, before anything is measured, that a report can be written into a folder.

    Raises:
        BenchError: the path is a file or below a file, is not writable, or has folders named as a report's files.
    """
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise BenchError(f"{existing} is a file; a report is written into a folder: -o report/")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise BenchError(f"{existing}: no permission to write there; give another folder to -o")
    for name in (PAGE, RECORD):
        if (folder / name).is_dir():
            raise BenchError(f"{folder / name} is a folder, and a report has a file of this name; give another to -o")


def page(
    report: Report, samples: Sheet | str, judgement: Judgement | None, template: Any = "page.html.j2", **more: Any
) -> str:
    """Render a comparison as an HTML page.

    Args:
        report: the comparison as `Bench.to_json()` or `record.read` returns it.
        samples: sample images, or the reason why there are none.
        judgement: the result of the gate, if there was one.
        template: the page's template, or one that extends it.
        more: further variables of the template.
    """
    owner = {name_of(side): side["recipe"] for side in report["sides"]}
    between = [verdict for verdict in report["verdicts"] if owner[verdict["one"]] != owner[verdict["other"]]]
    inside = [verdict for verdict in report["verdicts"] if verdict not in between]
    sweep = report["sweep"]
    points = groupby(sweep["points"], lambda point: (name_of(point), point["samples"])) if sweep else ()
    return ENVIRONMENT.get_template(template).render(
        report=report, samples=samples, judgement=judgement, record=RECORD, headline=headline(report),
        gates=to_plain(judgement.gates) if judgement else [], last=_last(report), data=words_of(report["data"]),
        how_sure=how_sure(), margin=1 + MARGIN, name_of=name_of, shown=between or inside,
        folded=inside if between else [], sweep=[(*key, list(group)) for key, group in points], readers=readers,
        stock=[side["recipe"] for side in report["sides"] if side["level"] == STOCK], **more,
    )  # fmt: skip


def _label(label: str) -> str:
    """Return a step's label with its groups, without the ordinal `#1`.

    >>> _label("OneOf#1/Blur#1"), _label("JoinedWarps(Rotate#1 + Rotate#2)")
    ('OneOf / Blur', 'JoinedWarps (Rotate + Rotate#2)')
    """
    return re.sub(r"#1(?!\d)", "", label).replace("/", " / ").replace("(", " (")


def _short(label: str) -> str:
    """Return a step's label without groups and members, short enough for a bar.

    >>> _short("OneOf#1/Blur#1"), _short("JoinedWarps(Rotate#1 + Resize#1)"), _short("Rotate#2")
    ('Blur', 'JoinedWarps', 'Rotate#2')
    """
    return label.partition("(")[0].rpartition("/")[2].removesuffix("#1")


def _speed(verdict: Report) -> Report:
    """Return how many times as fast the side is that a verdict's text names first."""
    ratio = verdict["ratio"]
    if not verdict["text"].startswith(f"{verdict['one']} "):
        return dict(ratio)
    return {"low": 1 / ratio["high"], "middle": 1 / ratio["middle"], "high": 1 / ratio["low"]}


def _levels(values: Sequence[float | None], between: str = " ", digits: int = 0) -> str:
    return between.join("–" if value is None else f"{value:.{digits}f}" for value in values)


ENVIRONMENT = Environment(
    loader=PackageLoader("augrecipes.bench"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.globals |= {
    "stage_bars": stage_bars, "training_bars": training_bars, "sides_in_order": sides_in_order, "rows_of": rows_of,
    "Scale": Scale,
}  # fmt: skip
ENVIRONMENT.filters |= {
    "ms": figure, "percent": percent, "levels": _levels, "label": _label, "short": _short, "speed": _speed,
    "rate": rate, "uri": lambda sheet: jpeg_uri(within(sheet.pixels, _LARGEST)), "count": lambda n: f"{n:,.0f}",
    "plain": lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
    "spread": lambda mad, value: f"± {figure(mad, mad)}",
    "figures": lambda one: "{middle:.2f} ({low:.2f}–{high:.2f})".format(**one) if one else "",
    "mean": mean_text, "differs": lambda one: bool(one["low"] > 1 + MARGIN or one["high"] < 1 / (1 + MARGIN)),
    "places": lambda value: f"{value:.3f}".rstrip("0").rstrip("."),
}  # fmt: skip
