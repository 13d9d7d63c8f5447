"""Sheets of bags: tiles as they are, the same tiles as epochs give them, and where they lie on their slide."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.kinds.bag.picking import tiles_of
from augrecipes.kinds.bag.pipeline import BagPipeline
from augrecipes.kinds.bag.table import BagTable
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import EMPTY, Colour, RgbImage, rgb_of_input, rgb_of_output, size_text
from augrecipes.preview.rows import SheetRequest, label_text, left_out, output_text, stage_groups
from augrecipes.preview.sheet import Sheet
from augrecipes.preview.stretch import Stretch, stretch_of
from augrecipes.recipe.model import Bag, Recipe
from augrecipes.sources.sample import DatasetView

EPOCHS = 2
SHOWN: Colour = (213, 94, 0)
PICKED: Colour = (128, 146, 166)
NOT_PICKED: Colour = (206, 206, 202)
_EDGE, _SQUARE, _LEAST, _LARGEST = 8, 26, 240, 480  # px: around its squares, a square, and its sides
_OVERVIEW = 720  # px, the longer side of a slide that is made small


def sheet(recipe: Recipe, request: SheetRequest) -> Sheet:
    """The sheet of a recipe of kind bag; DataError where nothing can be shown."""
    pipeline, files = request.opened(recipe, threads=1)
    bags = _Bags(pipeline, files, request)
    rows, skipped = request.shown(files if isinstance(files, DatasetView) else files.table, bags.row)
    legend = [(SHOWN, "shown here"), (PICKED, "picked"), *([(NOT_PICKED, "not picked")] if bags.left else [])]
    mapped = any(row.source is not None and row.source.cells for row in rows)
    output = recipe.output.dtype if bags.output is None else f"{output_text(bags.output)} a tile"
    lines = request.lines(pipeline, "picked and drawn anew in every epoch", output)
    return Sheet(rows, recipe.name, lines, left_out([*skipped, *bags.broken]), legend if mapped else (), across=1)


@dataclass(slots=True)
class _Bags:
    """Reads the tiles of bags and runs the pipeline over them."""

    pipeline: BagPipeline
    files: Any  # samples of a dataset; or files that none has listed: each bag is its row, and its own key of draws
    request: SheetRequest
    broken: list[DataError] = field(default_factory=list)  # tiles of bags that are shown
    left: bool = False  # a tile of one of them was not picked
    rest: dict[str, Any] = field(default_factory=dict)  # that all tiles of a bag come with
    output: NDArray[Any] | None = None  # one tile as it came out

    def row(self, k: int) -> SheetRow:
        """The strips of a bag, beside what is known of it and where its tiles lie.

        DataError where it has too few tiles or none of them can be shown.
        """
        files, pipeline, request = self.files, self.pipeline, self.request
        table: BagTable = files.table
        row, key, rule = k, k, pipeline.recipe.bag or Bag()
        if isinstance(files, DatasetView):
            row, key, rule = files.row(k), files.key(k), files.rule
        count = int(table.counts()[row])
        if count < rule.min_tiles:
            raise DataError(f"the bag has {count} tiles, fewer than min_tiles={rule.min_tiles}{table.about(row)}")
        epochs = range(
            request.epoch, request.epoch + (EPOCHS if pipeline.mode == "train" and not request.stages else 1)
        )
        how: dict[str, Any] = {"seed": pipeline.compiled.seed, "index": key}
        picked = [frozenset(tiles_of(rule, count, pipeline.mode, epoch=one, **how).tolist()) for one in epochs]
        tiles, broken = {}, []
        for tile in _spread(frozenset.intersection(*picked), picked[0], request.columns):
            try:
                read = (
                    files.sample(k, tile) if isinstance(files, DatasetView) else files.sample(table.units_of(k)[tile])
                )
                tiles[tile], self.rest = read.images["image"], read.rest
            except DataError as error:
                broken.append(error)
        if not tiles:
            raise broken[0]
        self.broken += broken
        self.left |= len(picked[0]) < count
        stretch = stretch_of(tiles.values(), pipeline.recipe.inputs)
        sources = [Cell(rgb_of_input(image, stretch), f"tile {n}") for n, image in tiles.items()]
        strips = [CellGroup(sources, "as they are", quiet=True)]
        if request.stages:
            strips += self._stages(tiles, key, stretch)
        else:
            per_epoch = zip(epochs, picked, strict=True)
            strips += [self._strip(tiles, key, epoch, those, stretch) for epoch, those in per_epoch]
        label, sizes = label_text(table, row), {f"{size_text(image)} px" for image in tiles.values()}
        notes = [
            f"label {label}" if label else "",
            f"{count} tiles" if len(picked[0]) == count else f"{len(picked[0])} of {count} tiles picked",
            sizes.pop() if len(sizes) == 1 else "tiles of several sizes",
            *([stretch.words] if stretch.words else []),
        ]
        slide = table.overview(row, _OVERVIEW)
        small = None if slide is None else (slide[0], float(slide[1].width), slide[2])
        cell = tile_map(table.places(row, np.arange(count)), picked[0], tiles.keys(), small)
        return SheetRow(strips, CellGroup([cell] if cell else []), table.bags.name(row), notes)

    def _strip(
        self, tiles: dict[int, NDArray[Any]], key: int, epoch: int, picked: frozenset[int], stretch: Stretch
    ) -> CellGroup:
        """The tiles as an epoch gives them, of those that it picks."""
        cells = []
        for tile, image in tiles.items():
            if tile not in picked:
                cells.append(Cell(None, "not picked"))
                continue
            self.output = self.pipeline.at(key, epoch, tile)(image=image, **self.rest)["image"]
            cells.append(Cell(rgb_of_output(self.output, self.pipeline.recipe.output, stretch)))
        return CellGroup(cells, f"epoch {epoch}")

    def _stages(self, tiles: dict[int, NDArray[Any]], key: int, stretch: Stretch) -> list[CellGroup]:
        """A strip for each step: every tile after it."""
        traced, rest = self.pipeline.stages, self.rest
        stages = [traced(key, self.request.epoch, n)(image=image, **rest) for n, image in tiles.items()]
        steps = [
            (of_step[0][0], {n: image for n, (_, image) in zip(tiles, of_step, strict=True)})
            for of_step in zip(*stages, strict=True)
        ]
        return stage_groups(tiles, steps, lambda after: [Cell(rgb_of_input(tile, stretch)) for tile in after.values()])


def _spread(wanted: frozenset[int], others: frozenset[int], count: int) -> list[int]:
    """`count` tiles spread evenly over `wanted`, filled up with `others`, ascending."""
    first, more = sorted(wanted), sorted(others - wanted)
    if len(first) < count:
        return sorted([*first, *more[: count - len(first)]])
    return [first[k * len(first) // count] for k in range(count)]


def tile_map(
    places: NDArray[np.int64],
    picked: Collection[int],
    shown: Collection[int],
    slide: tuple[RgbImage, float, float] | None,
) -> Cell | None:
    """A map of a bag's tiles: those that are shown, those that were picked, and the others as outlines.

    Args:
        places: int (n, 2), x and y of each tile in any unit; −1 where it is not known.
        picked: numbers of the tiles that are part of the sample.
        shown: numbers of the tiles that the sheet shows.
        slide: the slide made small, its whole width and the side of a tile, in the unit of the places; None: the map's
            ground is empty.

    Returns:
        None where fewer than two places are known, and there is no slide.

    >>> tiles = tile_map(np.array([[0, 0], [256, 0], [0, 256]]), {0, 1}, {0}, None)
    >>> tiles.image.shape
    (240, 240, 3)
    >>> tile_map(np.full((5, 2), -1), {0}, {0}, None) is None
    True
    """
    known = np.nonzero((places >= 0).all(1))[0]
    corners = places[known].astype(np.float64)
    if slide is not None:
        ground, whole, side = slide
        per, edge = ground.shape[1] / whole, np.zeros(2)
    else:
        if len(np.unique(corners, axis=0)) < 2:
            return None
        # From one tile to its neighbour: the commonest step between different x, or y.
        steps = [np.unique(np.diff(np.unique(corners[:, axis])), return_counts=True) for axis in (0, 1)]
        side = min(float(step[count.argmax()]) for step, count in steps if len(step))
        corners -= corners.min(0)
        extent = corners.max(0) + side
        per = min(_SQUARE / side, _LARGEST / extent.max())
        edge = np.maximum((_LEAST - extent * per) / 2, _EDGE)
        width, height = np.rint(extent * per + 2 * edge).astype(int).tolist()
        ground = np.full((height, width, 3), EMPTY, np.uint8)

    def over(image: RgbImage, scale: float) -> None:
        # The shown ones last: where squares are smaller than a pixel, they must not be hidden.
        for k in sorted(range(len(known)), key=lambda k: (known[k] in shown, known[k] in picked)):
            is_shown, is_picked = known[k] in shown, known[k] in picked
            (left, top), (right, bottom) = (((corners[k] + more) * per + edge) * scale for more in (0, side))
            left, top, right, bottom = int(left), int(top), int(right), int(bottom)
            gap = 2 if right - left >= 5 else 1
            line = -1 if slide is None and (is_shown or is_picked) else 2 if is_shown and right - left >= 8 else 1
            end = max(right - gap, left), max(bottom - gap, top)
            cv2.rectangle(image, (left, top), end, SHOWN if is_shown else PICKED if is_picked else NOT_PICKED, line)

    return Cell(ground, over=over)
