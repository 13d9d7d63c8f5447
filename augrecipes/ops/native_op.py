"""Steps as numbers: what the native program draws for a step, and what it does with that. Needs no numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS

IN_PYTHON = -1  # what no kernel draws
# From the parameters that albumentations' sampler draws to the numbers that the kernel draws.
Draws = Callable[[Mapping[str, Any]], tuple[float, ...]]

Encoder = Callable[[Any], "NativeOp | None"]  # from a transform to its numbers; None: no kernel knows it like this


def params_getter(*names: str) -> Draws:
    """A function from a step's parameters to those of some names, one after another; each is a number, or several.

    >>> params_getter("order", "amount")({"order": [2, 1], "amount": 0.5})
    (2.0, 1.0, 0.5)
    """
    return lambda params: tuple(number for name in names for number in flat(params[name]))


def flat(value: Any) -> Iterator[float]:
    """The numbers of a number, of an array of any shape, or of nested lists."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)
    else:
        yield float(value)


def ranges(*pairs: Iterable[float]) -> tuple[float, ...]:
    """The ends of some ranges, one after another.

    >>> ranges((0, 1), [2, 3])
    (0.0, 1.0, 2.0, 3.0)
    """
    return tuple(float(end) for pair in pairs for end in pair)


NO_DRAWS = params_getter()


@dataclass(frozen=True, slots=True)
class NativeOp:
    """A step as numbers.

    Attributes:
        draw: what it draws, of `DRAWS`.
        effect: what that does, of `EFFECTS`.
        arguments: of the draw.
        expected_draws: the numbers that are drawn, from what albumentations' sampler draws.
        effect_arguments: arguments of the effect.
        drawn_in_python: what it draws goes by boxes: Python draws it, and it takes the place of `arguments` before each
            sample.
    """

    draw: int
    effect: int
    arguments: tuple[float, ...] = ()
    expected_draws: Draws = NO_DRAWS
    effect_arguments: tuple[float, ...] = ()
    drawn_in_python: bool = False

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
            return self.effect_arguments[2:]
        if effect == EFFECTS.SCALES:
            return self.effect_arguments[:2]
        return ()


def counts_noise(step: Any) -> bool:
    """Whether a transform takes its noise from our own generator, which counts."""
    return getattr(step, "counts_noise", False)


NO_OP = NativeOp(DRAWS.NOTHING, EFFECTS.KEEPS)
UNKNOWN_OP = NativeOp(IN_PYTHON, EFFECTS.KEEPS)  # a sample in which it acts is refused
EXIT = NativeOp(IN_PYTHON, EFFECTS.EXITS)  # albumentations carries it out, and nothing else


def uniform(
    effect: int,
    draw: int = DRAWS.NUMBERS,
    effect_arguments: Callable[[Any], tuple[float, ...]] | None = None,
    **limits: str,
) -> Encoder:
    """An encoder of steps that draw each parameter of `limits` evenly from the range in the attribute named for it.

    >>> from types import SimpleNamespace
    >>> uniform(EFFECTS.SOLARIZES, threshold="range")(SimpleNamespace(range=(0.2, 0.5))).arguments
    (1.0, 0.2, 0.5)
    """
    drawn = params_getter(*limits)

    def encode(step: Any) -> NativeOp:
        ends = ranges(*(getattr(step, attribute) for attribute in limits.values()))
        what = () if effect_arguments is None else effect_arguments(step)
        return NativeOp(draw, effect, (float(len(limits)), *ends), drawn, what)

    return encode
