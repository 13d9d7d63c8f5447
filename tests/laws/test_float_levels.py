"""Which classes round float32 images to levels of 255: each is run on a fine ramp, and its record says the same."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.every_class import SIZE, SLOW, STEPS, mask_of, run

import augrecipes as ar
from augrecipes.compiler import compile as compile_module
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective, record_of, takes
from augrecipes.recipe.model import Arguments, Step
from augrecipes.verify import verify

_DRAWS = 3


@cache
def ramp() -> np.ndarray:
    """No value of it is a level, and there are far more of them than levels."""
    y, x = np.mgrid[: SIZE[0], : SIZE[1]] / np.array(SIZE).reshape(2, 1, 1)
    planes = np.stack([x + 0.4 * y, y + 0.2 * (1 - x), 1 - x + 0.5 * y], axis=-1) / 1.6
    made = 0.05 + 0.9 * planes + np.random.default_rng(5).uniform(-0.03, 0.03, planes.shape)
    levels = np.floor(made.clip(0.01, 0.98) * 255)
    return ((levels + 0.1 + 0.8 * np.random.default_rng(6).random(made.shape)) / 255).astype(np.float32)


def rounds(step: Step) -> bool | None:
    """Whether all that a step makes of the ramp are levels; None where it makes no floats, or leaves the ramp alone."""
    found: bool | None = None
    for index in range(1 if step.name in SLOW else _DRAWS):
        try:
            made = run(step, index, ramp(), mask_of(index)).image
        except Exception:  # arguments that do not go together, or no drop of rain falls in the image
            continue
        if made.dtype != np.float32:
            return None
        if np.array_equal(made, ramp()):
            continue
        values = made[(made > 0) & (made < 1)].astype(np.float64) * 255
        found = bool(found) or bool(values.size > 100 and (np.abs(values - np.round(values)) < 2e-3).mean() > 0.99)
    return found


def words(schema: Any) -> Iterator[str]:
    """The words that an argument may be."""
    yield from (value for value in schema.get("enum", ()) if isinstance(value, str))
    for part in schema.get("anyOf", ()):
        yield from words(part)


def variations() -> Iterator[Step]:
    """Every step, and for each argument that is a word the first one of its class with every other word."""
    seen = set[str]()
    for step in STEPS:
        yield step
        if step.name not in seen and step.name not in SLOW:
            seen.add(step.name)
            for argument, schema in takes(step.name).items():
                for word in () if "interpolation" in argument else words(schema):
                    yield replace(step, args=Arguments({**step.args.plain(), argument: word}))


VARIATIONS = [*variations()]


@pytest.mark.parametrize("name", dict.fromkeys(step.name for step in VARIATIONS))
def test_a_record_says_what_the_class_does(name: str) -> None:
    for step in VARIATIONS:
        if step.name == name and (found := rounds(step)) is not None:
            assert found == record_of(step).in_levels, step.args


def test_planted_records_are_found() -> None:
    (blur, median) = (next(step for step in STEPS if step.name == name) for name in ("Blur", "MedianBlur"))
    assert rounds(median) is True
    assert rounds(blur) is False
    assert not replace(op_record("MedianBlur"), in_levels=False).under(effective(median)).in_levels


def recipe(inputs: str = "", kind: str = "image") -> ar.Recipe:
    scales = "kind: pair\nscales: {lr: 1, hr: 1}\n" if kind == "pair" else ""
    steps = "steps: [{CLAHE: {p: 1.0}}, {Blur: {p: 1.0}}]"
    return ar.load(f"version: 1\nrecipe: t\n{scales}{inputs}\n{steps}\neval: []\noutput: {{layout: hwc}}")


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("kind", ["image", "pair"])
def test_the_first_float_image_is_told_of_once(kind: str, optimize: Any, caplog: pytest.LogCaptureFixture) -> None:
    compile_module._warned.clear()
    pipeline = recipe(kind=kind).compile(optimize=optimize)
    names = ("lr", "hr") if kind == "pair" else ("image",)
    pipeline.at(0)(**dict.fromkeys(names, np.zeros((40, 50, 3), np.uint8)))
    assert "L304" not in caplog.text
    for index in range(3):
        pipeline.at(index)(**dict.fromkeys(names, ramp()))
    assert "L304 levels-in-floats: CLAHE" in caplog.text
    assert caplog.text.count("L304") == 1


def test_inputs_say_of_which_dtype_images_are() -> None:
    pipeline = recipe("inputs: {image: {dtype: float32}}").compile()
    pipeline.at(0)(image=ramp())
    with pytest.raises(ar.DataError, match="image is uint8, the recipe's inputs say float32: divide it by 255"):
        pipeline.at(0)(image=np.zeros((40, 50, 3), np.uint8))
    with pytest.raises(ar.DataError, match="image is float32, the recipe's inputs say uint8: multiply it by 255"):
        recipe("inputs: {image: {dtype: uint8}}").compile().at(0)(image=ramp())


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_verify_compares_images_of_the_dtype_that_inputs_say(dtype: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ramp() if dtype == "float32" else np.uint8(255 * ramp()))
    found = verify(recipe(f"inputs: {{image: {{dtype: {dtype}}}}}"), tmp_path, samples=2)
    assert found.ok
    assert found.dtype == dtype
