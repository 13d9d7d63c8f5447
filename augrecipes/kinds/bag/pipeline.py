"""Runs recipes of kind bag: many tiles of one slide, each with its own draws; some steps draw once for the slide."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.run import batch, extra_targets
from augrecipes.errors import CollateError, DataError
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.machine import cores
from augrecipes.ops.stain_estimates import Method, estimates_of
from augrecipes.recipe.model import Recipe, Step

Name = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class BagResult:
    """The result of running a bag.

    Attributes:
        image: the tiles, (n, C, H, W) or (n, H, W, C), as the recipe's output says.
        kept: positions of these tiles in the list that was passed.
        dropped: position and error of each tile that was left out.
        applied: the draws of each tile in `image`, with `save_applied_params`; else None.
    """

    image: np.ndarray
    kept: tuple[int, ...]
    dropped: tuple[tuple[int, DataError], ...] = ()
    applied: list[Any] | None = None


@dataclass
class BagOutput(batch.BatchOutput):
    """The tiles of one bag while threads work on them.

    Attributes:
        skip: whether broken tiles are left out.
        name: gives the name of the image at a position, for errors.
    """

    skip: bool = False
    name: Name = "tile {}".format

    def fail(self, k: int, error: DataError) -> None:
        """Note a failure. Tiles are taken in order, so the first failure of a bag is always among those noted."""
        named = error if error.path else error.with_path(self.name(k))
        named.__cause__ = error.__cause__
        super().fail(k, named)
        self.is_stopped |= not self.skip

    def result(self, *, save_applied: bool) -> BagResult:
        """The bag; raises the first failure unless `skip` is set."""
        if self.failed and not self.skip:
            raise self.failed[min(self.failed)]
        if self.is_ragged:
            raise CollateError("tiles of one bag come out with different sizes; end the recipe in a crop or resize of "
                               "fixed size")  # fmt: skip
        positions = tuple(k for k in range(len(self.keys)) if k not in self.failed)
        if not positions:
            first = self.failed[0]
            raise DataError(f"none of its {len(self.keys)} tiles can be used; the first: {first.reason}", first.path)
        applied = [self.others[k]["applied"] for k in positions] if save_applied else None
        array = self.arrays["image"]
        for row, k in enumerate(positions):  # close the gaps in place: a copy would need the memory twice
            if row != k:
                array[row] = array[k]
        return BagResult(array[: len(positions)], positions, tuple(sorted(self.failed.items())), applied)


def default_threads() -> int:
    """The number of cores that this process may use; 1 in a DataLoader worker, as the workers share the cores."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.utils.data.get_worker_info() is not None:
        return 1
    return cores()


class BagPipeline(ImagePipeline):
    """A compiled recipe of kind bag.

    Targets in: `images`, tiles as a list of H×W×C arrays or as one N×H×W×C array, uint8 (0..255) or float32 (0..1);
    or `image`, one tile. Targets out: `image`, all tiles as one array (n, C, H, W), as the recipe's `output` says.
    `out`, an array or torch tensor of that shape and dtype, is written to and returned as `image`; it may also be a
    function (shape, dtype) → array.

    `stains`, a dict from each method of `source_methods` to the StainEstimate of the bag, or None, may come beside
    either; without it the stains are estimated from all tiles together, or from the one tile.

    Draws: tile k of a bag draws at the key (index, epoch, k), so `at(index, epoch, k)(image=tile)` replays it; steps
    with `share: bag` draw at the bag's own key, the same for every tile.

    Several threads work on the tiles, each with its own copies of the steps, and write straight into the result.
    """

    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """Run one bag, where there are `images`; else one tile."""
        if "images" not in targets:
            return super().sample(epoch, index, tile, targets, allocate)
        rest = dict(targets)
        tiles = rest.pop("images")
        if "image" in rest:
            raise DataError("give either `images` (the tiles of a bag) or `image` (one tile), not both")
        for key, value in rest.items():
            if key != "out" and extra_targets.is_array(value):
                raise DataError(f"{key!r} is an array, and a bag has `images` alone; keep it out of the call")
        if isinstance(tiles, np.ndarray) and tiles.ndim != 4:
            raise DataError(f"images must be N×H×W×C or a list of H×W×C arrays, got shape {tiles.shape}")
        if (out := rest.pop("out", None)) is not None:
            allocate = batch.output_buffer(out, "the bag", tiles)
        stains = rest.pop("stains", None) or estimates_of(tiles, self.source_methods)
        bag = self.bag(
            index, epoch, range(len(tiles)), tiles.__getitem__,
            name="images[{}]".format, allocate=allocate, stains=stains,
        )  # fmt: skip
        rest["image"] = bag.image if out is None or callable(out) else out
        if bag.applied is not None:
            rest["applied"] = bag.applied
        return rest

    @cached_property
    def source_methods(self) -> tuple[Method, ...]:
        """The methods by which the steps estimate the stains of a bag."""
        return tuple(sorted(filter(None, {getattr(step, "source_method", None) for step, _, _ in self.sites})))

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
        stains: Mapping[str, Any] | None = None,
    ) -> BagResult:
        """Read the tiles of a bag and run each through the steps.

        Args:
            index: index of the bag.
            epoch: epoch of the draws.
            tiles: number of each tile within its bag, which with (index, epoch) is the key of its draws.
            read: returns the image at a position in `tiles`; called from several threads.
            threads: number of threads; None: as the pipeline was compiled.
            skip: leave out tiles that cannot be read, on which a step fails, or whose result differs in size from
                most.
            name: returns the file of the image at a position, for errors.
            allocate: makes the array for the result, (shape, dtype) → array.
            stains: the StainEstimate of the bag, or None, for each method of `source_methods`; None: each tile is
                estimated by itself.

        Raises:
            DataError: there is no tile, or none remains; without `skip`, the first broken tile.
            CollateError: results differ in size, without `skip`.
        """
        if not tiles:
            raise DataError("a bag needs at least one tile")
        rows: batch.AllocateTarget = lambda _, shape, dtype: allocate((len(tiles), *shape), dtype)  # noqa: E731
        keys = [(index, tile) for tile in tiles]
        output = BagOutput(epoch, keys, rows, skip=skip, name=name or "tile {}".format, stains=stains)
        threads = min(threads or self.compiled.threads or default_threads(), len(tiles))
        output.run(self, lambda k: {"image": read(k)}, threads)
        return output.result(save_applied=self.compiled.save_applied_params)


def sharing(recipe: Recipe, steps: tuple[Step, ...], share: str = "tile") -> Iterator[tuple[str, str]]:
    """The label of each step, and who shares its draws; `share` holds for steps that do not say it."""
    for step in steps:
        own = step.share or share
        yield step.site, "one draw for the whole bag" if own == "bag" else "a draw for every tile"
        yield from sharing(recipe, step.steps, own)


PIPELINE = BagPipeline
