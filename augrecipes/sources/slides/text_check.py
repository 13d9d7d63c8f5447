"""Whether OpenSlide can be given a slide that a text file describes: some of what may stand there ends the process.

Of Hamamatsu's VMU it takes one kind of pixels, and fails at others in a way that nobody can catch. Of MIRAX it takes
the numbers and sizes of pictures on trust, and counts places in memory by them.
"""

from __future__ import annotations

import re
from pathlib import Path

from augrecipes.errors import DataError

_MOST = 1 << 24  # bytes of such a file; they have a few thousand
_PICTURES = 1 << 24  # in a slide: several times what scanners make
_SIDE = 1 << 14  # px of a picture
_BEGIN_TIFF = "II", "MM"
_UNCOMPRESSED = "[Uncompressed Virtual Microscope Specimen]"  # in a VMU, whatever its file is called
_PIXELS = {"BitsPerPixel": "36", "PixelOrder": "RGB"}


def check_text(path: str, vendor: str) -> None:
    """Look at the text of a VMU or MIRAX slide; of another slide at nothing.

    Args:
        path: of the file that stands for the slide.
        vendor: what OpenSlide calls its kind.

    Raises:
        DataError: it says what OpenSlide ends the process at; or cannot be read.
    """
    if vendor == "hamamatsu" and _text(path, 2) not in _BEGIN_TIFF and _UNCOMPRESSED in (text := _text(path)):
        for name, value in _PIXELS.items():
            if (said := _said(text, name)) != [value]:
                raise DataError(f"{name} has to be {value}, and is {', '.join(said) or 'missing'}", path)
    elif vendor == "mirax":
        ini = str(Path(path).with_suffix("") / "Slidedat.ini")
        text = _text(ini)
        across, down = (_within(ini, text, f"IMAGENUMBER_{axis}", _PICTURES) for axis in "XY")
        if across * down > _PICTURES:
            raise DataError(f"{across}×{down} pictures are more than a slide can have: {_PICTURES:,}", ini)
        _within(ini, text, "CameraImageDivisionsPerSide", min(across, down))
        for side in ("WIDTH", "HEIGHT"):
            _within(ini, text, f"DIGITIZER_{side}", _SIDE)


def _text(path: str, most: int = _MOST) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path) from None


def _said(text: str, name: str) -> list[str]:
    """What is said of a name, wherever it stands."""
    return [value.strip() for value in re.findall(rf"^[ \t]*{name}[ \t]*=(.*)$", text, re.MULTILINE)]


def _within(path: str, text: str, name: str, most: int) -> int:
    """The largest of the numbers that are said of a name, 1 where there are none; all have to be from 1 to `most`."""
    said = _said(text, name)
    for value in said:
        if re.fullmatch("[0-9]{1,9}", value) is None or not 1 <= int(value) <= most:
            raise DataError(f"{name} has to be a whole number from 1 to {most:,}, and is {value or 'empty'}", path)
    return max(map(int, said), default=1)
