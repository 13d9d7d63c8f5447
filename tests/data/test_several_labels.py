"""Samples of several classes: columns of 0 and 1 of a CSV file, through loaders, mixtures and packed datasets."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

import augrecipes as ar
from augrecipes.errors import DataError
from augrecipes.packing.run import pack
from augrecipes.sources import csv_list

CLASSES = ["cat", "dog", "tree"]
FLAGS = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 0, 1]], np.float32)
RECIPE: dict[str, Any] = {"version": 1, "recipe": "t", "steps": ["HorizontalFlip"], "eval": []}


def written(folder: Path, cell: str = "1") -> Path:
    """A list of six images, with a label and another column beside the classes."""
    texts = {0: ["", "0", "0.0", "nan", "", "0"], 1: ["1", "1.0", cell, "1", "1", "1"]}
    lines = ["image,Cat,dog,tree,label,kind"]
    for k, flags in enumerate(FLAGS):
        cv2.imwrite(str(folder / f"{k}.png"), np.full((16, 20, 3), 40 * k, np.uint8))
        lines.append(f"{k}.png,{','.join(texts[int(flag)][k] for flag in flags)},{k % 2},x")
    path = folder / "list.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def dataset(path: Path, recipe: Any = None, **more: Any) -> ar.ImageFolder:
    return ar.ImageFolder(files=path, recipe=recipe or RECIPE, columns={"labels": CLASSES}, **more)


def test_labels_are_rows_of_flags(tmp_path: Path) -> None:
    ds = dataset(written(tmp_path))
    assert ds.classes == CLASSES
    assert ds.class_to_idx == {"cat": 0, "dog": 1, "tree": 2}
    assert np.array_equal(ds.labels, FLAGS)
    for k in range(6):
        assert ds[k]["label"].dtype == torch.float32
        assert ds[k]["label"].tolist() == FLAGS[k].tolist()
    ds[0]["label"][:] = 7
    assert ds[0]["label"].tolist() == FLAGS[0].tolist()
    part = ds.subset([4, 1])
    assert np.array_equal(part.labels, FLAGS[[4, 1]])
    assert dataset(tmp_path / "list.csv").table.digest() == ds.table.digest()
    other = ar.ImageFolder(files=tmp_path / "list.csv", recipe=RECIPE, columns={"labels": CLASSES[::-1]})
    assert np.array_equal(other.labels, FLAGS[:, ::-1])
    assert ar.ImageFolder(files=tmp_path / "list.csv", recipe=RECIPE).labels.tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(("workers", "backend"), [(0, None), (2, "threads"), (2, "processes")])
def test_batches(tmp_path: Path, workers: int, backend: Any) -> None:
    ds = dataset(written(tmp_path))
    loader = ar.loader(ds, 3, shuffle=True, seed=3, num_workers=workers, backend=backend)
    for batch in loader:
        assert batch["label"].dtype == torch.float32
        assert np.array_equal(batch["label"].numpy(), FLAGS[batch["index"].numpy()])
    listed = ds.__getitems__([1, 4])
    assert [sample["label"].tolist() for sample in listed] == FLAGS[[1, 4]].tolist()


@pytest.mark.parametrize("step", ["MixUp", "CutMix", "Mosaic"])
def test_mixtures_mix_them_as_shares(tmp_path: Path, step: str) -> None:
    recipe = {**RECIPE, "batch": [step], "inputs": {"mask": "absent"}}
    ds = dataset(written(tmp_path), recipe)
    (batch,) = ar.loader(ds, 6, shuffle=False)
    label = batch["label"].numpy()
    assert label.shape == (6, 3)
    assert (label >= 0).all()
    assert (label <= 1 + 1e-6).all()
    assert not np.array_equal(label, FLAGS)
    if step != "Mosaic":
        assert np.allclose(label.sum(), FLAGS.sum(), atol=1e-4)  # each sample is somebody's partner


@pytest.mark.parametrize("steps", [[], [{"Resize": {"height": 12, "width": 12}}]], ids=["bare", "baked"])
def test_packed_datasets_keep_them(tmp_path: Path, steps: Any) -> None:
    recipe = ar.load({**RECIPE, "steps": [*steps, "HorizontalFlip"], "eval": steps})
    path = written(tmp_path)
    pack(recipe, {"files": str(path), "columns": {"labels": CLASSES}}, tmp_path / "store", workers=0)
    ds = ar.Packed(tmp_path / "store", recipe)
    assert ds.classes == CLASSES
    assert np.array_equal(ds.labels, FLAGS)
    (batch,) = ar.loader(ds, 6, shuffle=False)
    assert np.array_equal(batch["label"].numpy(), FLAGS)
    assert ds[2]["label"].tolist() == FLAGS[2].tolist()


def test_sheets_name_the_classes(tmp_path: Path) -> None:
    from augrecipes.preview.rows import label_text

    ds = dataset(written(tmp_path))
    assert [label_text(ds.table, k) for k in (1, 3)] == ["dog, tree", ""]
    ds.show(2)


@pytest.mark.parametrize(
    ("columns", "cell", "part"),
    [
        ({"labels": ["cat", "bird"]}, "1", "no column `bird`"),
        ({"labels": ["cat", "cat"]}, "1", "each once"),
        ({"labels": []}, "1", "list of columns"),
        ({"labels": CLASSES}, "2", "list.csv:4: cat must be 0 or 1, got '2'"),
        ({"labels": CLASSES}, "maybe", "list.csv:4: cat must be 0 or 1, got 'maybe'"),
        ({"labels": CLASSES, "label": "kind"}, "1", "'label' is none of them"),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, columns: Any, cell: str, part: str) -> None:
    path = written(tmp_path, cell)
    with pytest.raises((DataError, ValueError), match=part):
        ar.ImageFolder(files=path, recipe=RECIPE, columns=columns)


def test_one_label_is_asked_for_where_it_is_needed(tmp_path: Path) -> None:
    ds = dataset(written(tmp_path))
    with pytest.raises(ValueError, match="one label a sample"):
        ar.loader(ds, 2, weights="balanced")
    with pytest.raises(ValueError, match="and this data has neither"):
        dataset(tmp_path / "list.csv", classes=CLASSES)


def test_a_planted_fault_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty cells that count as 1."""
    flags = copy.copy(csv_list._FLAGS) | {"": 1.0}
    monkeypatch.setattr(csv_list, "_FLAGS", flags)
    with pytest.raises(AssertionError):
        test_labels_are_rows_of_flags(tmp_path)
