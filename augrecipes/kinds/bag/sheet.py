"""Sheets of bags: tiles as they are, the same tiles as epochs give them, and where they lie on their slide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.data.picking import tiles_of
from augrecipes.data.reading.held import Held
from augrecipes.data.reading.sample import RecipeSource, Sample
from augrecipes.data.tables.bag_table import BagTable
from augrecipes.errors import DataError
from augrecipes.kinds.bag.pipeline import BagPipeline
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import picture_of_input, picture_of_output, size_text
from augrecipes.preview.rows import Asked, draws, made_by, show_rows, stage_groups
from augrecipes.preview.sheet import Sheet
from augrecipes.preview.slide_map import LEFT, MAP, PICKED, PICKED_ON_SLIDE, SHOWN, render_map, render_on_slide
from augrecipes.recipe.model import Bag, Mode, Recipe, Step

COLUMNS = 12  # tiles
EPOCHS = 2


@dataclass(slots=True)
class _BagSamples:
    """One bag: the tiles that are shown, and what was drawn of each."""

    row: int  # of the table
    tiles: dict[int, NDArray[Any]]  # as they were read, by number
    picked: list[frozenset[int]]  # of each epoch
    strips: list[CellGroup]
    broken: list[DataError] = field(default_factory=list)


def sheet(recipe: Recipe, asked: Asked) -> Sheet:
    """The sheet of a recipe of kind bag; DataError where nothing can be shown."""
    pipeline, files = asked.opened(recipe, threads=1)
    table: Any = files.table
    held = files if isinstance(files, Held) else _BagFiles(files, recipe.bag or Bag())
    sampler = _BagSampler(pipeline, table, held, asked)
    shown = show_rows(
        len(held), asked.rows, sampler.draw, data=asked.words, path=held.path, labels=held.labels,
        progress=asked.progress,
    )  # fmt: skip
    for one in shown.rows:
        shown.skipped.extend(one.broken)
    rows = [_row(one, table) for one in shown.rows]
    out = sampler.output
    output = f"{out.dtype} n×{'×'.join(map(str, out.shape))}" if out is not None else recipe.output.dtype
    lines = [recipe.about, made_by(pipeline, asked, "picked and drawn anew in every epoch", output)]
    if draws(pipeline):
        lines.append(_shares(recipe, pipeline.mode))
    legend = [(SHOWN, "shown here"), (PICKED_ON_SLIDE if table.on_slides else PICKED, "picked")]
    if any(len(one.picked[0]) < int(table.counts()[one.row]) for one in shown.rows):
        legend.append((LEFT, "not picked"))
    mapped = any(row.source is not None and row.source.cells for row in rows)
    lines = [line for line in lines if line]
    return Sheet(rows, "strips", recipe.name, lines, shown.footers(), legend if mapped else ())


@dataclass(frozen=True, slots=True)
class _BagFiles:
    """Bags of files that no dataset has listed: each is its row of the table, and its own key of draws."""

    files: RecipeSource
    rule: Bag

    def __len__(self) -> int:
        return len(self.files.table)

    @property
    def labels(self) -> NDArray[np.int64] | None:
        return self.files.labels

    def path(self, k: int) -> str:
        table: Any = self.files.table
        return str(table.path(k))

    def row(self, k: int) -> int:
        return k

    def key(self, k: int) -> int:
        return k

    def read(self, k: int, tile: int) -> Sample:
        return self.files.read(self.files.table.units_of(k)[tile])


@dataclass(slots=True)
class _BagSampler:
    """Reads the tiles of bags and runs the pipeline over them."""

    pipeline: BagPipeline
    table: BagTable
    bags: _BagFiles | Held
    asked: Asked
    output: NDArray[Any] | None = None  # one tile as it came out

    def draw(self, k: int) -> _BagSamples:
        """One bag; DataError where it has too few tiles or none of them can be shown."""
        row, key, rule = self.bags.row(k), self.bags.key(k), self.bags.rule
        count = int(self.table.counts()[row])
        if count < rule.min_tiles:
            raise DataError(f"the bag has {count} tiles, fewer than min_tiles={rule.min_tiles}{self.table.about(row)}")
        times = EPOCHS if self.pipeline.mode == "train" and not self.asked.stages else 1
        epochs = range(self.asked.epoch, self.asked.epoch + times)
        picked = [self._picked(count, key, epoch) for epoch in epochs]
        drawn = _BagSamples(row, {}, picked, [])
        for tile in _spread(frozenset.intersection(*picked), picked[0], self.asked.columns):
            try:
                drawn.tiles[tile] = self.bags.read(k, tile).images["image"]
            except DataError as error:
                drawn.broken.append(error)
        if not drawn.tiles:
            raise drawn.broken[0]
        named = [Cell(picture_of_input(image), f"tile {tile}") for tile, image in drawn.tiles.items()]
        drawn.strips.append(CellGroup(named, "as they are", quiet=True))
        drawn.strips += self._stages(drawn, key) if self.asked.stages else self._epochs(drawn, key, epochs)
        return drawn

    def _picked(self, count: int, key: int, epoch: int) -> frozenset[int]:
        rule, seed = self.bags.rule, self.pipeline.compiled.seed
        return frozenset(tiles_of(rule, count, self.pipeline.mode, seed=seed, epoch=epoch, index=key).tolist())

    def _epochs(self, drawn: _BagSamples, key: int, epochs: range) -> Iterator[CellGroup]:
        for epoch, picked in zip(epochs, drawn.picked, strict=True):
            cells = []
            for tile, image in drawn.tiles.items():
                if tile not in picked:
                    cells.append(Cell(None, "not picked"))
                    continue
                self.output = self.pipeline.at(key, epoch, tile)(image=image)["image"]
                cells.append(Cell(picture_of_output(self.output, self.pipeline.recipe.output)))
            yield CellGroup(cells, f"epoch {epoch}")

    def _stages(self, drawn: _BagSamples, key: int) -> list[CellGroup]:
        """A strip for each step: every tile after it."""
        tiles = drawn.tiles
        found = [self.pipeline.stages(key, self.asked.epoch, tile)(image=image) for tile, image in tiles.items()]
        stages = [
            (of_tiles[0][0], dict(zip(tiles, (image for _, image in of_tiles), strict=True)))
            for of_tiles in zip(*found, strict=True)
        ]
        return stage_groups(tiles, stages, lambda after: [Cell(picture_of_input(one)) for one in after.values()])


def _spread(wanted: frozenset[int], others: frozenset[int], count: int) -> list[int]:
    """`count` tiles spread evenly over `wanted`, filled up with `others`, ascending."""
    first, more = sorted(wanted), sorted(others - wanted)
    if len(first) < count:
        return sorted([*first, *more[: count - len(first)]])
    return [first[k * len(first) // count] for k in range(count)]


def _row(one: _BagSamples, table: BagTable) -> SheetRow:
    """The strips of a bag, beside what is known of it and where its tiles lie."""
    count, picked, shown = int(table.counts()[one.row]), one.picked[0], one.tiles.keys()
    sizes = {f"{size_text(image)} px" for image in one.tiles.values()}
    label = None if table.labels is None else int(table.labels[one.row])
    named = "" if label is None else f"label {table.classes[label] if table.classes else label}"
    notes = [
        named,
        f"{count} tiles" if len(picked) == count else f"{len(picked)} of {count} tiles picked",
        sizes.pop() if len(sizes) == 1 else "tiles of several sizes",
    ]
    places = table.places(one.row, np.arange(count))
    overview = table.overview(one.row, 2 * max(MAP))
    if overview is None:
        slide_map = render_map(places, picked, shown, *MAP)
    else:
        slide, level, side_0 = overview
        squares = np.concatenate([places, np.full((count, 1), side_0)], 1) / level.width
        slide_map = render_on_slide(slide, squares, picked, shown, *MAP)
    beside = CellGroup([] if slide_map is None else [Cell(slide_map, fixed=True)])
    return SheetRow(one.strips, beside, table.bags.name(one.row), notes)


def _shares(recipe: Recipe, mode: Mode) -> str:
    """Which steps draw once a bag, and which once a tile."""
    names: dict[str, list[str]] = {"bag": [], "tile": []}

    def sort(step: Step, inherited: str) -> None:
        share = step.share or inherited
        if step.steps:
            for child in step.steps:
                sort(child, share)
        else:
            names[share].append(step.name)

    for step in recipe.section(mode) or ():
        sort(step, "tile")
    words = ("one draw for the whole bag", names["bag"]), ("a draw for every tile", names["tile"])
    return " · ".join(f"{said}: {', '.join(dict.fromkeys(found))}" for said, found in words if found)
