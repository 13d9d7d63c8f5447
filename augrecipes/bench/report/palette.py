"""Colours of what a bar is made of, by day and by night, and the colour of text upon them."""

from __future__ import annotations

SHADES = 6  # of steps, dark and light in turn, so that neighbours are told apart without their hue

# Reading is green, steps are blue to violet, what follows is amber, rust and grey: hues that colour-blind people tell
# apart, and where they do not, lightness differs.
LIGHT = {
    "read": "#0f6b5c", "decode": "#5fbfa6",
    "step-0": "#2f4b9c", "step-1": "#8fb0e2", "step-2": "#4570bb", "step-3": "#b9cdf0",
    "step-4": "#5f54ad", "step-5": "#b7b0e6",
    "sink": "#e6ab3c", "collate": "#b3541e", "overhead": "#9aa1ab", "whole": "#c9cdd3",
    "loading": "#5fbfa6", "moving": "#0f6b5c", "device": "#e6ab3c",
    "forward": "#8fb0e2", "backward": "#2f4b9c", "optimiser": "#5f54ad", "training": "#4570bb",
    "line-0": "#2f4b9c", "line-1": "#b3541e", "line-2": "#6b7280",
}  # fmt: skip
DARK = LIGHT | {
    "read": "#1d8573", "decode": "#6fcdb4",
    "step-0": "#5470d0", "step-2": "#5f93e0", "step-4": "#7266cc",
    "collate": "#d0703a", "overhead": "#7f8792", "whole": "#3a404a",
    "moving": "#1d8573", "backward": "#5470d0", "optimiser": "#7266cc", "training": "#5f93e0",
    "line-0": "#8fb0e2", "line-1": "#eb9a63", "line-2": "#a2aab5",
}  # fmt: skip

_INKS = ("#ffffff", "#12151a")


def ink_on(fill: str) -> str:
    """The colour of text that is read best on a fill.

    >>> ink_on("#2f4b9c"), ink_on("#e6ab3c")
    ('#ffffff', '#12151a')
    """
    return max(_INKS, key=lambda ink: contrast(ink, fill))


def contrast(one: str, other: str) -> float:
    """How far two colours are apart in lightness, 1 to 21, as WCAG 2 has it.

    >>> contrast("#ffffff", "#000000")
    21.0
    """
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[k : k + 2], 16) / 255) for k in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)
