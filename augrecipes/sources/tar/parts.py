"""What the files of a sample are: which name each has in it, and what its bytes mean. Nothing is ever unpickled."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from tokenize import TokenError
from typing import Any

import numpy as np

from augrecipes.errors import DataError
from augrecipes.sources.listing import EXTENSIONS

PICTURES = frozenset(extension.decode() for extension in EXTENSIONS - {b"npy"})
_TEXTS = ("txt", "text", "transcript")
_NUMBERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_OBJECTS = ("json", "jsn")
# What of a sample's JSON is taken as if it were a file of its own.
_TAKEN_OUT = ("label", "boxes", "box_labels", "keypoints", "keypoint_labels")


def split_name(name: bytes) -> tuple[bytes, bytes] | None:
    """The key of a sample and the extension of one of its files, at the first dot of a name; None where there is none.

    >>> split_name(b"train/0001.mask.PNG"), split_name(b"README"), split_name(b"a.b/._0001.jpg")
    ((b'train/0001', b'mask.png'), None, None)
    """
    dot = name.find(b".", name.rfind(b"/") + 1)
    if dot <= name.rfind(b"/") + 1:
        return None
    return name[:dot], name[dot + 1 :].lower()


def part_of(extension: str) -> str:
    """The name that a file has in its sample: for pictures, arrays and annotations what stands before their format.

    >>> part_of("jpg"), part_of("mask.png"), part_of("hr.tiff"), part_of("boxes.json"), part_of("caption.txt")
    ('jpg', 'mask', 'hr', 'boxes', 'caption.txt')
    """
    name, _, format = extension.rpartition(".")
    # Text and JSON could pass for the path of a picture on this machine: they are never called as a picture is.
    short = format in PICTURES or format == "npy" or (format in _OBJECTS and name in _TAKEN_OUT)
    return name if name and short else extension


def value_of(extension: str, data: bytes) -> Any:
    """What a file holds: of pictures, and of what is not known, the bytes.

    Raises:
        DataError: it does not hold what its extension says.

    >>> value_of("cls", b"7\\n"), value_of("json", b'{"a": 1}'), value_of("a.txt", b"cat"), value_of("jpg", b"x")
    (7, {'a': 1}, 'cat', b'x')
    """
    read = _reader(extension.rpartition(".")[2])
    try:
        return read(data)
    except (ValueError, EOFError, RecursionError, MemoryError, TokenError) as error:
        raise DataError(f".{extension} cannot be read: {str(error) or type(error).__name__}") from None


def _reader(format: str) -> Callable[[bytes], Any]:
    if format in _NUMBERS:
        return int
    if format in _TEXTS:
        return bytes.decode
    if format in _OBJECTS:
        return json.loads
    return _array if format == "npy" else bytes


def _array(data: bytes) -> Any:
    # Not `np.load`, which also opens archives of arrays, and leaves them open.
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def taken_out(sample: dict[str, Any]) -> dict[str, Any]:
    """A sample with the label, boxes and keypoints that its JSON has, where no file is called so."""
    said: dict[str, Any] = next((sample[name] for name in _OBJECTS if isinstance(sample.get(name), dict)), {})
    return {**{name: said[name] for name in _TAKEN_OUT if name in said}, **sample}
