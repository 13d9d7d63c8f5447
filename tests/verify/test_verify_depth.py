"""Front rooms over folders of 16 bits and floats: verify, diff, bench and explain, from files to what they print."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.bench.effects import AS_READ, effects
from augrecipes.bench.report import samples_sheet
from augrecipes.bench.sides import Setting
from augrecipes.compiler.explain import explain
from augrecipes.compiler.explained import NATIVE
from augrecipes.diff.images import compared
from augrecipes.preview import preview
from augrecipes.recipe.model import Recipe
from augrecipes.verify import render_worst, verify
from augrecipes.verify.run import builder

STEPS = """
steps:
  - RandomCrop: {height: 40, width: 48}
  - HorizontalFlip
  - Rotate: {limit: 30, p: 0.8}
  - RandomGamma: {p: 0.7}
  - GaussianBlur
eval: derived
output: {normalize: {mean: [0.3], std: [0.2]}}
"""
DEPTHS = {
    "png": "{depth: 16}",
    "npy": "{depth: 16, range: [0, 4095], channels: 5}",
    "floats": "{depth: float32, range: [-5, 45], nodata: nan, channels: 1}",
}


def recipe(inputs: str, steps: str = STEPS) -> Recipe:
    return ar.load(f"version: 1\nrecipe: deep\ninputs: {inputs}{steps}")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("depth")
    for name in DEPTHS:
        (root / name).mkdir()
    for k in range(3):
        values = cv2.GaussianBlur(np.random.default_rng(k).uniform(0, 4000, (64, 80, 5)).astype(np.float32), (0, 0), 2)
        image = np.rint(values).astype(np.uint16)
        assert cv2.imwrite(str(root / "png" / f"{k}.png"), image[..., :3])
        np.save(root / "npy" / f"{k}.npy", image)
        floats = values[..., :1] / 100
        floats[:9, :9] = np.nan
        np.save(root / "floats" / f"{k}.npy", floats)
    return {name: root / name for name in DEPTHS}


@pytest.mark.parametrize("name", DEPTHS)
def test_verify_finds_no_difference_and_one_that_is_planted(folders: dict[str, Path], name: str) -> None:
    deep = recipe(DEPTHS[name])
    for optimize in ("exact", "fast"):
        found = verify(deep, folders[name], optimize=optimize, samples=6)  # type: ignore[arg-type]
        assert (found.broken, found.dtype) == ((), deep.inputs.dtype)
        assert found.worst[0].readings[0].worst == 0

    def broken(made: Recipe, optimize: Any) -> Any:
        """A plan that adds one of the image's own values."""
        pipeline = builder("train", 0)(made, optimize)
        if optimize != "none":
            run, (low, high) = pipeline.run, made.inputs.full_range
            step = (1 if made.inputs.dtype == "uint16" else 0.1) / (high - low) / 0.2
            pipeline.run = lambda *key: (done := run(*key)) | {"image": done["image"] + np.float32(step)}
        return pipeline

    planted = verify(deep, folders[name], optimize="exact", samples=2, build=broken)
    assert [law.law for law in planted.broken] == ["levels"]
    assert render_worst(planted, folders[name], build=broken).std() > 20


@pytest.mark.parametrize("name", DEPTHS)
def test_explain_says_that_steps_run_one_by_one_and_why(name: str) -> None:
    deep = recipe(DEPTHS[name])
    for optimize in ("none", "exact", "fast"):
        found = explain(deep, optimize=optimize)  # type: ignore[arg-type]
        report = found.to_json()
        assert report["dtype"] == deep.inputs.dtype
        assert report["native"].startswith("no, steps run one by one")
        assert ("16 bits: no kernel takes them" in report["native"]) == (deep.inputs.dtype == "uint16")
        assert [row.step for row in found.plan] == [step.site for step in deep.steps]
        assert NATIVE not in {row.runs for row in found.plan}
        assert not found.rules
        assert all("no kernel takes them" in row.why for row in found.stayed)
    assert explain("folder-128").dtype == "uint8"


def test_what_steps_do_is_told_in_levels_of_the_range(folders: dict[str, Path]) -> None:
    for name, inputs in DEPTHS.items():
        deep = recipe(inputs, "\nsteps:\n  - HorizontalFlip: {p: 1.0}\n  - Rotate: {limit: [5, 5], p: 1.0}\n")
        seen = effects(deep, Setting(folders[name]), 3)
        first, flipped, turned = seen.steps
        low, high = deep.inputs.full_range
        values = [ar.ImageFolder(folders[name], deep).given(k).images["image"].astype(float) for k in range(3)]
        expected = np.nanmean([np.nanmean(image, axis=(0, 1)) for image in values], axis=0)
        np.testing.assert_allclose(first.means, (expected - low) / (high - low) * 255, rtol=2e-3)
        assert first.step == AS_READ
        np.testing.assert_allclose(flipped.means, first.means, rtol=1e-6)
        assert turned.filled is not None
        assert turned.filled > 0.01


def test_8_and_16_bits_are_compared_by_what_they_show(folders: dict[str, Path]) -> None:
    eight, deep = (recipe(inputs, "\nsteps: [HorizontalFlip]\n") for inputs in ("{depth: 8}", "{depth: 16}"))
    difference = ar.diff(eight, deep)
    assert [change.key for change in difference.settings] == ["inputs.image.dtype"]
    sheet = compared(eight, deep, folders["png"], rows=2)
    assert "upper 8" in sheet.lines[0]
    assert "upper 8" not in sheet.lines[1]
    for row in sheet.rows:
        a, b = (group.cells[0].image.astype(int) for group in row.groups[:2])
        assert min(a.std(), b.std()) > 20, "both are stretched"
        assert "A stretched from " in row.notes[0]
        assert "B stretched from " in row.notes[0]
        assert np.abs(a - b).mean() < 40, "so that what differs is the depth"


@pytest.mark.parametrize("name", DEPTHS)
def test_sheets_of_folders_say_how_they_are_stretched(folders: dict[str, Path], tmp_path: Path, name: str) -> None:
    deep = recipe(DEPTHS[name])
    for more in ({}, {"stages": True}, {"mode": "eval"}):
        preview(deep, folders[name], tmp_path / "sheet.png", rows=2, columns=2, **more)  # type: ignore[arg-type]
    ds = ar.ImageFolder(folders[name], deep)
    shown = ds.show(2)
    captions = [cell.caption for row in shown.rows for group in row.groups for cell in group.cells]
    assert all("stretched from " in caption for caption in captions), captions
    assert "<img" in ds._repr_html_()
    (row, *_) = samples_sheet({"deep": deep}, Setting(folders[name]), {"deep": "exact"}).rows
    assert "stretched from " in " ".join(row.notes)
    assert row.groups[0].cells[0].image.std() > 20
