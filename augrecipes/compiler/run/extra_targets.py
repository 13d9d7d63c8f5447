"""Further images, masks and volumes beside the image, under albumentations' names or under added ones; stacks of them.

albumentations joins the parts of some stacks to one image of many channels, of which OpenCV takes 512, and lets some
steps draw again for each part. Here each part goes through `apply` by itself under one draw: generators from which a
step draws while it acts are reset for each part to where its sampler left them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from augrecipes.compiler.run.objects import BESIDE
from augrecipes.compiler.run.targets import check_image, mask_in, mask_out
from augrecipes.errors import DataError
from augrecipes.ops.fills import mask_dtype
from augrecipes.recipe.model import Inputs, Output

Finish = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Like:
    """The structure of an albumentations target.

    Attributes:
        is_image: it holds images; otherwise masks.
        axes: number of axes in front of rows and columns.
        deep: the last of these is a depth, which stays behind the channels in layout `chw`.
    """

    is_image: bool
    axes: int
    deep: bool = False


LIKE = {
    "image": Like(True, 0),
    "images": Like(True, 1),
    "volume": Like(True, 1, deep=True),
    "volumes": Like(True, 2, deep=True),
    "mask": Like(False, 0),
    "masks": Like(False, 1),
    "mask3d": Like(False, 1),
    "masks3d": Like(False, 2),
}
# The targets that go through every step beside `image` and `mask`, whatever the recipe declares.
STACKS = {name: name for name in LIKE if name not in ("image", "mask")}


@dataclass(frozen=True, slots=True)
class ExtraTarget:
    """A target beside the image, on its way through the steps.

    Attributes:
        name: its key.
        like: its structure.
        array: the input; images have a channel axis.
        listed: it came as a list, and leaves as one.
    """

    name: str
    like: Like
    array: Any
    listed: bool

    def lying_on(self, image: Any, fills: tuple[float, ...]) -> np.ndarray:
        """The array for the steps; DataError where its size is not the image's."""
        axes, array = self.like.axes, self.array
        if self.is_empty:  # steps take no empty stack: a stack of zeros stands in
            shape = [max(1, length) for length in array.shape]
            shape[axes : axes + 2] = image.shape[:2]
            array = np.zeros(shape, array.dtype)
        if not self.like.is_image:
            return mask_in(array, image, self.name, axes, fills)
        if array.shape[axes : axes + 2] != image.shape[:2]:
            raise DataError(f"{self.name} of shape {array.shape} does not lie on the image of shape {image.shape}")
        return array

    @property
    def is_empty(self) -> bool:
        """Whether it is a stack without elements."""
        return isinstance(self.array, np.ndarray) and self.array.ndim > 0 and 0 in self.array.shape[: self.like.axes]

    def images(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield (name, image) for each image in it."""
        for place in np.ndindex(self.array.shape[: self.like.axes]):
            yield self.name + "".join(f"[{k}]" for k in place), self.array[place]

    def out(self, done: np.ndarray, sink: Finish, output: Output, fills: tuple[float, ...]) -> Any:
        """The result: images converted by `sink`, masks as `mask` leaves."""
        if not self.like.is_image:
            result = mask_out(done, mask_dtype(self.array.dtype, fills), output, None, self.like.axes)
        else:
            # Some steps drop the channel axis of grey images.
            done = done if done.ndim > self.like.axes + 2 else done[..., None]
            result = self._stacked(done, sink, output.layout == "chw")
        if self.is_empty:
            result = result[tuple(map(slice, self.array.shape[: self.like.axes]))]
        return list(result) if self.listed else result

    def _stacked(self, part: np.ndarray, sink: Finish, channels_first: bool) -> np.ndarray:
        if part.ndim == 3:
            return sink(part)
        axis = 1 if channels_first and self.like.deep and part.ndim == 4 else 0
        return np.stack([self._stacked(inner, sink, channels_first) for inner in part], axis=axis)


def take_extra_targets(data: dict[str, Any], likes: Mapping[str, str], inputs: Inputs) -> list[ExtraTarget]:
    """Take and check the further targets of the sample `data`; `likes`: by name the albumentations target it is like.

    Without an `image` the first of the other images stands in for it, because steps draw by its size.
    """
    targets = []
    for name in [name for name in data if name in likes]:
        value, like = data[name], LIKE[likes[name]]
        if value is None:
            del data[name]
            continue
        array, listed = stacked(value, name, like)
        targets.append(ExtraTarget(name, like, with_channels(array, name, like) if like.is_image else array, listed))
    for target in targets:
        for name, image in target.images() if target.like.is_image else ():
            check_image(image, inputs, name)
            if data.get("image") is None:
                data["image"] = image
    return targets


def is_array(value: Any) -> bool:
    """Whether it is an array of at least one dimension, of any library, or a list that begins with one.

    >>> is_array(np.zeros(3)), is_array([np.zeros(3)]), is_array(np.float32(3)), is_array("a.png"), is_array([1, 2])
    (True, True, False, False, False)
    """
    if isinstance(value, list | tuple) and value:
        value = value[0]
    shape = getattr(value, "shape", ())
    return isinstance(shape, tuple) and len(shape) > 0


def stacked(values: Any, name: str, like: Like) -> tuple[Any, bool]:
    """A target with a list of arrays stacked, and whether it was a list; DataError where the arrays differ."""
    if like.axes != 1 or not isinstance(values, list | tuple):
        return values, False
    if not values and not like.is_image:
        return np.zeros((0, 1, 1), np.uint8), True
    kinds = {(v.shape, v.dtype) if isinstance(v, np.ndarray) else type(v).__name__ for v in values}
    if len(kinds) != 1 or not isinstance(values[0], np.ndarray):
        raise DataError(f"{name} must be an array, or a list of numpy arrays of one shape and dtype")
    return np.stack(values), True


def with_channels(array: Any, name: str, like: Like) -> np.ndarray:
    """Images with a channel axis, added where it lacks; DataError where the array holds no images."""
    dimensions = (like.axes + 2, like.axes + 3)
    if not isinstance(array, np.ndarray) or array.ndim not in dimensions or 0 in array.shape[like.axes :]:
        got = f"shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise DataError(f"{name} must be a numpy array of {dimensions[0]} or {dimensions[1]} dimensions, got {got}")
    return array if array.ndim == dimensions[1] else array[..., None]


def targets_of_steps(pipeline: Any) -> list[str]:
    """The names of targets that steps of a pipeline read, or that a registered class changes."""
    keys = {key for t in pipeline.keyed_steps for key in (*t.available_keys, *getattr(t, "targets_as_params", ()))}
    return sorted(keys - {*LIKE, "bboxes", "keypoints", *pipeline.likes})


def refuse_stranger(pipeline: Any, name: str) -> None:
    """Raise DataError for an array under `name`, unless some step reads it."""
    inputs = pipeline.recipe.inputs
    declared = {"image", *inputs.row_keys, *(["mask"] if inputs.mask != "absent" else ())}
    declared.difference_update(BESIDE["bboxes"], BESIDE["keypoints"])
    known = [*sorted(declared), *inputs.targets, *pipeline.likes, *targets_of_steps(pipeline)]
    if name not in known:
        like = "mask" if "mask" in name.lower() else "image"
        raise DataError(
            f"{name!r} is an array, and no target of this recipe ({', '.join(known)}): it would come back as it "
            f"went in. To let it travel with the image: pipeline.add_targets({{{name!r}: {like!r}}}); to keep it "
            "as it is, keep it out of the call"
        )


_OURS = ("albumentations", "augrecipes")
_WHOLE = ("mask3d", "masks3d")
Act = Callable[..., Any]


def act_part_by_part(steps: Iterable[Any], likes: Mapping[str, str]) -> None:
    """Let transforms, and those in groups, take the parts of stacks one by one, under one draw.

    A user's class with a method of its own for stacks keeps it.

    Args:
        steps: transforms and groups; they are changed.
        likes: by name, the albumentations target that each further target is like.
    """
    for step in steps:
        act_part_by_part(getattr(step, "transforms", ()), likes)
        functions = getattr(step, "_key2func", {})
        if "image" not in functions:
            continue
        drawn: list[Any] = []  # states of the step's generators after its sampler
        alone = {"image": partial(_act_as_drawn, step, drawn, functions["image"]), "mask": functions.get("mask")}
        functions["image"] = alone["image"]
        for name, like in likes.items():
            act, axes = alone["image" if LIKE[like].is_image else "mask"], LIKE[like].axes
            own = getattr(type(step), f"apply_to_{like}", None)
            if act is not None and like not in _WHOLE and getattr(own, "__module__", _OURS[0]).startswith(_OURS):
                functions[name] = partial(_act_on_parts, act, axes)
        step.apply_with_params = partial(_note_and_act, step, drawn, step.apply_with_params)


def _note_and_act(step: Any, drawn: list[Any], act: Act, params: dict[str, Any], **targets: Any) -> Any:
    drawn[:] = step.random_generator.bit_generator.state, step.py_random.getstate()
    return act(params, **targets)


def _act_as_drawn(step: Any, drawn: list[Any], act: Act, image: np.ndarray, **params: Any) -> np.ndarray:
    step.random_generator.bit_generator.state, state = drawn
    step.py_random.setstate(state)
    return np.asarray(act(image, **params))


def _act_on_parts(act: Act, axes: int, stack: np.ndarray, **params: Any) -> np.ndarray:
    parts = [act(np.ascontiguousarray(part), **params) for part in stack.reshape(-1, *stack.shape[axes:])]
    return np.stack(parts).reshape(*stack.shape[:axes], *parts[0].shape)
