"""Which draws a request asks for: a recipe as it is run over the data, and the samples and tiles that are shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.data.picking import tiles_of
from augrecipes.recipe.model import Bag, Mode, Optimize, Recipe
from augrecipes.sources.sample import RecipeSource
from augrecipes.studio.asked import MOST_SIZE, Refused, RequestBody
from augrecipes.studio.outline import steps_by_path
from augrecipes.studio.studio import Studio
from augrecipes.studio.switches import switched

TILES = 6  # of a bag, where nothing is said


@dataclass(frozen=True, slots=True)
class WantedDraws:
    """Which draws are shown, and how.

    Attributes:
        recipe: what is run: without the steps that are switched off, and those that a store has behind it.
        mode: `train` or `eval`.
        optimize: None: the recipe's own choice.
        seed: of the draws.
        size: the longer side of what is shown, px; 0: as large as it is.
        tiles: of a bag, how many.
        chosen: tiles by their numbers in the bag, instead of some that lie evenly apart.
        source: whether the pictures as they were read are wanted too.
        as_written: the recipe as its text says.
        off: paths of the steps that are switched off.
        baked: labels of the steps that the store was packed with.
    """

    recipe: Recipe
    mode: Mode
    optimize: Optimize | None
    seed: int
    size: int
    tiles: int
    chosen: tuple[int, ...]
    source: bool
    as_written: Recipe
    off: tuple[str, ...]
    baked: tuple[str, ...] = ()

    @classmethod
    def of(cls, studio: Studio, body: RequestBody, size: int = 0, mode: Mode | None = None) -> WantedDraws:
        """What a request says; `size` where it says none, `mode` whatever it says. Raises RecipeError: no recipe."""
        mode = mode or body.mode()
        written, seed = studio.bench.recipe(body.text()), body.integer("seed")
        recipe, baked = left_of(studio, written, body, mode, seed)
        return cls(
            recipe,
            mode,
            body.optimize(),
            seed,
            body.integer("size", size, 0, MOST_SIZE),
            body.integer("tiles", TILES, 1, 64),
            tuple(body.integers("chosen", (), 64)) if body.value("chosen") else (),
            body.flag("source"),
            written,
            tuple(body.names("off")),
            baked,
        )

    def pipeline(self, studio: Studio) -> Pipeline:
        """It compiled; of a pair it tells which window was cut, of a bag what its tiles share."""
        more = {"save_applied_params": True} if self.recipe.facts.scales or self.recipe.facts.tiles else {}
        return studio.bench.pipeline(self.recipe, self.mode, self.optimize, self.seed, **more)


def left_of(
    studio: Studio, written: Recipe, body: RequestBody, mode: Mode, seed: int
) -> tuple[Recipe, tuple[str, ...]]:
    """What is run of a recipe, as a request has switched its steps; and the labels of what a store has behind it.

    Raises:
        Refused: a step that the store was packed with is switched.
        StoreError: the recipe does not begin with those.
    """
    _, baked = studio.shelf.left(written, mode, seed)
    known = steps_by_path(written) if baked else {}
    for path in (*body.names("off"), *body.mapping("force")):
        if path in known and known[path].site in baked:
            cure = "give the files that the store was packed from, or pack them again"
            raise Refused(422, "baked", f"{known[path].name} is in the store already: it cannot be switched", cure)
    return studio.shelf.left(switched(written, body), mode, seed)[0], baked


def check_index(files: RecipeSource, *indices: int) -> None:
    """Refused where there are not so many samples."""
    count = len(files.table)
    if max(indices) >= count:
        raise Refused(404, "index", f"there are {count} samples; the last is number {count - 1}")


def units_of(wanted: WantedDraws, files: RecipeSource, index: int, epoch: int) -> list[int]:
    """What of the files makes up a sample: itself, or some of the tiles that an epoch picks of a bag.

    Raises:
        Refused: none of the tiles that were chosen is picked.
    """
    table = files.table
    units = table.units_of(index)
    if not wanted.recipe.facts.tiles:
        return list(units)
    rule = wanted.recipe.bag or Bag()
    picked = tiles_of(rule, len(units), wanted.mode, seed=wanted.seed, epoch=epoch, index=index)
    if wanted.chosen:
        among = [units[tile] for tile in wanted.chosen if tile in picked]
        if not among:
            those = ", ".join(map(str, wanted.chosen[:8]))
            raise Refused(404, "tile", f"of the {len(units)} tiles of this bag the epoch picks others than {those}")
        return among
    spread = np.unique(np.linspace(0, len(picked) - 1, min(wanted.tiles, len(picked))).round().astype(int))
    return [units[int(tile)] for tile in picked[spread]]
