"""Stacks of frames: a sample is a file of several images, or a folder of frames; and the masks of frames."""

import os
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError, RecipeError
from augrecipes.images import arrays, encoded, reading
from augrecipes.images.format import UnreadableError, stage
from augrecipes.paths import SKIPPED, is_image
from augrecipes.recipe.model import Recipe
from augrecipes.sources.names import is_folder

STACK = "images"  # the key of a stack in a sample
_SEVERAL = (".tif", ".tiff")  # extensions of files that may hold more than one image
_OF_ARRAYS = ("axes", "undecoded")  # arguments that apply to arrays, not to files
_NUMBER = re.compile(rb"([0-9]+)")


def in_order(names: Collection[bytes]) -> list[bytes]:
    """Names in natural order, by the numbers in them.

    >>> in_order([b"10.png", b"2.png", b"1.png"])
    [b'1.png', b'2.png', b'10.png']
    """

    def parts(name: bytes) -> list[Any]:
        return [int(part) if k % 2 else part for k, part in enumerate(_NUMBER.split(name))]

    return sorted(names, key=parts)


def holds_stacks(root: bytes, folder: bytes, files: Collection[bytes]) -> bool:
    """Whether the images in a folder are stacks rather than frames, by the header of the first."""
    path = os.fsdecode(os.path.join(root, folder, in_order(files)[0]))  # noqa: PTH118
    try:
        if is_array(path):
            return arrays.holds_frames(arrays.saved_array(reading.open_file(path)[: arrays.LONGEST]))
        return path.lower().endswith(_SEVERAL) and reading.read_file_header(path).frames > 1
    except UnreadableError:  # reading it raises again
        return False


def is_array(path: str) -> bool:
    """Whether a file is an array (`.npy`), whose frames are read on demand."""
    return path.lower().endswith(".npy")


def open_stack(path: str, **how: Any) -> list[encoded.Encoded]:
    """The encoded frames of a stack, in order. DataError where one cannot be read, or their sizes differ."""
    if os.path.isdir(path):  # noqa: PTH112
        with os.scandir(os.fsencode(path)) as entries:
            names = [e.name for e in entries if is_image(e.name) and not SKIPPED.match(e.name) and not is_folder(e)]
        frames = [encoded.open_encoded(os.path.join(path, os.fsdecode(name)), **how) for name in in_order(names)]  # noqa: PTH118
    else:
        with encoded.data_errors(path), stage("read"):
            data: Any = reading.open_file(path) if is_array(path) else reading.read_bytes(path)
        frames = encoded.encoded_pages(data, name=path, **how)
    if not frames:
        raise DataError("holds no frames", path)
    _check_sizes(frames)
    return frames


def _size_text(size: Sequence[int]) -> str:
    return "×".join(map(str, size))


def _check_sizes(frames: Sequence[Any]) -> None:
    for k, frame in enumerate(frames):
        if frame.shape != (first := frames[0].shape):
            sizes = f"frame {k} is {_size_text(frame.shape)}, and the first is {_size_text(first)}"
            raise DataError(f"{sizes}: a stack has one size", getattr(frame, "name", None))


def read_stack(path: str, **how: Any) -> NDArray[Any]:
    """A stack as T×H×W×C; `how`: arguments of `read_image`; errors as of `open_stack`."""
    return np.stack([frame.array() for frame in open_stack(path, **how)])


def stack_of(read: Callable[..., Any], value: Any, **how: Any) -> NDArray[Any]:
    """A stack as a pipeline takes it, T×H×W×C: from a path, an array, or a list of images that `read` accepts.

    Raises:
        DataError: the value is none of these, or its frames differ in size.
    """
    if isinstance(value, str | os.PathLike):
        return read_stack(os.fsdecode(value), **{key: part for key, part in how.items() if key not in _OF_ARRAYS})
    if getattr(value, "ndim", 3) not in (3, 4) or not len(value):
        raise DataError("a stack is T×H×W or T×H×W×C, of one frame or more, or a list of images")
    frames = [read(frame, **how | {"undecoded": False}) for frame in value]
    _check_sizes(frames)
    return np.stack(frames)


def read_stacks(table: Any, unit: int, inputs: Any, **how: Any) -> dict[str, Any]:
    """The pipeline's inputs of a stack: its frames, a mask for each or one for all, boxes and keypoints.

    Arguments and errors as of `augrecipes.sources.files.read_files`; frames are decoded.
    """
    targets: dict[str, Any] = {STACK: read_stack(table.path(unit), **how)}
    if table.masks is not None:
        opened = open_stack(path := table.masks[unit], mask=True, **how)
        masks = np.stack([mask.labels() for mask in opened])
        (count, *size), (frames, *frame_size, _) = masks.shape, targets[STACK].shape
        if size != frame_size or count not in (1, frames):
            expected = f"{table.path(unit)} is {frames} frames of {_size_text(frame_size)} px"
            raise DataError(f"is {count} masks of {_size_text(size)} px, but {expected}", path)
        targets |= {"mask": masks[0]} if count == 1 < frames else {"masks": masks}
    return targets | table.points(unit, inputs)


def refuse_stacks(recipe: Recipe, why: str) -> None:
    """RecipeError where a recipe takes stacks of frames; `why`: the reason and what to do instead."""
    if recipe.inputs.stack:
        raise RecipeError(f"{recipe.file}: recipe {recipe.name!r} takes stacks of frames, {why}")
