"""Recipes of 16 bits and floats: what datasets, sources and `check-data` make of files and arrays."""

import io
import tarfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from support.deep_files import npy, numbers, png, tiff

import augrecipes as ar
from augrecipes.kinds.image.reader import check
from augrecipes.kinds.pair.reader import check as check_pairs
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.sample_inputs import as_image

SIZE = (20, 30)
DEEP = [numbers("u2", 3, SIZE, seed) for seed in range(3)]


def recipe(inputs: str) -> Any:
    return parse_text(
        f"{{version: 1, recipe: deep, inputs: {{{inputs}}}, steps: [HorizontalFlip: {{p: 1.0}}], eval: []}}"
    )


def folder(path: Path, files: dict[str, bytes]) -> Path:
    path.mkdir()
    for name, data in files.items():
        (path / name).write_bytes(data)
    return path


def read(dataset: Any, k: int = 0) -> NDArray[Any]:
    """What is read, before the recipe."""
    image: NDArray[Any] = dataset.given(k).images["image"]
    return image


@pytest.mark.parametrize("write", [png, npy, lambda array: tiff(array, photometric=2)])
def test_folders_are_read_in_the_depth_of_the_recipe(write: Any, tmp_path: Path) -> None:
    root = folder(tmp_path / "it", {f"{k}.png": write(array) for k, array in enumerate(DEEP)})
    for inputs, dtype in (("depth: 16", "uint16"), ("depth: float32, range: [0, 65535]", "float32")):
        dataset = ar.ImageFolder(root, recipe(inputs), mode="eval")
        for k, array in enumerate(DEEP):
            assert read(dataset, k).dtype == dtype
            np.testing.assert_array_equal(read(dataset, k), array.astype(dtype))
            np.testing.assert_allclose(dataset[k]["image"], array.transpose(2, 0, 1) / 65535, atol=1e-6)
        flipped = ar.ImageFolder(root, recipe(inputs))[1]["image"]
        np.testing.assert_allclose(flipped, DEEP[1][:, ::-1].transpose(2, 0, 1) / 65535, atol=1e-6)
    with pytest.raises(ar.DataError, match=r"0\.png: 16 bits a sample.*say `inputs: \{depth: 16\}`"):
        ar.ImageFolder(root, recipe("mask: optional"), depth="error")[0]
    with pytest.raises(ar.DataError, match=r"0\.png: 16 bits a sample.*say what they mean"):
        ar.ImageFolder(root, recipe("depth: float32"))[0]


def test_channels_that_nobody_says_are_those_of_the_first_file(tmp_path: Path) -> None:
    grey, five = numbers("u2", 1, SIZE), numbers("u2", 5, SIZE)
    root = folder(tmp_path / "grey", {"a.png": png(grey), "b.png": png(grey), "c.png": png(DEEP[0])})
    dataset = ar.ImageFolder(root, recipe("depth: 16"))
    np.testing.assert_array_equal(read(dataset), grey)
    assert dataset[1]["image"].shape == (1, *SIZE)
    for again in (dataset, ar.ImageFolder(root, recipe("depth: 16"))):  # whatever was read before
        with pytest.raises(ar.DataError, match=r"c\.png: an image of 3 channels, and .*a\.png has 1: say `inputs: "):
            again[2]
    np.testing.assert_array_equal(
        read(ar.ImageFolder(root, recipe("depth: 16, channels: 3")), 1), np.repeat(grey, 3, 2)
    )
    (defect,) = checked(root, "depth: 16").defects
    assert defect.message.startswith(f"{root / 'c.png'}: an image of 3 channels, and {root / 'a.png'} has 1")
    many = folder(tmp_path / "many", {"a.npy": npy(five), "b.tif": tiff(five, packed=True)})
    for inputs in ("depth: 16", "depth: 16, channels: 5"):
        dataset = ar.ImageFolder(many, recipe(inputs))
        for k in range(2):
            np.testing.assert_array_equal(read(dataset, k), five)


def checked(root: Path, inputs: str, *, content: bool = False) -> Any:
    advance: Any = lambda *_: None  # noqa: E731
    return check(recipe(inputs), "train", str(root), masks=None, split=None, content=content, advance=advance)


def test_check_data_reports_other_depths(tmp_path: Path) -> None:
    low = cv2.imencode(".png", DEEP[0].astype(np.uint8))[1].tobytes()
    floats = npy(DEEP[0].astype("f4"))
    cut = tiff(DEEP[0], block=(5, 30), packed=True, photometric=2)
    damaged = cut.replace(cut[60:90], bytes(30))
    root = folder(tmp_path / "it", {"a.png": png(DEEP[0]), "b.png": low, "c.npy": floats, "d.tif": damaged})
    found = {Path(defect.files[0]).name: defect.message for defect in checked(root, "depth: 16").defects}
    assert found.keys() == {"b.png", "c.npy", "d.tif"}
    assert "8 bits a sample, and the recipe says `depth: 16`" in found["b.png"]
    assert "floats of 32 bits a sample" in found["c.npy"]
    (defect,) = checked(root, "depth: float32, range: [0, 65535]").defects
    assert Path(defect.files[0]).name == "d.tif"


def test_pages_are_the_channels_that_a_recipe_says(tmp_path: Path) -> None:
    five = numbers("u2", 5, SIZE)
    root = folder(tmp_path / "it", {"a.tif": tiff(*five.transpose(2, 0, 1)[..., None])})
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AUGRECIPES_FRAMES", raising=False)
        np.testing.assert_array_equal(read(ar.ImageFolder(root, recipe("depth: 16, channels: 5"))), five)
        assert not checked(root, "depth: 16, channels: 5").defects
        with pytest.raises(ar.DataError, match=r"a\.tif: several pages.*`inputs: \{channels: 5\}`"):
            ar.ImageFolder(root, recipe("depth: 16"))[0]
        (defect,) = checked(root, "depth: 16").defects
        assert "several pages" in defect.message


GREY = DEEP[0][:, :, 0]
ARRAYS: list[tuple[Any, str, NDArray[Any]]] = [
    (DEEP[0], "uint16", DEEP[0]),
    (DEEP[0].astype(">u2"), "uint16", DEEP[0]),
    (GREY, "uint16", GREY[:, :, None]),
    (DEEP[0].astype(np.int64), "uint16", DEEP[0]),
    (torch.from_numpy(DEEP[0].astype(np.int32).transpose(2, 0, 1)), "uint16", DEEP[0]),
    (Image.fromarray(GREY), "uint16", GREY[:, :, None]),
    (Image.fromarray(GREY.astype(np.int32)), "uint16", GREY[:, :, None]),
    (png(DEEP[0]), "uint16", DEEP[0]),
    ({"bytes": png(DEEP[0]), "path": None}, "uint16", DEEP[0]),
    (numbers("f4", 2, SIZE), "float32", numbers("f4", 2, SIZE)),
    (numbers("f8", 3, SIZE), "float32", numbers("f8", 3, SIZE).astype("f4")),
    (Image.fromarray(numbers("f4", 1, SIZE)[:, :, 0]), "float32", numbers("f4", 1, SIZE)),
]


@pytest.mark.parametrize(("value", "dtype", "expected"), ARRAYS, ids=lambda value: type(value).__name__)
def test_samples_are_taken_in_their_own_values(value: Any, dtype: str, expected: NDArray[Any]) -> None:
    found = as_image(value, channels=None, dtype=dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)
    depth = {"uint16": "depth: 16", "float32": "depth: float32, range: [-5000, 5000]"}[dtype]
    dataset = ar.Samples([{"image": value}] * 2, recipe(depth))
    np.testing.assert_array_equal(read(dataset, 1), expected)
    assert dataset[1]["image"].shape == (expected.shape[2], *SIZE)


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (DEEP[0].astype(np.uint8), {"dtype": "uint16"}, r"an array of uint8: 8 bits a sample.*`range: \[0, 255\]`"),
    (Image.fromarray(DEEP[0].astype(np.uint8)), {"dtype": "uint16"}, "Pillow's mode RGB, of 8 bits a sample"),
    (DEEP[0].astype("f4"), {"dtype": "uint16"}, "floats of 32 bits.*say `depth: float32`"),
    (DEEP[0].astype("i4") - 9, {"dtype": "uint16"}, "an array of int32: signed numbers of 32 bits"),
    (DEEP[0].astype("i4") + 9999, {"dtype": "uint16"}, "an array of int32: signed numbers of 32 bits"),
    (DEEP[0], {"dtype": "float32"}, r"an array of uint16: 16 bits.*range: \[0, 65535\]"),
    (DEEP[0] > 9, {"dtype": "uint16"}, "an image of bool"),
    (DEEP[0], {"depth": "error"}, r"16 bits a sample, and images are read with 8: say `inputs: \{depth: 16\}`"),
    (Image.fromarray(GREY), {}, r"mode I;16, which has more than 8 bits: say `inputs: \{depth: 16\}`"),
    (Image.fromarray(GREY.astype("f4")), {}, r"mode F, which has more than 8 bits: say `inputs: \{depth: float32\}`"),
    (DEEP[0], {"dtype": "uint16", "channels": 4}, "of 3 channels, and 4 are wanted"),
]


@pytest.mark.parametrize(("value", "how", "reason"), REFUSED, ids=[reason for _, _, reason in REFUSED])
def test_other_samples_are_refused_with_a_cure(value: Any, how: dict[str, Any], reason: str) -> None:
    with pytest.raises(ar.DataError, match=reason):
        as_image(value, **how)


def test_values_of_8_bits_stay_where_a_range_says_what_they_mean() -> None:
    low = DEEP[0].astype(np.uint8)
    for value in (low, Image.fromarray(low), torch.from_numpy(low)):
        for dtype in ("uint16", "float32"):
            np.testing.assert_array_equal(as_image(value, dtype=dtype, has_range=True), low.astype(dtype))


def test_archives_have_deep_files(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "it.tar", "w") as file:
        for k, array in enumerate(DEEP):
            for name, data in ((f"{k}.png", png(array)), (f"{k}.cls", b"1")):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                file.addfile(info, io.BytesIO(data))
    dataset = ar.Samples(str(tmp_path / "it.tar"), recipe("depth: 16"))
    for k, array in enumerate(DEEP):
        np.testing.assert_array_equal(read(dataset, k), array)


def test_pairs_of_16_bits_are_checked_in_their_depth(tmp_path: Path) -> None:
    scene = cv2.GaussianBlur(numbers("u2", 1, (256, 256))[:, :, 0], (0, 0), 6)
    scene = cv2.normalize(scene, None, 0, 4095, cv2.NORM_MINMAX)
    small = cv2.resize(scene, (128, 128), interpolation=cv2.INTER_AREA)
    for name, image in (("a", small), ("b", np.roll(small, 2, axis=1))):
        hr = folder(tmp_path / f"hr{name}", {"0.png": png(scene[:, :, None])})
        lr = folder(tmp_path / f"lr{name}", {"0.png": png(image[:, :, None])})
        text = "{version: 1, recipe: p, kind: pair, scales: {lr: 1, hr: 2}, inputs: {depth: 16, range: [0, 4095]}, "
        pairs = parse_text(f"{text}steps: [RandomCrop: {{height: 32, width: 32, at: lr}}], eval: []}}")
        how: Any = {"names": {}, "split": None, "content": True, "advance": lambda *_: None}
        found = check_pairs(pairs, "train", {"hr": str(hr), "lr": str(lr)}, **how).defects
        shifted = ["shifted by 2 px to the right"] if name == "b" else []
        assert [defect.message.rpartition(": ")[2] for defect in found] == shifted


def test_transforms_take_them() -> None:
    transform = recipe("depth: 16").transform("eval")
    for value in (DEEP[0], png(DEEP[0])):
        np.testing.assert_allclose(transform({"image": value})["image"], DEEP[0].transpose(2, 0, 1) / 65535, atol=1e-6)
