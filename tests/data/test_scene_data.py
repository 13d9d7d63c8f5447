"""Further targets of a scene (`targets:`) from folders, CSV files and sources, through datasets and loaders."""

import csv
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from support.checks import same

import augrecipes as ar
from augrecipes.errors import DataError

RECIPE = """
version: 1
recipe: scene
inputs: {mask: optional}
targets:
  after: {like: image, share: geometry}
  depth: {like: mask, dtype: float32, interpolation: linear, fill: 0}
  flow: {like: vectors}
  cells: {like: masks, presence: optional}
  low: {like: mask, scale: 0.5, presence: optional}
steps:
  - RandomCrop: {height: 16, width: 20}
  - D4
  - RandomBrightnessContrast: {p: 1.0}
eval: []
"""
NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five scenes of 24×30: images, second dates, depths of 16 bits, flows."""
    rng = np.random.default_rng(0)
    for name in ("photos", "after", "depth", "flow"):
        (tmp_path / name).mkdir()
    for name in NAMES:
        for part, suffix in (("photos", ""), ("after", "_2")):
            cv2.imwrite(str(tmp_path / part / f"{name}{suffix}.png"), rng.integers(0, 256, (24, 30, 3), dtype=np.uint8))
        cv2.imwrite(str(tmp_path / "depth" / f"{name}.png"), rng.integers(0, 60000, (24, 30), dtype=np.uint16))
        np.save(tmp_path / "flow" / f"{name}.npy", rng.normal(size=(24, 30, 2)).astype(np.float32))
    return tmp_path


def templates(folder: Path) -> dict[str, str]:
    return {
        "after": f"{folder}/after/{{stem}}_2.png",
        "depth": f"{folder}/depth",
        "flow": f"{folder}/flow/{{stem}}.npy",
    }


def listed(folder: Path, **more: str) -> Path:
    with (folder / "list.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["image", "second", "depth", "flow", *more])
        writer.writeheader()
        for name in NAMES:
            row = {"image": f"photos/{name}.png", "second": f"after/{name}_2.png", "depth": f"depth/{name}.png"}
            writer.writerow({**row, "flow": f"flow/{name}.npy", **more})
    return folder / "list.csv"


def test_folders_bring_them_by_templates(folder: Path) -> None:
    ds = ar.ImageFolder(folder / "photos", ar.load(RECIPE), targets=templates(folder), seed=2)
    sample = ds[1]
    kinds = {name: (value.dtype, tuple(value.shape)) for name, value in sample.items() if torch.is_tensor(value)}
    rows, columns = sample["image"].shape[1:]
    assert kinds == {
        "image": (torch.float32, (3, rows, columns)), "after": (torch.float32, (3, rows, columns)),
        "depth": (torch.float32, (rows, columns)), "flow": (torch.float32, (2, rows, columns)),
    }  # fmt: skip
    by_hand = ar.load(RECIPE).compile(seed=2).at(1)(
        image=ar.read_image(folder / "photos" / "b.png"), after=ar.read_image(folder / "after" / "b_2.png"),
        depth=ar.read_mask(folder / "depth" / "b.png"), flow=np.load(folder / "flow" / "b.npy"),
    )  # fmt: skip
    for name in kinds:
        np.testing.assert_array_equal(sample[name].numpy(), by_hand[name])
    assert np.ptp(sample["depth"].numpy()) > 255  # all bits of the file


def test_other_files_of_a_target_are_other_data(folder: Path) -> None:
    one, other = (
        ar.ImageFolder(folder / "photos", ar.load(RECIPE), targets={**templates(folder), "after": f"{folder}/{name}"})
        for name in ("after/{stem}_2.png", "photos")
    )
    assert one.fingerprint()["files"] != other.fingerprint()["files"]


def test_a_csv_file_has_a_column_for_each(folder: Path) -> None:
    of_folders = ar.ImageFolder(folder / "photos", ar.load(RECIPE), targets=templates(folder))
    of_columns = ar.ImageFolder(files=listed(folder), recipe=ar.load(RECIPE), columns={"after": "second"})
    for k in range(len(NAMES)):
        one, other = of_folders[k], of_columns[k]
        assert Path(one.pop("path")).name == Path(other.pop("path")).name
        same(one, other)


def test_a_source_brings_them_by_name() -> None:
    rng = np.random.default_rng(1)
    scene = {
        "image": rng.integers(0, 256, (24, 30, 3), dtype=np.uint8), "flow": torch.ones(24, 30, 2), "label": 4,
        "after": torch.zeros(3, 24, 30, dtype=torch.uint8), "depth": np.full((24, 30), 7, np.uint16),
        "cells": [np.eye(24, 30, dtype=bool)] * 3, "low": np.full((12, 15), 5, np.int64),
    }  # fmt: skip
    sample = ar.Samples([scene] * 2, ar.load(RECIPE))[1]
    rows, columns = sample["image"].shape[1:]
    assert (sample["cells"].dtype, tuple(sample["cells"].shape)) == (torch.int64, (3, rows, columns))
    assert (sample["depth"].dtype, sample["depth"].unique().tolist()) == (torch.float32, [7.0])
    assert (sample["low"].dtype, tuple(sample["low"].shape)) == (torch.int64, (rows // 2, columns // 2))
    assert sample["label"] == 4
    with pytest.raises(DataError, match="requires flow, and this sample has none"):
        ar.Samples([{name: value for name, value in scene.items() if name != "flow"}], ar.load(RECIPE))[0]


def square(folder: Path) -> ar.ImageFolder:
    recipe = ar.load(RECIPE, overrides={"RandomCrop.width": 16})
    return ar.ImageFolder(folder / "photos", recipe, targets=templates(folder), seed=3)


@pytest.mark.parametrize(
    "how", [{"num_workers": 2}, {"num_workers": 2, "backend": "processes"}], ids=["threads", "processes"]
)
def test_loaders_stack_them_and_are_alike(folder: Path, how: dict[str, Any]) -> None:
    ds = square(folder)
    alone = [*ar.loader(ds, 2, num_workers=0, seed=5)]
    several = [*ar.loader(ds, 2, seed=5, **how)]
    assert alone[0]["flow"].shape == (2, 2, 16, 16)
    assert alone[0]["depth"].shape == (2, 16, 16)
    for one, other in zip(alone, several, strict=True):
        same({**one}, {**other})


def test_a_missing_partner_is_named(folder: Path) -> None:
    (folder / "after" / "c_2.png").unlink()
    with pytest.raises(DataError, match=r"c\.png: no after, which should be .*after.c_2\.png"):
        ar.ImageFolder(folder / "photos", ar.load(RECIPE), targets=templates(folder))
    with pytest.raises(DataError, match=r"list\.csv:4.*c_2\.png"):
        ar.ImageFolder(files=listed(folder), recipe=ar.load(RECIPE), columns={"after": "second"})


def test_sizes_that_do_not_fit_name_both_files(folder: Path) -> None:
    cv2.imwrite(str(folder / "depth" / "b.png"), np.zeros((30, 24), np.uint16))
    ds = ar.ImageFolder(folder / "photos", ar.load(RECIPE), targets=templates(folder))
    with pytest.raises(DataError, match=r"depth.b\.png: is 30×24 px, but its image .*b\.png is 24×30 px"):
        ds[1]


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"after": None}, DataError, "requires after, and the data has none: give targets="),
        ({"other": "x"}, ValueError, "targets= names 'other', and the recipe's `targets:` are after, depth"),
        ({"after": "{stem}.png"}, ValueError, "should have one {stem}"),
    ],
)
def test_what_is_wrong_is_told_at_once(folder: Path, change: dict[str, Any], error: Any, said: str) -> None:
    named = {name: path for name, path in {**templates(folder), **change}.items() if path is not None}
    with pytest.raises(error, match=said):
        ar.ImageFolder(folder / "photos", ar.load(RECIPE), targets=named)
    with pytest.raises(ValueError, match="targets= goes with root="):
        ar.ImageFolder(files=listed(folder), recipe=ar.load(RECIPE), targets=named)


def test_files_beside_the_images_are_no_images(tmp_path: Path) -> None:
    for name in ("a", "b"):
        for suffix in ("", "_after", "_mask"):
            cv2.imwrite(
                str(tmp_path / f"{name}{suffix}.png"), np.zeros((8, 8, 3 if suffix != "_mask" else 1), np.uint8)
            )
    recipe = ar.load("version: 1\nrecipe: a\ntargets: {after: {like: image}}\nsteps: []\neval: []")
    ds = ar.ImageFolder(tmp_path, recipe, masks="{stem}_mask.png", targets={"after": "{stem}_after.png"})
    assert [Path(sample["path"]).name for sample in (ds[0], ds[1])] == ["a.png", "b.png"]
    assert {"image", "after", "mask"} <= ds[0].keys()


def test_vectors_are_read_from_arrays_alone(folder: Path) -> None:
    ds = ar.ImageFolder(folder / "photos", ar.load(RECIPE), targets={**templates(folder), "flow": f"{folder}/depth"})
    with pytest.raises(DataError, match=r"depth.a\.png: flow: vectors are read from arrays that numpy has saved"):
        ds[0]


def test_images_of_floats_are_read_from_arrays(tmp_path: Path) -> None:
    recipe = ar.load("version: 1\nrecipe: a\ntargets: {sar: {like: image, dtype: float32}}\nsteps: []\neval: []")
    for folder in ("photos", "sar"):
        (tmp_path / folder).mkdir()
    cv2.imwrite(str(tmp_path / "photos" / "a.png"), np.zeros((6, 7, 3), np.uint8))
    radar = np.random.default_rng(0).random((6, 7, 3), np.float32)
    np.save(tmp_path / "sar" / "a.npy", radar)
    sample = ar.ImageFolder(tmp_path / "photos", recipe, targets={"sar": tmp_path / "sar"})[0]
    np.testing.assert_array_equal(sample["sar"].numpy(), radar.transpose(2, 0, 1))


def test_a_sample_may_have_no_instances() -> None:
    recipe = ar.load("version: 1\nrecipe: a\ntargets: {cells: {like: masks}}\nsteps: [D4]\neval: []")
    scene = {"image": np.zeros((6, 6, 3), np.uint8), "cells": []}
    assert ar.Samples([scene], recipe)[0]["cells"].shape == (0, 6, 6)


def test_deep_images_have_the_depth_of_the_recipe() -> None:
    recipe = ar.load(
        "version: 1\nrecipe: a\ninputs: {depth: 16, nodata: 0}\ntargets: {after: {like: image, share: geometry}, "
        "twin: {like: image}}\nsteps: [D4, RandomBrightnessContrast: {p: 1}, Rotate: {limit: 30, p: 1}]\neval: []"
    )
    image = np.random.default_rng(0).integers(1, 65536, (20, 24, 3), dtype=np.uint16)
    image[3:7, 4:9] = 0
    done = recipe.compile().at(4)(image=image, after=image, twin=image)
    np.testing.assert_array_equal(done["twin"], done["image"])
    assert ((done["after"] == 0) == (done["image"] == 0)).mean() > 0.95
    assert not np.array_equal(done["after"], done["image"])
    with pytest.raises(DataError, match="after is uint8, the recipe's inputs say uint16"):
        recipe.compile().at(4)(image=image, after=(image >> 8).astype(np.uint8), twin=image)


@pytest.mark.parametrize("how", ["folder", "bytes", "packed"])
def test_numbers_are_read_from_tiffs_of_floats(tmp_path: Path, how: str) -> None:
    recipe = ar.load(
        "version: 1\nrecipe: a\ntargets: {depth: {like: mask, interpolation: linear}}\nsteps: []\neval: []"
    )
    for folder in ("photos", "depth"):
        (tmp_path / folder).mkdir()
    cv2.imwrite(str(tmp_path / "photos" / "a.png"), np.zeros((6, 7, 3), np.uint8))
    metres = np.random.default_rng(0).normal(size=(6, 7)).astype(np.float32)
    cv2.imwrite(str(file := tmp_path / "depth" / "a.tif"), metres)
    given = {"image": tmp_path / "photos", "depth": tmp_path / "depth"}
    if how == "folder":
        sample = ar.ImageFolder(given["image"], recipe, targets={"depth": given["depth"]})[0]
    elif how == "packed":
        ar.pack(recipe, given, tmp_path / "store")
        sample = ar.Packed(tmp_path / "store", recipe)[0]
    else:
        image = np.zeros((6, 7, 3), np.uint8)
        sample = ar.Samples([{"image": image, "depth": file.read_bytes()}], recipe)[0]
    np.testing.assert_array_equal(sample["depth"].numpy(), metres)
