"""Law: FDA and HistogramMatching do with a drawn reference file what albumentations does with that image in memory."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import albumentations as A
import cv2
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.errors import DataError, RecipeError
from augrecipes.ops import references
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.write import to_yaml

LEVELS = ("none", "exact", "fast")
STEPS = (
    "FDA: {references: styles/, beta_limit: [0.02, 0.3], p: 1.0}",
    "HistogramMatching: {references: styles/, p: 1.0}",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a recipe's neighbours: references of three channels, of one and of four, some in a folder."""
    rng = np.random.default_rng(0)
    for name, channels in (("a.png", 3), ("b.png", 1), ("nested/c.png", 4), ("nested/d.bmp", 3)):
        path = tmp_path / "styles" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        ramp = np.add.outer(np.arange(60), np.arange(90))[..., None] * (1, 1, 0.5, 0.7)[:channels]
        cv2.imwrite(str(path), np.clip(ramp + rng.integers(0, 90, (60, 90, channels)), 0, 255).astype(np.uint8))
    (tmp_path / "styles/notes.txt").write_text("no image")
    (tmp_path / "styles/.hidden.png").write_bytes(b"no image")
    return tmp_path


def recipe(folder: Path, *steps: str) -> Any:
    path = folder / "recipe.yaml"
    path.write_text("version: 1\nrecipe: t\neval: []\nsteps:\n" + "".join(f"  - {step}\n" for step in steps))
    return ar.load(path)


def image(dtype: Any = np.uint8, channels: int = 3, size: tuple[int, int] = (50, 70), seed: int = 1) -> np.ndarray:
    levels = np.random.default_rng(seed).integers(20, 230, (*size, channels), np.uint8)
    return levels if dtype == np.uint8 else levels.astype(np.float32) / np.float32(255)


def by_albumentations(img: np.ndarray, name: str, drawn: dict[str, Any]) -> np.ndarray:
    """What albumentations' own class makes with what was drawn, the reference read by Pillow's rules."""
    channels = img.shape[2]
    reference = ar.read_image(drawn["reference"], channels=channels)
    if img.dtype == np.float32:
        reference = reference.astype(np.float32) / np.float32(255)
    amount = drawn["amount"]
    limits: Any = {"beta_limit": (amount, amount)} if name == "FDA" else {"blend_ratio": (amount, amount)}
    step = getattr(A, name)(**limits, metadata_key="references", p=1.0)
    # Its own resize drops the axis of one channel, which makes one of two axes of the image's three.
    pixels = step(
        image=img if channels > 1 else img[..., 0], references=[reference if channels > 1 else reference[..., 0]]
    )
    return np.asarray(pixels["image"]).reshape(img.shape)


@pytest.mark.parametrize("optimize", LEVELS)
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("step", STEPS)
def test_a_step_does_what_albumentations_does(
    folder: Path, step: str, dtype: Any, channels: int, optimize: str
) -> None:
    output = "float32" if dtype == np.float32 else "uint8"
    parsed = ar.load(recipe(folder, step).file, overrides={"output.dtype": output, "output.layout": "hwc"})
    pipeline = parsed.compile(optimize=optimize, save_applied_params=True)
    files = set()
    for k in range(5):
        img = image(dtype, channels, seed=k)
        done = pipeline.at(k)(image=img)
        ((_, name, drawn),) = done["applied"]
        files.add(drawn["reference"])
        assert done["image"].dtype == dtype
        assert np.array_equal(done["image"], by_albumentations(img, name, drawn)), (k, drawn)
    assert len(files) > 1


@pytest.mark.parametrize("optimize", LEVELS)
def test_draws_are_the_same_everywhere(folder: Path, optimize: str) -> None:
    parsed = recipe(folder, *STEPS, "RandomCrop: {height: 30, width: 40}", "HorizontalFlip")
    pipeline, plain = parsed.compile(optimize=optimize), parsed.compile(optimize="none")
    copy = pickle.loads(pickle.dumps(pipeline))
    assert len(pickle.dumps(pipeline)) < 40_000  # paths, no pixels
    for k in range(6):
        known = plain.at(k, 3)(image=image())["image"]
        for one in (pipeline, copy):
            assert np.array_equal(one.at(k, 3)(image=image())["image"], known)
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        assert np.array_equal(pool.apply(_sample, (pipeline,)), plain.at(0, 3)(image=image())["image"])


def _sample(pipeline: Any) -> Any:
    return pipeline.at(0, 3)(image=image())["image"]


def test_each_file_is_read_once_and_no_larger_than_needed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    original = references.open_encoded
    monkeypatch.setattr(references, "open_encoded", lambda path, **how: read.append(path) or original(path, **how))
    references._cache.clear()
    pipeline = recipe(folder, STEPS[0]).compile()
    for k in range(20):
        pipeline.at(k)(image=image())
    assert len(read) == len({*read}) == 4
    cv2.imwrite(str(folder / "wide.png"), np.full((20, 3000, 3), 7, np.uint8))
    assert references.read_reference(str(folder / "wide.png"), 3).shape == (7, 1024, 3)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (2, 3)])
def test_tiny_images(folder: Path, step: str, size: tuple[int, int]) -> None:
    """albumentations takes an image of one row for a grey one, and matches its channels as one."""
    pipeline = recipe(folder, step).compile()
    for channels in (1, 3, 4):
        for k in range(4):
            done = pipeline.at(k)(image=image(channels=channels, size=size))["image"]
            assert done.shape == (channels, *size)
            assert np.isfinite(done).all()
            assert 0 <= done.min() <= done.max() <= 1
    red = np.zeros((1, 40, 3), np.uint8)
    cv2.imwrite(str(folder / "styles/a.png"), np.full((5, 5, 3), (0, 0, 200), np.uint8))
    matched = recipe(folder, "HistogramMatching: {references: styles/a.png, blend_ratio: [1.0, 1.0], p: 1.0}")
    references._cache.clear()
    done = matched.compile().at(0)(image=red)["image"]
    assert np.allclose(done[:, 0, 0], [200 / 255, 0, 0])


def test_paths_count_from_the_recipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    parsed = recipe(folder, STEPS[0])
    names = ("styles/a.png", "styles/b.png", "styles/nested/c.png", "styles/nested/d.bmp")
    assert parsed.steps[0].files == names
    (folder / "deeper").mkdir()
    (folder / "deeper/variant.yaml").write_text("version: 1\nrecipe: v\nextends: ../recipe.yaml\n")
    monkeypatch.chdir(folder)
    assert ar.load("recipe.yaml").steps[0].files == names
    listed = recipe(folder, "FDA: {references: [styles/nested, styles/a.png]}")
    assert listed.steps[0].files == ("styles/nested/c.png", "styles/nested/d.bmp", "styles/a.png")
    absolute = ar.load({"version": 1, "recipe": "t", "steps": [{"FDA": {"references": str(folder / "styles")}}]})
    assert len(absolute.steps[0].files) == 4
    before = parsed.digest
    assert recipe(folder, STEPS[0]).digest == before
    (folder / "styles/e.png").write_bytes((folder / "styles/a.png").read_bytes())
    assert recipe(folder, STEPS[0]).digest != before
    assert parse_text(to_yaml(absolute)) == ar.load(
        {"version": 1, "recipe": "t", "steps": [{"FDA": {"references": str(folder / "styles")}}]}
    )


@pytest.mark.parametrize(
    ("argument", "part"),
    [
        ("nowhere/", "nowhere"),
        ("empty", "no image in it"),
        ("[]", "no image in it"),
        ("3", "text"),
        ("[styles, gone.png]", "gone.png"),
    ],
)
def test_what_is_not_there_is_an_error_of_the_recipe(folder: Path, argument: str, part: str) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(RecipeError, match=part) as raised:
        recipe(folder, f"FDA: {{references: {argument}}}")
    assert (raised.value.problems[0].line, raised.value.problems[0].name) == (5, "FDA.references")
    with pytest.raises(RecipeError, match="'references' is required"):
        recipe(folder, "FDA")


def test_text_of_strangers_names_no_files_elsewhere(folder: Path) -> None:
    for path in (str(folder / "styles"), "../" + folder.name + "/styles"):
        steps = {"version": 1, "recipe": "t", "steps": [{"FDA": {"references": path}}]}
        with pytest.raises(RecipeError, match="outside"):
            ar.load(steps, plugins=False)


def test_what_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "broken.png").write_bytes(b"no image at all")
    pipeline = recipe(folder, "FDA: {references: broken.png, p: 1.0}").compile()
    with pytest.raises(DataError, match=r"broken\.png"):
        pipeline.at(0)(image=image())
    other = recipe(folder, "FDA: {references: styles/a.png, p: 1.0}").compile()
    with pytest.raises(DataError, match="3 channels, and 5"):
        other.at(0)(image=image(channels=5))


@pytest.mark.parametrize("fault", ["another reference", "float levels"])
def test_planted_faults_are_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    if fault == "another reference":
        read = references.read_reference
        monkeypatch.setattr(
            references, "read_reference", lambda path, channels: read(str(folder / "styles/a.png"), channels)
        )
        dtype: Any = np.uint8
    else:
        monkeypatch.setattr(
            references.Referenced, "matching", lambda self, path, img: cv2.resize(
                references.read_reference(path, img.shape[2]), img.shape[1::-1]).reshape(img.shape),
        )  # fmt: skip
        dtype = np.float32
    with pytest.raises(AssertionError):
        test_a_step_does_what_albumentations_does(folder, STEPS[0], dtype, 3, "none")
