"""The HTML page of a trial, with `bench`'s measurements of the same recipes below the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from augrecipes.bench import scales
from augrecipes.bench.record import write
from augrecipes.bench.report import ENVIRONMENT, PAGE, usable_folder, write_report
from augrecipes.bench.run import Options, bench
from augrecipes.bench.scales import LinearScale, has_place
from augrecipes.bench.sides import Setting
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import AugrecipesError
from augrecipes.paths import write_file
from augrecipes.preview.sheet import Sheet
from augrecipes.progress import Parts
from augrecipes.recipe.model import Recipe
from augrecipes.trials import tables
from augrecipes.trials.record import CurvePoint, SeedEstimate, Trial
from augrecipes.trials.sheets import worst_sheet

RECORD = "trial.json"
_SHARE, _MOST_SECONDS = 0.03, 10.0  # of the trial's minutes, and at most, for bench's part


def write_page(
    trial: Trial, folder: Path, valid: Mapping[str, RecipeDataset], recipes: Mapping[str, Recipe], setting: Setting,
    advance: Parts | None = None,
) -> Path:  # fmt: skip
    """Write a trial as a page, and its record next to it; other files of the folder are left alone.

    Args:
        trial: the result to show.
        folder: created where missing; files of an earlier report are replaced.
        valid: the validation samples of each recipe; the page shows the worst.
        recipes: `bench` measures their speed and effects, too.
        setting: the data and the section for `bench`.
        advance: called with (what is in progress, done, total).

    Returns:
        The page.

    Raises:
        BenchError: as `usable_folder`.
        OSError: a file cannot be written.
    """
    usable_folder(folder)
    write(trial, folder / RECORD)
    sheets = {result.name: worst_sheet(result, valid[result.name]) for result in trial.recipes if result.name in valid}
    seconds = min(_MOST_SECONDS, 60 * trial.plan.minutes * _SHARE / len(recipes))
    try:
        measured = bench(recipes, setting, Options(seconds=seconds), advance)
    except AugrecipesError as error:  # the trial's own results are reported all the same
        trial = replace(trial, notes=(*trial.notes, f"speed and effects are not known: {error}"))
        write_file(folder / PAGE, page(trial, sheets).encode("utf-8", "replace"))
        return folder / PAGE
    return write_report(measured, folder, recipes, setting, template=_TEMPLATE, trial=trial, sheets=sheets)


def page(trial: Trial, sheets: Mapping[str, Sheet]) -> str:
    """Render a trial as an HTML page without `bench`'s measurements."""
    return _TEMPLATE.render(trial=trial, sheets=sheets, report=None)


def estimates_scale(estimates: Iterable[SeedEstimate], *more: Iterable[float], times: float = 1) -> LinearScale:
    """Build a scale that holds means, their intervals, and more values."""
    ends = [end for estimate in estimates for end in (estimate.mean, estimate.low, estimate.high)]
    return LinearScale([*ends, *(value for values in more for value in values)], times)


def polyline(curve: Iterable[CurvePoint], what: str, x: LinearScale, y: LinearScale) -> str:
    """Format a curve as the points of an SVG polyline in a box of 100×100."""
    points = [(point.epoch, getattr(point, what)) for point in curve]
    return " ".join(f"{x.place(at):.1f},{100 - y.place(value):.1f}" for at, value in points if has_place(at, value))


_TEMPLATE = ENVIRONMENT.from_string(
    (files("augrecipes.trials") / "templates" / "page.html.j2").read_text(encoding="utf-8"),
    {"tables": tables, "scales": scales, "estimates_scale": estimates_scale, "polyline": polyline, "file": RECORD},
)  # fmt: skip
