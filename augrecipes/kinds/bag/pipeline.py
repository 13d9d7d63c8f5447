"""Recipes of kind bag: many tiles of one slide, each with draws of its own, some draws shared by the slide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.run.batch import AllocateTarget
from augrecipes.compiler.run.extra_targets import is_array
from augrecipes.compiler.run.output_buffer import output_buffer
from augrecipes.errors import DataError
from augrecipes.kinds.bag.tiles import BagOutput, BagResult, Name, default_threads
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.recipe.model import Recipe, Step


class BagPipeline(ImagePipeline):
    """A compiled recipe of kind bag.

    Targets in: `images`, tiles as a list of H×W×C arrays or as one N×H×W×C array, uint8 (0..255) or float32 (0..1);
    or `image`, one tile. Targets out: `image`, all tiles as one array (n, C, H, W), as the recipe's `output` says.
    `out`, an array or a torch tensor of that very shape and dtype, is written to and comes out as `image`; or a
    function (shape, dtype) → array.

    Draws: tile k of a bag draws at the key (index, epoch, k), so `at(index, epoch, k)(image=tile)` replays it; steps
    with `share: bag` draw at the bag's own key, the same for every tile.

    Tiles are worked on by several threads, each with steps of its own, and are written straight into the result.
    """

    nests = False

    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """One bag, where there are `images`; else one tile."""
        if "images" not in targets:
            return super().sample(epoch, index, tile, targets, allocate)
        rest = dict(targets)
        tiles = rest.pop("images")
        if "image" in rest:
            raise DataError("give either `images` (the tiles of a bag) or `image` (one tile), not both")
        for key, value in rest.items():
            if key != "out" and is_array(value):
                raise DataError(f"{key!r} is an array, and a bag has `images` alone; keep it out of the call")
        if isinstance(tiles, np.ndarray) and tiles.ndim != 4:
            raise DataError(f"images must be N×H×W×C or a list of H×W×C arrays, got shape {tiles.shape}")
        if (out := rest.pop("out", None)) is not None:
            allocate = output_buffer(out, "the bag", tiles)
        bag = self.bag(index, epoch, range(len(tiles)), tiles.__getitem__, name="images[{}]".format, allocate=allocate)
        rest["image"] = bag.image if out is None or callable(out) else out
        if bag.applied is not None:
            rest["applied"] = bag.applied
        return rest

    def bag(
        self,
        index: int,
        epoch: int,
        tiles: Sequence[int],
        read: Callable[[int], Any],
        *,
        threads: int | None = None,
        skip: bool = False,
        name: Name | None = None,
        allocate: Allocate = np.empty,
    ) -> BagResult:
        """Read the tiles of a bag and run each through the steps.

        Args:
            index: of the bag.
            epoch: of the draws.
            tiles: number of each tile within its bag: with (index, epoch) the key of its draws.
            read: gives the image at a position in `tiles`; called from several threads.
            threads: that work on them; None: as the pipeline was compiled.
            skip: leave out the tiles that cannot be read, that a step fails on, or that come out with another size
                than most.
            name: gives the file of the image at a position, for errors.
            allocate: gives the memory for the result, (shape, dtype) → array.

        Raises:
            DataError: there is no tile, or none is left; without `skip`, a tile is broken: of several the first.
            CollateError: tiles come out with different sizes, and `skip` is not said.
        """
        if not tiles:
            raise DataError("a bag needs at least one tile")
        rows: AllocateTarget = lambda _, shape, dtype: allocate((len(tiles), *shape), dtype)  # noqa: E731
        output = BagOutput(epoch, [(index, tile) for tile in tiles], rows, skip=skip, name=name or "tile {}".format)
        threads = min(threads or self.compiled.threads or default_threads(), len(tiles))
        output.run(self, lambda k: {"image": read(k)}, threads)
        return output.result(save_applied=self.compiled.save_applied_params)


def sharing(recipe: Recipe, steps: tuple[Step, ...], share: str = "tile") -> Iterator[tuple[str, str]]:
    """(label, whose draws it has) of each step; `share`: of those that do not say it."""
    for step in steps:
        own = step.share or share
        yield step.site, "one draw for the whole bag" if own == "bag" else "a draw for every tile"
        yield from sharing(recipe, step.steps, own)


PIPELINE = BagPipeline
