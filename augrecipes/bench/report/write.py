"""A report, written: the page, and beside it the record and the charts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from augrecipes.bench.gate import Judgement
from augrecipes.bench.record import Bench, write
from augrecipes.bench.report import plots
from augrecipes.bench.report.headline import last_sides
from augrecipes.bench.report.page import page
from augrecipes.bench.report.thumbnails import ThumbnailGrid, grid
from augrecipes.bench.sides import Setting
from augrecipes.errors import AugrecipesError, BenchError
from augrecipes.paths import write_file
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe

PAGE, RECORD = "index.html", "bench.json"


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """What was written.

    Attributes:
        page: the HTML file.
        record: `bench.json`, beside it.
        plots: its charts, SVG files.
    """

    page: Path
    record: Path
    plots: tuple[Path, ...]


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
    taken = [name for name in (PAGE, RECORD, *plots.NAMES) if (folder / name).is_dir()]
    if taken:
        raise BenchError(f"{folder / taken[0]} is a folder, and a report has a file of this name; give another to -o")


def write_report(
    bench: Bench,
    folder: Path,
    recipes: Mapping[str, Recipe],
    setting: Setting,
    judgement: Judgement | None = None,
    progress: Progress | None = None,
) -> WrittenReport:
    """Write a comparison as a page, with plots and the record; other files of the folder are left alone.

    Args:
        bench: the comparison.
        folder: is made where it is not there; files of an earlier report are replaced, each at once.
        recipes: that were compared, for the pictures of what they do.
        setting: as they were compared.
        judgement: of the gate, where there was one.
        progress: called with (samples drawn, samples).

    Raises:
        BenchError: as `usable_folder`.
        OSError: a file cannot be written.
    """
    usable_folder(folder)
    write(bench, folder / RECORD)
    report = bench.to_json()
    charts = plots.render(report)
    for name in plots.NAMES:
        if name in charts:
            write_file(folder / name, charts[name])
        else:
            (folder / name).unlink(missing_ok=True)  # of an earlier report
    levels = {side["recipe"]: side["level"] for side in last_sides(report)}
    pictures = _pictures(recipes, setting, levels, progress)
    text = page(report, pictures, judgement, RECORD, tuple(charts))
    write_file(folder / PAGE, text.encode("utf-8", "replace"))
    return WrittenReport(folder / PAGE, folder / RECORD, tuple(folder / name for name in charts))


def _pictures(
    recipes: Mapping[str, Recipe], setting: Setting, levels: Mapping[str, str], progress: Progress | None
) -> ThumbnailGrid | str:
    """Pictures of the samples, or why there are none: what was measured is reported all the same."""
    try:
        return grid(recipes, setting, levels, progress=progress)
    except AugrecipesError as error:
        return str(error)
