"""Arrays in `.npy` files are pictures like others: whole, by windows, as masks, in folders, pairs, bags and lists."""

from __future__ import annotations

import csv
import logging
import random
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.errors import DataError
from augrecipes.images.encoded import open_encoded
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.files import open_mask, read_image, read_mask
from augrecipes.sources.listing import list_folders

RNG = np.random.default_rng(0)
COLOURS = RNG.integers(0, 256, (40, 60, 3), np.uint8)
IDS = RNG.integers(0, 9, (40, 60), np.uint8)
CROPS = parse_text("{version: 1, recipe: w, steps: [RandomCrop: {height: 16, width: 16}], eval: []}")
MASKED = parse_text(
    "{version: 1, recipe: m, inputs: {mask: required}, steps: [RandomCrop: {height: 16, width: 16}], eval: []}"
)
BAGS = parse_text("{version: 1, recipe: b, kind: bag, steps: [RandomCrop: {height: 16, width: 16}], eval: []}")
PAIRS = parse_text(
    "{version: 1, recipe: p, kind: pair, scales: {lr: 1, hr: 2}, steps: [RandomCrop: {height: 8, width: 8}], eval: []}"
)


def same_samples(made: Any, other: Any) -> None:
    assert len(made) == len(other) > 0
    for one, two in zip((made[i] for i in range(len(made))), (other[i] for i in range(len(other))), strict=True):
        for name in one.keys() - {"path"}:
            np.testing.assert_array_equal(one[name], two[name])


def write(folder: Path, name: str, array: np.ndarray) -> None:
    """The same pixels in both formats, in folders of their own."""
    for kind in ("npy", "png"):
        file = folder / kind / f"{name}.{kind}"
        file.parent.mkdir(parents=True, exist_ok=True)
        if kind == "npy":
            np.save(file, array)
        else:
            cv2.imwrite(str(file), array[:, :, ::-1] if array.ndim == 3 else array)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("array", [COLOURS, COLOURS[:, :, :1], IDS, np.dstack([COLOURS, IDS])])
def test_windows_are_parts_of_the_array(array: np.ndarray, order: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "it.npy", np.asarray(array, order=order))
    picture = open_encoded(tmp_path / "it.npy", channels=None)
    whole = array.reshape(*array.shape[:2], -1)
    assert picture.shape == whole.shape
    np.testing.assert_array_equal(picture.array(), whole)
    rng = random.Random(1)
    for _ in range(20):
        y, x = rng.randrange(39), rng.randrange(59)
        found = picture.view(y, x, 40, x + 1)
        np.testing.assert_array_equal(found, whole[y:, x : x + 1])
        assert found.flags.writeable, "not a piece of the file"
    assert array.nbytes < 4000 or isinstance(picture.data, memoryview), "mapped, not read"


def test_kinds_are_the_same_samples_as_of_png(tmp_path: Path) -> None:
    for k in range(3):
        picture = np.roll(COLOURS, k, axis=1)
        write(tmp_path / "images" / "a", f"a/{k}", picture)
        write(tmp_path / "masks", f"{k}", IDS)
        write(tmp_path / "hr", f"{k}", picture)
        write(tmp_path / "lr", f"{k}", np.ascontiguousarray(picture[::2, ::2]))
    folders = {kind: tmp_path / "images" / "a" / kind for kind in ("npy", "png")}
    same_samples(*(ar.ImageFolder(folders[kind], CROPS) for kind in folders))
    masked = (ar.ImageFolder(folders[k] / "a", MASKED, masks=tmp_path / "masks" / k) for k in folders)
    same_samples(*masked)
    same_samples(*(ar.TileBags(folders[kind], BAGS) for kind in folders))
    pairs = ({name: tmp_path / name / kind for name in ("hr", "lr")} for kind in folders)
    same_samples(*(ar.PairedImages(roots, PAIRS) for roots in pairs))
    for kind, folder in folders.items():
        with (tmp_path / f"{kind}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["image"], *([str(folder / "a" / f"{k}.{kind}")] for k in range(3))])
    same_samples(*(ar.ImageFolder(files=tmp_path / f"{kind}.csv", recipe=CROPS) for kind in folders))


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (COLOURS.astype(np.float32), "an array of float32: pictures are uint8"),
        (COLOURS.astype(np.int16), "16 bits a sample|an array of int16"),
        (np.array([{"a": 1}]), "an array of object"),
        (COLOURS[..., None], "pictures are H×W, or H×W×C"),
        (np.zeros((4, 4, 2), np.uint8), "of 1, 3 or 4 channels"),
        (np.zeros((0, 4), np.uint8), "0 pixels|×0 pixels"),
        (np.zeros((3, 4), "u1,u1"), "an array of"),
    ],
)
def test_other_arrays_are_typed_errors(array: np.ndarray, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "it.npy"
    np.save(file, array, allow_pickle=True)
    for read in (read_image, lambda path: open_encoded(path, depth="8bit").array()):
        with pytest.raises(DataError, match=reason) as caught:
            read(file)
        assert caught.value.path == str(file)


def test_masks_of_whole_numbers(tmp_path: Path) -> None:
    file = tmp_path / "it.npy"
    for dtype in (np.uint8, np.bool_, np.uint16, np.int32, np.int64):
        np.save(file, IDS.astype(dtype))
        found = open_mask(file)
        np.testing.assert_array_equal(
            found if isinstance(found, np.ndarray) else found.array()[:, :, 0], IDS.astype(dtype)
        )
        np.testing.assert_array_equal(read_mask(file), IDS.astype(dtype))
    np.save(file, IDS.astype(np.int64) << 40)
    with pytest.raises(DataError, match="32 bits are read"):
        read_mask(file)


def test_a_folder_of_several_formats_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "augrecipes"):
        for name in ("1.jpg", "2.JPEG"):
            (tmp_path / name).touch()
        list_folders([tmp_path], cache=False)
        assert not caplog.records
        (tmp_path / "3.png").touch()
        list_folders([tmp_path], cache=False)
        (tmp_path / "3.npy").touch()
        list_folders([tmp_path], cache=False)
    assert [(record.levelname, record.getMessage().partition(" ")[2]) for record in caplog.records] == [
        ("INFO", "mixes formats: 2 jpg, 1 png"),
        ("WARNING", "mixes formats: 2 jpg, 1 npy, 1 png"),
    ]
