"""Text on images: measured, shortened to fit, and drawn with the best font that OpenCV has.

Pillow's own font has 111 characters: no ×, – or →, and none of the letters with accents that names of files have.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]

_WEIGHTS = {False: 400, True: 650}
_HERSHEY_PX = 30.0  # height of OpenCV 4's stroke font at scale 1, ascender to descender


def width_px(text: str, size_px: int, *, bold: bool = False) -> int:
    """Width of one line of text in px.

    >>> width_px("wide", 14) < width_px("much wider", 14)
    True
    """
    text = _printable(text)
    if (face := _face()) is not None:
        # The measured box leaves out spaces at the end; a full stop keeps them.
        box, dot = (
            cv2.getTextSize((0, 0), words, (0, 0), face, size_px, _WEIGHTS[bold]) for words in (f"{text}.", ".")
        )
        return int(box[0] + box[2] - dot[2])
    (width, _), _ = cv2.getTextSize(_ascii(text), cv2.FONT_HERSHEY_SIMPLEX, size_px / _HERSHEY_PX, 1 + bold)
    return int(width)


def fit(text: str, room_px: int, size_px: int, *, bold: bool = False, middle: bool = False) -> str:
    """The text, shortened with an ellipsis where it is wider than `room_px`.

    Args:
        text: one line.
        room_px: the width there is.
        size_px: size of the font.
        bold: as it will be drawn.
        middle: cut in the middle, where names of files differ least.

    >>> fit("RandomResizedCrop", 60, 13).endswith("…")
    True
    """

    def cut(keep: int) -> str:
        tail = keep // 2 if middle else 0
        return text[: keep - tail].rstrip() + "…" + text[len(text) - tail :]

    if width_px(text, size_px, bold=bold) <= room_px:
        return text
    widths = range(1, len(text))  # characters kept; the widest that fits is found by bisection
    return cut(bisect_right(widths, room_px, key=lambda keep: width_px(cut(keep), size_px, bold=bold)))


def render_text(
    canvas: NDArray[np.uint8],
    text: str,
    at: tuple[int, int],
    *,
    size_px: int,
    colour: Colour,
    bold: bool = False,
    align: str = "left",
) -> None:
    """Draw one line on an RGB canvas, in place.

    Args:
        canvas: uint8 H×W×3.
        text: one line; what cannot be printed becomes a question mark.
        at: x of the left end or of the middle (see `align`), and y of the baseline.
        size_px: size of the font.
        colour: RGB.
        bold: heavier.
        align: `left` or `center`.
    """
    text, (x, y) = _printable(text), at
    if align == "center":
        x -= width_px(text, size_px, bold=bold) // 2
    if (face := _face()) is not None:
        cv2.putText(canvas, text, (x, y), colour, face, size_px, _WEIGHTS[bold])
    else:
        scale = size_px / _HERSHEY_PX
        cv2.putText(canvas, _ascii(text), (x, y), cv2.FONT_HERSHEY_SIMPLEX, scale, colour, 1 + bold, cv2.LINE_AA)


@lru_cache(maxsize=1)
def _face() -> Any:
    """OpenCV 5's own outline font, or None in OpenCV 4, which has only strokes."""
    return cv2.FontFace("sans") if hasattr(cv2, "FontFace") else None


def _printable(text: str) -> str:
    """The text without line breaks, controls and the halves of broken names."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _ascii(text: str) -> str:
    """What OpenCV 4 can draw."""
    for fancy, plain in (("…", "..."), ("×", "x"), ("·", "|"), ("→", "->"), ("–", "-")):
        text = text.replace(fancy, plain)
    return text.encode("ascii", "replace").decode()
