"""The structs that Python and the kernels share, read from `layout.def`, which the kernels' C includes, too.

The library exports its compiler's layout of them; `check` compares both when the library is loaded.
"""

import ctypes
import re
import struct
from itertools import zip_longest
from pathlib import Path
from typing import Any

from augrecipes.native.op_numbers import LIMITS, ROWS

BUILD_AGAIN = "to build them again: python -m augrecipes.native.build"
_HERE = Path(__file__).parent
_LINE = re.compile(r"^(?:FIELD|ARRAY)\((\w+), ([^,]+), (\w+)(?:, ([^)]+))?\)", re.MULTILINE)
# C types with their ctypes and their format in `struct` and numpy; addresses are uint64.
_TYPES: dict[str, tuple[Any, str]] = {
    "float": (ctypes.c_float, "f"), "double": (ctypes.c_double, "d"), "uint8_t": (ctypes.c_uint8, "B"),
    "uint16_t": (ctypes.c_uint16, "H"), "int32_t": (ctypes.c_int32, "i"), "int64_t": (ctypes.c_int64, "q"),
    "uint64_t": (ctypes.c_uint64, "Q"),
}  # fmt: skip
_ADDRESS = _TYPES["uint64_t"]


class Layout:
    """A struct: its fields in order, without gaps.

    Attributes:
        name: name of the struct.
        structure: the struct as a ctypes class.
        formats: the format of each field's numbers, for `struct`.
        struct: packs and unpacks all numbers.
        size: size in bytes.

    >>> SAMPLE.places("index", "tile"), SAMPLE.place("target"), STEP.offset("arguments"), SAMPLE.size
    (slice(0, 2, None), 11, 64, 208)
    """

    def __init__(self, name: str, fields: list[tuple[str, str, str]], known: "dict[str, Layout]") -> None:
        self.name, self.formats = name, dict[str, str]()
        parts = []
        for kind, field, count in fields:
            if kind in known:
                one, letters = known[kind].structure, "".join(known[kind].formats.values())
            else:
                one, letters = _TYPES.get(kind, _ADDRESS)
            times = sum(map(_number, count.split(" + "))) if count else 1
            parts.append((field, one * times if count else one))
            self.formats[field] = letters * times
        self.structure: type[ctypes.Structure] = type(name, (ctypes.Structure,), {"_fields_": parts})
        self.struct = struct.Struct("=" + "".join(self.formats.values()))
        self.size = self.struct.size

    def offset(self, field: str) -> int:
        """The offset of a field, bytes."""
        return int(getattr(self.structure, field).offset)

    def place(self, field: str) -> int:
        """The index of a field's first number among all numbers."""
        names = [*self.formats]
        return sum(len(self.formats[name]) for name in names[: names.index(field)])

    def places(self, first: str, last: str) -> slice:
        """The slice of the numbers of consecutive fields."""
        return slice(self.place(first), self.place(last) + len(self.formats[last]))

    def part(self, first: str, last: str) -> struct.Struct:
        """A Struct that packs consecutive fields."""
        return struct.Struct("=" + "".join(self.formats.values())[self.places(first, last)])

    def rows(self) -> list[tuple[str, int, int]]:
        """Name, offset and size of each field, and of the struct, as the library exports them."""
        fields = [(name, getattr(self.structure, name)) for name in self.formats]
        return [
            *((f"{self.name}.{name}", field.offset, field.size) for name, field in fields),
            (self.name, 0, self.size),
        ]


def _number(word: str) -> int:
    return int(vars(LIMITS)[word]) if word.isidentifier() else int(word)


def read_layouts(text: str) -> dict[str, Layout]:
    """Parse the structs of a text such as `layout.def`, by name."""
    fields: dict[str, list[tuple[str, str, str]]] = {}
    for name, kind, field, count in _LINE.findall(text):
        fields.setdefault(name, []).append((kind, field, count))
    layouts: dict[str, Layout] = {}
    for name, lines in fields.items():
        layouts[name] = Layout(name, lines, layouts)
    return layouts


def check(handle: Any, layouts: dict[str, Layout], numbers: tuple[tuple[str, int, int], ...] = ()) -> None:
    """Compare a library's structs, and its numbers of `ops.def`, with those of Python.

    Raises:
        ValueError: a struct or a number differs.
    """
    handle.ar_layout_names.restype, handle.ar_layout_numbers.restype = ctypes.c_char_p, ctypes.c_void_p
    rows = [*(row for layout in layouts.values() for row in layout.rows()), *numbers]
    names = handle.ar_layout_names().decode().split("\n")[:-1]
    compiled = (ctypes.c_int64 * (2 * len(names))).from_address(handle.ar_layout_numbers())
    for ours, theirs in zip_longest(rows, zip(names, compiled[::2], compiled[1::2], strict=True)):
        if ours != theirs:
            raise ValueError(f"they were built with another layout, at {(theirs or ours)[0]}; {BUILD_AGAIN}")


KERNELS = read_layouts((_HERE / "layout.def").read_text(encoding="utf-8"))
CODEC = read_layouts((_HERE / "codec" / "window.def").read_text(encoding="utf-8"))
NUMBERS = tuple((f"{kind}.{name}", int(number), 0) for kind, name, number in ROWS)
STEP, PROGRAM, SAMPLE = (KERNELS[name] for name in ("Step", "Program", "Sample"))
JOB, OPERATION, LAB, WINDOW = KERNELS["Job"], KERNELS["Operation"], KERNELS["Lab"], CODEC["Window"]
