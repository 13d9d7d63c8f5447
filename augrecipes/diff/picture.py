"""Two recipes on the same samples: the source, what each makes of it, and how far that is apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.preview.apart import amplification, ink
from augrecipes.preview.display import Picture, fit_into, picture_of_input, picture_of_output
from augrecipes.preview.rows import Progress, show_rows
from augrecipes.preview.sheet import Cell, Layout, Row, compose, layout_for
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.verify.gauges import number
from augrecipes.verify.samples import Data, Given, StrPath, open_data, origins

_WIDTHS_PX = (200, 384)  # least and most of a cell


@dataclass(frozen=True, slots=True)
class _Side:
    """One recipe, compiled."""

    name: str
    recipe: Recipe
    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One sample, and what both recipes make of it."""

    given: Given
    a: dict[str, Any]
    b: dict[str, Any]


def draw(
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
) -> NDArray[np.uint8]:
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

    Returns:
        uint8 H×W×3 RGB.

    Raises:
        DataError: kinds differ, or nothing can be shown.
        RecipeError: a recipe has no such section.
        LintError: a recipe cannot run.

    >>> import tempfile, augrecipes as ar
    >>> from augrecipes.demo.dataset import draw_dataset
    >>> a, b = ar.load("folder-128"), ar.load("folder-128", overrides={"HorizontalFlip.p": 1.0})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = draw_dataset(Path(folder), tiles=3, photo_count=0, shrink=4)
    ...     draw(a, b, data.tissue, rows=2).shape
    (716, 908, 3)
    """
    if a.kind != b.kind:
        raise DataError(f"A is of kind {a.kind} and B of kind {b.kind}: no sample is one of both")
    sides = [_Side(name, recipe, recipe.compile(mode, optimize, seed)) for name, recipe in (("A", a), ("B", b))]
    first, second = sides
    readers = [open_data(side.recipe, side.pipeline, data, masks) for side in sides]

    def show(k: int) -> _Drawn:
        given, other = (reader.read(k) for reader in readers)
        if given.path != other.path:
            raise DataError(f"sample {k} of B is another file, {other.path}: they do not read the same", given.path)
        return _Drawn(given, given.run(first.pipeline, epoch), other.run(second.pipeline, epoch))

    shown = show_rows(min(map(len, readers)), rows, show, data=str(data), path=lambda _: "", progress=progress)
    targets = [name for name in first.pipeline.outputs if name in second.pipeline.outputs]
    if not targets:
        raise DataError("A and B have no target in common, so there is nothing to compare")
    compared = [_compared(one, name, sides) for one in shown.rows for name in targets]
    layout = _layout(compared)
    lines = [
        f"{side.name}: {side.recipe.name} · digest {side.recipe.digest[:8]} · optimize {side.pipeline.optimize}"
        for side in sides
    ]
    lines.append(f"the same samples and keys of draws · seed {seed} · epoch {epoch} · {mode}")
    title = " and ".join(dict.fromkeys((a.name, b.name)))
    return compose(layout, [_row(one, layout) for one in compared], title=title, lines=lines, footers=shown.footers())


@dataclass(frozen=True, slots=True)
class _Compared:
    """One target of one sample."""

    source: Picture
    a: Cell
    b: Cell
    identical: bool
    caption: str
    note: str


def _compared(one: _Drawn, name: str, sides: Sequence[_Side]) -> _Compared:
    first, second = sides
    given, path = one.given, Path(one.given.path)
    tile = f" · tile {given.tile}" if first.recipe.kind == "bag" else ""
    target = f"{name} · " if first.recipe.kind == "pair" else ""
    return _Compared(
        source=picture_of_input(given.images[origins(first.recipe, first.pipeline)[name]]),
        a=_shown(one.a, name, first),
        b=_shown(one.b, name, second),
        identical=one.a[name].dtype == one.b[name].dtype and np.array_equal(one.a[name], one.b[name]),
        caption=f"{path.parent.name}/{path.name}",
        note=f"{target}index {given.index}{tile}",
    )


def _shown(out: Mapping[str, Any], name: str, side: _Side) -> Cell:
    """A target at its own size, under the side's name and what came out."""
    recipe, image = side.recipe, out[name]
    picture = picture_of_output(image, recipe.outputs.get(name, recipe.output))
    return Cell(picture, f"{side.name} · {picture.shape[1]}×{picture.shape[0]} {image.dtype}")


def _layout(compared: Sequence[_Compared]) -> Layout:
    """Four columns, in cells that suit what came out."""
    sizes = [cell.picture.shape for one in compared for cell in (one.a, one.b)]
    aspect = float(np.clip(np.median([height / width for height, width, _ in sizes]), 0.5, 1.6))
    return layout_for(4, aspect, int(np.clip(max(width for _, width, _ in sizes), *_WIDTHS_PX)))


def _row(one: _Compared, layout: Layout) -> Row:
    source = Cell(_fitted(one.source, layout), f"source · {one.source.shape[1]}×{one.source.shape[0]}", quiet=True)
    both = [replace(cell, picture=_fitted(cell.picture, layout)) for cell in (one.a, one.b)]
    return Row([source, *both, _apart(one, layout)], one.caption, one.note)


def _apart(one: _Compared, layout: Layout) -> Cell:
    """The difference of both as they are shown; an empty cell where their sizes differ."""
    a, b = one.a.picture, one.b.picture
    if a.shape != b.shape:
        empty = ink(np.zeros((layout.cell_height, layout.cell_width), np.float32))
        return Cell(empty, "sizes differ", quiet=True)
    apart = np.abs(a.astype(np.float32) - b.astype(np.float32)).max(axis=-1)
    times, most = amplification(apart), float(apart.max())
    told = "identical" if one.identical else "differs in values alone"
    head = f"difference × {times} · most {number(most)} levels" if most else told
    return Cell(_fitted(ink(apart * np.float32(times / 255)), layout), head, quiet=not most)


def _fitted(picture: Picture, layout: Layout) -> Picture:
    return fit_into(picture, layout.cell_height, layout.cell_width)[0]
