"""Pictures, and masks that lie on them, through native plans: samples, and whole batches of pictures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from augrecipes.compat.boxes import forget_labels
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.native_plan.carrying_out import NativePlan, Places
from augrecipes.compiler.native_plan.keyed_steps import NotNativeError
from augrecipes.compiler.native_plan.pictures import Picture, as_picture, is_mask, is_picture
from augrecipes.compiler.native_plan.planned import mask_plan, native_plan
from augrecipes.compiler.plan import Compiled
from augrecipes.compiler.run.at_once import PictureBatch, run_batch
from augrecipes.compiler.run.lower import Sites
from augrecipes.compiler.run.output_buffer import output_buffer
from augrecipes.compiler.run.pipeline import Pipeline, key_part
from augrecipes.compiler.run.points import take_points
from augrecipes.compiler.run.points_alone import point_steps
from augrecipes.compiler.run.prepared import Prepared
from augrecipes.compiler.run.targets import arrival_of, check_size
from augrecipes.errors import DataError

_MASK = frozenset({"mask"})
_NATIVE = ("native", "native_masks", "_point_steps")  # made of the steps when they are first needed


def kept_from_plans(pipeline: Pipeline) -> str | None:
    """What keeps a pipeline from native plans, whatever its steps are; None: nothing does."""
    if pipeline.optimize == "none":
        return "`none` runs its steps as albumentations does"
    if pipeline.compiled.save_applied_params:
        return "what its steps draw is asked for"
    if any(type(step) is not step.__class__ for step in pipeline.transforms):
        return "its steps are looked at"
    return None if pipeline.arrival == "uint8" or pipeline.takes_files else "pictures are no uint8"


class NativelyRun(Pipeline):
    """A compiled recipe that runs without Python wherever all of its steps are known to the native kernels."""

    natively = "samples of pictures and masks, and batches of pictures"  # what may run so, in words
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
        alone = not self._by_python and not self._required
        if alone and isinstance(self.native, NativePlan) and all(map(self._is_taken, pictures)):
            return self.native.many(epoch, keys, pictures, places)
        return [*range(len(pictures))]

    @property
    def at_once(self) -> NativePlan | str:
        """What carries out batches of pictures without Python, or why nothing does."""
        if len(self.outputs) > 1:
            return "a sample is more than one picture"
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
        for name in _NATIVE:
            self.__dict__.pop(name, None)

    def dress(self, dress: Callable[[Pipeline], object], *, natively: bool = False) -> None:
        """As every pipeline; its native plans are made of the steps as they were."""
        kept = {name: getattr(self, name) for name in _NATIVE} if natively else {}
        super().dress(dress, natively=natively)
        self.__dict__.update(kept)

    @property
    def _by_python(self) -> bool:
        """Whether every step of every sample is to be called."""
        return self._dress is not None and not self._dress[1]

    @cached_property
    def native(self) -> NativePlan | str:
        """What carries out samples of a picture alone without Python, or why nothing does."""
        if (why := kept_from_plans(self)) is not None:
            return why
        try:
            sink, seed = self.sinks["image"], self.compiled.seed
            return native_plan(
                self.transforms, self._sites, sink, seed, self.draws.position, self.recipe.max_bytes, self.takes_files
            )
        except NotNativeError as reason:
            return str(reason)

    @cached_property
    def _required(self) -> frozenset[str]:
        """What has to lie on a picture, by the recipe's inputs."""
        inputs = self.recipe.inputs
        said = {"mask": inputs.mask}
        said |= {name: of.presence for name in ("boxes", "keypoints") if (of := getattr(inputs, name)) is not None}
        return frozenset(name for name, presence in said.items() if presence == "required")

    @cached_property
    def _point_steps(self) -> list[Prepared]:
        """What moves boxes and keypoints of samples whose pictures are made natively."""
        return point_steps(self.transforms, self)

    @cached_property
    def native_masks(self) -> NativePlan | None:
        """What carries out the masks of its samples without Python; None: nothing does."""
        if isinstance(self.native, str) or self.recipe.inputs.mask == "absent":
            return None
        output, compiled = self.recipe.output, self.compiled
        wide = output.dtype != "uint8" or output.where != "host"
        try:
            return mask_plan(
                self.transforms, self._sites, compiled.seed, self.draws.position, self.recipe.max_bytes, wide=wide
            )
        except NotNativeError:
            return None

    def _natively(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate
    ) -> dict[str, Any] | None:
        """A sample of a picture, or of one and its mask, without Python between its steps; None: that is Python's."""
        if self._by_python or not isinstance(self.native, NativePlan) or not self._required <= targets.keys():
            return None
        image, on_it = targets.get("image"), self._usual.intersection(targets) - {"image"}
        if not is_picture(image, files=self.takes_files) or (on_it - _MASK and self.native.only_moves):
            return None
        image, done, moved = check_size(image, self.recipe.inputs), dict(targets), None
        mask = done.pop("mask", None)
        if self.native.given:
            moved = self._with_points_moved(epoch, index, tile, done) if on_it - _MASK else None
            if moved is None:
                return None
            for plan in filter(None, (self.native, self.native_masks)):
                plan.take_given()
        if "mask" in on_it and (mask := self._mask(epoch, index, tile, mask, image)) is None:
            return None
        if (made := self.native.sample(epoch, index, tile, image, allocate)) is None:
            return None
        if on_it - _MASK:
            size = made.shape[1:] if self.recipe.output.layout == "chw" else made.shape[:2]
            moved = self._with_points_moved(epoch, index, tile, done) if moved is None else moved
            if moved is None or moved["image"].shape[:2] != size:
                return None
            done = moved
        done["image"] = made
        if "mask" in on_it:
            done["mask"] = mask
        return done

    def _with_points_moved(self, epoch: int, index: int, tile: int, data: dict[str, Any]) -> dict[str, Any] | None:
        """A sample with its boxes and keypoints where they belong, and what stands for a picture of the size that it
        then has; None: that is Python's, or it fails there, too.

        Args:
            epoch: of the draws.
            index: the same.
            tile: the same.
            data: the sample, with its picture as it came; changed in place.
        """
        compiled, shape = self.compiled, data["image"].shape
        data["image"] = stand_in(shape, np.dtype(np.uint8))
        try:
            points = take_points(data, self.recipe.inputs, resumes=compiled.resumes, pauses=compiled.pauses)
            self.position(epoch, index, tile)
            for processor in self.processors.values():
                forget_labels(processor)
            self.preprocess(data)
            for first, p, act, filters in self._point_steps:
                if first is None or first() < p:
                    data = act(data)
                if filters is not None:
                    data = filters(data)
            data = self.postprocess(data)
        except Exception:  # what runs in Python then says where
            return None
        for taken in points:
            taken.put_back(data)
        return data

    def _mask(self, epoch: int, index: int, tile: int, mask: Any, image: Picture) -> np.ndarray | None:
        """The mask of a sample; None: that is Python's."""
        if self.native_masks is None or not is_mask(mask, image):
            return None
        made = self.native_masks.sample(epoch, index, tile, as_picture(mask), np.empty)
        if made is None:
            return None
        labels = made.reshape(made.shape[:2])
        return labels.astype(bool) if mask.dtype == bool and made.dtype == np.uint8 else labels

    def _is_taken(self, picture: Any) -> bool:
        """Whether a picture is one that native plans take, and what the recipe's inputs say."""
        try:
            return is_picture(picture, files=self.takes_files) and bool(check_size(picture, self.recipe.inputs).shape)
        except DataError:
            return False
