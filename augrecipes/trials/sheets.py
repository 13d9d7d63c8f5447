"""Sheets of the validation samples on which the networks of a recipe do worst."""

from __future__ import annotations

from pathlib import Path

from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import DataError
from augrecipes.preview.cells import CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_input, size_text, within
from augrecipes.preview.rows import annotated, images_of, left_out
from augrecipes.preview.sheet import Sheet
from augrecipes.preview.stretch import stretch_of
from augrecipes.trials.record import RecipeResult, WorstSample
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
