"""A step of a native program: its numbers, and the label that keys its draws."""

from __future__ import annotations

from dataclasses import dataclass

from augrecipes.ops.native_op import NativeOp


@dataclass(frozen=True, slots=True)
class Op:
    """A step of a program.

    Attributes:
        label: keys its draws.
        shared: whether the tiles of a bag draw as one.
        p: it acts where its first draw is below.
        numbers: what it draws and does.
        cell: pixels along each of the squares that it counts: of a pair's steps.
        alone: it is carried out by itself, so that albumentations may do it in the place of the kernels.
        forced: its group has chosen it, so that it acts whatever its first draw would be.
    """

    label: str
    shared: bool
    p: float
    numbers: NativeOp
    cell: int = 1
    alone: bool = False
    forced: bool = False
