"""What is ejected runs, is formatted, and does what the recipe does."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import augrecipes as ar
from augrecipes.cli.answers import as_json
from augrecipes.compat.albumentations import A
from augrecipes.interop.plain import python_of, saved

sys.path.append(str(Path(__file__).parents[1] / "recipe"))
from support.recipe_strategies import recipes

IMAGE = np.random.default_rng(0).integers(0, 256, (640, 600, 3), np.uint8)
BOXES = {"bboxes": [[10, 20, 300, 400]], "box_labels": [3]}
GALLERY = [name for name in ar.gallery_names() if ar.load(name).kind == "image"]
CONFIGS = Path(__file__).parent / "configs"
WORDS = (CONFIGS / "words.yaml").read_text(encoding="utf-8")


def run(code: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(compile(code, "<ejected>", "exec"), found)
    return found


def outputs(output: str) -> ar.Recipe:
    return ar.load(f"version: 1\nrecipe: t\nsteps: []\noutput: {output}")


@pytest.mark.parametrize("text", [*GALLERY, WORDS])
def test_code_imports_what_it_names_in_order(text: str, tmp_path: Path) -> None:
    ruff = pytest.importorskip("ruff").__name__
    file = tmp_path / "ejected.py"
    file.write_text(python_of(ar.load(text)), encoding="utf-8")
    words = [sys.executable, "-m", ruff, "check", "--select", "E4,E7,E9,F,I", "--isolated", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
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


@pytest.mark.parametrize("output", (CONFIGS / "outputs.txt").read_text(encoding="utf-8").splitlines())
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


@pytest.mark.parametrize("name", ["sr-x4", "stained-tissue-bag"])
def test_one_compose_cannot_be_several_images(name: str) -> None:
    for leave in (ar.Recipe.to_albumentations, python_of):
        with pytest.raises(ar.RecipeError, match=rf"{name}: one Compose .*: run the recipe as it is"):
            leave(ar.load(name))


def test_a_section_that_is_not_there() -> None:
    with pytest.raises(ar.RecipeError, match="eval: derived"):
        outputs("{}").to_albumentations("eval")


def test_programs_of_earlier_releases_find_what_they_import() -> None:
    sys.modules.pop("augrecipes.bring.last_step", None)
    with pytest.warns(DeprecationWarning, match="interop.last_step"):
        made = run("from augrecipes.bring.last_step import ToOutput\nlast = ToOutput(color='bgr', dtype='uint8')")
    assert type(made["last"]).__module__ == "augrecipes.interop.last_step"
