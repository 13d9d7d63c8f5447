"""What the sheets of all kinds share: which sources are shown, which files are left out, and what made the sheet."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.data.reading.held import Held
from augrecipes.data.reading.listing import Data, StrPath, words_of
from augrecipes.data.reading.sample import Files, least_shown, open_data
from augrecipes.errors import DataError
from augrecipes.lint import random_in_eval
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe

logger = logging.getLogger("augrecipes")

T = TypeVar("T")

_SPARE_TRIES = 50  # broken files that are passed over before the sheet is given up
_LISTED = 6  # files that the foot of a sheet names


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

    def opened(self, recipe: Recipe, **compiled: Any) -> tuple[Any, Files | Held]:
        """The recipe, compiled (with these arguments, too), and what it is shown on."""
        if isinstance(self.data, Held):
            return self.data.pipeline(**compiled), self.data
        pipeline = recipe.compile(seed=self.seed, **compiled, **self.compiled)
        return pipeline, open_data(recipe, pipeline.targets, self.data, self.masks)

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
    indices: list[int] = []
    skipped: list[DataError] = found.skipped
    wanted = min(rows, total)
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
