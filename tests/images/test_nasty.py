"""A folder of awkward and broken files, with what Pillow and OpenCV make of them, where there is one.

AUGRECIPES_DATA names a folder that holds ``nasty/`` with its ``expectations.csv``. Every file must be read where Pillow
reads it, with the same pixels, and refused where Pillow refuses it; ``nasty_differences.csv`` lists and explains the
exceptions.
"""

import csv
import os
import random
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image
from support.damage import check
from support.encoded_images import decode_image

import augrecipes as ar
from augrecipes.lru import OpenFile
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.files import open_mask, read_image, read_mask
from augrecipes.sources.opened import OpenedSource

DATA = Path(os.environ.get("AUGRECIPES_DATA", "/nowhere")) / "nasty"
DIFFERENCES = Path(__file__).with_name("nasty_differences.csv")


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def ours(file: Path) -> str:
    """What `nasty_differences.csv` has in its column of that name."""
    try:
        image = read_image(file, exif="ignore")
    except ar.DataError as error:
        assert error.path == str(file)
        return "refused"
    with Image.open(file) as opened:
        theirs = np.asarray(opened.convert("RGB"))
    return "same" if theirs.shape == image.shape and np.abs(theirs.astype(int) - image).max() <= 1 else "other pixels"


@pytest.mark.skipif(not DATA.is_dir(), reason="AUGRECIPES_DATA names no folder of nasty files")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::PIL.Image.DecompressionBombWarning")
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
            except ar.DataError as error:
                assert error.path == str(DATA / name)
    assert found == {name: row["ours"] for name, row in explained.items()}
    assert all(row["why"] for row in explained.values())


@pytest.mark.skipif(not DATA.is_dir(), reason="AUGRECIPES_DATA names no folder of nasty files")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::PIL.Image.DecompressionBombWarning")
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


@pytest.mark.skipif(not DATA.is_dir(), reason="AUGRECIPES_DATA names no folder of nasty files")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::PIL.Image.DecompressionBombWarning")
def test_nothing_is_said_and_the_law_of_damage_holds(capfd: pytest.CaptureFixture[str]) -> None:
    for row in rows(DATA / "expectations.csv"):
        check((DATA / row["file"]).read_bytes(), random.Random(1))
    said = capfd.readouterr()
    assert said.out == ""
    assert all(line.startswith("tempfile.tif: ") for line in said.err.splitlines())  # libtiff, inside of Pillow


# Arrays in `.npy` files are images like others: whole, by windows, as masks, in folders, pairs, bags and lists.


RNG = np.random.default_rng(0)
COLOURS = RNG.integers(0, 256, (40, 60, 3), np.uint8)
IDS = RNG.integers(0, 9, (40, 60), np.uint8)
LARGE = np.tile(IDS, (3, 3))  # enough not to be read when it is opened
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
    image = ar.open_encoded(tmp_path / "it.npy", channels=None)
    whole = array.reshape(*array.shape[:2], -1)
    assert image.shape == whole.shape
    np.testing.assert_array_equal(image.array(), whole)
    rng = random.Random(1)
    for _ in range(20):
        y, x = rng.randrange(39), rng.randrange(59)
        found = image.view(y, x, 40, x + 1)
        np.testing.assert_array_equal(found, whole[y:, x : x + 1])
        assert found.flags.writeable, "not a piece of the file"
    assert array.nbytes < 4000 or isinstance(image.data, OpenFile), "no more is read than is asked for"


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("keep", [0, 100, 4_000, LARGE.nbytes])
@pytest.mark.skipif(not hasattr(os, "pread"), reason="Windows maps files, and lets nobody cut them")
def test_an_array_may_be_cut_once_it_is_open(order: Any, keep: int, tmp_path: Path) -> None:
    """A file that is mapped ends the process then."""
    file = tmp_path / "it.npy"
    np.save(file, np.asarray(LARGE, order=order))
    image, mask, stack = ar.open_encoded(file), open_mask(file), OpenedSource(str(file))  # its rows are the samples
    assert not isinstance(mask, np.ndarray)
    np.testing.assert_array_equal(stack.read(119), LARGE[119])
    os.truncate(file, keep)
    reads = [image.array, lambda: image.view(3, 5, 20, 30), mask.array, lambda: stack.read(119)]
    for read in reads if order == "C" else reads[:3]:
        with pytest.raises(ar.DataError, match="truncated") as caught:
            read()
        assert caught.value.path == str(file)
    with pytest.raises(ar.DataError, match="truncated"):
        OpenedSource(str(file))


@pytest.mark.skipif(not hasattr(os, "pread"), reason="Windows maps files, and lets nobody cut them")
def test_an_array_may_be_cut_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "it.npy", COLOURS)
    image, read = ar.open_encoded(tmp_path / "it.npy"), os.pread
    monkeypatch.setattr(os, "pread", lambda *a: (os.truncate(tmp_path / "it.npy", 4_000), read(*a))[1])
    with pytest.raises(ar.DataError, match=r"it\.npy: truncated: 4,000 of 7,328 bytes"):
        image.array()


def test_kinds_are_the_same_samples_as_of_png(tmp_path: Path) -> None:
    for k in range(3):
        image = np.roll(COLOURS, k, axis=1)
        write(tmp_path / "images" / "a", f"a/{k}", image)
        write(tmp_path / "masks", f"{k}", IDS)
        write(tmp_path / "hr", f"{k}", image)
        write(tmp_path / "lr", f"{k}", np.ascontiguousarray(image[::2, ::2]))
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
        (COLOURS.astype(np.float32), "floats of 32 bits a sample.*say `inputs: {depth: float32}`"),
        (COLOURS.astype(np.int16), "16 bits a sample|an array of int16"),
        (np.array([{"a": 1}]), "an array of object"),
        (COLOURS[..., None], "images are H×W, or H×W×C"),
        (np.zeros((4, 4, 2), np.uint8), "of 2 channels, and 3 are wanted"),
        (np.zeros((4, 4, 999), np.uint8), "of 1 to 512 channels"),
        (np.zeros((0, 4), np.uint8), "0 pixels|×0 pixels"),
        (np.zeros((3, 4), "u1,u1"), "an array of"),
    ],
)
def test_other_arrays_are_typed_errors(array: np.ndarray, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "it.npy"
    np.save(file, array, allow_pickle=True)
    for read in (read_image, lambda path: ar.open_encoded(path, depth="8bit").array()):
        with pytest.raises(ar.DataError, match=reason) as caught:
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
    with pytest.raises(ar.DataError, match="at most 32 bits"):
        read_mask(file)
