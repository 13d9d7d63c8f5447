"""Steps as numbers: what a program holds of each, and how it is known that it draws what albumentations draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from augrecipes.native.op_numbers import DRAWS, EFFECTS

IN_PYTHON = -1  # what no kernel draws
# From the parameters that albumentations' sampler draws to the numbers that are drawn instead.
Seen = Callable[[Mapping[str, Any]], tuple[float, ...]]


def of(*names: str) -> Seen:
    """What gives the parameters of some names as numbers, one after another; each is a number, or several.

    >>> of("order", "amount")({"order": [2, 1], "amount": 0.5})
    (2.0, 1.0, 0.5)
    """
    return lambda params: tuple(float(n) for name in names for n in np.ravel(params[name]).tolist())


def ranges(*pairs: Iterable[float]) -> tuple[float, ...]:
    """The ends of some ranges, one after another.

    >>> ranges((0, 1), [2, 3])
    (0.0, 1.0, 2.0, 3.0)
    """
    return tuple(float(end) for pair in pairs for end in pair)


_NOTHING = of()


@dataclass(frozen=True, slots=True)
class NativeOp:
    """A step as numbers.

    Attributes:
        draw: what it draws, of `DRAWS`.
        effect: what that does, of `EFFECTS`.
        arguments: of the draw.
        does: arguments of the effect.
        seen: the numbers that are drawn, of what albumentations' sampler draws.
        given: what it draws goes by boxes: Python draws it, and it takes the place of `arguments` before each sample.
    """

    draw: int
    effect: int
    arguments: tuple[float, ...] = ()
    seen: Seen = _NOTHING
    does: tuple[float, ...] = ()
    given: bool = False

    @property
    def changes(self) -> bool:
        """Whether it changes values by itself, so that it is held to the step on some images when a plan is made."""
        return self.effect in (EFFECTS.WARPS, EFFECTS.WARPS_PERSPECTIVE) or (
            self.effect >= EFFECTS.DISTORTS_GRID and self.effect != EFFECTS.STAINS
        )

    @property
    def resizes(self) -> tuple[float, ...]:
        """How it resizes, as OpenCV numbers that: what becomes larger, and what becomes smaller; empty: it does not."""
        effect = self.effect % EFFECTS.MERGES if self.effect < EFFECTS.MERGED_ENDS else self.effect
        if effect in (EFFECTS.RESIZES, EFFECTS.CROPS_AND_RESIZES):
            return self.does[2:]
        if effect == EFFECTS.SCALES:
            return self.does[:2]
        return self.does[6:] if effect == EFFECTS.CROPS_AND_PADS and self.does[6] >= 0 else ()


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


KEPT = NativeOp(DRAWS.NOTHING, EFFECTS.KEEPS)
LEFT = NativeOp(IN_PYTHON, EFFECTS.KEEPS)  # not known: a sample in which it acts is refused
OPAQUE = NativeOp(IN_PYTHON, EFFECTS.EXITS)  # albumentations carries it out, and nothing else
