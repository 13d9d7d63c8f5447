"""Preview sheets of bags: source tiles, the same tiles after augmentation in two epochs, and a map of the slide."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.kinds.bag.pipeline import BagPipeline
from augrecipes.kinds.bag.table import BagTable
from augrecipes.kinds.bag.tiles import tiles_of
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
# Px of a map of tiles: its margin, the side of a tile, and the least and greatest side of the map.
_EDGE, _SQUARE, _LEAST, _LARGEST = 8, 26, 240, 480
_OVERVIEW = 720  # px, the longer side of a slide's thumbnail


def sheet(recipe: Recipe, request: SheetRequest) -> Sheet:
    """Make the sheet of a recipe of kind bag; DataError where nothing can be shown."""
    pipeline, files = request.opened(recipe, threads=1)
    bags = _Bags(pipeline, files, request)
    rows, skipped = request.shown(files if isinstance(files, DatasetView) else files.table, bags.row)
    legend = [(SHOWN, "shown here"), (PICKED, "picked"), *([(NOT_PICKED, "not picked")] if bags.has_unpicked else [])]
    mapped = any(row.source is not None and row.source.cells for row in rows)
    output = recipe.output.dtype if bags.output is None else f"{output_text(bags.output)} a tile"
    lines = request.lines(pipeline, "picked and drawn anew in every epoch", output)
    return Sheet(rows, recipe.name, lines, left_out([*skipped, *bags.broken]), legend if mapped else (), across=1)


@dataclass(slots=True)
class _Bags:
    """Reads the tiles of bags and runs the pipeline over them."""

    pipeline: BagPipeline
    files: Any  # a DatasetView; or a RecipeSource, whose bag k has row k and draws at key k
    request: SheetRequest
    broken: list[DataError] = field(default_factory=list)  # errors of tiles that the sheet would show
    has_unpicked: bool = False  # whether a bag has a tile that was not picked
    rest: dict[str, Any] = field(default_factory=dict)  # targets that come with every tile of a bag
    output: NDArray[Any] | None = None  # a tile after augmentation, for its shape and dtype

    def row(self, k: int) -> SheetRow:
        """The strips of tiles of a bag, its notes, and the map of its tiles.

        Raises:
            DataError: it has too few tiles, or none of them can be shown.
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
        mode, seed = pipeline.mode, pipeline.compiled.seed
        picked = [
            frozenset(tiles_of(rule, count, mode, seed=seed, epoch=epoch, index=key).tolist()) for epoch in epochs
        ]
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
        self.has_unpicked |= len(picked[0]) < count
        stretch = stretch_of(tiles.values(), pipeline.recipe.inputs)
        sources = [Cell(rgb_of_input(image, stretch), f"tile {n}") for n, image in tiles.items()]
        strips = [CellGroup(sources, "as they are", quiet=True)]
        if request.stages:
            strips += self._stages(tiles, key, stretch)
        else:
            strips += [self._strip(tiles, key, *pick, stretch) for pick in zip(epochs, picked, strict=True)]
        label, sizes = label_text(table, row), {f"{size_text(image)} px" for image in tiles.values()}
        notes = [
            f"label {label}" if label else "",
            f"{count} tiles" if len(picked[0]) == count else f"{len(picked[0])} of {count} tiles picked",
            sizes.pop() if len(sizes) == 1 else "tiles of several sizes",
            *([stretch.words] if stretch.words else []),
        ]
        slide = table.overview(row, _OVERVIEW)
        scaled = None if slide is None else (slide[0], float(slide[1].width), slide[2])
        cell = tile_map(table.places(row, np.arange(count)), picked[0], tiles.keys(), scaled)
        return SheetRow(strips, CellGroup([cell] if cell else []), table.bags.name(row), notes)

    def _strip(
        self, tiles: dict[int, NDArray[Any]], key: int, epoch: int, picked: frozenset[int], stretch: Stretch
    ) -> CellGroup:
        """The tiles after augmentation in an epoch; those that it does not pick are empty cells."""
        cells = []
        for tile, image in tiles.items():
            if tile not in picked:
                cells.append(Cell(None, "not picked"))
                continue
            self.output = self.pipeline.at(key, epoch, tile)(image=image, **self.rest)["image"]
            cells.append(Cell(rgb_of_output(self.output, self.pipeline.recipe.output, stretch)))
        return CellGroup(cells, f"epoch {epoch}")

    def _stages(self, tiles: dict[int, NDArray[Any]], key: int, stretch: Stretch) -> list[CellGroup]:
        """A strip of all tiles for each step, as they are after it."""
        traced, rest = self.pipeline.stages, self.rest
        stages = [traced(key, self.request.epoch, n)(image=image, **rest) for n, image in tiles.items()]
        steps = [
            (of_step[0][0], {n: image for n, (_, image) in zip(tiles, of_step, strict=True)})
            for of_step in zip(*stages, strict=True)
        ]
        return stage_groups(tiles, steps, lambda after: [Cell(rgb_of_input(tile, stretch)) for tile in after.values()])


def _spread(wanted: frozenset[int], others: frozenset[int], count: int) -> list[int]:
    """`count` tiles spread evenly over `wanted`, filled up with `others`, ascending."""
    preferred = sorted(wanted)
    if len(preferred) < count:
        return sorted([*preferred, *sorted(others - wanted)[: count - len(preferred)]])
    return [preferred[k * len(preferred) // count] for k in range(count)]


def tile_map(
    places: NDArray[np.int64],
    picked: Collection[int],
    shown: Collection[int],
    slide: tuple[RgbImage, float, float] | None,
) -> Cell | None:
    """Draw a map of a bag's tiles: those on the sheet, those picked, and the others, as outlines.

    Args:
        places: int64 (n, 2), (x, y) of each tile in any unit; -1 where it is not known.
        picked: numbers of the tiles in the sample.
        shown: numbers of the tiles on the sheet.
        slide: a thumbnail of the slide, the slide's width, and the side of a tile, both in the unit of `places`; None:
            the background is empty.

    Returns:
        None where fewer than two places are known and there is no slide.

    >>> tiles = tile_map(np.array([[0, 0], [256, 0], [0, 256]]), {0, 1}, {0}, None)
    >>> tiles.image.shape
    (240, 240, 3)
    >>> tile_map(np.full((5, 2), -1), {0}, {0}, None) is None
    True
    """
    known = np.nonzero((places >= 0).all(1))[0]
    corners = places[known].astype(np.float64)
    if slide is not None:
        background, slide_width, side = slide
        scale, edge = background.shape[1] / slide_width, np.zeros(2)
    else:
        if len(np.unique(corners, axis=0)) < 2:
            return None
        # The distance of neighbouring tiles: the commonest difference between successive x, or y.
        steps = [np.unique(np.diff(np.unique(corners[:, axis])), return_counts=True) for axis in (0, 1)]
        side = min(float(step[count.argmax()]) for step, count in steps if len(step))
        corners -= corners.min(0)
        extent = corners.max(0) + side
        scale = min(_SQUARE / side, _LARGEST / extent.max())
        edge = np.maximum((_LEAST - extent * scale) / 2, _EDGE)
        width, height = np.rint(extent * scale + 2 * edge).astype(int).tolist()
        background = np.full((height, width, 3), EMPTY, np.uint8)

    def draw_tiles(image: RgbImage, zoom: float) -> None:
        # Shown tiles are drawn last: where squares are smaller than a pixel, the others must not hide them.
        for k in sorted(range(len(known)), key=lambda k: (known[k] in shown, known[k] in picked)):
            is_shown, is_picked = known[k] in shown, known[k] in picked
            (left, top), (right, bottom) = (((corners[k] + size) * scale + edge) * zoom for size in (0, side))
            left, top, right, bottom = int(left), int(top), int(right), int(bottom)
            gap = 2 if right - left >= 5 else 1
            line = -1 if slide is None and (is_shown or is_picked) else 2 if is_shown and right - left >= 8 else 1
            end = max(right - gap, left), max(bottom - gap, top)
            cv2.rectangle(image, (left, top), end, SHOWN if is_shown else PICKED if is_picked else NOT_PICKED, line)

    return Cell(background, over=draw_tiles)
