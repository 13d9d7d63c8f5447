"""Formulas that the sink on the host and the stage on the device share: colour planes, scale and shift."""

from dataclasses import dataclass

from augrecipes.errors import DataError
from augrecipes.recipe.model import Output

RGB = 3


@dataclass(frozen=True, slots=True)
class ColorPlane:
    """A weighted sum of red, green and blue in 0..255.

    Weights are fractions of integers, so that every processor rounds alike; halves are rounded up.

    Attributes:
        parts: numerators of the weights of red, green and blue.
        unit: their common denominator.
        offset: added to the sum, in 0..255.

    >>> Y.weights[0] * 255, GREY.rounding()
    (65.481, 500)
    """

    parts: tuple[int, int, int]
    unit: int
    offset: int = 0

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights as floats."""
        return tuple(part / self.unit for part in self.parts)

    def rounding(self, full: int = 255) -> int:
        """The integer to add to a sum of parts, of colours in 0..`full`, before the integer division by `unit`."""
        return self.offset * self.unit * full // 255 + self.unit // 2


# BT.601 in 16..235, and 16..240 of Cb and Cr, as super-resolution papers measure it (ITU-R BT.601; MATLAB rgb2ycbcr).
Y = ColorPlane((65481, 128553, 24966), 255_000, 16)
CB = ColorPlane((-37797, -74203, 112_000), 255_000, 128)
CR = ColorPlane((112_000, -93786, -18214), 255_000, 128)
# BT.601 grey in full range, as cv2.COLOR_RGB2GRAY.
GREY = ColorPlane((299, 587, 114), 1000)
COLOR_PLANES = {"y": (Y,), "gray": (GREY,), "ycbcr": (Y, CB, CR)}


def check_color(color: str, channels: int) -> None:
    """Raise DataError if an output of `color` cannot be made of `channels` channels."""
    if color != "rgb" and channels != RGB and (color == "bgr" or channels != 1):
        raise DataError(f"output color {color!r} needs three channels, the image has {channels}")


def scales_and_shifts(output: Output, channels: int, full: float, first: float = 0.0) -> list[tuple[float, float]]:
    """(scale, shift) of each output channel, for values in `first`..`first + full`.

    Raises:
        DataError: the recipe normalises another number of channels.

    >>> scales_and_shifts(Output(range=(-1.0, 1.0)), 1, 255.0)
    [(0.00784313725490196, -1.0)]
    >>> scales_and_shifts(Output(), 1, 100.0, 50.0)
    [(0.01, -0.5)]
    """
    if first:
        return [(scale, shift - first * scale) for scale, shift in scales_and_shifts(output, channels, full)]
    if output.normalize is None:
        low, high = output.range
        return [((high - low) / full, low)] * channels
    pairs = []
    for name, values in (("mean", output.normalize.mean), ("std", output.normalize.std)):
        if len(values) not in (1, channels):
            raise DataError(f"normalize {name} has {len(values)} values, the output has {channels} channels")
        pairs.append(values * channels if len(values) == 1 else values)
    return [(1 / (full * std), -mean / std) for mean, std in zip(*pairs, strict=True)]
