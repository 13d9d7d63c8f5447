"""Runs a sample of images, with the further targets of a scene, step by step, as albumentations' Compose does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import is_plain, sampler_of
from augrecipes.compiler.kernels import encoded_images, step_draws
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.run.deep_images import VALID, fill_nodata, with_nodata
from augrecipes.compiler.run.extra_targets import LIKE, ExtraTarget, Finish, stacked, take_extra_targets, with_channels
from augrecipes.compiler.run.points import Points, take_points
from augrecipes.compiler.run.program_runner import Key
from augrecipes.compiler.run.target_steps import on_grid
from augrecipes.compiler.run.targets import DTYPES, check_image, check_presence, image_in, mask_in, mask_out
from augrecipes.errors import AugrecipesError, DataError, counted
from augrecipes.ops import fills, records
from augrecipes.ops.fills import as_dtype
from augrecipes.recipe.model import Inputs, Output
from augrecipes.recipe.targets import CHANNELS, Target

_AXES = 3


def run_steps(pipeline: Any, key: Key, targets: dict[str, Any], allocate: Allocate) -> dict[str, Any]:
    """Make one sample by a pipeline of this thread; `allocate(shape, dtype)` makes the array of its image."""
    image, inputs = targets.get("image"), pipeline.recipe.inputs
    if pipeline.reads and inputs.nodata is None and encoded_images.is_encoded(image) and image.dtype != np.uint8:
        targets = {**targets, "image": _first_window(pipeline, key, image)}
    sample, extra, points = _prepare(pipeline, targets)
    pipeline.position(*key)
    sample = _run_steps(pipeline, sample, None)
    valid = sample.pop(VALID, None)
    sink, output = pipeline.sinks["image"], pipeline.recipe.output
    caller_arrays = pipeline.caller_arrays(targets)
    if extra and targets.get("image") is None:
        del sample["image"]  # a stand-in, see `take_extra_targets`
    else:
        sample["image"] = sink(sample["image"], allocate, caller_arrays, None if valid is None else valid != 0)
    for other in extra:
        valid = sample.pop(VALID + other.name, None)
        finish = sink if valid is None else partial(sink, valid=valid != 0)
        sample[other.name] = other.out(sample[other.name], finish, output, pipeline.mask_fills)
    if (mask := targets.get("mask")) is not None:
        dtype = fills.mask_dtype(mask.dtype, pipeline.mask_fills)
        sample["mask"] = mask_out(sample["mask"], dtype, output, caller_arrays)
    # Masks of frames are kept from `put_back`, which drops the mask of a box that is dropped.
    frame_masks = {"masks": sample.pop("masks")} if pipeline.recipe.inputs.stack and "masks" in sample else {}
    for kind in points:
        kind.put_back(sample)
    sample |= frame_masks
    if pipeline.compiled.save_applied_params:
        sample["applied"] = pipeline.applied()
    return sample


def _first_window(pipeline: Any, key: Key, image: encoded_images.Decodable) -> np.ndarray:
    """Decode a file; where the first step crops, only the crop, on a canvas of zeros, which costs no memory."""
    step, (first, p, _, _) = pipeline.keyed_steps[0], pipeline.step_calls[0]
    pipeline.position(*key)
    if not is_plain(step) or records.op_record(type(step).__name__).crops not in ("centre", "anywhere"):
        return image.array()
    if first is not None:
        if first() >= p:
            return image.array()
        step.py_random.random()  # the draw that `first` has peeked at
    params = sampler_of(step)({"image": step_draws.stand_in(image.shape, image.dtype)})
    if not step_draws.is_plain_window(params):
        return image.array()
    left, top, right, bottom = params["crop_coords"]
    whole = np.zeros(image.shape, image.dtype)
    whole[top:bottom, left:right] = image.view(top, left, bottom, right)
    return whole


def trace_steps(pipeline: Any, key: Key, targets: dict[str, Any]) -> list[tuple[str, Any]]:
    """The label of each outermost step, and the image after it."""
    stages: list[tuple[str, Any]] = []
    sample, *_ = _prepare(pipeline, targets)
    pipeline.position(*key)
    _run_steps(pipeline, sample, stages)
    return stages


def _prepare(pipeline: Any, targets: dict[str, Any]) -> tuple[dict[str, Any], Sequence[Any], Sequence[Points]]:
    """The targets as albumentations takes them, the extra targets, and boxes and keypoints."""
    inputs = pipeline.recipe.inputs
    sample = dict(targets)
    extra: list[Any] = []
    if pipeline.arrival == "together":
        extra = [*take_extra_targets(sample, pipeline.likes, inputs), *take_scene_targets(sample, inputs)]
    image, valid = fill_nodata(image_in(sample.get("image"), inputs), inputs)
    sample |= {"image": image} if valid is None else {"image": image, VALID: valid}
    mask = sample.get("mask")
    frame_masks = sample.pop("masks", None) if inputs.stack else None
    if frame_masks is not None and len(frame_masks) != (frames := len(sample.get("images", ()))):
        raise DataError(f"{counted(len(frame_masks), 'mask')} for {counted(frames, 'frame')}: `masks` has one for each")
    check_presence("mask", inputs.mask, is_present=mask is not None or frame_masks is not None)
    if mask is not None:
        sample["mask"] = mask_in(mask, image, fills=pipeline.mask_fills)
    elif "mask" in sample:
        del sample["mask"]
    points = take_points(sample, pipeline.compiled)
    for other in extra:
        array, valid = other.lying_on(image, pipeline.mask_fills), None
        if other.name in inputs.targets and other.like.is_image:
            array, valid = fill_nodata(array, inputs, other.name)
        sample |= {other.name: array} if valid is None else {other.name: array, VALID + other.name: valid}
    return sample, extra, points


def _run_steps(pipeline: Any, sample: dict[str, Any], stages: list[tuple[str, Any]] | None) -> dict[str, Any]:
    """Run all steps on a sample; append its image after each outermost step to `stages`."""
    channels = sample["image"].shape[2]
    try:
        if pipeline.prepares:
            pipeline.preprocess(sample)
        for place, (first, p, act, filters) in enumerate(pipeline.step_calls):
            if first is None or first() < p:
                sample = act(sample)
            if filters is not None:
                sample = filters(sample)
            if stages is not None:
                label = pipeline.label_of(pipeline.keyed_steps[place])
                image = np.array(np.atleast_3d(sample["image"]))
                stages.append((label, with_nodata(image, sample.get(VALID), pipeline.recipe.inputs)))
        image = sample["image"]
        if image.dtype not in DTYPES:
            raise DataError(f"the steps left an image of {image.dtype}; images are uint8 (0..255) or float32 (0..1)")
        if pipeline.prepares:
            sample = pipeline.postprocess(sample)
    except (AugrecipesError, MemoryError):
        raise
    except Exception as error:
        raise pipeline.step_error(error, channels) from error
    sample["image"] = image if image.ndim == _AXES else np.atleast_3d(image)
    return sample


@dataclass(frozen=True, slots=True)
class SceneTarget(ExtraTarget):
    """A further target on its way through the steps.

    Attributes:
        target: the recipe's declaration.
    """

    target: Target

    def lying_on(self, image: Any, fills: tuple[float, ...]) -> np.ndarray:
        """The array for the steps; DataError where it does not cover the image on its own grid."""
        size = on_grid(image.shape[:2], self.target.factor)
        axes = self.like.axes
        if self.array.shape[axes : axes + 2] != size and not self.is_empty:
            own, whole = (f"{h}×{w} px" for h, w in (self.array.shape[axes : axes + 2], image.shape[:2]))
            scale = "" if self.target.factor == 1 else f", of scale {float(self.target.factor):g},"
            cure = f"it should be {size[0]}×{size[1]} px"
            raise DataError(f"{self.name}{scale} is {own}, and the image is {whole}: {cure}")
        return ExtraTarget.lying_on(self, stand_in((*size, 1), self.array.dtype), self._fills(fills))

    def out(self, done: np.ndarray, sink: Finish, output: Output, fills: tuple[float, ...]) -> Any:
        """The result: images converted by `sink`, others as `mask` leaves; vectors in the layout of the output."""
        result = ExtraTarget.out(self, done, sink, output, self._fills(fills))
        if self.target.has_directions and output.layout == "chw":
            return np.ascontiguousarray(np.moveaxis(result, 2, 0))
        return result

    def _fills(self, fills: tuple[float, ...]) -> tuple[float, ...]:
        fill = self.target.fill
        return fills if fill is None or isinstance(fill, tuple) else (fill,)


def take_scene_targets(data: dict[str, Any], inputs: Inputs) -> list[SceneTarget]:
    """Take and check the further targets of the sample `data`; DataError where a required one is missing."""
    targets = []
    for name, target in inputs.targets.items():
        value = data.get(name)
        if value is None:
            data.pop(name, None)
            if target.presence == "required":
                raise DataError(f"the recipe's targets require {name!r}, and the sample has none")
            continue
        like = LIKE[target.like if target.like in LIKE else "mask"]
        array, listed = stacked(value, name, like)
        targets.append(SceneTarget(name, like, _check(array, name, target, inputs), listed, target))
    return targets


def _check(array: Any, name: str, target: Target, inputs: Inputs) -> np.ndarray:
    """The array of a target with the axes and the dtype that its declaration asks for."""
    if not isinstance(array, np.ndarray):
        raise DataError(f"{name} must be a numpy array, got {type(array).__name__}")
    if target.is_image:
        dtype: Any = target.dtype or inputs.dtype
        alone = replace(inputs, channels=None, min_size=None, dtype=dtype)
        return check_image(with_channels(array, name, LIKE["image"]), alone, name)
    if target.has_directions:
        channels = CHANNELS[target.like]
        if array.ndim != 3 or array.shape[2] != channels or array.dtype.kind != "f":
            raise DataError(f"{name} must be floats H×W×{channels}, got {array.dtype} of shape {array.shape}")
        return array.astype(np.float32, copy=False)
    return as_dtype(array, name, target.dtype)
