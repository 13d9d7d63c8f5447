"""Steps that change colours by little more than a matrix: what their drawn parameters mean, as a list of operations.

A matrix has three rows of four: the new red, green and blue out of red, green, blue and full scale. Rows are plain
tuples: numpy takes longer over twelve numbers than Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

Params: TypeAlias = Mapping[str, Any]
MatrixRow: TypeAlias = tuple[float, float, float, float]
ColourMatrix: TypeAlias = tuple[MatrixRow, MatrixRow, MatrixRow]

# BT.601 luma as cv2.COLOR_RGB2GRAY has it.
LUMA = (0.299, 0.587, 0.114)
_MIDDLE, _STEP = 0.3, 0.05  # of the colours that a step is shown


class Linear(NamedTuple):
    """Every pixel through one matrix.

    Attributes:
        rows: the matrix.
        truncates: on uint8 the step drops the fraction; otherwise it rounds.
    """

    rows: ColourMatrix
    truncates: bool


class Contrast(NamedTuple):
    """Every value moved towards, or away from, the picture's mean luma. Drops the fraction on uint8."""

    factor: float


class Hue(NamedTuple):
    """The hue turned by `shift`, a fraction of the circle."""

    shift: float


class HueSaturationValue(NamedTuple):
    """The hue of uint8 turned by `hue` degrees times two, saturation and value shifted by levels, without fractions."""

    hue: float
    saturation: float
    value: float


class Stain(NamedTuple):
    """The amounts of three stains multiplied by `factors`, with `shifts` added. Of uint8 only."""

    factors: tuple[float, float, float]
    shifts: tuple[float, float, float]


Operation: TypeAlias = Linear | Contrast | Hue | HueSaturationValue | Stain
# (step, its drawn parameters, full scale of the picture) → what it does, or None where that is no such list.
Operations: TypeAlias = Callable[[Any, Params, float], list[Operation] | None]


def gain(factor: float, offset: float = 0.0) -> ColourMatrix:
    """Every channel times `factor`, plus `offset` of full scale."""
    return (factor, 0.0, 0.0, offset), (0.0, factor, 0.0, offset), (0.0, 0.0, factor, offset)


def saturation(factor: float) -> ColourMatrix:
    """Every pixel moved away from its own luma.

    >>> saturation(0.0)[2]
    (0.299, 0.587, 0.114, 0.0)
    """
    r, g, b = ((1.0 - factor) * weight for weight in LUMA)
    return (r + factor, g, b, 0.0), (r, g + factor, b, 0.0), (r, g, b + factor, 0.0)


def jitter(step: Any, params: Params, full: float) -> list[Operation]:
    """ColorJitter: four operations, in the order that was drawn."""
    del step, full
    made: list[Operation] = []
    for k in params["order"]:
        amount = params[_JITTERS[k]]
        match k:
            case 0 if amount != 1:
                made.append(Linear(gain(amount), truncates=True))
            case 1 if amount != 1:
                made.append(Contrast(amount))
            case 2 if amount != 1:
                made.append(Linear(saturation(amount), truncates=False))
            case 3 if amount:
                made.append(Hue(amount))
    return made


_JITTERS = ("brightness", "contrast", "saturation", "hue")


def probed(step: Any, params: Params, full: float) -> list[Operation] | None:
    """The matrix of a step that has one, read off four colours that the step itself has changed; None where it clips.

    The step sees float32, 0..1, so that nothing is rounded.
    """
    import numpy as np  # late: checking a recipe is quick because nothing heavy is imported

    del full
    colours = np.full((1, 4, 3), _MIDDLE, np.float32)
    for channel in range(3):
        colours[0, channel + 1, channel] += _STEP
    seen = np.asarray(step.apply(colours, **params), np.float64).reshape(4, 3)
    if seen.min() <= 0 or seen.max() >= 1:
        return None
    columns = (seen[1:] - seen[0]).T / _STEP
    red, green, blue = np.column_stack([columns, seen[0] - columns.sum(axis=1) * _MIDDLE]).tolist()
    return [Linear((tuple(red), tuple(green), tuple(blue)), truncates=False)]


def brightness_contrast(step: Any, params: Params, full: float) -> list[Operation]:
    """RandomBrightnessContrast, whose offset is drawn in units of the picture's values."""
    del step
    return [Linear(gain(params["alpha"], params["beta"] / full), truncates=True)]


def stained(step: Any, params: Params, full: float) -> list[Operation] | None:
    """StainJitter, of whole levels."""
    del step
    return [Stain(params["factors"], params["shifts"])] if full > 1 else None


def hue_saturation_value(step: Any, params: Params, full: float) -> list[Operation] | None:
    """HueSaturationValue, of whole levels."""
    del step
    shifts = params["hue_shift"], params["sat_shift"], params["val_shift"]
    return ([HueSaturationValue(*shifts)] if any(shifts) else []) if full > 1 else None
