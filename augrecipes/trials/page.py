"""The HTML page of a trial: results, the samples on which networks do worst, and `bench`'s measurements."""

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
from augrecipes.errors import AugrecipesError, DataError
from augrecipes.paths import write_file
from augrecipes.preview.cells import CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_input, size_text, within
from augrecipes.preview.rows import annotated, images_of, left_out
from augrecipes.preview.sheet import Sheet
from augrecipes.preview.stretch import stretch_of
from augrecipes.progress import Parts
from augrecipes.recipe.model import Recipe
from augrecipes.trials import tables
from augrecipes.trials.record import CurvePoint, RecipeResult, SeedEstimate, Trial, WorstSample
from augrecipes.trials.tables import score_text

_SHOWN, _TILES = 9, 4  # samples of a sheet, and tiles of a bag
_LARGEST = 768  # px of an image that is kept to be shown


def worst_sheet(result: RecipeResult, dataset: RecipeDataset) -> Sheet:
    """Show a recipe's worst samples as they are read: masks over images, the images of a pair, or tiles of a bag.

    Args:
        result: names the samples.
        dataset: the validation samples.

    Returns:
        The sheet; it has no rows where there are no such samples, or none can be read.
    """
    groups, skipped = [], []
    for sample in result.worst[:_SHOWN]:
        try:
            groups.append(_group(sample, len(result.scores), dataset))
        except DataError as error:
            skipped.append(error if error.path else error.with_path(sample.path))
    return Sheet([SheetRow(groups)] if groups else [], result.name, footers=left_out(skipped), narrow=True)


def _group(worst: WorstSample, seeds: int, dataset: RecipeDataset) -> CellGroup:
    """The images of a sample, under the name of its file, and below them what the seeds predicted."""
    recipe = dataset.recipe
    count = len(dataset.table.units_of(dataset.sample_keys.row(worst.index)))
    cells = []
    for tile in sorted({k * count // _TILES for k in range(_TILES)}):
        sample = dataset.given(worst.index, tile=tile)
        for _, name, image, on_it in images_of(sample.targets, sample.images):
            shown = within(rgb_of_input(image, stretch_of([image], recipe.inputs)), _LARGEST)
            mask = {"mask": on_it["mask"]} if "mask" in on_it else {}
            cells.append(annotated(shown, mask, recipe, caption=f"{name} {size_text(image)}" * recipe.facts.scales))
    score = score_text("dB" if recipe.facts.scales else "", worst.score)
    if worst.truth:
        score = f"{worst.truth} → {worst.predicted or '?'} · {round(worst.score * seeds)} of {seeds} right"
    return CellGroup(cells, Path(worst.path or sample.path).name, notes=[score])


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
