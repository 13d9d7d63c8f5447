"""What the sheets of all kinds share: which samples are shown and drawn, which are left out, and cells of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.lint import random_in_eval
from augrecipes.preview.cells import Cell, CellGroup
from augrecipes.preview.display import Picture
from augrecipes.preview.overlay import corners_px, render_boxes, render_keypoints, render_mask
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe
from augrecipes.sources.opening import Data, StrPath, open_data, words_of
from augrecipes.sources.sample import Held, RecipeSource, Sample, least_shown

logger = logging.getLogger("augrecipes")

T = TypeVar("T")

_SPARE_TRIES = 50  # broken files that are passed over before the sheet is given up
_LISTED = 6  # files that the foot of a sheet names


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """What was drawn of one sample.

    Attributes:
        sample: as it was read.
        outputs: what came out, epoch by epoch.
        stages: each step, and the pictures after it, as `Pipeline.stages` gives them.
    """

    sample: Sample
    outputs: list[dict[str, Any]]
    stages: list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a sheet is to show.

    Attributes:
        data: the files, as `augrecipes.preview` takes them; or samples that a dataset holds.
        rows: samples.
        columns: draws of each, or tiles.
        seed: of the draws.
        epoch: of the first draw.
        stages: one draw, after every step, instead.
        compiled: `mode` and `optimize`; of a dataset its own.
        masks: a folder of masks.
        progress: called with (rows done, rows in all).
    """

    data: Data | Held
    rows: int
    columns: int
    seed: int
    epoch: int
    stages: bool
    compiled: Mapping[str, Any]
    masks: StrPath | None = None
    progress: Progress | None = None

    def opened(self, recipe: Recipe, **compiled: Any) -> tuple[Any, RecipeSource | Held]:
        """The recipe, compiled (with these arguments, too), and what it is shown on."""
        if isinstance(self.data, Held):
            return self.data.pipeline(**compiled), self.data
        pipeline = recipe.compile(seed=self.seed, **compiled, **self.compiled)
        return pipeline, open_data(recipe, pipeline.targets, self.data, self.masks)

    def drawn(self, pipeline: Pipeline, files: Any) -> Shown[DrawnSample]:
        """The rows of a sheet: samples, and what the pipeline makes of them; DataError where there is none."""
        draws = 1 if self.stages or pipeline.mode == "eval" else self.columns

        def draw(index: int) -> DrawnSample:
            sample = files.read(index)
            epochs = range(self.epoch, self.epoch + draws)
            outputs = [files.in_epoch(index, epoch, sample).run(pipeline, epoch) for epoch in epochs]
            stages = pipeline.stages(sample.index, self.epoch)(**sample.targets) if self.stages else []
            return DrawnSample(sample, outputs, stages)

        return show_rows(
            len(files), self.rows, draw, data=self.words, path=files.path, labels=files.labels,
            progress=self.progress,
        )  # fmt: skip

    @property
    def words(self) -> str:
        """The data in words."""
        return self.data.words if isinstance(self.data, Held) else words_of(self.data)


@dataclass(frozen=True, slots=True)
class Shown(Generic[T]):
    """What a sheet shows.

    Attributes:
        rows: one for each source.
        skipped: what was wrong with the sources that are left out.
    """

    rows: list[T]
    skipped: list[DataError] = field(default_factory=list)

    def footers(self) -> list[str]:
        """Lines that name what is left out; the same is logged."""
        for error in self.skipped:
            logger.warning("preview leaves out %s", error)
        lines = [f"left out: {error}" for error in self.skipped[:_LISTED]]
        return lines + ([f"left out: {len(self.skipped) - _LISTED} more"] if len(self.skipped) > _LISTED else [])


def show_rows(
    total: int,
    rows: int,
    show: Callable[[int], T],
    *,
    data: str,
    path: Callable[[int], str],
    labels: NDArray[Any] | None = None,
    progress: Progress | None = None,
) -> Shown[T]:
    """Show up to `rows` of `total` sources, spread evenly over them; those that cannot be shown are passed over.

    Args:
        total: sources that there are.
        rows: sources to show.
        show: makes a row of a source; its DataError passes the source over.
        data: a word for the sources, for the error when nothing can be shown.
        path: the file of a source.
        labels: of the sources; those whose label is shown least come first.
        progress: called with (rows done, rows in all).

    Raises:
        DataError: nothing can be shown.

    >>> show_rows(10, 3, lambda index: index * index, data="", path=str).rows
    [0, 9, 36]
    """
    found: Shown[T] = Shown([])
    skipped, wanted = found.skipped, min(rows, total)
    indices: list[int] = []
    for slot in range(wanted):  # each row comes from its own share of the data
        share = range(slot * total // wanted, (slot + 1) * total // wanted)
        for index in share if labels is None else least_shown(labels, share, indices):
            if len(skipped) > _SPARE_TRIES:
                break
            try:
                found.rows.append(show(index))
                indices.append(index)
                break
            except DataError as error:
                skipped.append(error if error.path else error.with_path(path(index)))
        if progress:
            progress(slot + 1, wanted)
    if not found.rows:
        raise DataError(f"no image can be shown; the first: {skipped[0]}" if skipped else "no image", path=data)
    return found


def draws(pipeline: Pipeline) -> bool:
    """Whether anything is drawn: in evaluation only where a recipe insists on a random step."""
    return pipeline.mode == "train" or any(random_in_eval.check(pipeline.recipe))


def made_by(pipeline: Pipeline, asked: Asked, train: str, output: str) -> str:
    """The line that says what made the sheet; `train`: how often draws are made in training."""
    recipe = pipeline.recipe
    made = f"digest {recipe.digest[:8]}", f"seed {asked.seed}", f"{pipeline.mode}", f"optimize {pipeline.optimize}"
    often = train if pipeline.mode == "train" else "one draw an epoch" if draws(pipeline) else "the same in every epoch"
    when = f"after each step, epoch {asked.epoch}" if asked.stages else often
    return " · ".join((*made, when, f"output {output}"))


def annotated(
    picture: Picture, targets: Mapping[str, Any], recipe: Recipe, classes: Sequence[str] = (), caption: str = ""
) -> Cell:
    """A picture with the mask, boxes and keypoints among its targets, drawn over it."""
    mask, boxes, points = targets.get("mask"), targets.get("boxes"), targets.get("keypoints")
    box_input, point_input = recipe.inputs.boxes, recipe.inputs.keypoints

    def over(shown: Picture, scale: float) -> None:
        # Colours of ids under colours of boxes say nothing: a detector's picture shows the mask only if it needs it.
        if mask is not None and (recipe.inputs.mask == "required" or boxes is None or box_input is None):
            render_mask(shown, np.asarray(mask))
        if boxes is not None and len(boxes) and box_input:
            corners = corners_px(np.asarray(boxes), box_input.format, *picture.shape[:2])
            render_boxes(shown, corners, list(targets.get(box_input.labels or "", ())), scale, classes)
        if points is not None and len(points) and point_input:
            xy = np.asarray(points, np.float32)[:, :2]
            render_keypoints(shown, xy[:, ::-1] if point_input.format == "yx" else xy, scale)

    return Cell(picture, caption, over)


def stage_groups(
    given: Mapping[Any, NDArray[Any]],
    stages: Iterable[tuple[str, Mapping[Any, NDArray[Any]]]],
    cells: Callable[[Mapping[Any, NDArray[Any]]], list[Cell]],
) -> list[CellGroup]:
    """The pictures after each step; its header is grey where the step changed nothing.

    Args:
        given: the pictures before the first step, by name.
        stages: each step's label, and the pictures after it.
        cells: of such pictures.
    """
    groups, before = [], given
    for label, after in stages:
        same = after.keys() == before.keys() and all(np.array_equal(after[name], before[name]) for name in after)
        groups.append(CellGroup(cells(after), short_label(label) + (" – unchanged" if same else ""), same))
        before = after
    return groups


def short_path(path: str) -> str:
    """A file's name with its folder's, where it has one.

    >>> short_path("data/HR/0001.png"), short_path("digits[3]")
    ('HR/0001.png', 'digits[3]')
    """
    found = Path(path)
    return f"{found.parent.name}/{found.name}" if found.parent.name else found.name


def short_label(label: str) -> str:
    """A step's label without the ordinal that says nothing.

    >>> short_label("HorizontalFlip#1"), short_label("HorizontalFlip#2")
    ('HorizontalFlip', 'HorizontalFlip#2')
    """
    return label.removesuffix("#1")
