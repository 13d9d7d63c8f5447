"""To add an op is to write its record; a new effect is a line of ops.def and a case in C besides."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_sets import using

from augrecipes.compat.albumentations import A
from augrecipes.compiler.explain import explain
from augrecipes.native import build, layout
from augrecipes.native.kernels import library, load
from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops import records, registry
from augrecipes.ops.families.base import of_values
from augrecipes.ops.native_op import uniform
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

HAS_KERNELS = pytest.mark.skipif(library() is None, reason="no native kernels here")
HEAD = "version: 1\nrecipe: new\noutput: {dtype: uint8, layout: hwc}\neval: []\n"
TEXT = f"{HEAD}steps: [HorizontalFlip, AboveThreshold: {{threshold: [0.2, 0.9]}}, RandomGamma]\n"


class AboveThreshold(A.ImageOnlyTransform):  # type: ignore[misc]
    """Turns levels above a threshold around, as albumentations' Solarize does."""

    __module__ = "augrecipes.ops.new"  # where a class of our own would stand

    def __init__(self, threshold: tuple[float, float] = (0.5, 0.5), p: float = 0.5) -> None:
        super().__init__(p=p)
        self.threshold = threshold

    def get_params(self) -> dict[str, Any]:
        return {"threshold": self.py_random.uniform(*self.threshold)}

    def apply(self, img: np.ndarray, threshold: float, **_: Any) -> np.ndarray:
        return np.where(img >= threshold * 255, 255 - img, img)


RECORD = of_values(
    "AboveThreshold", "lookup", jumps=True, native=uniform(EFFECTS.SOLARIZES, threshold="threshold")
)  # fmt: skip


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.setattr(registry, "_registered", {**registry._registered, "AboveThreshold": AboveThreshold})
    monkeypatch.setitem(records._BY_NAME, "AboveThreshold", RECORD)
    return parse_text(TEXT)


def agree(recipe: Recipe) -> None:
    none, exact = (recipe.compile(optimize=how, seed=7) for how in ("none", "exact"))
    image = np.random.default_rng(1).integers(0, 256, (31, 45, 3), np.uint8)
    for index in range(40):
        seen, made = (pipeline.at(index)(image=image)["image"] for pipeline in (none, exact))
        np.testing.assert_array_equal(seen, made)


@HAS_KERNELS
def test_a_record_makes_a_class_native(recipe: Recipe) -> None:
    plan = {step.step: step.runs for step in explain(recipe, optimize="exact").plan}
    assert plan["AboveThreshold#1"] == "native"
    agree(recipe)


@HAS_KERNELS
def test_without_a_record_it_is_albumentations(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(records._BY_NAME, "AboveThreshold")
    plan = {step.step: step.runs for step in explain(recipe, optimize="exact").plan}
    assert plan["AboveThreshold#1"].startswith("albumentations")
    agree(recipe)


class KeepHighest(A.ImageOnlyTransform):  # type: ignore[misc]
    """Keeps the highest bits of each level, and sets the others."""

    __module__ = "augrecipes.ops.new"

    def __init__(self, bits: tuple[int, int] = (1, 7), p: float = 1.0) -> None:
        super().__init__(p=p)
        self.bits = bits

    def get_params(self) -> dict[str, Any]:
        return {"bits": self.py_random.randint(*self.bits)}

    def apply(self, img: np.ndarray, bits: int, **_: Any) -> np.ndarray:
        return img | np.uint8((1 << (8 - bits)) - 1)


LINE = "EFFECT(SETS_LOW_BITS, 60) /* drawn: how many bits are kept */\n"
CASE = """\
    case OP_SETS_LOW_BITS:
        for (int v = 0; v < LEVELS; v++)
            result[0][v] = (uint8_t)(v | ((1 << (8 - (int)drawn[0])) - 1));
        break;
"""


def can_compile() -> bool:
    try:
        return bool(build.compiler())
    except build.NoCompilerError:
        return False


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The native folder with one line and one case more."""
    folder = tmp_path_factory.mktemp("native") / "native"
    shutil.copytree(build.HERE, folder, ignore=shutil.ignore_patterns("built", "__pycache__"))
    for name, before, more in (("ops.def", "EFFECT(SCALES_LEVELS", LINE), ("tables.h", "    case OP_INVERTS:", CASE)):
        text = (folder / name).read_text(encoding="utf-8")
        assert text.count(before) == 1
        (folder / name).write_text(text.replace(before, more + before), encoding="utf-8")
    return folder


@pytest.mark.skipif(not can_compile(), reason="no C compiler here")
def test_a_line_a_case_and_a_record_make_a_new_effect(
    sources: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build, "HERE", sources)
    monkeypatch.setattr(build, "INSTRUCTION_SETS", {build.processor(): {"base": ()}})
    numbers = [*layout.NUMBERS]
    numbers.insert(numbers.index(("EFFECT.SCALES_LEVELS", 64, 0)), ("EFFECT.SETS_LOW_BITS", 60, 0))
    monkeypatch.setattr(layout, "NUMBERS", tuple(numbers))  # as one who starts Python there reads them
    kernels = load("base", build.build(tmp_path / "kernels.so", ("-O0",)))
    encode = uniform(int(re.findall(r"\d+", LINE)[0]), DRAWS.WHOLE_NUMBERS, bits="bits")
    record = of_values("KeepHighest", "lookup", native=encode)
    monkeypatch.setattr(registry, "_registered", {**registry._registered, "KeepHighest": KeepHighest})
    monkeypatch.setitem(records._BY_NAME, "KeepHighest", record)
    made = parse_text(f"{HEAD}steps: [KeepHighest, HorizontalFlip]\n")
    with using(kernels):
        plan = {step.step: step.runs for step in explain(made, optimize="exact").plan}
        assert plan["KeepHighest#1"] == "native"
        agree(made)
