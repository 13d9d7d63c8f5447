"""Steps' classes: the registry, constants, suggestions, and the schema file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import pytest

from augrecipes.compat.guard import albumentations
from augrecipes.errors import RecipeError
from augrecipes.ops import catalog, registry
from augrecipes.ops.constants import BORDER, INTERPOLATION
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe import schema
from augrecipes.recipe.model import GROUPS, Arguments, Step
from augrecipes.recipe.parse import parse_text


@pytest.fixture
def own_names() -> Iterator[None]:
    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)
    registry._live_schema.cache_clear()


def test_the_shipped_schema_is_what_is_printed() -> None:
    shipped = Path(catalog.__file__).parent.parent / "schema" / catalog.FILE
    assert shipped.read_text(encoding="utf-8") == schema.text(), "run: python -m augrecipes.recipe.schema"


def test_every_class_of_albumentations_is_a_step_or_refused() -> None:
    module: Any = albumentations()
    classes = {
        name
        for name in dir(module)
        if isinstance(cls := getattr(module, name), type) and issubclass(cls, module.BasicTransform)
    }
    assert classes <= set(registry.names()) | set(REFUSED)
    assert not set(registry.names()) & set(REFUSED)
    assert set(registry.GROUPS) == set(GROUPS)


def test_constants_are_opencvs() -> None:
    for name, number in INTERPOLATION.items():
        assert getattr(cv2, f"INTER_{name.upper()}") == number
    for name, number in BORDER.items():
        assert getattr(cv2, f"BORDER_{name.upper()}") == number


def test_construct_takes_names_and_nested_names() -> None:
    rotate = registry.construct(
        Step("Rotate", Arguments({"limit": 5, "border_mode": "wrap", "interpolation": "area"}), p=1)
    )
    assert (rotate.border_mode, rotate.interpolation, rotate.p) == (cv2.BORDER_WRAP, cv2.INTER_AREA, 1.0)
    pair = {"downscale": "area", "upscale": "cubic"}
    made = registry.construct(Step("Downscale", Arguments({"interpolation_pair": pair})))
    assert made.interpolation_pair == {"downscale": cv2.INTER_AREA, "upscale": cv2.INTER_CUBIC}


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("RandomCrop", {"height": 5}, "height|width"),
        ("RandomCrop", {"height": 5, "width": 5, "sise": 3}, "sise"),
        ("Blur", {"blur_limit": 4}, "odd"),
        ("Nonsense", {}, "no transform of this name"),
        ("Degrade", {}, "no transform of this name"),
        ("ResizeToTarget", {"method": "bicubic"}, "'matlab_bicubic', 'area', 'linear' or 'cubic'"),
        ("os.system", {}, "no transform of this name"),
    ],
)
def test_construct_is_never_silent(name: str, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        registry.construct(Step(name, Arguments(arguments)))


def test_effective_has_every_argument() -> None:
    found = registry.effective(Step("RandomCrop", Arguments({"height": 8, "width": 9})))
    assert found["height"] == 8
    assert found["border_mode"] == "constant"
    assert list(found)[-1] == "p"
    assert found["p"] == 1.0
    assert registry.effective(Step("OneOf", p=0.3)) == {"p": 0.3}


def test_a_registered_class_is_a_step(own_names: None) -> None:
    module: Any = albumentations()

    @registry.register
    class Brighten(module.ImageOnlyTransform):
        """Brightens."""

        class InitSchema(module.ImageOnlyTransform.InitSchema):
            by: float

        def __init__(self, by: float, p: float = 0.5):
            super().__init__(p=p)
            if by > 9:
                raise ValueError("by is too bright")
            self.by = by

    head = "version: 1\nrecipe: a\nsteps:\n- "
    assert parse_text(head + "Brighten: {by: 2, p: 1}").steps[0].name == "Brighten"
    assert registry.construct(Step("Brighten", Arguments({"by": 2}))).by == 2
    for text, code in (
        ("Brighten", "E305"),
        ("Brighten: {by: x}", "E306"),
        ("Brighten: {by: 10}", "E308"),
        ("Brightn", "E302"),
    ):
        with pytest.raises(RecipeError) as raised:
            parse_text(head + text)
        assert [problem.code for problem in raised.value.problems] == [code]
    assert registry.default_p("Brighten") == 0.5


def test_what_cannot_be_registered(own_names: None) -> None:
    module: Any = albumentations()
    with pytest.raises(TypeError):
        registry.register(int)
    with pytest.raises(ValueError, match="belongs to"):
        registry.register(module.RandomCrop)

    class Named(module.ImageOnlyTransform):
        def __init__(self, target: str, p: float = 0.5):
            super().__init__(p=p)

    with pytest.raises(ValueError, match="reserved"):
        registry.register(Named)


def test_albumentations_without_torch_and_scipy_still_transforms() -> None:
    code = """
import sys
from augrecipes.compat.guard import albumentations, without_torch
without_torch()
A = albumentations()
assert "torch" not in sys.modules
import numpy as np
out = A.RandomToneCurve(p=1)(image=np.zeros((8, 9, 3), np.uint8))["image"]
print(out.shape, albumentations() is A)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(8, 9, 3) True"
