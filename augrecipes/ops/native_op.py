"""Ops: what the native program draws for a step and does with it, as numbers. Needs no numpy."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS

IN_PYTHON = -1  # no kernel draws it
# Parameters drawn by albumentations' sampler → the numbers that the kernel draws.
Draws = Callable[[Mapping[str, Any]], tuple[float, ...]]

Encoder = Callable[[Any], "NativeOp | None"]  # transform → its op; None: no kernel takes its arguments


def params_getter(*names: str) -> Draws:
    """A function that picks named parameters of a step, numbers or arrays, and flattens them.

    >>> params_getter("order", "amount")({"order": [2, 1], "amount": 0.5})
    (2.0, 1.0, 0.5)
    """
    return lambda params: tuple(number for name in names for number in flat(params[name]))


def flat(value: Any) -> Iterator[float]:
    """Yield the numbers in a number, an array or nested lists."""
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
        draw: its draw, of `DRAWS`.
        effect: its effect, of `EFFECTS`.
        arguments: arguments of the draw.
        expected_draws: turns the draws of albumentations' sampler into the numbers that the kernel draws.
        effect_arguments: arguments of the effect.
        drawn_in_python: it draws by boxes: Python draws and replaces `arguments` before each sample.
    """

    draw: int
    effect: int
    arguments: tuple[float, ...] = ()
    expected_draws: Draws = NO_DRAWS
    effect_arguments: tuple[float, ...] = ()
    drawn_in_python: bool = False

    @property
    def changes(self) -> bool:
        """Whether it changes values, so that compilation compares it with the step on probe images."""
        return self.effect in (EFFECTS.WARPS, EFFECTS.WARPS_PERSPECTIVE) or (
            self.effect >= EFFECTS.DISTORTS_GRID and self.effect != EFFECTS.STAINS
        )

    @property
    def resizes(self) -> tuple[float, ...]:
        """The interpolations by which it enlarges and shrinks, as OpenCV numbers them; empty: it does not resize."""
        effect = self.effect % EFFECTS.MERGES if self.effect < EFFECTS.MERGED_ENDS else self.effect
        if effect in (EFFECTS.RESIZES, EFFECTS.CROPS_AND_RESIZES):
            return self.effect_arguments[2:]
        if effect == EFFECTS.SCALES:
            return self.effect_arguments[:2]
        return ()


# Draws of products of matrices, which numpy may sum in another order.
MATRIX_DRAWS = frozenset({DRAWS.ROTATION, DRAWS.SAFE_ROTATION, DRAWS.AFFINE})


def counts_noise(step: Any) -> bool:
    """Whether a transform takes its noise from our counter-based generator."""
    return getattr(step, "counts_noise", False)


NO_OP = NativeOp(DRAWS.NOTHING, EFFECTS.KEEPS)
UNKNOWN_OP = NativeOp(IN_PYTHON, EFFECTS.KEEPS)  # the program refuses samples in which it acts
EXIT = NativeOp(IN_PYTHON, EFFECTS.EXITS)  # only albumentations can run it


# The source of an op's numbers: the name of a transform's attribute; a function of the transform (None: no kernel takes
# its arguments); or a number.
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
    """An encoder built from the sources of its numbers; `draws` names the drawn parameters.

    >>> from types import SimpleNamespace
    >>> encode = encoder(EFFECTS.CORRECTS_GAMMA, DRAWS.HUNDREDTHS, ["limit"], ["gamma"])
    >>> encode(SimpleNamespace(limit=(80, 120))).arguments
    (80.0, 120.0)
    """
    draw_origins, effect_origins = tuple(arguments), tuple(effect_arguments)
    expected = draws if callable(draws) else params_getter(*draws)

    def encode(step: Any) -> NativeOp | None:
        of_draw, of_effect = (_numbers(step, origins) for origins in (draw_origins, effect_origins))
        if of_draw is None or of_effect is None:
            return None
        return NativeOp(draw, effect, of_draw, expected, of_effect, drawn_in_python)

    return encode


def _numbers(step: Any, origins: tuple[Origin, ...]) -> tuple[float, ...] | None:
    numbers = [
        getattr(step, origin) if isinstance(origin, str) else origin(step) if callable(origin) else origin
        for origin in origins
    ]
    return None if any(number is None for number in numbers) else tuple(flat(numbers))


def uniform(effect: int, draw: int = DRAWS.NUMBERS, effect_arguments: Iterable[Origin] = (), **limits: str) -> Encoder:
    """An encoder of steps that draw each parameter of `limits` uniformly from the range in the named attribute.

    >>> from types import SimpleNamespace
    >>> uniform(EFFECTS.SOLARIZES, threshold="range")(SimpleNamespace(range=(0.2, 0.5))).arguments
    (1.0, 0.2, 0.5)
    """
    return encoder(effect, draw, (len(limits), *limits.values()), limits, effect_arguments)


@dataclass(frozen=True, slots=True)
class UpTo:
    """A condition on an argument: no number in it exceeds `most` in absolute value."""

    most: float

    def __str__(self) -> str:
        return f"up to {self.most:.0f}"


def meets(value: Any, condition: Any) -> bool:
    """Whether the value of an argument equals an encoder's condition, or is within its bound.

    >>> meets([3, 7], UpTo(7)), meets(False, True), meets(None, None)
    (True, False, True)
    """
    if isinstance(condition, UpTo):
        return max(map(abs, flat(value))) <= condition.most
    return bool(value is None if condition is None else value == condition)


def condition_text(condition: tuple[str, Any]) -> str:
    """An encoder's condition on an argument, in words.

    >>> [*map(condition_text, {"exact": True, "mask": None, "side": UpTo(7)}.items())]
    ['`exact` true', 'no `mask`', '`side` up to 7']
    """
    name, value = condition
    word = str(value).lower() if isinstance(value, bool) else value
    return f"no `{name}`" if value is None else f"`{name}` {word}"
