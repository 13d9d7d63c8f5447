"""Channels by name: those that steps see, those that a step changes, and their statistics."""

from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.errors import NO_HINT, Hint
from augrecipes.recipe import inputs, problems

_RGB = {"r": 0, "red": 0, "g": 1, "green": 1, "b": 2, "blue": 2}
_COLOURS = 3


class ChannelError(ValueError):
    """A mapping of channels is invalid: the key in it, the message, and a hint."""

    def __init__(self, key: str, message: str, hint: Hint = NO_HINT) -> None:
        super().__init__(message)
        self.key, self.hint = key, hint


def read_bands(channels: Mapping[str, Any]) -> inputs.Bands:
    """Read a mapping under `channels:`.

    >>> read_bands({"names": ["r", "g", "b", "nir"], "take": ["nir", 0]}).take
    (3, 0)
    """
    names = tuple(channels.get("names", ()))
    if bool(names) == ("count" in channels):
        raise ChannelError("", "needs `names: [r, g, b, nir]` or, without names, `count: 4`; write one of them")
    for name in names:
        if not name or name.isdecimal():
            raise ChannelError("names", f"a channel's name is text and not a number, got {name!r}")
        if names.count(name) > 1:
            raise ChannelError("names", f"channel {name!r} is named twice")
    count = len(names) or int(channels["count"])
    take = channel_numbers(channels["take"], names, count, "take") if "take" in channels else ()
    return inputs.Bands(count, names, take)


def channel_numbers(
    channels: Any, names: Sequence[str], count: int | None = None, key: str = "channels"
) -> tuple[int, ...]:
    """The numbers of channels given by name or number; below `count`, where that is known.

    >>> channel_numbers(["b", 0], ("r", "g", "b"))
    (2, 0)
    """
    numbers: list[int] = []
    for channel in channels if isinstance(channels, list) else [channels]:
        if isinstance(channel, str) and channel not in names:
            if not names:
                cure = "say `inputs: {channels: {names: [...]}}`, or write numbers"
                raise ChannelError(key, f"channels have no names in this recipe, got {channel!r}: {cure}")
            message = f"unknown channel {channel!r}; there are {', '.join(names)}"
            raise ChannelError(key, message, problems.near(channel, names))
        number = names.index(channel) if isinstance(channel, str) else int(channel)
        if count is not None and number >= count:
            raise ChannelError(key, f"there are {count} channels, of numbers 0 to {count - 1}; got {number}")
        if number in numbers:
            raise ChannelError(key, f"channel {channel!r} is named twice")
        numbers.append(number)
    return tuple(numbers)


def rgb_numbers(names: Sequence[str]) -> list[int] | None:
    """The numbers of red, green and blue among named channels; None where one is missing.

    >>> rgb_numbers(("nir", "blue", "green", "red")), rgb_numbers(("r", "g"))
    ([3, 2, 1], None)
    """
    numbers = {_RGB[name.lower()]: number for number, name in enumerate(names) if name.lower() in _RGB}
    return [numbers[colour] for colour in range(_COLOURS)] if len(numbers) == _COLOURS else None


def by_channel(key: str, values: Any, names: Sequence[str], color: str) -> tuple[float, ...]:
    """Means or standard deviations in the order of the output's channels; one number stands for all.

    >>> by_channel("mean", {"b": 0.3, "r": 0.1, "g": 0.2}, ("r", "g", "b"), "bgr")
    (0.3, 0.2, 0.1)
    """
    if isinstance(values, dict):
        channel_numbers([*values], names, key=key)
        if missing := [name for name in names if name not in values]:
            raise ChannelError(key, f"has no number for channel {', '.join(missing)}")
        values = [values[name] for name in (names[::-1] if color == "bgr" else names)]
    return tuple(map(float, values if isinstance(values, list) else [values]))


def colour_order(names: Sequence[str]) -> list[int]:
    """The colour of each channel: 0 red, 1 green, 2 blue; RGB without names. ChannelError for other names."""
    order = [_RGB.get(name.lower(), -1) for name in names] or [*range(_COLOURS)]
    if sorted(order) != [*range(_COLOURS)]:
        cure = "write those of each: `normalize: {mean: {r: 0.485, ...}, std: {r: 0.229, ...}}`"
        message = f"imagenet has the statistics of red, green and blue, and channels are {', '.join(names)}; {cure}"
        raise ChannelError("normalize", message)
    return order
