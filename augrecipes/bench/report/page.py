"""The page: what `bench.json` holds, as HTML that needs no other file, no script and no network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from augrecipes.bench.advice import rate
from augrecipes.bench.compare import ASTRAY, MARGIN, how_sure
from augrecipes.bench.figures import digits_for, figure, percent
from augrecipes.bench.gate import Judgement, RatioChange
from augrecipes.bench.report import Report, bars, curve
from augrecipes.bench.report.headline import advised, headline, last_sides, name_of, readers, starves
from augrecipes.bench.report.intervals import in_figures, scale_of
from augrecipes.bench.report.palette import DARK, LIGHT, ink_on
from augrecipes.bench.report.thumbnails import ThumbnailGrid
from augrecipes.sources.opening import words_of

_TITLES = {
    "gate": "Against the baseline", "speed": "Speed", "stages": "Where a sample’s time goes",
    "training": "How much of training is waiting", "workers": "Workers", "samples": "The same samples",
    "effects": "What the steps do", "ablations": "Without each step", "plans": "Plans", "recipes": "Recipes",
    "machine": "Machine and method",
}  # fmt: skip
_LONGEST_TABLE = 24  # rows; longer ones are folded
_BACKENDS = {"threads": "threads", "processes": "worker processes", "batches": "no workers: this process reads"}


def page(
    report: Report, pictures: ThumbnailGrid | str, judgement: Judgement | None, record: str, plots: Sequence[str]
) -> str:
    """A comparison as an HTML page.

    Args:
        report: as `Bench.to_json()` has it, or as `bench.json` was read.
        pictures: of the same samples, or why there are none.
        judgement: of the gate.
        record: name of the file beside the page that holds `report`.
        plots: names of pictures beside it.
    """
    waits = report.get("training") or ()
    sweep = report.get("sweep")
    ablations = [one["ratio"] for recipe in report["recipes"] for one in recipe["ablations"] if one["ratio"]]
    sides = bars.in_order(report)
    clocked = [{**side, "astray": _astray(side["accounted"])} for side in sides if side["stages"]]
    present = {
        "gate": judgement is not None, "stages": clocked, "training": waits, "workers": sweep,
        "effects": any(recipe["effects"] for recipe in report["recipes"]), "ablations": ablations,
    }  # fmt: skip
    return environment().get_template("page.html.j2").render(
        report=report, pictures=pictures, judgement=judgement, record=record, plots=plots, style=_style(),
        sections={name: title for name, title in _TITLES.items() if present.get(name, True)},
        headline=headline(report), last=last_sides(report), starves=starves, advised=advised,
        how_sure=how_sure(), margin=1 + MARGIN, data=words_of(report["data"]),
        levels={r["name"]: [s["level"] for s in sides if s["recipe"] == r["name"]] for r in report["recipes"]},
        stock=any(side["against_stock"] for side in sides), sides=sides, clocked=clocked, verdicts=_verdicts(report),
        stages=bars.stages(report), training=bars.training(report), step_texts=list(_steps(waits)),
        panels=curve.panels(sweep) if sweep else [], across=curve.across(sweep) if sweep else 1,
        backends=list(backends(sweep)), curve=curve, paint=LIGHT,
        verdict_scale=scale_of([verdict["ratio"] for verdict in report["verdicts"]]),
        gate_scale=scale_of([asdict(one.change) for one in judgement.gates] if judgement else []),
        ablation_scale=scale_of(ablations), longest_table=_LONGEST_TABLE,
    )  # fmt: skip


@cache
def environment() -> Environment:
    """What templates are rendered by."""
    made = Environment(
        loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters.update(_FILTERS)
    return made


def _template(name: str) -> str:
    return (files("augrecipes.bench.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _style() -> str:
    """The style sheet, with the palette by day and by night."""
    days = "".join(f"--{name}: {fill}; --on-{name}: {ink_on(fill)}; " for name, fill in LIGHT.items())
    nights = "".join(f"--{name}: {fill}; --on-{name}: {ink_on(fill)}; " for name, fill in DARK.items())
    palette = f":root {{ {days}}}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {nights}}} }}\n"
    return palette + _template("style.css")


def _verdicts(report: Report) -> dict[str, list[Report]]:
    """Verdicts between recipes, and folded those between settings of one, unless there are no others."""
    owner = {name_of(side): side["recipe"] for side in report["sides"]}
    between = [one for one in report["verdicts"] if owner[one["one"]] != owner[one["other"]]]
    within = [one for one in report["verdicts"] if one not in between]
    return {"shown": between or within, "folded": within if between else []}


def _steps(waits: Sequence[Report]) -> Iterator[str]:
    """What stood in for the training, each once.

    >>> common = {"step": "train.py, Net", "batch_size": 8, "device": "cpu"}
    >>> list(_steps([{**common, "steps": 12}, {**common, "steps": 36}]))
    ['train.py, Net: 12 to 36 steps in batches of 8, cpu']
    """
    found: dict[tuple[Any, ...], list[int]] = {}
    for one in waits:
        found.setdefault((one["step"], one["batch_size"], one["device"]), []).append(one["steps"])
    for (step, batch_size, device), counts in found.items():
        least, most = min(counts), max(counts)
        count = f"{least}" if least == most else f"{least} to {most}"
        yield f"{step}: {count} steps in batches of {batch_size}, {device}"


def backends(sweep: Report | None) -> Iterator[tuple[str, str, str]]:
    """Name, colour and words of each backend that there is."""
    there = {point["backend"] for point in sweep["points"]} if sweep else set()
    yield from ((name, colour, _BACKENDS[name]) for name, colour in curve.BACKENDS.items() if name in there)


def _astray(accounted: Report | None) -> bool:
    """Whether the stages certainly do not add up to the whole."""
    return accounted is not None and (accounted["low"] > 1 + ASTRAY or accounted["high"] < 1 - ASTRAY)


def _like(spread: float, value: float) -> str:
    """What a figure varies by, with as many digits as the figure beside it."""
    return f"{spread:,.{digits_for(value, spread)}f}"


def _levels(values: Sequence[float | None], between: str = " ", digits: int = 0) -> str:
    return between.join("–" if value is None else f"{value:.{digits}f}" for value in values)


def _words(label: str) -> str:
    """A step's label with what groups it, and without the ordinals that say nothing.

    >>> _words("OneOf#1/Blur#1"), _words("JoinedWarps(Rotate#1 + Rotate#2)")
    ('OneOf / Blur', 'JoinedWarps (Rotate + Rotate#2)')
    """
    return re.sub(r"#1(?!\d)", "", label).replace("/", " / ").replace("(", " (")


def _plain(value: Any) -> str:
    """An argument as a recipe has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shares(ratio: Report) -> str:
    return f"{100 * ratio['middle']:.0f} % ({100 * ratio['low']:.0f}–{100 * ratio['high']:.0f})"


def _filled(effects: Report) -> float | None:
    """Share of the last picture that is border; None: not measured."""
    found = [effect["filled"] for effect in effects["steps"] if effect["filled"] is not None]
    return sum(found) if found else None


def _ratio(change: RatioChange) -> dict[str, float]:
    return asdict(change)


def _speed(verdict: Report) -> Report:
    """How many times as fast the side that a verdict's text names first is as the other.

    >>> report = _speed({"one": "A", "text": "A is 2.00 times as fast as B",
    ...                "ratio": {"low": 0.5, "middle": 0.5, "high": 0.5}})
    >>> report["middle"]
    2.0
    """
    ratio = verdict["ratio"]
    if not verdict["text"].startswith(f"{verdict['one']} "):
        return dict(ratio)
    return {"low": 1 / ratio["high"], "middle": 1 / ratio["middle"], "high": 1 / ratio["low"]}


def _differs(ratio: Report) -> bool:
    """Whether the interval leaves what chance may do."""
    return bool(ratio["low"] > 1 + MARGIN or ratio["high"] < 1 / (1 + MARGIN))


_FILTERS: dict[str, Callable[..., Any]] = {
    "ms": figure, "like": _like, "percent": percent, "levels": _levels, "words": _words, "plain": _plain,
    "shares": _shares, "filled": _filled, "ratio": _ratio, "speed": _speed, "differs": _differs, "figures": in_figures,
    "rate": rate, "readers": readers,
    "count": lambda value: f"{value:,.0f}", "places": lambda value: f"{value:.3f}".rstrip("0").rstrip("."),
}  # fmt: skip
