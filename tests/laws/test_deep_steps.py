"""What runs on deep images in fewer copies leaves the pixels of `none`, and nothing of the caller's."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from kernel_sets import NEEDS_KERNELS
from random_recipes import MOVES, OTHERS, TABLES, assert_same, build, outcome, pool, recipes
from support.checks import FAILURES, PLANTED, SEEDS, holds, tries

from augrecipes.compiler.kernels import deep_steps
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Inputs, Output, Recipe

ALL = tuple(
    (name, args)
    for name, args in (*MOVES, *TABLES, *OTHERS)
    if not op_record(name).in_levels and name not in ("Posterize", "RandomToneCurve")
)
MOVING = pool("""
    HorizontalFlip, VerticalFlip, Transpose, D4, RandomRotate90, SquareSymmetry, RandomCrop: {height: 31, width: 29},
    CenterCrop: {height: 33, width: 30}, Crop: {x_min: 3, y_min: 2, x_max: 36, y_max: 35}, Rotate: {limit: 40},
    Affine: {rotate: [-40, 40], shear: [-9, 9], fill: 9}, Perspective, SafeRotate, ShiftScaleRotate,
    Affine: {scale: [0.7, 1.4], border_mode: reflect}, Resize: {height: 41, width: 43}, GaussianBlur, RandomGamma,
    CoarseDropout, RandomBrightnessContrast: {brightness_by_max: false}
""")
OUTPUTS = (Output(), Output(layout="hwc"), Output("uint16", "hwc"), Output("uint8"))
RANGE = (100.0, 300.0)
INPUTS = (
    Inputs(dtype="uint16"), Inputs(dtype="uint16", nodata=0), Inputs(dtype="float32", range=RANGE),
    Inputs(dtype="float32"), Inputs(),
)  # fmt: skip


def law(recipe: Recipe, inputs: Inputs, output: Output, channels: int, seed: int) -> None:
    values: Any = np.random.default_rng(seed).integers(0, 65536, (40, 44, channels))
    values[5:9, 3:20] = 0
    low, high = inputs.range or (0, 1)
    floats = (low + values / 65535 * (high - low)).astype(np.float32)
    image = values.astype(np.uint16) if inputs.dtype == "uint16" else floats
    sample = {"image": image, "mask": (values[..., 0] >> 8).astype(np.uint8)}
    before = {name: value.copy() for name, value in sample.items()}
    about = replace(recipe.inputs, dtype=inputs.dtype, range=inputs.range, nodata=inputs.nodata)
    recipe = replace(recipe, inputs=about, output=output)
    plain, *others = (build(recipe, mode, seed) for mode in ("none", "exact", "fast")[: 3 if inputs.dtype else 2])
    for index in range(2):
        expected = outcome(plain, index, sample)
        for other in others:
            mine = outcome(other, index, sample)
            assert_same(expected, mine)
            assert isinstance(mine, str) or not np.shares_memory(mine["image"], image)
    for name, value in before.items():
        np.testing.assert_array_equal(value, sample[name], err_msg=f"{name} was written to")


CASES = st.sampled_from(INPUTS), st.sampled_from(OUTPUTS), st.sampled_from([1, 2, 3, 3, 4, 5]), SEEDS


def test_the_bits_are_those_of_none() -> None:
    holds(law, recipes(MOVING + ALL), *CASES, tried=tries(150))


def _upside_down(array: np.ndarray) -> np.ndarray:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array[::-1])


def _mirrored(name: str, apply: Any, img: Any, *args: Any, **params: Any) -> Any:
    return apply(img, *args, **params)[:, ::-1]


def _wrong_fill(step: Any, apply: Any, img: Any, *args: Any, **params: Any) -> Any:
    return apply(np.dstack([img, img[..., 0]]), *args, **params)[..., 1:]


FAULTS = {
    "copies upside down": ("augrecipes.compiler.run.step_calls.in_order", _upside_down),
    "views that are mirrored": ("augrecipes.compiler.kernels.deep_steps._symmetric_view", _mirrored),
    "channels of their neighbours": ("augrecipes.compiler.kernels.deep_steps._by_four_channels", _wrong_fill),
}


@NEEDS_KERNELS
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_seen(fault: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*fault)
    with pytest.raises(FAILURES):
        holds(law, recipes(MOVING, boxes=False), *CASES, tried=PLANTED)


def test_opencv_here_warps_a_channel_alike_beside_any_others() -> None:
    assert deep_steps.warps_channels_alike()
