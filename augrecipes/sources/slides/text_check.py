"""Whether OpenSlide can be given a slide that a text file describes: some of what may stand there ends the process.

Of Hamamatsu's VMU it takes one kind of pixels, and fails at others in a way that nobody can catch. Of VMS and MIRAX it
takes the numbers of pictures on trust, and makes places in memory by them: for 40000×50000 of a VMS 15 GB.
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
    """Look at the text of a VMS, VMU or MIRAX slide; of another slide at nothing.

    Args:
        path: of the file that stands for the slide.
        vendor: what OpenSlide calls its kind.

    Raises:
        DataError: it says what OpenSlide ends the process at; or cannot be read.
    """
    if vendor == "hamamatsu" and _text(path, 2) not in _BEGIN_TIFF:
        text = _text(path)
        if _UNCOMPRESSED not in text:
            _pictures(path, text, "NoJpegColumns", "NoJpegRows")
            return
        for name, value in _PIXELS.items():
            if (said := _said(text, name)) != [value]:
                raise DataError(f"{name} has to be {value}, and is {', '.join(said) or 'missing'}", path)
    elif vendor == "mirax":
        ini = str(Path(path).with_suffix("") / "Slidedat.ini")
        text = _text(ini)
        _within(ini, text, "CameraImageDivisionsPerSide", min(_pictures(ini, text, "IMAGENUMBER_X", "IMAGENUMBER_Y")))
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


def _pictures(path: str, text: str, *names: str) -> tuple[int, int]:
    """How many pictures there are across and down, by what is said of these names."""
    across, down = (_within(path, text, name, _PICTURES) for name in names)
    if across * down > _PICTURES:
        raise DataError(f"{across}×{down} pictures are more than a slide can have: {_PICTURES:,}", path)
    return across, down


def _within(path: str, text: str, name: str, most: int) -> int:
    """The largest of the numbers that are said of a name, 1 where there are none; all have to be from 1 to `most`."""
    said = _said(text, name)
    for value in said:
        if re.fullmatch("[0-9]{1,9}", value) is None or not 1 <= int(value) <= most:
            raise DataError(f"{name} has to be a whole number from 1 to {most:,}, and is {value or 'empty'}", path)
    return max(map(int, said), default=1)
