"""Sheets of bags: tiles as they are, the same tiles as epochs give them, and where they lie on their slide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.data.picking import tiles_of
from augrecipes.errors import DataError
from augrecipes.kinds.bag.pipeline import BagPipeline
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import picture_of_input, picture_of_output, size_text
from augrecipes.preview.overlay import LEFT, PICKED, SHOWN, map_of_tiles
from augrecipes.preview.rows import Asked, draws, made_by, show_rows, stage_groups
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Bag, Mode, Recipe, Step
from augrecipes.sources.bags import BagTable
from augrecipes.sources.sample import Held

COLUMNS = 12  # tiles
EPOCHS = 2
_OVERVIEW = 720  # px, the longer side of a slide that is made small


def sheet(recipe: Recipe, asked: Asked) -> Sheet:
    """The sheet of a recipe of kind bag; DataError where nothing can be shown."""
    pipeline, files = asked.opened(recipe, threads=1)
    table: Any = files.table
    bags = _Bags(pipeline, table, files, asked)
    listed = files if bags.held else table
    shown = show_rows(
        len(listed), asked.rows, bags.row, data=asked.words, path=listed.path, labels=files.labels,
        progress=asked.progress,
    )  # fmt: skip
    shown.skipped.extend(bags.broken)
    out = bags.output
    output = f"{out.dtype} n×{'×'.join(map(str, out.shape))}" if out is not None else recipe.output.dtype
    lines = [recipe.about, made_by(pipeline, asked, "picked and drawn anew in every epoch", output)]
    if draws(pipeline):
        lines.append(_shares(recipe, pipeline.mode))
    legend = [(SHOWN, "shown here"), (PICKED, "picked"), *([(LEFT, "not picked")] if bags.left else [])]
    mapped = any(row.source is not None and row.source.cells for row in shown.rows)
    lines = [line for line in lines if line]
    return Sheet(shown.rows, recipe.name, lines, shown.footers(), legend if mapped else (), across=1)


@dataclass(slots=True)
class _Bags:
    """Reads the tiles of bags and runs the pipeline over them."""

    pipeline: BagPipeline
    table: BagTable
    files: Any  # those of a dataset, or of files that none has listed
    asked: Asked
    broken: list[DataError] = field(default_factory=list)  # tiles of bags that are shown
    left: bool = False  # a tile of one of them was not picked
    output: NDArray[Any] | None = None  # one tile as it came out

    @property
    def held(self) -> bool:
        """Whether a dataset has listed them; otherwise each is its row of the table, and its own key of draws."""
        return isinstance(self.files, Held)

    @property
    def rule(self) -> Any:
        """Which tiles of a bag make up a sample."""
        return self.files.rule if self.held else self.pipeline.recipe.bag or Bag()

    def read(self, k: int, tile: int) -> NDArray[Any]:
        """A tile; DataError where it cannot be read."""
        sample = self.files.read(k, tile) if self.held else self.files.read(self.table.units_of(k)[tile])
        image: NDArray[Any] = sample.images["image"]
        return image

    def row(self, k: int) -> SheetRow:
        """The strips of a bag, beside what is known of it and where its tiles lie.

        DataError where it has too few tiles or none of them can be shown.
        """
        row, key = (self.files.row(k), self.files.key(k)) if self.held else (k, k)
        rule = self.rule
        count = int(self.table.counts()[row])
        if count < rule.min_tiles:
            raise DataError(f"the bag has {count} tiles, fewer than min_tiles={rule.min_tiles}{self.table.about(row)}")
        times = EPOCHS if self.pipeline.mode == "train" and not self.asked.stages else 1
        epochs = range(self.asked.epoch, self.asked.epoch + times)
        picked = [self._picked(count, key, epoch) for epoch in epochs]
        tiles: dict[int, NDArray[Any]] = {}
        broken = []
        for tile in _spread(frozenset.intersection(*picked), picked[0], self.asked.columns):
            try:
                tiles[tile] = self.read(k, tile)
            except DataError as error:
                broken.append(error)
        if not tiles:
            raise broken[0]
        self.broken += broken
        self.left |= len(picked[0]) < count
        named = [Cell(picture_of_input(image), f"tile {tile}") for tile, image in tiles.items()]
        more = (
            self._stages(tiles, key)
            if self.asked.stages
            else self._epochs(tiles, key, dict(zip(epochs, picked, strict=True)))
        )
        strips = [CellGroup(named, "as they are", quiet=True), *more]
        label = None if self.table.labels is None else int(self.table.labels[row])
        sizes = {f"{size_text(image)} px" for image in tiles.values()}
        notes = [
            "" if label is None else f"label {self.table.classes[label] if self.table.classes else label}",
            f"{count} tiles" if len(picked[0]) == count else f"{len(picked[0])} of {count} tiles picked",
            sizes.pop() if len(sizes) == 1 else "tiles of several sizes",
        ]
        slide = self.table.overview(row, _OVERVIEW)
        places = self.table.places(row, np.arange(count))
        small = None if slide is None else (slide[0], float(slide[1].width), slide[2])
        found = map_of_tiles(places, picked[0], tiles.keys(), small)
        return SheetRow(strips, CellGroup([found] if found else []), self.table.bags.name(row), notes)

    def _picked(self, count: int, key: int, epoch: int) -> frozenset[int]:
        rule, seed = self.rule, self.pipeline.compiled.seed
        return frozenset(tiles_of(rule, count, self.pipeline.mode, seed=seed, epoch=epoch, index=key).tolist())

    def _epochs(
        self, tiles: dict[int, NDArray[Any]], key: int, picked: dict[int, frozenset[int]]
    ) -> Iterator[CellGroup]:
        """A strip for each epoch: the tiles that it picks."""
        for epoch, those in picked.items():
            cells = []
            for tile, image in tiles.items():
                if tile not in those:
                    cells.append(Cell(None, "not picked"))
                    continue
                self.output = self.pipeline.at(key, epoch, tile)(image=image)["image"]
                cells.append(Cell(picture_of_output(self.output, self.pipeline.recipe.output)))
            yield CellGroup(cells, f"epoch {epoch}")

    def _stages(self, tiles: dict[int, NDArray[Any]], key: int) -> list[CellGroup]:
        """A strip for each step: every tile after it."""
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


def _shares(recipe: Recipe, mode: Mode) -> str:
    """Which steps draw once a bag, and which once a tile."""
    names: dict[str, list[str]] = {"bag": [], "tile": []}

    def sort(steps: tuple[Step, ...], inherited: str) -> None:
        for step in steps:
            if step.steps:
                sort(step.steps, step.share or inherited)
            else:
                names[step.share or inherited].append(step.name)

    sort(recipe.section(mode) or (), "tile")
    words = ("one draw for the whole bag", names["bag"]), ("a draw for every tile", names["tile"])
    return " · ".join(f"{said}: {', '.join(dict.fromkeys(found))}" for said, found in words if found)
