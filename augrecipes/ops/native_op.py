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


# Draws of a matrix that is a product of some, which may be summed up in another order than numpy's.
MATRIX_DRAWS = frozenset({DRAWS.ROTATION, DRAWS.SAFE_ROTATION, DRAWS.AFFINE})


def counts_noise(step: Any) -> bool:
    """Whether a transform takes its noise from our own generator, which counts."""
    return getattr(step, "counts_noise", False)


NO_OP = NativeOp(DRAWS.NOTHING, EFFECTS.KEEPS)
UNKNOWN_OP = NativeOp(IN_PYTHON, EFFECTS.KEEPS)  # a sample in which it acts is refused
EXIT = NativeOp(IN_PYTHON, EFFECTS.EXITS)  # albumentations carries it out, and nothing else


# Where a number of an op comes from: the attribute of a transform that has it, or has several; a function of the
# transform, whose None says that no kernel knows it like this; or the number itself.
Origin = str | float | Callable[[Any], Any]


def encoder(
    effect: int,
    draw: int = DRAWS.NOTHING,
    arguments: Iterable[Origin] = (),
    draws: Iterable[str] | Draws = (),
    effect_arguments: Iterable[Origin] = (),
    *,
    drawn_in_python: bool = False,
) -> Encoder:
    """An encoder of steps, from where their numbers come from; `draws` names the parameters that are drawn.

    >>> from types import SimpleNamespace
    >>> encode = encoder(EFFECTS.CORRECTS_GAMMA, DRAWS.HUNDREDTHS, ["limit"], ["gamma"])
    >>> encode(SimpleNamespace(limit=(80, 120))).arguments
    (80.0, 120.0)
    """
    origins, of_effect = tuple(arguments), tuple(effect_arguments)
    expected = draws if callable(draws) else params_getter(*draws)

    def encode(step: Any) -> NativeOp | None:
        of_draw, does = (_numbers(step, part) for part in (origins, of_effect))
        if of_draw is None or does is None:
            return None
        return NativeOp(draw, effect, of_draw, expected, does, drawn_in_python)

    return encode


def _numbers(step: Any, origins: tuple[Origin, ...]) -> tuple[float, ...] | None:
    numbers = [
        getattr(step, origin) if isinstance(origin, str) else origin(step) if callable(origin) else origin
        for origin in origins
    ]
    return None if any(number is None for number in numbers) else tuple(flat(numbers))


def uniform(effect: int, draw: int = DRAWS.NUMBERS, effect_arguments: Iterable[Origin] = (), **limits: str) -> Encoder:
    """An encoder of steps that draw each parameter of `limits` evenly from the range in the attribute named for it.

    >>> from types import SimpleNamespace
    >>> uniform(EFFECTS.SOLARIZES, threshold="range")(SimpleNamespace(range=(0.2, 0.5))).arguments
    (1.0, 0.2, 0.5)
    """
    return encoder(effect, draw, (len(limits), *limits.values()), limits, effect_arguments)


@dataclass(frozen=True, slots=True)
class UpTo:
    """A condition of an argument: no number in it is larger, either way."""

    most: float

    def __str__(self) -> str:
        return f"up to {self.most:.0f}"


def meets(value: Any, condition: Any) -> bool:
    """Whether the value of an argument is the one that an encoder needs, or within its bound.

    >>> meets([3, 7], UpTo(7)), meets(False, True), meets(None, None)
    (True, False, True)
    """
    if isinstance(condition, UpTo):
        return max(map(abs, flat(value))) <= condition.most
    return bool(value is None if condition is None else value == condition)


def condition_text(condition: tuple[str, Any]) -> str:
    """An argument and what an encoder needs of it, in words.

    >>> [*map(condition_text, {"exact": True, "mask": None, "side": UpTo(7)}.items())]
    ['`exact` true', 'no `mask`', '`side` up to 7']
    """
    name, value = condition
    word = str(value).lower() if isinstance(value, bool) else value
    return f"no `{name}`" if value is None else f"`{name}` {word}"
