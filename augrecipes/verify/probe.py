"""Planes of our own sent through the steps of a plan that move pixels, and what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.rewrite.nodes import is_single, opened
from augrecipes.compiler.run.instrument import instrument
from augrecipes.flow import Dtype
from augrecipes.ops.capabilities import capability
from augrecipes.sources.sample import Sample
from augrecipes.verify.maps import F32, Map, map_from, places_mask, ramps
from augrecipes.verify.variants import only_moves

# Height and width → one channel of an image, float32 H×W in 0..1.
Plane: TypeAlias = Callable[[int, int], F32]

_RAMPS: list[Plane] = [lambda height, width, k=k: ramps(height, width)[k] for k in range(3)]  # type: ignore[misc]


class Probe:
    """A pipeline of which only what moves pixels runs, as the plan for some dtype has it.

    Args:
        pipeline: compiled; it stays as it is.
        plan: for images of which dtype.
        dtype: of the images that are sent through.
    """

    def __init__(self, pipeline: Any, plan: Dtype, dtype: Dtype) -> None:
        self.pipeline, self._dtype = only_moves(pipeline, plan, dtype), dtype

    def planes(self, given: Sample, epoch: int, planes: Sequence[Plane], axis: int = 0) -> dict[str, list[F32]]:
        """What comes of planes, by target, in 0..1; as many go at once as there are channels. What went in is `sent`.

        Args:
            given: the sample that they stand in for, in all of its targets alike.
            epoch: of its draws.
            planes: in order.
            axis: of what a mask is made that stands in for the sample's own, see `places_mask`.
        """
        channels = min(image.shape[2] for image in given.images.values())
        found: dict[str, list[F32]] = {name: [] for name in self.pipeline.outputs}
        self.sent: dict[str, list[NDArray[Any]]] = {name: [] for name in given.images}
        for start in range(0, len(planes), channels):
            part = planes[start : start + channels]
            images = {name: self._picture(part, *image.shape) for name, image in given.images.items()}
            done = self.send(given, epoch, images, axis)
            for name, image in images.items():
                self.sent[name] += [image[..., c] for c in range(len(part))]
            for name, of_target in found.items():
                of_target += [values(done[name][..., c]) for c in range(len(part))]
        return found

    def _picture(self, planes: Sequence[Plane], height: int, width: int, channels: int) -> NDArray[Any]:
        made: list[NDArray[Any]] = [plane(height, width) for plane in planes]
        if self._dtype == "uint8":
            made = [cv2.convertScaleAbs(plane, alpha=255) for plane in made]
        return np.stack([made[min(c, len(made) - 1)] for c in range(channels)], axis=-1)

    def send(
        self, given: Sample, epoch: int, images: Mapping[str, NDArray[Any]], axis: int = 0
    ) -> dict[str, NDArray[Any]]:
        """What comes of a sample with such images and masks; it is kept as `done`."""
        mask = {name: places_mask(of.shape[0], of.shape[1], axis) for name, of in given.rest.items() if name == "mask"}
        self.done = given.run(self.pipeline, epoch, **images, **mask)
        return self.done


def values(picture: NDArray[Any]) -> F32:
    """An image in 0..1."""
    return np.asarray(picture / np.float32(255) if picture.dtype == np.uint8 else picture, np.float32)


class RampProbe(Probe):
    """Where the pixels of outputs come from, as the recipe is written: told by coordinate ramps.

    Args:
        pipeline: of the steps as they are written.
        plan: the same as of a `Probe`.
    """

    def __init__(self, pipeline: Any, plan: Dtype) -> None:
        super().__init__(pipeline, plan, "float32")
        steps = [step for top in self.pipeline.compiled.plans[plan].steps for step in opened(top)]
        records = {step.site: capability(step.name) for step in steps if is_single(step)}
        self._resamples = {site for site, record in records.items() if record is None or record.resamples}
        self._passed: list[NDArray[Any]] = []
        self.pipeline.dress(lambda copy: instrument(copy, self._call))

    def maps(self, given: Sample, epoch: int, origins: Mapping[str, str]) -> dict[str, Map]:
        """The maps of a sample by target; `origins`: from each target that comes out to the one that it is made of."""
        self._passed = []  # by each step that resamples, in order; so often as ramps are sent through
        found = self.planes(given, epoch, _RAMPS)
        sizes = {name: image.shape[:2] for name, image in given.images.items()}
        channels = min(image.shape[2] for image in given.images.values())
        each = len(self._passed) // -(-len(_RAMPS) // channels)
        passed = [np.dstack(self._passed[k::each]) for k in range(each)] if len(sizes) == 1 else []
        grids = [[grid[..., c] for c in range(len(_RAMPS))] for grid in passed]
        return {name: map_from(planes, sizes[origins[name]], grids) for name, planes in found.items()}

    def _call(self, label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        done = step(*args, **kwargs)
        if label in self._resamples and "image" in kwargs and done["image"] is not kwargs["image"]:
            self._passed.append(np.atleast_3d(np.array(done["image"])))  # kernels use their memory again
        return done
