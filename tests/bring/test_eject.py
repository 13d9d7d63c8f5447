"""What is ejected runs, is formatted, and does what the recipe does."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import augrecipes as ar
from augrecipes.bring.ejecting import python_of, saved
from augrecipes.cli.answers import as_json
from augrecipes.compat.albumentations import A

sys.path.append(str(Path(__file__).parents[1] / "recipe"))
from support.recipe_strategies import recipes

IMAGE = np.random.default_rng(0).integers(0, 256, (640, 600, 3), np.uint8)
BOXES = {"bboxes": [[10, 20, 300, 400]], "box_labels": [3]}
GALLERY = [name for name in ar.gallery_names() if ar.load(name).kind == "image"]
WORDS = """
version: 1
recipe: words
inputs: {boxes: {format: coco, labels: null}, keypoints: {format: xyas, labels: "a \\"b\\" \\\\ c"}}
steps:
  - Downscale: {interpolation_pair: {downscale: area, upscale: cubic}}
  - Rotate: {limit: [-5, 1e-3], border_mode: wrap, fill: [1, 2, 3]}
  - OneOf:
      p: 0.5
      steps:
        - SomeOf: {p: 0.25, n: 2, replace: true, steps: [StainJitter, D4]}
        - RandomOrder: {steps: [Blur, HorizontalFlip]}
        - Sequential: {p: 0.3, steps: [{Resize: {height: 9, width: 8, interpolation: nearest_exact}}]}
output: {layout: hwc, range: [-1, 1]}
"""


def run(code: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(compile(code, "<ejected>", "exec"), found)
    return found


def outputs(output: str) -> ar.Recipe:
    return ar.load(f"version: 1\nrecipe: t\nsteps: []\noutput: {output}")


@pytest.mark.parametrize("text", [*ar.gallery_names(), WORDS])
def test_code_is_formatted_and_sorted(text: str, tmp_path: Path) -> None:
    ruff = pytest.importorskip("ruff").__name__
    file = tmp_path / "ejected.py"
    file.write_text(python_of(ar.load(text)), encoding="utf-8")
    for words in (["format", "--diff"], ["check", "--select", "E4,E7,E9,F,I"]):
        done = subprocess.run(
            [sys.executable, "-m", ruff, *words, "--isolated", str(file)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("text", [*GALLERY, WORDS])
def test_code_makes_the_compose(text: str) -> None:
    recipe = ar.load(text)
    code = python_of(recipe)
    made = run(code)
    assert A.to_dict(made["train"]) == A.to_dict(recipe.to_albumentations())
    if recipe.eval is not None:
        assert A.to_dict(made["evaluation"]) == A.to_dict(recipe.to_albumentations("eval"))
    for step in recipe.steps:
        assert f"# line {step.position.line}: {step.name}" in code or step.position.origin


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(recipes())
def test_any_recipe_ejects_to_code_that_makes_the_same_compose(recipe: ar.Recipe) -> None:
    made = run(python_of(recipe))
    assert A.to_dict(made["train"]) == A.to_dict(recipe.to_albumentations())


# albumentations writes down arguments of PadIfNeeded's parent, and warns of them when it reads them.
@pytest.mark.filterwarnings("ignore:Argument.*padding")
@pytest.mark.parametrize("name", GALLERY)
def test_what_is_saved_is_loaded_by_albumentations(name: str, tmp_path: Path) -> None:
    recipe = ar.load(name)
    file = tmp_path / "aug.json"
    file.write_text(as_json(saved(recipe)))
    assert A.to_dict(A.load(file)) == A.to_dict(recipe.to_albumentations())


@pytest.mark.parametrize(
    "output",
    [
        "{dtype: uint8, layout: hwc}",
        "{dtype: uint8}",
        "{}",
        "{layout: hwc, range: [0, 255]}",
        "{range: [-1, 1]}",
        "{normalize: imagenet}",
        "{normalize: {mean: 0.5, std: 0.25}, layout: hwc}",
        "{color: bgr, normalize: imagenet}",
        "{color: gray}",
        "{color: y, dtype: float16, range: [0, 255]}",
        "{dtype: float16}",
        "{color: bgr, dtype: uint8, layout: hwc}",
    ],
)
def test_the_output_is_the_recipes(output: str) -> None:
    recipe = outputs(output)
    wanted = recipe.compile(optimize="none").at(0)(image=IMAGE)["image"]
    for made in (recipe.to_albumentations(), run(python_of(recipe))["train"]):
        found = np.asarray(made(image=IMAGE)["image"])
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found.astype(float), np.asarray(wanted, float), atol=2e-6, rtol=2e-6)


def test_where_device_leaves_uint8() -> None:
    made = outputs("{where: device, normalize: imagenet, layout: hwc}").to_albumentations()
    np.testing.assert_array_equal(made(image=IMAGE)["image"], IMAGE)


def test_weights_are_no_gates() -> None:
    """A SomeOf in OneOf acts whenever it is picked, as in the recipe; a bare A.SomeOf would look at its p again."""
    text = "version: 1\nrecipe: t\nsteps: [{OneOf: {steps: [{SomeOf: {p: 0.01, steps: [{InvertImg: {p: 1}}]}}]}}]"
    made = ar.load(text).to_albumentations()
    made.set_random_state(np.random.default_rng(0), random.Random(0))
    black = np.zeros((2, 2, 3), np.uint8)
    assert all(made(image=black)["image"].max() == 1 for _ in range(20))


def pictures(recipe: ar.Recipe, *, less: str = "") -> dict[str, np.ndarray]:
    return {
        name: np.random.default_rng(scale).integers(0, 256, (70 * scale + (scale > 1), 80 * scale, 3), np.uint8)
        for name, scale in recipe.scales.items()
        if name != less
    }


@pytest.mark.parametrize("name", ["sr-x2", "sr-x4", "sr-multiscale", "real-esrgan-x4"])
def test_pairs_become_a_program(name: str) -> None:
    recipe = ar.load(name)
    made = run(python_of(recipe))
    given = pictures(recipe, less="lr" if name == "real-esrgan-x4" else "")
    for function, mode in (("train", "train"), ("evaluate", "eval")):
        found = made[function](given, np.random.default_rng(1))
        wanted = recipe.compile(mode).at(0)(**given)
        assert {key: tuple(value.shape) for key, value in found.items()} == {
            key: wanted[key].shape for key in recipe.scales
        }
    # Evaluation draws nothing: it is the same.
    for key in recipe.scales:
        np.testing.assert_allclose(np.asarray(found[key]), wanted[key], atol=2e-6)


def test_windows_of_a_pair_lie_in_the_same_place() -> None:
    text = (
        "version: 1\nrecipe: t\nkind: pair\nscales: {lr: 1, hr: 2}\n"
        "steps: [{RandomCrop: {height: 10, width: 8, at: hr}}, D4, {InvertImg: {target: hr, p: 1}}]\n"
        "output: {dtype: uint8, layout: hwc}"
    )
    made = run(python_of(ar.load(text)))
    lr = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    given = {"lr": lr, "hr": lr.repeat(2, 0).repeat(2, 1)}
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(20):
        found = made["train"](given, rng)
        assert sorted(found["lr"].shape[:2]) == [4, 5]
        np.testing.assert_array_equal(255 - found["hr"], found["lr"].repeat(2, 0).repeat(2, 1))
        seen.add(found["lr"].tobytes())
    assert len(seen) > 15


def test_tiles_of_a_bag_share_what_the_recipe_shares() -> None:
    text = (
        "version: 1\nrecipe: t\nkind: bag\nbag: {max_tiles: 4, pick: first}\n"
        "steps: [{StainJitter: {p: 1, share: bag}}, {HorizontalFlip: {p: 0.5}}]\n"
        "output: {dtype: uint8, layout: hwc}"
    )
    made = run(python_of(ar.load(text)))
    tile = IMAGE[:32, :32]
    rng = np.random.default_rng(0)
    bags = [made["train"]([tile] * 9, rng) for _ in range(6)]
    assert {len(bag) for bag in bags} == {4}
    turned = [{min(t.tobytes(), np.ascontiguousarray(t[:, ::-1]).tobytes()) for t in bag} for bag in bags]
    assert all(len(kinds) == 1 for kinds in turned)  # one stain for all tiles of a bag
    assert len(set.union(*turned)) == 6  # another one for each bag
    assert max(len({t.tobytes() for t in bag}) for bag in bags) == 2  # a flip for each tile


@pytest.mark.parametrize("name", ["sr-x4", "stained-tissue-bag"])
def test_one_compose_cannot_be_several_pictures(name: str) -> None:
    with pytest.raises(ar.RecipeError, match=f"augrecipes eject {name} --python"):
        ar.load(name).to_albumentations()


def test_a_section_that_is_not_there() -> None:
    with pytest.raises(ar.RecipeError, match="eval: derived"):
        outputs("{}").to_albumentations("eval")


def test_saved_json_is_json() -> None:
    assert json.loads(as_json(saved(ar.load("detection"))))["transform"]["bbox_params"]["format"] == "pascal_voc"
