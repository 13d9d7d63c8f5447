"""Batches of samples through programs: images and their masks side by side, boxes and keypoints beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, Self

import numpy as np

from augrecipes.compiler.executor.inputs import InMemory, as_image, is_image, is_mask
from augrecipes.compiler.executor.program import Places, Program
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.rewrite import Compiled
from augrecipes.compiler.run.batch_samples import BatchSamples, SampleBatch
from augrecipes.compiler.run.exits import NotHereError
from augrecipes.compiler.run.image_queue import busy_threads
from augrecipes.compiler.run.output_buffer import output_buffer
from augrecipes.compiler.run.program_samples import ProgramPipeline
from augrecipes.compiler.run.targets import arrival_of, check_size
from augrecipes.errors import DataError
from augrecipes.seeds import key_part


class NativeBatches(ProgramPipeline):
    """A compiled recipe whose batches run without Python wherever all of its steps are known to the native kernels."""

    def batch(
        self,
        images: Sequence[Any],
        indices: Sequence[int] | None = None,
        epoch: int = 0,
        *,
        out: Any = None,
        threads: int = 1,
    ) -> np.ndarray:
        """Images alone as one array: row k is `at(indices[k], epoch)(image=images[k])["image"]`, to the bit.

        Where all steps are known to the native kernels, as `explain` says, no Python runs between them.

        Args:
            images: a list, or one array, of what goes in as `image`; may differ in size.
            indices: that key the draws; without them 0, 1, 2, …
            epoch: of the draws.
            out: an array or a torch tensor, of that very shape and dtype, to write to.
            threads: that may share them; a batch that is made before a second one has begun is made by one.

        Raises:
            DataError: an image is not what the recipe's inputs say, or a step fails on it: of several the first.
            CollateError: they come out with different sizes.

        >>> import augrecipes as ar
        >>> pipeline = ar.load("imagenet-train").compile()
        >>> pipeline.batch([np.zeros((300, 400, 3), np.uint8), np.zeros((256, 256, 3), np.uint8)], [7, 8]).shape
        (2, 3, 224, 224)
        """
        imgs = [*images]
        keys = [(key_part("indices", index), 0) for index in (range(len(imgs)) if indices is None else indices)]
        if len(keys) != len(imgs) or not keys:
            raise ValueError(f"a batch needs images, and an index for each: got {len(imgs)} and {len(keys)}")
        allocate: Allocate = np.empty if out is None else output_buffer(out, "the batch", imgs)
        take: Allocate = lambda shape, dtype: allocate((len(keys), *shape), dtype)  # noqa: E731
        mine = self.for_this_thread(key_part("epoch", epoch))
        batch = SampleBatch(epoch, keys, lambda _, shape, dtype: take(shape, dtype))
        lanes = mine.lanes(busy_threads(threads, imgs))
        evened = len(lanes) > 1 and mine.coming(arrival_of(imgs[0]))._takes_all(imgs)
        batch.read(lanes, lambda k: {"image": imgs[k]}, held=True, evened=evened)
        return batch.image()

    @property
    def at_once(self) -> Program | str:
        """What carries out batches of images without Python, or why nothing does."""
        if self.outputs != ("image",):
            return "a sample is more than one image"
        return self.coming("encoded" if self.reads else "uint8").native

    def _takes_all(self, imgs: Sequence[Any]) -> bool:
        """Whether no step of any sample of these is left to Python."""
        return _leaves_nothing(self.native) and all(is_image(one, files=self.takes_files) for one in imgs)

    @property
    def evened(self) -> bool:
        """Whether threads that share a batch may help each other with all of it."""
        return _leaves_nothing(self.at_once)

    @property
    def natively(self) -> str:
        """What runs so, in words."""
        inputs = self.recipe.inputs
        points = [name for name in ("boxes", "keypoints") if (of := getattr(inputs, name)) and of.presence != "absent"]
        if isinstance(self.at_once, Program) and self.at_once.python_draws:
            return f"samples with boxes, one by one: {self.kept_apart()}"
        masks = self.kept_apart({"mask"}) if inputs.mask != "absent" else None
        moved = f", with {' and '.join(points)} moved in Python" if points else ""
        return f"samples and batches{moved}" + (f"; not those with masks: {masks}" if masks else "")

    def kept_apart(self, beside: Set[str] = frozenset(), *, files: bool = True) -> str | None:
        """Why batches of samples with these targets beside their images are made one by one; None: they are not.

        `files`: images come undecoded, where the pipeline takes them so.
        """
        found = self.at_once if files or self.outputs != ("image",) else self.coming("uint8").native
        if isinstance(found, str):
            return found
        if self.compiled.save_applied_params:
            return "what its steps draw is asked for"
        if found.python_draws:
            return f"{self.label_of(next(iter(found.python_draws.values())))} draws by boxes"
        masks = self.coming("encoded" if files and self.reads else "uint8").native_masks if "mask" in beside else None
        return masks if isinstance(masks, str) else None

    def lanes(self, count: int) -> list[Self]:
        """Pipelines for `count` threads; steps hold state, so each thread has its own, kept for the next time."""
        kept: list[Self] = self.__dict__.setdefault("_lanes", [self])
        while len(kept) < count:
            whole = self.whole
            kept.append(self.again() if whole is None else whole.lanes(len(kept) + 1)[-1].in_epoch(self._epoch))
        return kept[:count]

    def renew(self, compiled: Compiled) -> None:
        """As every pipeline; the threads' pipelines are made anew, too."""
        super().renew(compiled)
        self._lanes = [self]

    def _by_plan(
        self,
        epoch: int,
        keys: Sequence[tuple[int, int]],
        imgs: Sequence[Any] | InMemory,
        places: Places,
        beside: Set[str],
    ) -> list[int] | None:
        """Images side by side, as far as programs carry them out, with some targets `beside` them."""
        alone = not self.compiled.save_applied_params and self._required <= beside
        if alone and isinstance(self.native, Program) and self._are_taken(imgs):
            return self.native.many(epoch, keys, imgs, places)
        return [*range(len(imgs))]

    def several(
        self, epoch: int, keys: Sequence[tuple[int, int]], samples: BatchSamples, places: Callable[[str], Places]
    ) -> tuple[list[int], dict[int, dict[str, Any]]] | None:
        """Samples side by side, as far as programs carry them out; boxes and keypoints are moved beside them.

        Args:
            epoch: of the draws.
            keys: index and tile of each.
            samples: that come alike.
            places: gives where the results of `image` and `mask` lie, masks as int64: see `Program.many`.

        Returns:
            Which of them Python has to make; and what each of the others has beside image and mask. None where
            sizes differ.
        """
        arrival = "uint8" if isinstance(samples.image, InMemory) else arrival_of(samples.image[0])
        return self.coming(arrival)._several(epoch, keys, samples, places)

    def _several(
        self, epoch: int, keys: Sequence[tuple[int, int]], samples: BatchSamples, places: Callable[[str], Places]
    ) -> tuple[list[int], dict[int, dict[str, Any]]] | None:
        """The same of images that come as this pipeline's own plan takes them."""
        names, everything = samples.names(), [*range(len(samples))]
        if not self._usual.issuperset(names) or not self._masks_are_taken(samples):
            return everything, {}
        seen: list[tuple[np.ndarray, Sequence[int]] | None] = [None]

        def rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray, Sequence[int]] | None:
            seen[0] = places("image")(shape, dtype)
            return seen[0]

        left = self._by_plan(epoch, keys, samples.image, rows, names)
        if left is None:
            return None
        if seen[0] is None or len(left) == len(samples):
            return everything, {}
        shape = seen[0][0].shape[1:]
        size = shape[1:] if self.recipe.output.layout == "chw" else shape[:2]
        apart = {*left}
        if samples.mask is not None:
            apart.update(self._masks_at_once(epoch, keys, samples.mask, places("mask")))
        others: dict[int, dict[str, Any]] = {}
        for k, rest in enumerate(samples.others or ()):
            if k not in apart:
                try:
                    moved = self._without_pixels((epoch, *keys[k]), {**rest, "image": samples.image_of(k)})
                except NotHereError:
                    apart.add(k)
                    continue
                if moved.pop("image").shape[:2] != size:
                    apart.add(k)
                else:
                    others[k] = moved
        return sorted(apart), others

    def _masks_are_taken(self, samples: BatchSamples) -> bool:
        """Whether programs take the masks of these samples, if there are any."""
        masks = samples.mask
        if masks is None or isinstance(self.native_masks, str):
            return masks is None
        if isinstance(masks, InMemory):
            lie_on = isinstance(samples.image, InMemory) and np.array_equal(
                masks.shapes[:, :2], samples.image.shapes[:, :2]
            )
            return bool(lie_on and (masks.shapes[:, 2] == 1).all())
        return all(is_mask(mask, samples.image_of(k)) for k, mask in enumerate(masks))

    def _masks_at_once(
        self, epoch: int, keys: Sequence[tuple[int, int]], masks: Sequence[np.ndarray] | InMemory, places: Places
    ) -> list[int]:
        """Masks side by side, as int64; those that Python has to make."""
        narrow: list[tuple[np.ndarray, np.ndarray, Sequence[int]]] = []

        def rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray, Sequence[int]] | None:
            if (found := places(shape[:2], np.dtype(np.int64))) is None:
                return None
            out, at = found
            if dtype == out.dtype:
                return out[..., None], at
            narrow.append((np.empty((len(masks), *shape), dtype), out, at))
            return narrow[0][0], range(len(masks))

        given = masks if isinstance(masks, InMemory) else [*map(as_image, masks)]
        left = self.native_masks.many(epoch, keys, given, rows) if isinstance(self.native_masks, Program) else None
        for labels, out, at in narrow:
            out[at] = labels[..., 0]
        return [*range(len(masks))] if left is None else left

    def _are_taken(self, imgs: Sequence[Any] | InMemory) -> bool:
        """Whether images are ones that programs take, and what the recipe's inputs say."""
        files = self.takes_files
        try:
            if isinstance(imgs, InMemory):
                for height, width, channels in np.unique(imgs.shapes, axis=0).tolist():
                    check_size(stand_in((height, width, channels), np.dtype(np.uint8)), self.recipe.inputs)
                return not files
            return all(is_image(one, files=files) and check_size(one, self.recipe.inputs).shape for one in imgs)
        except DataError:
            return False


def _leaves_nothing(plan: Program | str) -> bool:
    """Whether no step of any sample is left to Python."""
    return isinstance(plan, Program) and not (plan.stops or plan.python_draws)
