"""Steps as numbers: what a native plan holds of each, and how it is known that it draws what albumentations draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops.capabilities import claims

IN_PYTHON = -1  # what no kernel draws


@dataclass(frozen=True, slots=True)
class NativeStep:
    """A step as numbers.

    Attributes:
        draw: what it draws, of `DRAWS`.
        effect: what that does, of `EFFECTS`.
        arguments: of the draw.
        does: arguments of the effect.
        seen: from the parameters that albumentations' sampler draws to the numbers that are drawn instead.
        kernels: of resizes, whose bits have to be OpenCV's.
        changes: it changes values, and is held to the step on some pictures when a plan is made.
        given: what it draws goes by boxes: Python draws it, and it takes the place of `arguments` before each sample.
    """

    draw: int
    effect: int
    arguments: tuple[float, ...]
    seen: Callable[[Mapping[str, Any]], tuple[float, ...]]
    does: tuple[float, ...] = ()
    kernels: tuple[str, ...] = ()
    changes: bool = False
    given: bool = False


@dataclass(frozen=True, slots=True)
class KeyedStep:
    """A step of a native plan.

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
    numbers: NativeStep
    cell: int = 1
    alone: bool = False
    forced: bool = False


KEPT = NativeStep(DRAWS.NOTHING, EFFECTS.KEEPS, (), lambda _: ())
LEFT = NativeStep(IN_PYTHON, EFFECTS.KEEPS, (), lambda _: ())  # not known: a sample in which it acts is refused
OPAQUE = NativeStep(IN_PYTHON, EFFECTS.EXITS, (), lambda _: ())  # albumentations carries it out, and nothing else


def encode(step: Any, *, joined: bool = False) -> NativeStep | None:
    """A transform as numbers, joined with others or alone; None where native plans do not know it, or not like this."""
    record = claims(type(step).__name__)
    module, _, name = (record.native_joined if joined else record.native).partition(":")
    if not module:
        return None
    encoder: Callable[[Any], NativeStep | None] = getattr(import_module(f"{__package__}.{module}"), name)
    return encoder(step)
