"""Write a sheet to a file, and check beforehand that it can be written."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.addresses import local
from augrecipes.errors import DataError


def checked_path(out: str | os.PathLike[str]) -> Path:
    """The path of a picture; DataError where its ending is not one of a picture's, or it is an address."""
    path = local(out)
    if path.suffix.lower() not in {".png", ".jpg", ".jpeg"}:
        raise DataError("a picture is written as .png or .jpg", path=str(path))
    return path


def save_sheet(sheet: NDArray[np.uint8], out: str | os.PathLike[str]) -> Path:
    """Write a sheet, uint8 H×W×3 RGB, as `.png` or `.jpg`; missing folders are made.

    Raises:
        DataError: another ending, or it cannot be written.
    """
    path = checked_path(out)
    _, encoded = cv2.imencode(path.suffix.lower(), cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded.tobytes())
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path=str(path)) from error
    return path
