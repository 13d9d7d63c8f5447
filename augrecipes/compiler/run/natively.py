"""Pictures alone, with nothing on them, through native plans: samples, and whole batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.native_plan.carrying_out import NativePlan, Places
from augrecipes.compiler.native_plan.pictures import is_picture
from augrecipes.compiler.native_plan.planned import NotNativeError, native_plan
from augrecipes.compiler.plan import Compiled
from augrecipes.compiler.run.at_once import PictureBatch, run_batch
from augrecipes.compiler.run.lower import Sites
from augrecipes.compiler.run.output_buffer import output_buffer
from augrecipes.compiler.run.pipeline import Pipeline, key_part
from augrecipes.compiler.run.targets import arrival_of, check_size
from augrecipes.errors import DataError


class NativelyRun(Pipeline):
    """A compiled recipe that runs without Python wherever all of its steps are known to the native kernels."""

    _usual: frozenset[str]
    _sites: Sites

    @abstractmethod
    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """One sample; `allocate(shape, dtype)` gives the memory that its image is written to."""

    def batch(
        self,
        images: Sequence[Any],
        indices: Sequence[int] | None = None,
        epoch: int = 0,
        *,
        out: Any = None,
        threads: int = 1,
    ) -> np.ndarray:
        """Pictures alone as one array: row k is `at(indices[k], epoch)(image=images[k])["image"]`, to the bit.

        Where all steps are known to the native kernels, as `explain` says, no Python runs between them.

        Args:
            images: a list, or one array, of what goes in as `image`; may differ in size.
            indices: that key the draws; without them 0, 1, 2, …
            epoch: of the draws.
            out: an array or a torch tensor, of that very shape and dtype, to write to.
            threads: that share them.

        Raises:
            DataError: a picture is not what the recipe's inputs say, or a step fails on it: of several the first.
            CollateError: they come out with different sizes.

        >>> import augrecipes as ar
        >>> pipeline = ar.load("imagenet-train").compile()
        >>> pipeline.batch([np.zeros((300, 400, 3), np.uint8), np.zeros((256, 256, 3), np.uint8)], [7, 8]).shape
        (2, 3, 224, 224)
        """
        keys = [(key_part("indices", index), 0) for index in (range(len(images)) if indices is None else indices)]
        if len(keys) != len(images) or not keys:
            raise ValueError(f"a batch needs pictures, and an index for each: got {len(images)} and {len(keys)}")
        allocate: Allocate = np.empty if out is None else output_buffer(out, "the batch", images)
        take: Allocate = lambda shape, dtype: allocate((len(keys), *shape), dtype)  # noqa: E731
        rows = PictureBatch(key_part("epoch", epoch), keys, images.__getitem__, take)
        run_batch(rows, self.for_this_thread().lanes(min(threads, len(keys))), held=True)
        return rows.result()

    def some(
        self, epoch: int, keys: Sequence[tuple[int, int]], pictures: Sequence[Any], places: Places
    ) -> list[int] | None:
        """Samples of pictures alone, side by side, as far as native plans carry them out: see `NativePlan.many`."""
        return self.coming(arrival_of(pictures[0]))._by_plan(epoch, keys, pictures, places)

    def _by_plan(
        self, epoch: int, keys: Sequence[tuple[int, int]], pictures: Sequence[Any], places: Places
    ) -> list[int] | None:
        """The same of pictures that come as this pipeline's own plan takes them."""
        if self._dress is None and isinstance(self.native, NativePlan) and all(map(self._is_taken, pictures)):
            return self.native.many(epoch, keys, pictures, places)
        return [*range(len(pictures))]

    @property
    def at_once(self) -> NativePlan | str:
        """What carries out batches of pictures without Python, or why nothing does."""
        return self.coming("encoded" if self.reads else "uint8").native

    def lanes(self, count: int) -> list[Self]:
        """Pipelines for `count` threads; steps hold state, so each thread has its own, kept for the next time."""
        kept: list[Self] = self.__dict__.setdefault("_lanes", [self])
        while len(kept) < count:
            kept.append(self.again())
        return kept[:count]

    def renew(self, compiled: Compiled) -> None:
        """As every pipeline; the threads' pipelines are made anew, too."""
        super().renew(compiled)
        self._lanes = [self]

    def run_through(self, transforms: list[Any]) -> None:
        """Let samples go through these from now on."""
        super().run_through(transforms)
        self.__dict__.pop("native", None)

    @cached_property
    def native(self) -> NativePlan | str:
        """What carries out samples of a picture alone without Python, or why nothing does."""
        if self.optimize == "none":
            return "`none` runs its steps as albumentations does"
        if not (self.arrival == "uint8" or self.takes_files) or self.compiled.save_applied_params:
            return "what its steps draw is asked for" if self.compiled.save_applied_params else "pictures are no uint8"
        inputs = self.recipe.inputs
        if "required" in (inputs.mask, *(of.presence for of in (inputs.boxes, inputs.keypoints) if of is not None)):
            return "a sample is more than a picture"
        try:
            sink, seed = self.sinks["image"], self.compiled.seed
            return native_plan(
                self.transforms, self._sites, sink, seed, self.draws.position, self.recipe.max_bytes, self.takes_files
            )
        except NotNativeError as reason:
            return str(reason)

    def _is_alone(self, targets: Mapping[str, Any]) -> bool:
        """Whether a sample is a picture that native plans take, with nothing on it."""
        return (
            is_picture(targets.get("image"), files=self.takes_files) and self._dress is None
            and not self._usual.intersection(targets.keys() - {"image"})
        )  # fmt: skip

    def _is_taken(self, picture: Any) -> bool:
        """Whether a picture is one that native plans take, and what the recipe's inputs say."""
        try:
            return is_picture(picture, files=self.takes_files) and bool(check_size(picture, self.recipe.inputs).shape)
        except DataError:
            return False
