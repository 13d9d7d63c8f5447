"""A folder of awkward and broken files, with what Pillow and OpenCV make of them, where there is one.

AUGRECIPES_DATA names a folder that holds ``nasty/`` with its ``expectations.csv``. Every file must be read where Pillow
reads it, with the same pixels, and refused where Pillow refuses it; ``nasty_differences.csv`` lists and explains the
exceptions.
"""

from __future__ import annotations

import csv
import os
import random
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from support.damage import check
from support.decoding import decode_image

from augrecipes.errors import DataError
from augrecipes.sources.files import read_image

DATA = Path(os.environ.get("AUGRECIPES_DATA", "/nowhere")) / "nasty"
DIFFERENCES = Path(__file__).with_name("nasty_differences.csv")

pytestmark = [
    pytest.mark.skipif(not DATA.is_dir(), reason="AUGRECIPES_DATA names no folder of nasty files"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::PIL.Image.DecompressionBombWarning"),
]


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def ours(file: Path) -> str:
    """What `nasty_differences.csv` has in its column of that name."""
    try:
        image = read_image(file, exif="ignore")
    except DataError as error:
        assert error.path == str(file)
        return "refused"
    with Image.open(file) as opened:
        theirs = np.asarray(opened.convert("RGB"))
    return "same" if theirs.shape == image.shape and np.abs(theirs.astype(int) - image).max() <= 1 else "other pixels"


def test_every_file_is_read_or_refused_as_expected() -> None:
    explained = {row["file"]: row for row in rows(DIFFERENCES)}
    found = {}
    for row in rows(DATA / "expectations.csv"):
        name = row["file"]
        if row["pillow_outcome"] == "ok":
            outcome = ours(DATA / name)
            if outcome != "same":
                found[name] = outcome
        else:
            try:
                read_image(DATA / name)
                found[name] = "read"
            except DataError as error:
                assert error.path == str(DATA / name)
    assert found == {name: row["ours"] for name, row in explained.items()}
    assert all(row["why"] for row in explained.values())


def test_jpeg_pixels_are_those_of_opencv() -> None:
    compared = 0
    for row in rows(DATA / "expectations.csv"):
        data = (DATA / row["file"]).read_bytes()
        if row["format"] != "JPEG" or row["pillow_outcome"] != "ok" or row["cv2_outcome"] != "ok":
            continue
        for exif, flags in (("apply", 0), ("ignore", cv2.IMREAD_IGNORE_ORIENTATION)):
            theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | flags)
            image = decode_image(data, name=row["file"], exif=exif)  # type: ignore[arg-type]
            np.testing.assert_array_equal(image, theirs[:, :, ::-1], err_msg=row["file"])
        compared += 1
    assert compared > 20


def test_nothing_is_said_and_the_law_of_damage_holds(capfd: pytest.CaptureFixture[str]) -> None:
    for row in rows(DATA / "expectations.csv"):
        check((DATA / row["file"]).read_bytes(), random.Random(1))
    said = capfd.readouterr()
    assert said.out == ""
    assert all(line.startswith("tempfile.tif: ") for line in said.err.splitlines())  # libtiff, inside of Pillow
