"""Images of one row or column come back from every warp, border and interpolation, with the pixels that they have."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import cv2
import numpy as np
import pytest
from test_exact_equals_none import build

from augrecipes.compat import instead as one_pixel
from augrecipes.errors import DataError
from augrecipes.kinds.image.pipeline import ImagePipeline as Pipeline
from augrecipes.ops.registry import arguments, names
from augrecipes.recipe.model import Arguments, Optimize, Output, Recipe, Step, label

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

BORDERS = ("replicate", "reflect", "reflect_101")  # of these nothing but pixels of the image comes in
OPTIMIZE: tuple[Optimize, ...] = ("none", "exact", "fast")
UINT8 = Output("uint8", "hwc")
SAMPLINGS = ("nearest", "linear", "cubic", "area", "lanczos4")
BESIDE: dict[str, tuple[dict[str, Any], ...]] = {  # in place of no arguments
    "Affine": ({"rotate": [-40, 40], "scale": [0.5, 2.0]}, {"shear": [-20, 20], "fit_output": True}),
    "CropAndPad": ({"px": 1}, {"px": 1, "keep_size": False}),
    "GridDistortion": ({"num_steps": 1},),
    "Perspective": ({}, {"keep_size": False}, {"scale": [0.2, 0.3]}),
    "Rotate": ({}, {"crop_border": True}),
}


def warps() -> list[tuple[str, dict[str, Any]]]:
    """All classes that sample an image and look beyond it."""
    looking = {"border_mode", "interpolation"}
    found = [name for name in names() if looking <= ((arguments(name) or {}).get("properties") or {}).keys()]
    return [(name, args) for name in found for args in BESIDE.get(name, ({},))]


def guarded(call: Callable[..., Any], interpolation: str) -> Callable[..., Any]:
    """A function of OpenCV that says where it would not come back."""

    def safely(image: np.ndarray, *args: Any, **how: Any) -> Any:
        sampling = how.get(interpolation, 0) & ~cv2.WARP_INVERSE_MAP
        hangs = 1 in image.shape[:2] and (sampling, how.get("borderMode")) == (cv2.INTER_CUBIC, cv2.BORDER_REFLECT_101)
        if hangs:
            pytest.fail("OpenCV would not come back")  # no Exception: those of steps become DataErrors
        return call(image, *args, **how)

    return safely


@pytest.fixture(autouse=True)
def _nothing_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, interpolation in (("warpAffine", "flags"), ("warpPerspective", "flags"), ("remap", "interpolation")):
        monkeypatch.setattr(cv2, name, guarded(getattr(cv2, name), interpolation))


def made(pipeline: Pipeline, index: int, sample: dict[str, np.ndarray]) -> dict[str, Any] | None:
    try:
        return pipeline.at(index, 0)(**sample)
    except DataError as error:
        if "x_min < x_max" in str(error):  # a crop leaves nothing of it
            return None
        raise


def comes_back(name: str, args: dict[str, Any], border: str, sampling: str, times: int) -> None:
    """The law: what `none` makes `exact` makes too, `fast` as large; and of one pixel nothing but that pixel comes.

    `fast` makes one warp of those that come `times` over.
    """
    given = {**args, "border_mode": border, "interpolation": sampling, "mask_interpolation": sampling}
    recipe = Recipe("law", steps=label((Step(name, Arguments(given), p=1.0),) * times), output=UINT8)
    pipelines = [build(recipe, optimize) for optimize in OPTIMIZE]
    for index, shape in enumerate(product((1, 2, 3), repeat=2)):
        rng = np.random.default_rng(index)
        sample = {"image": rng.integers(0, 256, (*shape, 3), np.uint8), "mask": rng.integers(0, 9, shape, np.uint8)}
        none, exact, fast = (made(pipeline, index, sample) for pipeline in pipelines)
        assert (none is None) == (exact is None) == (fast is None)
        if none is None or exact is None or fast is None:
            continue
        for target, given_one in sample.items():
            assert np.array_equal(none[target], exact[target])
            assert none[target].shape == fast[target].shape
            if shape == (1, 1):
                assert (none[target] == given_one).all()
                assert (fast[target] == given_one).all()


@pytest.mark.parametrize(("name", "args"), warps())
def test_lines_come_back_from_every_warp(name: str, args: dict[str, Any]) -> None:
    for border, sampling in product(BORDERS, ("linear", "cubic")):
        comes_back(name, args, border, sampling, 1)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "args"), warps())
def test_lines_come_back_from_warps_of_every_sampling(name: str, args: dict[str, Any]) -> None:
    for border, sampling, times in product(BORDERS, SAMPLINGS, (1, 2)):
        comes_back(name, args, border, sampling, times)


@pytest.mark.parametrize("name", ["Affine", "Perspective", "ElasticTransform"])
def test_a_warp_that_does_not_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_pixel, "doubled", lambda image, interpolation, border: image)
    with pytest.raises(pytest.fail.Exception, match="would not come back"):
        comes_back(name, BESIDE.get(name, ({},))[0], "reflect_101", "cubic", 1)
