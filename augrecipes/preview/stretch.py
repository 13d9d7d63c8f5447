"""Stretch 16-bit and float images for display by percentiles of their source; pixels without data are dark blue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.recipe.bands import ChannelError, channel_numbers, rgb_numbers
from augrecipes.recipe.inputs import Bands, Inputs

NODATA = (58, 66, 88)  # RGB of pixels without data: not grey, and darker than most pixels
_COLOURS = 3
_PERCENTILES = (1, 99)
_FEW = 8191  # the largest 13-bit value; images below it use a small part of 16 bits
_PIXELS = 1 << 20  # of an image that percentiles are taken from, roughly


@dataclass(frozen=True, slots=True)
class Stretch:
    """Which values of images are shown as black and as white.

    Attributes:
        low: shown as black, in the images' own unit.
        high: shown as white.
        inputs: of the recipe, for its value range, channels and missing data.
    """

    low: float
    high: float
    inputs: Inputs

    @property
    def is_plain(self) -> bool:
        """Whether images are shown unchanged: 0..255, or floats of 0..1."""
        whole = (self.low, self.high) == self.inputs.full_range
        return whole and not self.inputs.is_deep and not self.inputs.deep_dtype

    def channels(self, count: int) -> list[int]:
        """Choose the channels to show of an image of `count` channels: one as grey, or three as red, green and blue.

        >>> Stretch(0, 255, Inputs(4, bands=Bands(4, ("nir", "blue", "green", "red")))).channels(4)
        [3, 2, 1]
        """
        bands = self.inputs.bands
        default = [0, 1, 2] if count >= _COLOURS else [0]
        if bands is None or count not in (bands.count, bands.seen.count):
            return default
        if count == bands.seen.count:
            return [*bands.show] or rgb_numbers(bands.seen.names) or default
        return [bands.take[number] for number in bands.show] or rgb_numbers(bands.names) or default

    @property
    def words(self) -> str:
        """Say which channels are shown, and how; empty where the image is shown unchanged.

        >>> Stretch(1024, 3210, Inputs(dtype="uint16")).words, Stretch(0, 255, Inputs(nodata=0)).words
        ('stretched from 1,024 to 3,210', '')
        """
        words, count, names = [], self.inputs.channels or _COLOURS, self.inputs.channel_names
        if count not in (1, _COLOURS) or (self.inputs.bands and self.inputs.bands.show):
            shown = (names[number] if names else str(number) for number in self.channels(count))
            words.append(f"channels {', '.join(shown)}")
        if (self.low, self.high) != self.inputs.full_range:
            digits = ",.4g" if self.inputs.dtype == "float32" else ",.0f"
            words.append(f"stretched from {self.low:{digits}} to {self.high:{digits}}")
        return ", ".join(words)

    @property
    def hint(self) -> str:
        """Advise a `range` where values use a small part of 16 bits, but steps scale with all of it; else empty.

        >>> Stretch(947, 2550, Inputs(dtype="uint16")).hint.partition(":")[0]
        'values reach 2,550 of 65,535'
        """
        top = (1 << int(self.high).bit_length()) - 1
        if self.inputs.dtype != "uint16" or self.inputs.range or top > _FEW:
            return ""
        cure = f"where they cannot pass {top:,}, say `inputs: {{range: [0, {top}]}}`"
        return f"values reach {self.high:,.0f} of 65,535: {cure}; brightness and contrast count in shares of the range"

    def levels(self, values: NDArray[np.float32], first: float, last: float) -> NDArray[np.float32]:
        """Map values to display levels; `first` and `last` are the values at the ends of the recipe's range."""
        low, high = self.inputs.full_range
        unit = (last - first) / (high - low)
        return (values - np.float32(first + (self.low - low) * unit)) * np.float32(255 / (self.high - self.low) / unit)

    def missing(self, image: NDArray[Any], *, leaves: bool) -> NDArray[np.bool_] | None:
        """Mask the pixels of an image H×W×C without data: 0 where the image `leaves` the pipeline."""
        nodata = self.inputs.nodata
        if nodata is None:
            return None
        if nodata == "nan" and not leaves:
            return np.isnan(image).any(axis=2)
        return np.asarray((image == (0 if leaves else nodata)).all(axis=2))


PLAIN = Stretch(0, 255, Inputs())


def show_channels(inputs: Inputs, channels: Sequence[str | int]) -> Inputs:
    """Set the channels that sheets show: one as grey, or three as red, green and blue.

    Raises:
        DataError: there are no such channels.
    """
    if inputs.channels is None:
        raise DataError("the recipe does not say which channels there are: `inputs: {channels: {names: [...]}}`")
    try:
        numbers = channel_numbers([*channels], inputs.channel_names, inputs.channels)
    except ChannelError as error:
        raise DataError(f"channels to show: {error}{error.hint.text}") from None
    if len(numbers) not in (1, _COLOURS):
        raise DataError(f"one channel is shown as grey, or three as red, green and blue; got {len(numbers)}")
    return replace(inputs, bands=replace(inputs.bands or Bands(inputs.channels), show=numbers))


def stretch_of(images: Iterable[Any], inputs: Inputs, *, always: bool = False) -> Stretch:
    """Compute the stretch for images H×W×C, from the 1st to the 99th percentile of valid values; none for 8 bits.

    Args:
        images: sources.
        inputs: of the recipe that runs on them.
        always: stretch 8-bit images, too, as for comparison with deep ones.

    >>> stretch_of([np.arange(10_000, dtype=np.uint16).reshape(100, 100, 1)], Inputs(dtype="uint16")).words
    'stretched from 100 to 9,899'
    """
    whole = Stretch(*inputs.full_range, inputs)
    if not (inputs.deep_dtype or always):
        return whole
    values = [_valid_values(np.atleast_3d(image), whole) for image in images]
    values = [some for some in values if some.size]
    low, high = np.percentile(np.concatenate(values), _PERCENTILES).tolist() if values else inputs.full_range
    if inputs.dtype != "float32":
        low, high = round(low), round(high)
    return Stretch(low, high, inputs) if high > low else whole


def _valid_values(image: NDArray[Any], whole: Stretch) -> NDArray[Any]:
    """The values of the displayed channels in a subsample of the pixels with data."""
    step = 1 + int((image.shape[0] * image.shape[1] / _PIXELS) ** 0.5)
    some = image[::step, ::step]
    missing = whole.missing(some, leaves=False)
    shown = some[..., whole.channels(image.shape[2])]
    values = shown.ravel() if missing is None else shown[~missing].ravel()
    return values[np.isfinite(values)]
