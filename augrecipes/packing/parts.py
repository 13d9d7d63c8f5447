"""Parts of a packing: which rows each has, and what its folder is called. Imports nothing that takes long."""

from __future__ import annotations

import re
from typing import NamedTuple

from augrecipes.errors import StoreError


class PackPart(NamedTuple):
    """One of `of` parts of a packing, counted from 1.

    >>> PackPart(2, 3).units(10), PackPart(2, 3).name
    (range(3, 6), 'part-2-of-3')
    """

    number: int
    of: int

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"part-{self.number}-of-{self.of}"

    def units(self, count: int) -> range:
        """Which of so many images, scenes or tiles are in it."""
        return range(count * (self.number - 1) // self.of, count * self.number // self.of)


def part_of(text: str) -> PackPart:
    """Returns a part as the command line has it. StoreError where it is none.

    >>> part_of("3/8")
    PackPart(number=3, of=8)
    >>> part_of("9/8")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: part 9/8: give a part as i/n, from 1/8 to 8/8
    """
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
    part = PackPart(int(match[1]), int(match[2])) if match else PackPart(0, 8)
    if not 1 <= part.number <= part.of:
        n = max(1, part.of)
        raise StoreError(f"part {text}: give a part as i/n, from 1/{n} to {n}/{n}")
    return part


def part_named(name: str) -> PackPart | None:
    """Returns the part whose folder is called so; None for others."""
    match = re.fullmatch(r"part-(\d{1,6})-of-(\d{1,6})", name)
    part = PackPart(int(match[1]), int(match[2])) if match else None
    return part if part is not None and 1 <= part.number <= part.of else None
