"""Contact sheets: sources down the side, and to the right of each what the recipe makes of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.preview.cells import cell_of_output, cell_of_source, cell_of_stage, output_aspect
from augrecipes.preview.overlay import label_colour
from augrecipes.preview.samples import Sample, Samples, open_samples, targets_of
from augrecipes.preview.sheet import MAX_WIDTH_PX, Cell, Layout, Row, compose, layout_for
from augrecipes.recipe import load
from augrecipes.recipe.model import Mode, Optimize, Recipe

logger = logging.getLogger("augrecipes")

StrPath = str | os.PathLike[str]

_SPARE_TRIES = 50  # broken files that are passed over before the sheet is given up
_STAGE_PX = 150  # stages are put on a further line before they get smaller than this


@dataclass(slots=True)
class _Drawn:
    """What was drawn of one source: the targets that came out, or the picture after each step."""

    sample: Sample
    outputs: list[dict[str, Any]] = field(default_factory=list)
    stages: list[tuple[str, NDArray[Any]]] = field(default_factory=list)


def preview(
    recipe: Recipe | StrPath,
    data: StrPath,
    out: StrPath,
    *,
    rows: int = 4,
    columns: int = 6,
    seed: int = 0,
    epoch: int = 0,
    stages: bool = False,
    mode: Mode = "train",
    optimize: Optimize | None = None,
    masks: StrPath | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Draw what a recipe does to some pictures, and write it as a picture.

    Args:
        recipe: a Recipe, a gallery name or a path.
        data: a folder (class folders or flat), one image, or a CSV file as `ImageFolder(files=...)` reads it.
        out: the file to write, `.png` or `.jpg`; missing folders are made.
        rows: sources, spread evenly over the data and its classes.
        columns: draws of each source, one epoch each (`eval` has one).
        seed: of the draws; the sheet shows what a Dataset with this seed hands out.
        epoch: of the first draw.
        stages: show one draw after every step instead.
        mode: `train` or `eval`.
        optimize: `none`, `exact` or `fast`; None takes the recipe's own choice.
        masks: folder of masks that match the images' names.
        progress: called with (sources done, sources in all).

    Returns:
        The path written.

    Raises:
        RecipeError: the recipe is not valid, or cannot be compiled.
        DataError: there is no image that can be read, or the file cannot be written as asked.

    Files that cannot be read are left out, named at the foot of the sheet, and logged.

    >>> import tempfile
    >>> from augrecipes.demo.dataset import draw_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = draw_dataset(Path(folder), tiles=3, photo_count=0, shrink=4)
    ...     preview("folder-128", data.tissue, Path(folder) / "grid.png", rows=2, columns=3).name
    'grid.png'
    """
    out = Path(out)
    if out.suffix.lower() not in {".png", ".jpg", ".jpeg"}:
        raise DataError("a preview is written as .png or .jpg", path=str(out))
    sheet = sample_grid(
        recipe, data, rows=rows, columns=columns, seed=seed, epoch=epoch, stages=stages, mode=mode,
        optimize=optimize, masks=masks, progress=progress,
    )  # fmt: skip
    _, encoded = cv2.imencode(out.suffix.lower(), cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(encoded.tobytes())
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path=str(out)) from error
    return out


def sample_grid(
    recipe: Recipe | StrPath,
    data: StrPath,
    *,
    rows: int = 4,
    columns: int = 6,
    seed: int = 0,
    epoch: int = 0,
    stages: bool = False,
    mode: Mode = "train",
    optimize: Optimize | None = None,
    masks: StrPath | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.uint8]:
    """The sheet that `preview` writes, uint8 H×W×3 RGB; arguments and errors are the same."""
    if rows < 1 or columns < 1:
        raise DataError(f"a preview needs at least one row and one column, got {rows} and {columns}")
    recipe = recipe if isinstance(recipe, Recipe) else load(recipe)
    pipeline = recipe.compile(mode=mode, optimize=optimize, seed=seed)
    samples = open_samples(data, recipe, masks=masks)
    drawer = _Drawer(samples, pipeline, epoch, 1 if stages or mode == "eval" else columns, stages)
    drawn: list[_Drawn] = []
    wanted = min(rows, len(samples))
    for slot in range(wanted):  # each row comes from its own share of the data
        share = range(slot * len(samples) // wanted, (slot + 1) * len(samples) // wanted)
        if (one := drawer.first_of(samples.choose_order(share, [d.sample.index for d in drawn]))) is not None:
            drawn.append(one)
        if progress:
            progress(slot + 1, wanted)
    skipped = drawer.skipped
    if not drawn:
        raise DataError(f"no image can be shown; the first: {skipped[0]}" if skipped else "no image", path=str(data))
    for error in skipped:
        logger.warning("preview leaves out %s", error)
    classes = samples.box_classes if recipe.inputs.boxes else ()
    layout, body = _stage_rows(drawn, recipe, classes) if stages else _draw_rows(drawn, recipe, epoch, classes)
    about = [recipe.about] if recipe.about else []
    facts = _facts(recipe, pipeline, drawn, seed, f"after each step, epoch {epoch}" if stages else "one draw an epoch")
    feet = [f"left out: {error}" for error in skipped[:6]]
    feet += [f"left out: {len(skipped) - 6} more"] if len(skipped) > 6 else []
    legend = [(label_colour(k), name) for k, name in enumerate(classes)]
    return compose(layout, body, title=recipe.name, lines=[*about, facts], footers=feet, legend=legend)


@dataclass(slots=True)
class _Drawer:
    """Reads sources and runs the pipeline over them; remembers those that failed."""

    samples: Samples
    pipeline: Pipeline
    epoch: int
    draws: int
    stages: bool
    skipped: list[DataError] = field(default_factory=list)

    def first_of(self, indices: Sequence[int]) -> _Drawn | None:
        """The first source that can be read and drawn."""
        for index in indices:
            if len(self.skipped) > _SPARE_TRIES:
                return None
            try:
                return self._draw(index)
            except DataError as error:
                self.skipped.append(error if error.path else error.with_path(self.samples.path(index)))
        return None

    def _draw(self, index: int) -> _Drawn:
        sample = self.samples.read(index)
        targets = targets_of(sample, self.pipeline.recipe)
        epochs = range(self.epoch, self.epoch + self.draws)
        outputs = [self.pipeline.at(index, epoch)(**targets) for epoch in epochs]
        return _Drawn(sample, outputs, self.pipeline.stages(index, self.epoch)(**targets) if self.stages else [])


def _draw_rows(drawn: Sequence[_Drawn], recipe: Recipe, epoch: int, classes: Sequence[str]) -> tuple[Layout, list[Row]]:
    """One row a source: the source, then its draws."""
    columns = 1 + len(drawn[0].outputs)
    aspect, largest = output_aspect([out["image"] for one in drawn for out in one.outputs], recipe.output)
    layout = layout_for(columns, aspect, largest)
    body = []
    for number, one in enumerate(drawn):
        cells = [cell_of_source(one.sample, recipe, layout, classes)]
        cells += [
            cell_of_output(out, recipe, layout, f"epoch {epoch + k}", classes) for k, out in enumerate(one.outputs)
        ]
        body.append(Row(cells, one.sample.caption, one.sample.note, headers=number == 0))
    return layout, body


def _stage_rows(drawn: Sequence[_Drawn], recipe: Recipe, classes: Sequence[str]) -> tuple[Layout, list[Row]]:
    """The source, then the picture after each step; a row that does not fit the sheet goes on below."""
    most = max(len(one.stages) for one in drawn)
    across = max((MAX_WIDTH_PX - 2 * 36) // (_STAGE_PX + 12) - 1, 1)  # stages beside the source
    lines = -(-most // across)
    across = max(-(-most // lines), 1)
    images = [image for one in drawn for _, image in one.stages] or [one.sample.image for one in drawn]
    aspect, largest = output_aspect(images, None)
    layout = layout_for(across + 1, aspect, largest)
    body = []
    for one in drawn:
        before = one.sample.image
        cells: list[Cell] = []
        for label, image in one.stages:
            cells.append(cell_of_stage(label, image, before, layout))
            before = image
        source = cell_of_source(one.sample, recipe, layout, classes)
        body.append(Row([source, *cells[:across]], one.sample.caption, one.sample.note))
        body += [Row(cells[k : k + across], indent=True) for k in range(across, len(cells), across)]
    return layout, body


def _facts(recipe: Recipe, pipeline: Pipeline, drawn: Sequence[_Drawn], seed: int, draws: str) -> str:
    """The line that says what made the sheet."""
    image = drawn[0].outputs[0]["image"]
    shape = "×".join(map(str, image.shape))
    return " · ".join(
        (
            f"digest {recipe.digest[:8]}", f"seed {seed}", f"{pipeline.mode}", f"optimize {pipeline.optimize}",
            draws, f"output {image.dtype} {shape}",
        )
    )  # fmt: skip
