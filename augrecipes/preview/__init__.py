"""Contact sheets: one source image a row, and to its right what the recipe makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import CollateError, DataError, RecipeError
from augrecipes.mixtures.run import mix
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_output
from augrecipes.preview.rows import SheetRequest, annotated, left_out, output_text
from augrecipes.preview.sheet import Sheet, checked_path, save_sheet
from augrecipes.preview.stretch import show_channels, stretch_of
from augrecipes.progress import Progress
from augrecipes.recipe import kinds
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.sources.opening import Data, StrPath


def preview(
    recipe: Recipe | Source,
    data: Data,
    out: StrPath,
    *,
    rows: int = 4,
    columns: int | None = None,
    seed: int = 0,
    epoch: int = 0,
    stages: bool = False,
    batch: int | None = None,
    pairs: int | None = None,
    mode: Mode = "train",
    optimize: Optimize | None = None,
    masks: StrPath | None = None,
    channels: Sequence[str | int] = (),
    progress: Progress | None = None,
) -> Path:
    """Draw what a recipe does to some images, and write it as an image.

    Args:
        recipe: a Recipe, or what `augrecipes.load` takes.
        data: a folder (class folders or flat), one image, or a CSV file as `ImageFolder(files=...)` reads it. For a
            recipe of kind pair: a folder, or a list of them, for each target, `{"hr": ..., "lr": ...}`, or a CSV file
            as `PairedImages(files=...)` reads it. For one of kind bag: a folder of bags, or a CSV file as
            `TileBags(files=...)` reads it.
        out: the file to write, `.png` or `.jpg`; missing folders are created.
        rows: number of sources, spread evenly over the data and its classes.
        columns: draws of each source, one epoch each (`eval` has one); for bags the tiles, in two epochs. None: 6
            draws, or 12 tiles.
        seed: of the draws; the sheet shows what a dataset with this seed returns.
        epoch: of the first draw.
        stages: show one draw, after every step, instead.
        batch: show so many samples as one batch instead, before and after the recipe's `batch:` mixes them.
        pairs: show so many pairs instead, the low resolution enlarged beside the high, with the degrading steps.
        mode: `train` or `eval`.
        optimize: `none`, `exact` or `fast`; None takes the recipe's own choice.
        masks: folder of masks that match the images' names.
        channels: one channel to show as grey, or three as red, green and blue, by name or number. By default those
            named r, g, b or red, green, blue, or else the first three.
        progress: called with (sources done, total).

    Returns:
        The path written.

    Raises:
        RecipeError: the recipe is not valid, or cannot be compiled.
        DataError: no image can be read, the targets do not suit the recipe, or the file cannot be written.

    Files that cannot be read are left out, named at the foot of the sheet, and logged.

    >>> import tempfile
    >>> from augrecipes.demo.dataset import draw_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = draw_dataset(Path(folder), tiles=3, photo_count=0, shrink=4)
    ...     preview("folder-128", data.tissue, Path(folder) / "grid.png", rows=2, columns=3).name
    'grid.png'
    """
    out = checked_path(out)
    sheet = sample_grid(
        recipe, data, rows=rows, columns=columns, seed=seed, epoch=epoch, stages=stages, batch=batch, pairs=pairs,
        mode=mode, optimize=optimize, masks=masks, channels=channels, progress=progress,
    )  # fmt: skip
    return save_sheet(sheet, out)


def sample_grid(
    recipe: Recipe | Source,
    data: Data,
    *,
    rows: int = 4,
    columns: int | None = None,
    epoch: int = 0,
    stages: bool = False,
    batch: int | None = None,
    pairs: int | None = None,
    masks: StrPath | None = None,
    channels: Sequence[str | int] = (),
    progress: Progress | None = None,
    **compiled: Any,
) -> NDArray[np.uint8]:
    """Draw the sheet that `preview` writes, uint8 H×W×3 RGB; arguments and errors are the same."""
    if rows < 1 or (columns is not None and columns < 1):
        raise DataError(f"a preview needs at least one row and one column, got {rows} and {columns}")
    recipe = as_recipe(recipe)
    if masks is not None and not recipe.facts.annotated:
        raise DataError(f"{recipe.name} is of kind {recipe.kind}, which has no masks")
    if channels:
        recipe = replace(recipe, inputs=show_channels(recipe.inputs, channels))
    usual = 12 if recipe.facts.tiles else 1 if recipe.facts.views else 6
    if batch is not None and pairs is not None:
        raise DataError("a sheet shows `pairs` or a `batch`: leave one of them out")
    request = SheetRequest(data, rows, columns or usual, epoch, stages, compiled, masks, progress, pairs)
    if batch is not None:
        return batch_sheet(recipe, replace(request, rows=batch, columns=1)).pixels
    return sheet_of(recipe, request).pixels


def sheet_of(recipe: Recipe, request: SheetRequest) -> Sheet:
    """Lay out the sheet of a recipe; DataError where nothing can be shown, or the request does not suit it."""
    if request.pairs is not None and not recipe.facts.scales:
        raise DataError(
            f"`pairs` are of recipes of kind pair, and {recipe.name} is of kind {recipe.kind}: leave it out"
        )
    if request.pairs is not None and (request.pairs < 1 or request.stages):
        raise DataError(f"a sheet shows one or more `pairs`, got {request.pairs}, and those without `stages`")
    return kinds.part(recipe.kind, "sheet").sheet(recipe, request)


_LEAST = 0.005  # share of a class that is named


def batch_sheet(recipe: Recipe, request: SheetRequest) -> Sheet:
    """Lay out the sheet of one batch before and after mixing; it has as many samples as the request has rows.

    Raises:
        RecipeError: the recipe has no `batch:`, or not in this mode.
        CollateError: its samples make no batch.
        DataError: nothing can be shown.
    """
    pipeline, files = request.opened(recipe)
    if pipeline.mode == "eval" or not recipe.batch:
        raise RecipeError(f"{recipe.file}: there is no `batch:` in this recipe's {pipeline.mode} section to show")
    drawn, skipped = request.drawn(pipeline, files)
    table: Any = files.table

    def labelled(index: int, out: Mapping[str, Any]) -> dict[str, Any]:
        label = {} if table.labels is None else {"label": np.asarray(table.labels[index % len(table)])}
        return {**out, **label, "path": files.path(index % len(files))}

    def read(k: int) -> dict[str, Any]:
        sample = files.sample(k, epoch=request.epoch)
        return labelled(sample.index, sample.run(pipeline, request.epoch))

    samples = [labelled(sample.sample.index, sample.outputs[0]) for sample in drawn]
    stretch = stretch_of((image for sample in drawn for image in sample.sample.images.values()), recipe.inputs)
    stacked = {*pipeline.outputs, "mask", "label"}
    if len({str([(key, np.shape(sample[key])) for key in sample if key in stacked]) for sample in samples}) > 1:
        raise CollateError("samples differ in size, or in what they have: end `steps:` in a crop of fixed size")
    values = {key: [sample[key] for sample in samples] for key in samples[0]}
    values |= {key: np.stack(values[key]) for key in stacked & values.keys()}
    names = {number: name for name, number in (table.class_to_idx or {}).items()}
    count = None if table.labels is None else 1 + int(max([*names, *np.asarray(table.labels).ravel().tolist()]))
    key = pipeline.compiled.seed, request.epoch, drawn[0].sample.index
    mixed = mix(recipe, values, key, count, read, len(files))

    def group(sample: Mapping[str, Any]) -> CellGroup:
        outputs = [(n, recipe.outputs.get(n, recipe.output)) for n in pipeline.outputs]
        cells = [Cell(rgb_of_output(sample[name], output, stretch)) for name, output in outputs]
        if recipe.facts.annotated and cells[0].image is not None:
            cells = [annotated(cells[0].image, sample, recipe, table.box_classes or ())]
        return CellGroup(cells, _label_text(sample.get("label"), names))

    after = [{name: value[k] for name, value in mixed.items()} for k in range(len(samples))]
    lines = request.lines(
        pipeline, f"epoch {request.epoch}", output_text(samples[0][pipeline.outputs[0]]), stretch.words
    )
    rows = [SheetRow([*map(group, some)]) for some in (samples, after)]
    return Sheet(rows, f"{recipe.name}: a batch, and mixed", lines, left_out(skipped))


def _label_text(label: Any, names: Mapping[int, str]) -> str:
    """Format a label, or the shares of classes.

    >>> _label_text(np.array([0.25, 0.0, 0.75]), {0: "cat", 2: "dog"})
    '0.75 dog, 0.25 cat'
    """
    if label is None or np.ndim(label) == 0:
        return "" if label is None else str(names.get(int(label), label))
    order: Sequence[int] = np.argsort(-label, kind="stable").tolist()
    return ", ".join(f"{label[k]:.2f} {names.get(k, k)}" for k in order if label[k] >= _LEAST)
