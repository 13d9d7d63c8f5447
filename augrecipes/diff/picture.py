"""Two recipes on the same samples: the source, what each makes of it, and how far that is apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.data.reading.listing import Data, StrPath, words_of
from augrecipes.data.reading.sample import open_data
from augrecipes.diff.samples import ComparedSample, RecipeRun, run_sample
from augrecipes.errors import DataError
from augrecipes.preview.apart import amplified, ink
from augrecipes.preview.cells import cell_of_output, output_aspect, short_path
from augrecipes.preview.display import Picture, picture_of_input, picture_of_output, size_text
from augrecipes.preview.rows import show_rows
from augrecipes.preview.sheet import Cell, SheetLayout, SheetRow, compose, layout_for
from augrecipes.preview.shown import LabelledPicture, PictureRow, Sheet
from augrecipes.progress import Progress
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.verify.metrics import number

_WIDTHS_PX = (224, 384)  # least and most of a cell


def compared(
    a: Recipe,
    b: Recipe,
    data: Data,
    *,
    mode: Mode = "train",
    rows: int = 4,
    optimize: Optimize | None = None,
    seed: int = 0,
    epoch: int = 0,
    masks: StrPath | None = None,
    progress: Progress | None = None,
) -> Sheet:
    """A sheet with a row a sample, of pairs a row a target: source, A, B and their amplified difference.

    Pictures are compared as they are shown: layout, normalisation, range and order of channels undone.

    Args:
        a: the first recipe.
        b: the second, of the same kind.
        data: a folder, a CSV file or one image; for pairs a folder by target, or a CSV file; of bags each tile is a
            sample.
        mode: the section of both.
        rows: samples, spread evenly over the data.
        optimize: `none`, `exact` or `fast`; None takes each recipe's own choice.
        seed: of the draws.
        epoch: of the draws.
        masks: a folder of masks that match the images' names.
        progress: called with (samples done, samples in all).

    Raises:
        DataError: kinds differ, or nothing can be shown.
        RecipeError: a recipe has no such section.
        LintError: a recipe cannot run.

    >>> import tempfile, pathlib, augrecipes as ar
    >>> from augrecipes.demo.dataset import draw_dataset
    >>> a, b = ar.load("folder-128"), ar.load("folder-128", overrides={"HorizontalFlip.p": 1.0})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = draw_dataset(pathlib.Path(folder), tiles=3, photo_count=0, shrink=4)
    ...     compared(a, b, data.tissue, rows=2).pixels.shape
    (764, 1004, 3)
    """
    if a.kind != b.kind:
        raise DataError(f"A is of kind {a.kind} and B of kind {b.kind}: no sample is one of both")
    sides = []
    for name, recipe in (("A", a), ("B", b)):
        pipeline = recipe.compile(mode, optimize, seed)
        sides.append(RecipeRun(name, recipe, pipeline, open_data(recipe, pipeline.targets, data, masks)))
    first, second = sides
    count = min(len(side.reader) for side in sides)
    shown = show_rows(
        count, rows, lambda k: run_sample(sides, k, epoch), data=words_of(data), path=str, progress=progress
    )
    targets = [name for name in first.pipeline.outputs if name in second.pipeline.outputs]
    if not targets:
        raise DataError("A and B have no target in common, so there is nothing to compare")
    sides_shown = [_compared(one, name, first, second) for one in shown.rows for name in targets]
    layout = layout_for(4, *output_aspect([side for one in sides_shown for side in (one.a, one.b)], None, _WIDTHS_PX))
    body = [_row(one, layout, first, second) for one in sides_shown]
    lines = [
        f"{side.name}: {side.recipe.name} · digest {side.recipe.digest[:8]} · optimize {side.pipeline.optimize}"
        for side in (first, second)
    ]
    lines.append(f"the same samples and keys of draws · seed {seed} · epoch {epoch} · {mode}")
    title = " and ".join(dict.fromkeys((a.name, b.name)))
    footers = shown.footers()
    figures = [
        PictureRow(
            [[LabelledPicture(cell.picture, cell.header, cell.quiet) for cell in row.cells]], row.caption, [row.note]
        )
        for row in body
    ]
    return Sheet(
        figures, lambda: compose(layout, body, title=title, lines=lines, footers=footers),
        title=title, lines=lines, footers=footers,
    )  # fmt: skip


def render(*given: Any, **how: Any) -> NDArray[np.uint8]:
    """What `compared` shows, as one picture, uint8 H×W×3 RGB."""
    return compared(*given, **how).pixels


@dataclass(frozen=True, slots=True)
class _Compared:
    """One target of one sample, as it is shown."""

    drawn: ComparedSample
    name: str
    source: Picture
    a: Picture
    b: Picture


def _compared(one: ComparedSample, name: str, first: RecipeRun, second: RecipeRun) -> _Compared:
    source = one.given.images[first.pipeline.origins[name]]
    a, b = (
        picture_of_output(out[name], side.recipe.outputs.get(name, side.recipe.output))
        for out, side in zip(one.outputs, (first, second), strict=True)
    )
    return _Compared(one, name, picture_of_input(source), a, b)


def _row(one: _Compared, layout: SheetLayout, first: RecipeRun, second: RecipeRun) -> SheetRow:
    given = one.drawn.given
    source = Cell(layout.fitted(one.source), f"source · {size_text(one.source)}", quiet=True)
    cells = [
        source,
        _shown(one.a, one.drawn.outputs[0], one.name, first, layout),
        _shown(one.b, one.drawn.outputs[1], one.name, second, layout),
        _apart(one, layout),
    ]
    target = [one.name] if first.recipe.facts.scales else []
    tile = [f"tile {given.tile}"] if first.recipe.facts.tiles else []
    notes = [*target, f"index {given.index}", *tile, *_beside(one.drawn)]
    return SheetRow(cells, short_path(given.path), " · ".join(notes))


def _shown(picture: Picture, out: Mapping[str, Any], name: str, side: RecipeRun, layout: SheetLayout) -> Cell:
    """A target as it came out, with mask, boxes and keypoints over images."""
    caption = f"{side.name} · {size_text(picture)} · {out[name].dtype}"
    if side.recipe.facts.annotated:
        return cell_of_output(out, side.recipe, layout, caption)
    return Cell(layout.fitted(picture), caption)


def _apart(one: _Compared, layout: SheetLayout) -> Cell:
    """The difference of both as they are shown; an empty cell where their sizes differ."""
    if one.a.shape != one.b.shape:
        empty = ink(np.zeros((layout.cell_height, layout.cell_width), np.float32))
        return Cell(empty, "sizes differ", quiet=True)
    apart = np.abs(one.a.astype(np.float32) - one.b.astype(np.float32)).max(axis=-1)
    (difference, times), most = amplified(apart), float(apart.max())
    a, b = (out[one.name] for out in one.drawn.outputs)
    text = "identical" if a.dtype == b.dtype and np.array_equal(a, b) else "looks the same, other values"
    caption = f"difference × {times} · most {number(most)}" if most else text
    return Cell(layout.fitted(difference), caption, quiet=not most)


def _beside(drawn: ComparedSample) -> Iterator[str]:
    """What else came out differently: labels of masks, boxes, keypoints."""
    for name in ("mask", "boxes", "keypoints"):
        if any(name not in out for out in drawn.outputs):
            continue
        a, b = (np.asarray(out[name]) for out in drawn.outputs)
        if not np.array_equal(a, b):
            share = f" in {100 * float((a != b).mean()):.3g} %" if name == "mask" and a.shape == b.shape else ""
            yield f"{name} {'differs' if name == 'mask' else 'differ'}{share}"
