"""Masks of objects in files of their own: several, or none, for an image, by a template or by a column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

import augrecipes as ar
from augrecipes.errors import DataError
from augrecipes.packing.run import pack
from augrecipes.sources import paths

COUNTS = {"a": 2, "a_1": 3, "b": 0, "c": 1}
SIZE = (24, 32)
RECIPE: dict[str, Any] = {
    "version": 1, "recipe": "t", "eval": [],
    "inputs": {"mask": {"values": {255: 1}}}, "steps": [{"HorizontalFlip": {"p": 1.0}}],
}  # fmt: skip
BOXED = {**RECIPE, "inputs": {**RECIPE["inputs"], "boxes": "pascal_voc"}}


def instance(name: str, k: int) -> np.ndarray:
    """A mask that tells which it is: 255 in a column of its own."""
    mask = np.zeros(SIZE, np.uint8)
    mask[2:9, 3 * k + ord(name[0]) % 3 + len(name)] = 255
    return mask


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
    for name, count in COUNTS.items():
        cv2.imwrite(str(tmp_path / f"images/{name}.png"), np.full((*SIZE, 3), 90, np.uint8))
        for k in range(count):
            cv2.imwrite(str(tmp_path / f"masks/{name}_{k}.png"), instance(name, k))
    return tmp_path


def expected(name: str) -> np.ndarray:
    masks = [instance(name, k)[:, ::-1] // 255 for k in range(COUNTS[name])]
    return np.array(masks, np.int64).reshape(-1, *SIZE)


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_a_template_finds_them(folder: Path, optimize: Any) -> None:
    ds = ar.ImageFolder(folder / "images", RECIPE, masks=folder / "masks/{stem}_*.png", optimize=optimize)
    assert [Path(ds.path(k)).stem for k in range(4)] == [*COUNTS]
    for k, name in enumerate(COUNTS):
        sample = ds[k]
        assert sample["masks"].dtype == torch.int64
        assert np.array_equal(sample["masks"].numpy(), expected(name)), name
    for workers, backend in ((0, None), (2, "threads"), (2, "processes")):
        (batch,) = ar.loader(ds, 4, shuffle=False, num_workers=workers, backend=backend)
        assert [len(masks) for masks in batch["masks"]] == [*COUNTS.values()]
        assert np.array_equal(batch["masks"][1].numpy(), expected("a_1"))


def test_beside_the_images(tmp_path: Path) -> None:
    for name, count in COUNTS.items():
        cv2.imwrite(str(tmp_path / f"{name}.png"), np.full((*SIZE, 3), 90, np.uint8))
        for k in range(count):
            cv2.imwrite(str(tmp_path / f"{name}_mask{k}.png"), instance(name, k))
    ds = ar.ImageFolder(tmp_path, RECIPE, masks="{stem}_mask*.png")
    assert [len(ds[k]["masks"]) for k in range(len(ds))] == [*COUNTS.values()]


def listed(folder: Path, *, boxes: bool = False, **cells: str) -> Path:
    rows = ["image\tmasks" + "\tboxes" * boxes]
    for name, count in COUNTS.items():
        cell = cells.get(name, json.dumps([f"masks/{name}_{k}.png" for k in range(count)]) if count else "")
        corners = json.dumps([[3 * k + 1, 2, 3 * k + 9, 9, "cell"] for k in range(count)])
        rows.append(f"images/{name}.png\t{cell}" + f"\t{corners}" * boxes)
    path = folder / "list.tsv"
    quoted = ["\t".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row.split("\t")) for row in rows]
    path.write_text("\n".join(quoted) + "\n")
    return path


def test_a_column_lists_them(folder: Path) -> None:
    ds = ar.ImageFolder(files=listed(folder), recipe=RECIPE)
    for k, name in enumerate(COUNTS):
        sample = ds[k]
        assert np.array_equal(sample["masks"].numpy(), expected(name))
    before = ds.table.digest()
    assert ar.ImageFolder(files=listed(folder, a='["masks/a_1.png"]'), recipe=RECIPE).table.digest() != before
    assert "masks" not in ar.ImageFolder(files=listed(folder), recipe={**RECIPE, "inputs": {"mask": "absent"}})[0]


def test_they_go_with_boxes(folder: Path) -> None:
    ds = ar.ImageFolder(files=listed(folder, boxes=True), recipe=BOXED)
    for k, (name, count) in enumerate(COUNTS.items()):
        sample = ds[k]
        assert len(sample["boxes"]) == len(sample["masks"]) == count
        assert np.array_equal(sample["masks"].numpy(), expected(name))
        for box, mask in zip(sample["boxes"].numpy(), sample["masks"].numpy(), strict=True):
            columns = np.flatnonzero(mask.any(axis=0))
            assert box[0] <= columns.min()
            assert columns.max() <= box[2]
    fewer = ar.ImageFolder(files=listed(folder, boxes=True, a='["masks/a_0.png"]'), recipe=BOXED)
    with pytest.raises(DataError, match="2 boxes and 1 masks"):
        fewer[0]


@pytest.mark.parametrize(
    ("cell", "part"), [("masks/a_0.png", "JSON list of paths"), ("[3]", "JSON list of paths"), ('["gone.png"]', "gone")]
)
def test_what_is_no_list_of_files_is_named_with_its_row(folder: Path, cell: str, part: str) -> None:
    with pytest.raises(DataError, match=part) as raised:
        ar.ImageFolder(files=listed(folder, a=cell), recipe=RECIPE)
    assert "list.tsv:2" in str(raised.value)


def test_what_does_not_fit_is_named(folder: Path) -> None:
    with pytest.raises(DataError, match="no file here is named"):
        ar.ImageFolder(folder / "images", RECIPE, masks=folder / "masks/{stem}-*.png")
    cv2.imwrite(str(folder / "masks/c_0.png"), np.zeros((5, 5), np.uint8))
    ds = ar.ImageFolder(folder / "images", RECIPE, masks=folder / "masks/{stem}_*.png")
    with pytest.raises(DataError, match=r"c_0.*is 5×5 px"):
        ds[3]
    with pytest.raises(DataError, match="no packed dataset"):
        pack(ar.load(RECIPE), str(folder / "images"), folder / "store", masks=str(folder / "masks/{stem}_*.png"))


def test_a_planted_fault_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that begin a file late."""
    original = paths.PathGroups.__getitem__
    monkeypatch.setattr(paths.PathGroups, "__getitem__", lambda self, unit: original(self, unit)[1:])
    with pytest.raises(AssertionError):
        test_a_column_lists_them(folder)
