"""The page of a trial: what was learned, and below it what bench measured of the same recipes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from augrecipes.bench.record import Bench
from augrecipes.bench.report import ENVIRONMENT, PAGE, usable_folder, write_report
from augrecipes.bench.scales import LinearScale, has_place
from augrecipes.paths import write_file
from augrecipes.preview.sheet import Sheet
from augrecipes.trials import tables
from augrecipes.trials.record import CurvePoint, SeedEstimate, Trial

RECORD = "trial.json"


def write_page(
    trial: Trial, folder: Path, sheets: Mapping[str, Sheet], bench: Bench | None = None, **compared: Any
) -> Path:
    """Write a trial as a page, and its record next to it; other files of the folder are left alone.

    Args:
        trial: what was learned.
        folder: is made where it is not there; files of an earlier report are replaced.
        sheets: worst samples, by the name of the recipe.
        bench: speed and effects of the recipes, which follow on the page; None: it ends with the trial.
        compared: `recipes` and `setting` of that comparison, as `write_report` takes them.

    Returns:
        The page.

    Raises:
        BenchError: as `usable_folder`.
        OSError: a file cannot be written.
    """
    usable_folder(folder)
    text = json.dumps(trial.to_json(), indent=1, ensure_ascii=False) + "\n"
    write_file(folder / RECORD, text.encode("utf-8", "backslashreplace"))
    if bench is not None:
        return write_report(bench, folder, template=_TEMPLATE, trial=trial, sheets=sheets, **compared)
    write_file(folder / PAGE, page(trial, sheets).encode("utf-8", "replace"))
    return folder / PAGE


def page(trial: Trial, sheets: Mapping[str, Sheet]) -> str:
    """Returns a trial as an HTML page, without what bench measures."""
    return _TEMPLATE.render(trial=trial, sheets=sheets, report=None)


def estimates_scale(estimates: Iterable[SeedEstimate], *more: Iterable[float], times: float = 1) -> LinearScale:
    """Returns a scale for means, their intervals, and more values."""
    ends = [end for one in estimates for end in (one.mean, one.low, one.high)]
    return LinearScale([*ends, *(value for values in more for value in values)], times)


def polyline(curve: Iterable[CurvePoint], what: str, x: LinearScale, y: LinearScale) -> str:
    """Returns the points of an SVG line in a box of 100×100."""
    points = [(point.epoch, getattr(point, what)) for point in curve]
    return " ".join(f"{x.place(at):.1f},{100 - y.place(value):.1f}" for at, value in points if has_place(at, value))


_TEMPLATE = ENVIRONMENT.from_string(
    (files("augrecipes.trials") / "templates" / "page.html.j2").read_text(encoding="utf-8"),
    {"tables": tables, "LinearScale": LinearScale, "estimates_scale": estimates_scale, "has_place": has_place,
     "polyline": polyline, "trial_record": RECORD},
)  # fmt: skip
