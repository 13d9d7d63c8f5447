"""No array that goes in is changed, whatever the class, the target, the channels, the dtype and the layout in memory.

And how an array lies in memory decides nothing: what cannot be written to gives what a copy of it gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from random_recipes import picture
from test_exact_equals_none import build

from augrecipes.compiler.rewrite import ARRIVALS, Compiled, Plan
from augrecipes.errors import DataError
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.ops import catalog, registry
from augrecipes.ops.capabilities import capability, known
from augrecipes.ops.registry import names
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Keypoints, Output, Recipe, Step
from augrecipes.recipe.sites import label

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

CASE = tuple[str, dict[str, Any]]
SIZE = (40, 52)
NEEDED: dict[str, Any] = {
    "height": 20,
    "width": 22,
    "size": [20, 22],
    "min_max_height": [15, 20],
    "num_grid_xy": [3, 3],
    "magnitude": 4,
}
MORE: dict[str, dict[str, Any]] = {
    "LongestMaxSize": {"max_size": 30},
    "SmallestMaxSize": {"max_size": 30},
    "CropAndPad": {"px": 3},
    "ConstrainedCoarseDropout": {"mask_indices": [1, 2]},
    "ResizeToTarget": {},
}
# An argument that is not one of a few values, under which a class does its work in another way.
ALSO: CASE = ("Posterize", {"num_bits": [[2, 3], [3, 4], [4, 5]]})
INPUTS = Inputs(boxes=Boxes(), keypoints=Keypoints())


def cases(name: str) -> Iterator[CASE]:
    """The class with its defaults, and with every value of each argument that is one of a few."""
    schema = catalog.shipped()[name]
    base = {key: NEEDED[key] for key in schema.get("required", ())} | MORE.get(name, {})
    yield name, base
    for argument, part in schema["properties"].items():
        for value in part.get("enum", (True, False) if part.get("type") == "boolean" else ()):
            if value != part.get("default"):
                yield name, {**base, argument: value}


def sample(channels: int, dtype: str) -> dict[str, Any]:
    """One of every target."""
    rng = np.random.default_rng(channels)
    image, labels = picture(1, channels, dtype, SIZE), rng.integers(0, 4, (2, *SIZE)).astype(np.uint8)
    return {
        "image": image,
        "images": np.stack([picture(2, channels, dtype, SIZE), image]),
        "volumes": np.stack([image, image])[None],
        "mask": labels[0],
        "masks": labels,
        "masks3d": labels[None],
        "other": picture(3, channels, dtype, SIZE),
        "cells": labels[1],
        "boxes": np.array([[3, 4, 30, 36], [10, 10, 20, 22]], np.float32),
        "box_labels": np.array([1, 2]),
        "keypoints": np.array([[5, 6], [30, 31]], np.float32),
        "cropping_bbox": np.array([5, 6, 30, 32]),
    }


def strided(array: np.ndarray) -> np.ndarray:
    """The same values, every second of a larger array's."""
    room = np.zeros([2 * n for n in array.shape], array.dtype)
    view = room[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def outcome(pipeline: Any, given: dict[str, Any]) -> dict[str, Any] | str:
    """What comes out, or which step failed; AssertionError where an array that goes in is not what it was."""
    before = {key: np.array(value) for key, value in given.items()}
    try:
        out: dict[str, Any] | str = pipeline.at(3, 1)(**given)
    except DataError as error:  # a crop of nothing, a wrong number of channels
        out = str(error.step)
    for key, value in before.items():
        np.testing.assert_array_equal(value, given[key], err_msg=f"{key} was written to")
    return out


def check(case: CASE, channels: int, dtype: str) -> None:
    name, args = case
    step = Step(name, Arguments(args), p=1.0)
    recipe = Recipe("law", steps=label([step]), inputs=INPUTS, output=Output(dtype="uint8"))
    everything = sample(channels, dtype)
    for targets in (["image"], ["image", "mask", "boxes", "box_labels", "keypoints", "cropping_bbox"], [*everything]):
        pipeline = build(recipe, "fast" if len(targets) == 1 else "none")
        pipeline.add_targets({"other": "image", "cells": "mask"})
        given = {key: everything[key] for key in targets}
        plain = outcome(pipeline, {key: value.copy() for key, value in given.items()})
        for lie in (strided, read_only):
            other = outcome(pipeline, {key: lie(value) for key, value in given.items()})
            np.testing.assert_equal(other, plain, err_msg=f"{case} of {lie.__name__} inputs")


CLASSES = [name for name in names() if name != "Degrade"]


def channels_of(name: str) -> tuple[int, ...]:
    record = capability(name)
    return (1, 3) if record is None or record.channels is None else tuple(n for n in record.channels if n in (1, 3))


@pytest.mark.parametrize("name", CLASSES)
def test_every_class(name: str) -> None:
    for channels in channels_of(name):
        check(next(cases(name)), channels, "uint8")


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_on_one_target_of_a_pair(name: str) -> None:
    for channels in channels_of(name):
        case, args = next(cases(name))
        step = Step(case, Arguments(args), p=1.0, target=("lr",))
        scales = Arguments({"lr": 1, "hr": 2})
        recipe = Recipe("law", kind="pair", scales=scales, steps=label([step]), allow_resampling=True)
        plans = dict.fromkeys(ARRIVALS, Plan(recipe.steps))
        pipeline = PairPipeline(Compiled(recipe, "train", "none", 0, False, plans))
        large = picture(2, channels, "uint8", (2 * SIZE[0], 2 * SIZE[1]))
        given = {"lr": picture(1, channels, "uint8", SIZE), "hr": large}
        plain = outcome(pipeline, {key: value.copy() for key, value in given.items()})
        np.testing.assert_equal(outcome(pipeline, {key: read_only(value) for key, value in given.items()}), plain)


OVERWRITE = [name for name in known() if getattr(capability(name), "overwrites", None) is not None]
TOLD = [case for name in OVERWRITE for case in cases(name)] + [ALSO]


@pytest.mark.parametrize("case", TOLD, ids=str)
def test_classes_that_are_known_to_overwrite(case: CASE) -> None:
    for channels in (1, 3):
        check(case, channels, "uint8")


@pytest.mark.soak
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize("name", CLASSES)
def test_every_class_in_every_way(name: str, channels: int, dtype: str) -> None:
    # With more channels than ranges albumentations leaves some of the picture to chance.
    for case in [*cases(name), *([ALSO] if ALSO[0] == name and channels < 5 else [])]:
        check(case, channels, dtype)


def test_the_facts_are_those_that_the_law_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the copies the law fails, for each class that the facts name, and only under the arguments they give."""
    monkeypatch.setattr("augrecipes.compat.albumentations.wrap_apply", lambda *_: None)
    for name, args in TOLD:
        record = capability(name)
        assert record is not None
        assert record.overwrites is not None
        told = record.overwrites(registry.effective(Step(name, Arguments(args))))
        if told:
            with pytest.raises(AssertionError):
                check((name, args), 1, "uint8")
        else:
            check((name, args), 1, "uint8")
