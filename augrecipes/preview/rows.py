"""Rows shared by the sheets of all kinds: choose and draw samples, skip broken ones, and build texts and cells."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError, logger
from augrecipes.lint.meaning import random_in_eval
from augrecipes.ops.box_formats import corners_px
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import RgbImage, amplified, rgb_of_input, rgb_of_output, size_text
from augrecipes.preview.overlay import render_boxes, render_keypoints, render_mask
from augrecipes.preview.stretch import Stretch
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe
from augrecipes.sources.columns import label_at
from augrecipes.sources.opening import Data, StrPath, open_data, words_of
from augrecipes.sources.sample import DatasetView, RecipeSource, Sample

T = TypeVar("T")

_SPARE_TRIES = 50  # broken files that are skipped before the sheet fails
_ONE = 3  # axes of one image
_LISTED = 6  # files that the foot of a sheet names


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """One sample and its draws.

    Attributes:
        sample: as it was read.
        outputs: the pipeline's outputs, one for each epoch.
        stages: each step's label, and the images after it, by target.
    """

    sample: Sample
    outputs: list[dict[str, Any]]
    stages: list[tuple[str, dict[str, NDArray[Any]]]]


@dataclass(frozen=True, slots=True)
class SheetRequest:
    """What a sheet is to show.

    Attributes:
        data: the files, as `augrecipes.preview` takes them; or samples of a dataset.
        rows: number of samples.
        columns: draws of each, or tiles; 0: one draw of each image, side by side without sources.
        epoch: of the first draw.
        stages: show one draw, after every step, instead.
        compiled: `mode`, `optimize` and `seed`; a dataset has its own.
        masks: a folder of masks.
        progress: called with (rows done, total).
        pairs: for a recipe of kind pair, show so many degraded tiles beside their originals instead.
        pipeline_and_data: a pipeline and its data, where these are open already.
    """

    data: Data | DatasetView
    rows: int
    columns: int
    epoch: int = 0
    stages: bool = False
    compiled: Mapping[str, Any] = field(default_factory=dict)
    masks: StrPath | None = None
    progress: Progress | None = None
    pairs: int | None = None
    pipeline_and_data: tuple[Any, RecipeSource | DatasetView] | None = None

    def opened(self, recipe: Recipe, **compiled: Any) -> tuple[Any, RecipeSource | DatasetView]:
        """Compile the recipe, with these arguments added, and open the data."""
        if self.pipeline_and_data is not None:
            return self.pipeline_and_data
        if isinstance(self.data, DatasetView):
            return self.data.pipeline(**compiled), self.data
        pipeline = recipe.compile(**compiled, **self.compiled)
        return pipeline, open_data(recipe, pipeline.targets, self.data, self.masks)

    def drawn(self, pipeline: Pipeline, files: Any) -> tuple[list[DrawnSample], list[DataError]]:
        """Draw samples; return them and the errors of skipped ones. DataError where none can be drawn."""
        draws = 1 if self.stages or pipeline.mode == "eval" else self.columns or 1

        def draw(index: int) -> DrawnSample:
            sample = files.sample(index, epoch=self.epoch)
            epochs = range(self.epoch, self.epoch + draws)
            read = [sample if files.epochs == 1 else files.sample(index, epoch=epoch) for epoch in epochs]
            outputs = [one.run(pipeline, epoch) for one, epoch in zip(read, epochs, strict=True)]
            stages = pipeline.stages(sample.index, self.epoch)(**sample.targets) if self.stages else []
            named = [(label, after if isinstance(after, Mapping) else {"image": after}) for label, after in stages]
            return DrawnSample(sample, outputs, [(label, dict(after)) for label, after in named])

        return self.shown(files, draw)

    def shown(self, files: Any, show: Callable[[int], T]) -> tuple[list[T], list[DataError]]:
        """Call `show_rows` on the request's data."""
        words = self.data.words if isinstance(self.data, DatasetView) else words_of(self.data)
        return show_rows(len(files), self.rows, show, data=words, path=files.path, progress=self.progress)

    def lines(self, pipeline: Pipeline, often: str, output: str, *more: str) -> list[str]:
        """Write the lines under the title: the recipe's description, and the settings of the sheet.

        Args:
            pipeline: draws the samples.
            often: how often training draws anew, in words.
            output: dtype and shape of the output.
            more: further facts.
        """
        recipe, mode = pipeline.recipe, pipeline.mode
        if mode == "eval":
            often = "one draw an epoch" if draws(pipeline) else "the same in every epoch"
        facts = " · ".join((
            f"digest {recipe.digest[:8]}", f"seed {pipeline.compiled.seed}", mode, f"optimize {pipeline.optimize}",
            f"after each step, epoch {self.epoch}" if self.stages else often, f"output {output}", *filter(None, more),
        ))  # fmt: skip
        return [line for line in (recipe.about, facts) if line]


def images_of(out: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, str, Any, Mapping[str, Any]]]:
    """Yield the images of a sample: target name, name in words, image, and its annotations.

    >>> sample = {"a": np.zeros((2, 3, 9, 9)), "a_mask": [7, 8]}
    >>> [(words, beside) for _, words, _, beside in images_of(sample, "a")]
    [('a 1', {'mask': 7}), ('a 2', {'mask': 8})]
    """
    for name in names:
        if out[name].ndim == _ONE:
            yield name, name, out[name], out
            continue
        on_it = {key.removeprefix(f"{name}_"): value for key, value in out.items() if key.startswith(f"{name}_")}
        for k, image in enumerate(out[name]):
            yield name, f"{name} {k + 1}", image, {key: value[k] for key, value in on_it.items()}


def show_rows(
    total: int,
    rows: int,
    show: Callable[[int], T],
    *,
    data: str,
    path: Callable[[int], str],
    progress: Progress | None = None,
) -> tuple[list[T], list[DataError]]:
    """Show up to `rows` of `total` sources, spread evenly over them; skip those that cannot be shown.

    Args:
        total: number of sources.
        rows: sources to show.
        show: makes the row of a source; a DataError skips the source.
        data: names the sources in the error where nothing can be shown.
        path: returns the file of a source.
        progress: called with (rows done, total).

    Returns:
        The rows, and the errors of the skipped sources.

    Raises:
        DataError: nothing can be shown.

    >>> show_rows(10, 3, lambda index: index * index, data="", path=str)
    ([0, 9, 36], [])
    """
    shown: list[T] = []
    skipped: list[DataError] = []
    indices: list[int] = []
    wanted = min(rows, total)
    for slot in range(wanted):  # each row comes from its own share of the data
        share = range(slot * total // wanted, (slot + 1) * total // wanted)
        for index in share:
            if len(skipped) > _SPARE_TRIES:
                break
            try:
                shown.append(show(index))
                indices.append(index)
                break
            except DataError as error:
                skipped.append(error if error.path else error.with_path(path(index)))
        if progress:
            progress(slot + 1, wanted)
    if not shown:
        raise DataError(f"no image can be shown; the first: {skipped[0]}" if skipped else "no image", path=data)
    return shown, skipped


def left_out(skipped: Sequence[DataError]) -> list[str]:
    """Write lines that name the skipped sources, and log them."""
    for error in skipped:
        logger.warning("preview leaves out %s", error)
    lines = [f"left out: {error}" for error in skipped[:_LISTED]]
    return lines + ([f"left out: {len(skipped) - _LISTED} more"] if len(skipped) > _LISTED else [])


def draws(pipeline: Pipeline) -> bool:
    """Whether the pipeline is random: in evaluation only where the recipe keeps a random step."""
    return pipeline.mode == "train" or any(random_in_eval(pipeline.recipe))


def output_text(image: NDArray[Any]) -> str:
    """Format the dtype and shape of an output.

    >>> output_text(np.zeros((3, 8, 9), np.float32))
    'float32 3×8×9'
    """
    return f"{image.dtype} {'×'.join(map(str, image.shape))}"


def label_text(table: Any, row: int) -> str:
    """Format the label of a table's row, by name where it has one; empty without a label."""
    label = table.label_of(table.units_of(row)[0]) if table.labels is None else label_at(table.labels, row)
    names = {number: name for name, number in (table.class_to_idx or {}).items()}
    if np.ndim(label):  # of several classes
        return ", ".join(str(names.get(k, k)) for k in np.flatnonzero(label).tolist())
    return "" if label is None else str(names.get(label, label))


def annotated(
    image: RgbImage, targets: Mapping[str, Any], recipe: Recipe, classes: Sequence[str] = (), caption: str = ""
) -> Cell:
    """An image with the mask, boxes and keypoints among its targets, drawn over it."""
    mask, boxes, points = targets.get("mask"), targets.get("boxes"), targets.get("keypoints")
    box_input, point_input = recipe.inputs.boxes, recipe.inputs.keypoints

    def over(shown: RgbImage, scale: float) -> None:
        # Mask colours under box colours confuse: with boxes, the mask is shown only if the recipe requires it.
        if mask is not None and (recipe.inputs.mask == "required" or boxes is None or box_input is None):
            render_mask(shown, np.asarray(mask))
        if boxes is not None and len(boxes) and box_input:
            corners = corners_px(np.asarray(boxes), box_input.format, *image.shape[:2])
            render_boxes(shown, corners, list(targets.get(box_input.labels or "", ())), scale, classes)
        if points is not None and len(points) and point_input:
            xy = np.asarray(points, np.float32)[:, :2]
            render_keypoints(shown, xy[:, ::-1] if point_input.format == "yx" else xy, scale)

    return Cell(image, caption, over)


def difference_group(difference: NDArray[np.float32], none: str, unit: str = "") -> CellGroup:
    """Show the difference of two images, amplified until it is visible.

    Args:
        difference: absolute, levels of 0..255, H×W.
        none: the header where all of it is 0.
        unit: suffix of the largest difference.
    """
    (image, times), most = amplified(difference), float(difference.max())
    return CellGroup([Cell(image)], f"difference × {times} · most {most:.3g}{unit}" if most else none, quiet=not most)


def comparison_row(
    sample: Sample,
    name: str,
    origin: str,
    sides: Sequence[tuple[str, Recipe, Mapping[str, Any], Stretch]],
    difference: CellGroup,
    notes: Sequence[str],
) -> SheetRow:
    """Show a target as several recipes make it, beside its source, with the difference.

    Args:
        sample: as it was read.
        name: of the target.
        origin: name of the source target that it is made from.
        sides: label, recipe, outputs and stretch of each.
        difference: the last group.
        notes: added to the line under the source.
    """
    groups, facts = [], sides[0][1].facts
    for label, recipe, out, stretch in sides:
        image = rgb_of_output(out[name], recipe.outputs.get(name, recipe.output), stretch)
        groups.append(CellGroup([annotated(image, out, recipe)], f"{label} · {size_text(image)} · {out[name].dtype}"))
    image = rgb_of_input(sample.images[origin], sides[0][3])
    source = CellGroup([annotated(image, sample.rest, sides[0][1])], f"source · {size_text(image)}", quiet=True)
    index = f"index {sample.index}" + (f" · tile {sample.tile}" if facts.tiles else "")
    stretched = {stretch.words: f"{label} {stretch.words}" for label, *_, stretch in sides if stretch.words}
    stretches = [*(stretched.values() if len(stretched) > 1 else stretched)]
    words = [*([name] if facts.scales else []), index, *notes, *stretches]
    return SheetRow([*groups, difference], source, short_path(sample.path), [" · ".join(words)])


def stage_groups(
    images: Mapping[Any, NDArray[Any]],
    stages: Iterable[tuple[str, Mapping[Any, NDArray[Any]]]],
    cells: Callable[[Mapping[Any, NDArray[Any]]], list[Cell]],
) -> list[CellGroup]:
    """Show the images after each step, with a grey header where the step changed nothing.

    Args:
        images: before the first step, by name.
        stages: each step's label, and the images after it.
        cells: makes the cells of such images.
    """
    groups, before = [], images
    for label, after in stages:
        same = after.keys() == before.keys() and all(np.array_equal(after[name], before[name]) for name in after)
        name = label.rpartition("/")[2].removesuffix("#1")  # without the ordinal that says nothing
        groups.append(CellGroup(cells(after), name + (" – unchanged" if same else ""), same))
        before = after
    return groups


def short_path(path: str) -> str:
    """A file's name with its folder's, where it has one.

    >>> short_path("data/HR/0001.png"), short_path("digits[3]")
    ('HR/0001.png', 'digits[3]')
    """
    file = Path(path)
    return f"{file.parent.name}/{file.name}" if file.parent.name else file.name
