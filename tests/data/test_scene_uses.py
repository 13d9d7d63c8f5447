"""What else is done with scenes of several targets: packed, shown, explained, verified, left to devices and others."""

from pathlib import Path
from typing import Any

import albumentations as A
import numpy as np
import pytest
import torch
from support.checks import same

import augrecipes as ar
from augrecipes.diff.images import compared
from augrecipes.errors import DataError, RecipeError, StoreError
from augrecipes.packing.run import pack
from augrecipes.preview.overlay import rgb_of_target
from augrecipes.recipe.model import Output
from augrecipes.recipe.targets import Target
from augrecipes.verify import verify

RECIPE = """
version: 1
recipe: scene
targets:
  after: {like: image, share: geometry}
  depth: {like: mask, dtype: float32, interpolation: linear, fill: 0}
  flow: {like: vectors}
  normals: {like: normals}
  cells: {like: masks}
  low: {like: mask, scale: 0.5, presence: optional}
steps:
  - CenterCrop: {height: 20, width: 24}
  - RandomCrop: {height: 16, width: 16}
  - D4
  - RandomBrightnessContrast: {p: 1.0}
eval: derived
"""


def scenes(count: int = 4, **more: Any) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {
            "image": rng.integers(0, 256, (24, 30, 3), dtype=np.uint8), "label": k,
            "after": rng.integers(0, 256, (24, 30, 3), dtype=np.uint8),
            "depth": rng.normal(size=(24, 30)).astype(np.float32), "cells": rng.integers(0, 2, (k + 1, 24, 30)),
            "flow": rng.normal(size=(24, 30, 2)).astype(np.float32),
            "normals": rng.normal(size=(24, 30, 3)).astype(np.float32),
            "low": rng.integers(0, 300, (12, 15)).astype(np.uint16), **more,
        }
        for k in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("mode", [None, "train"])
def test_packed_scenes_are_those_of_the_source(tmp_path: Path, mode: str | None) -> None:
    recipe = ar.load(RECIPE)
    pack(recipe, scenes(), tmp_path / "store", mode=mode)
    plain, packed = ar.Samples(scenes(), recipe, seed=3), ar.Packed(tmp_path / "store", recipe, seed=3)
    assert len(packed) == len(plain)
    for k in range(len(plain)):
        one, other = (
            {name: value for name, value in ds[k].items() if torch.is_tensor(value)} for ds in (plain, packed)
        )
        assert {"after", "depth", "flow", "normals", "cells", "low"} <= one.keys()
        same(one, other)
    batch = next(iter(ar.loader(packed, 1, num_workers=2)))
    assert batch["flow"].shape == (1, 2, 16, 16)


def test_a_store_of_other_targets_is_refused(tmp_path: Path) -> None:
    pack(ar.load(RECIPE), scenes(), tmp_path / "store")
    for change, said in (
        ("depth: {like: mask, dtype: float32}", "was packed by a recipe whose targets declare depth"),
        ("depth: {like: mask, dtype: float32, interpolation: linear, fill: 0}\n  heights: {like: mask}", "has none"),
    ):
        with pytest.raises(StoreError, match=said):
            ar.Packed(tmp_path / "store", ar.load(RECIPE.replace(RECIPE.splitlines()[5].strip(), change)))


def test_a_store_keeps_no_sample_without_masks_of_instances(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no masks"):
        pack(ar.load(RECIPE), scenes(cells=np.zeros((0, 24, 30), np.uint8)), tmp_path / "store", on_error="raise")


def test_sheets_show_each_target(tmp_path: Path) -> None:
    ds = ar.Samples(scenes(), ar.load(RECIPE))
    without = ar.Samples(scenes(), ar.load({"version": 1, "recipe": "a", "steps": [], "eval": []}))
    assert ds.show(2).pixels.shape[1] > without.show(2).pixels.shape[1]


@pytest.mark.parametrize(
    ("target", "array", "colours"),
    [
        (Target("image"), np.full((3, 1, 1), 0.5, np.float32), [[128, 128, 128]]),
        (Target("mask"), np.array([[0.0, np.nan, 5.0]], np.float32), [[0, 0, 0], [0, 0, 0], [255, 255, 255]]),
        (Target("vectors"), np.array([[[3.0, -3.0, 0.0]], [[0.0, 0.0, 0.0]]], np.float32),
         [[255, 0, 0], [0, 255, 255], [255, 255, 255]]),
        (Target("normals"), np.array([[[0.0]], [[0.0]], [[2.0]]], np.float32), [[128, 128, 255]]),
    ],
)  # fmt: skip
def test_numbers_and_directions_have_colours(target: Target, array: np.ndarray, colours: list[list[int]]) -> None:
    assert rgb_of_target(array, target, Output())[0].tolist() == colours


def test_masks_of_instances_have_a_colour_each() -> None:
    cells = np.zeros((2, 1, 3), np.int64)
    cells[0, 0, 0] = cells[1, 0, 1] = 1
    assert len(np.unique(rgb_of_target(cells, Target("masks"), Output())[0], axis=0)) == 3


def test_it_is_explained_that_they_run_step_by_step() -> None:
    assert "further images" in ar.explain(ar.load(RECIPE)).native


def test_optimised_scenes_are_verified() -> None:
    result = verify(ar.load(RECIPE), scenes(), optimize="fast", samples=3)
    assert not result.broken
    assert {"depth", "flow", "after"} <= {figure.target for figure in result.figures}


def test_a_comparison_says_which_targets_differ() -> None:
    mirrored = ar.load(RECIPE.replace("  - D4\n", "  - D4\n  - HorizontalFlip: {p: 1}\n"))
    rows = [compared(ar.load(RECIPE), other, scenes(), rows=1).rows[0] for other in (mirrored, ar.load(RECIPE))]
    told = [[name for name in ("depth", "flow", "low") if f"{name} differs" in row.notes[0]] for row in rows]
    assert told == [["depth", "flow", "low"], []]


def test_a_device_makes_each_image() -> None:
    recipe = ar.load(RECIPE + "output: {where: device, normalize: imagenet}\n")
    host = ar.load(RECIPE + "output: {normalize: imagenet}\n")
    sample, wanted = ar.Samples(scenes(), recipe)[1], ar.Samples(scenes(), host)[1]
    assert sample["after"].dtype == torch.uint8
    done = recipe.device_stage()(sample)
    for name in ("image", "after", "flow", "depth"):
        torch.testing.assert_close(done[name], wanted[name], atol=1e-6, rtol=0)


def test_others_are_told_that_they_cannot_carry_them() -> None:
    recipe = ar.load(RECIPE)
    with pytest.raises(RecipeError, match="cannot carry out several images of one scene"):
        recipe.to_albumentations()
    with pytest.raises(TypeError, match="cannot be a step of another Compose"):
        A.Compose([recipe.compile(), A.HorizontalFlip()])
