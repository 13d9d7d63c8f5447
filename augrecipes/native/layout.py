"""The structs that Python and the kernels share, as formats: read from `layout.def`, which the kernels' C includes.

The library exports what its compiler made of them (`ar_layout`); `check` compares that when it is loaded.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from augrecipes.native.op_numbers import LIMITS, ROWS

_HERE = Path(__file__).parent
_LINE = re.compile(r"^(?:FIELD|ARRAY)\((\w+), ([^,]+), (\w+)(?:, ([^)]+))?\)", re.MULTILINE)
_LETTERS = {"float": "f", "double": "d", "Decode": "Q"} | {
    f"{sign}int{bits}_t": letter.upper() if sign else letter
    for bits, letter in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))
    for sign in ("", "u")
}
_SIZES = {letter: struct.calcsize(f"={letter}") for letter in _LETTERS.values()}


@dataclass(slots=True)  # frozen ones take three times as long to make, and everyone pays for it who imports this
class Field:
    """A field of a struct.

    Attributes:
        name: of it.
        format: of all its numbers, as `struct` writes it.
        count: how many numbers it is.
        offset: bytes before it.
        place: numbers before it.
    """

    name: str
    format: str
    count: int
    offset: int
    place: int


class Layout:
    """A struct: its fields in order, without gaps.

    Attributes:
        name: of it.
        fields: by their names.
        struct: packs and unpacks all of its numbers.
        size: bytes.

    >>> SAMPLE.places("index", "tile"), SAMPLE.place("target"), STEP.offset("arguments"), SAMPLE.size
    (slice(0, 2, None), 11, 56, 200)
    """

    def __init__(self, name: str, lines: list[tuple[str, str, str]], known: dict[str, Layout]) -> None:
        self.name = name
        self.fields: dict[str, Field] = {}
        offset = place = 0
        for kind, field, count in lines:
            one = known[kind].format if kind in known else "Q" if kind.endswith("*") else _LETTERS[kind]
            size = known[kind].size if kind in known else _SIZES[one]
            times = sum(map(_number, count.split(" + "))) if count else 1
            self.fields[field] = Field(field, one * times, len(one) * times, offset, place)
            offset, place = offset + size * times, place + len(one) * times
        self.format = "".join(field.format for field in self.fields.values())
        self.struct = struct.Struct(f"={self.format}")
        self.size = self.struct.size

    def offset(self, field: str) -> int:
        """Bytes before a field."""
        return self.fields[field].offset

    def place(self, field: str) -> int:
        """Where the number of a field stands among all."""
        return self.fields[field].place

    def places(self, first: str, last: str) -> slice:
        """Where the numbers of fields stand, `last` included."""
        end = self.fields[last]
        return slice(self.fields[first].place, end.place + end.count)

    def part(self, first: str, last: str) -> struct.Struct:
        """Packs the fields from one to another, included."""
        return struct.Struct(f"={self.format[self.places(first, last)]}")

    def rows(self) -> Iterator[tuple[str, int, int]]:
        """What `ar_layout` has to say of it: names, offsets and sizes."""
        for field in self.fields.values():
            yield f"{self.name}.{field.name}", field.offset, struct.calcsize(f"={field.format}")
        yield self.name, 0, self.size


def _number(word: str) -> int:
    return vars(LIMITS)[word] if word.isidentifier() else int(word)


def read_layouts(file: Path) -> dict[str, Layout]:
    """The structs of a file, by their names."""
    lines: dict[str, list[tuple[str, str, str]]] = {}
    for name, kind, field, count in _LINE.findall(file.read_text(encoding="utf-8")):
        lines.setdefault(name, []).append((kind, field, count))
    found: dict[str, Layout] = {}
    for name, fields in lines.items():
        found[name] = Layout(name, fields, found)
    return found


def check(handle: Any, layouts: dict[str, Layout], numbers: tuple[tuple[str, int, int], ...] = ()) -> None:
    """Compare the structs of a library, and the numbers of `ops.def`, with those of this Python.

    Raises:
        ValueError: one of them differs.
    """
    handle.ar_layout_names.restype, handle.ar_layout_numbers.restype = ctypes.c_char_p, ctypes.c_void_p
    rows = [*(row for layout in layouts.values() for row in layout.rows()), *numbers]
    names = handle.ar_layout_names().decode().split("\n")[:-1]
    compiled = (ctypes.c_int64 * (2 * len(names))).from_address(handle.ar_layout_numbers())
    pairs = zip(names, compiled[::2], compiled[1::2], strict=True)
    for here, there in zip_longest(rows, pairs):
        if here != there:
            raise ValueError(f"they were built with another layout, at {(there or here)[0]}; {BUILD_AGAIN}")


BUILD_AGAIN = "to build them again: python -m augrecipes.native.build"
KERNELS = read_layouts(_HERE / "layout.def")
CODEC = read_layouts(_HERE / "codec" / "window.def")
NUMBERS = tuple((f"{kind}.{name}", int(number), 0) for kind, name, number in ROWS)
STEP, PROGRAM, SAMPLE, OPERATION, JOB, LAB = (
    KERNELS[name] for name in ("Step", "Program", "Sample", "Operation", "Job", "Lab")
)
WINDOW = CODEC["Window"]
