"""ResizeToTarget and its MATLAB bicubic: against a slow reference, laws, and goldens."""

import hashlib
import itertools
import json
from pathlib import Path
from random import Random
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, using
from support.checks import DEAR

import augrecipes as ar
from augrecipes.ops.matlab_bicubic import imresize
from augrecipes.ops.registry import construct
from augrecipes.ops.resize_to_target import ResizeToTarget
from augrecipes.recipe.model import Arguments, Step

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "matlab_bicubic.json").read_text())


def formula(height: int, width: int, channels: int | None) -> np.ndarray:
    """An image with edges, ramps and texture that is the same everywhere: whole numbers only."""
    y, x, c = np.ogrid[:height, :width, : channels or 1]
    image = ((x * x * 3 + y * 7 + c * 31 + (x // 5 + y // 3) % 2 * 90) % 256).astype(np.uint8)
    return image if channels else image[..., 0]


def kernel(x: float) -> float:
    x = abs(x)
    if x <= 1:
        return 1.5 * x**3 - 2.5 * x**2 + 1
    return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0


def slow_line(line: np.ndarray, count: int) -> np.ndarray:
    """One line of numbers, every output against every input that its widened kernel reaches."""
    length = len(line)
    ratio = length / count
    wide = max(ratio, 1.0)
    out = np.empty(count)
    for place in range(count):
        centre = (place + 0.5) * ratio - 0.5
        total = weight = 0.0
        for source in range(int(np.floor(centre - 2 * wide)) - 1, int(np.ceil(centre + 2 * wide)) + 2):
            part = kernel((source - centre) / wide)
            inside = source
            while not 0 <= inside < length:  # mirrored, edge included, as often as it takes
                inside = -1 - inside if inside < 0 else 2 * length - 1 - inside
            total, weight = total + part * line[inside], weight + part
        out[place] = total / weight
    return out


def slow(image: np.ndarray, height: int, width: int, *, round_between: bool, top: int = 255) -> np.ndarray:
    """Rows first unless the width shrinks more; returns float64, unrounded at the end."""
    axes = [(0, height), (1, width)]
    if width * image.shape[0] < height * image.shape[1]:
        axes.reverse()
    current = image.astype(float)
    for index, (axis, count) in enumerate(axes):
        current = np.apply_along_axis(slow_line, axis, current, count)
        if index == 0 and round_between:
            current = np.clip(np.floor(current + 0.5), 0, top)
    return current


@DEAR
@given(
    st.integers(1, 24), st.integers(1, 24), st.integers(1, 24), st.integers(1, 24), st.integers(1, 5), st.booleans(),
    st.integers(0, 2**32 - 1), st.sampled_from((np.uint8, np.uint16)),
)  # fmt: skip
def test_it_agrees_with_a_slow_reference(
    h: int, w: int, height: int, width: int, channels: int, between: bool, seed: int, dtype: Any
) -> None:
    top = int(np.iinfo(dtype).max)
    image = np.random.default_rng(seed).integers(0, top + 1, (h, w, channels), dtype=dtype)
    kept = image.copy()
    out = imresize(image, height, width, round_between=between)
    wanted = slow(image, height, width, round_between=between, top=top)
    assert out.shape == (height, width, channels)
    assert out.dtype == dtype
    assert out.flags.c_contiguous
    # A first pass may stand on a tie, and then the passes differ by a level's weight; without rounding they may not.
    assert np.abs(out - np.clip(wanted, 0, top)).max() <= (1.5 if between else 0.5 + 1e-9)
    np.testing.assert_array_equal(image, kept)


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("channels", [None, 1, 3, 4])
def test_whole_factors_are_exact(scale: int, channels: int | None) -> None:
    image = formula(12 * scale, 9 * scale, channels)
    for between in (True, False):
        wanted = slow(image, 12, 9, round_between=between)
        out = imresize(image, 12, 9, round_between=between)
        np.testing.assert_array_equal(out, np.clip(np.floor(np.round(wanted, 9) + 0.5), 0, 255))


@DEAR
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), st.integers(0, 255))
def test_a_constant_stays_constant(h: int, w: int, height: int, width: int, level: int) -> None:
    image = np.full((h, w), level, np.uint8)
    assert (imresize(image, height, width, round_between=False) == level).all()
    assert (imresize(image, height, width, round_between=True) == level).all()
    scaled = imresize(image.astype(np.float32) / 255, height, width)
    np.testing.assert_allclose(scaled, level / 255, atol=1e-7)


@pytest.mark.parametrize("count", [10, 15, 20, 30, 90, 120, 180])
def test_a_ramp_stays_a_ramp_away_from_the_edges(count: int) -> None:
    ramp = np.tile(np.linspace(0, 1, 60, dtype=np.float32), (4, 1))
    out = imresize(ramp, 4, count)
    wanted = ((np.arange(count) + 0.5) * 60 / count - 0.5) / 59
    margin = -(-2 * max(count, 60) // 60) + 1
    np.testing.assert_allclose(out[0, margin:-margin], wanted[margin:-margin], atol=1e-6)


def test_floats_of_a_range_are_those_of_0_to_1() -> None:
    image = np.random.default_rng(3).integers(0, 2, (24, 20, 2)).astype(np.float32)
    out = imresize(image * 400 - 100, 40, 33, full_range=(-100.0, 300.0))
    np.testing.assert_allclose(out, imresize(image, 40, 33) * 400 - 100, atol=2e-4)
    assert out.min() == -100.0  # clipped, as 0 is


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden["name"])
def test_goldens(golden: dict) -> None:
    image = formula(*golden["shape"])
    out = imresize(image, *golden["size"], round_between=golden["round_between"])
    if "values" in golden:
        assert out.tolist() == golden["values"]
    if "sha256" in golden:
        assert hashlib.sha256(out.tobytes()).hexdigest() == golden["sha256"]


@pytest.mark.parametrize(
    ("image", "size", "error", "says"),
    [
        (np.zeros((4, 4), np.int16), (2, 2), TypeError, "int16"),
        (np.zeros(4, np.uint8), (2, 2), ValueError, "shape"),
        (np.zeros((0, 4), np.uint8), (2, 2), ValueError, "shape"),
        (np.zeros((4, 4), np.uint8), (0, 2), ValueError, "0 × 2"),
    ],
)
def test_what_it_does_not_take(image: np.ndarray, size: tuple[int, int], error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        imresize(image, *size)


def make(**arguments: object) -> Any:
    return construct(Step("ResizeToTarget", Arguments(arguments)))


def test_the_step_runs_matlab_bicubic_by_default() -> None:
    image = formula(32, 48, 3)
    step = make()
    step.size = (8, 12)
    np.testing.assert_array_equal(step(image=image)["image"], imresize(image, 8, 12, round_between=True))
    step = make(round_between=False)
    step.size = (8, 12)
    np.testing.assert_array_equal(step(image=image)["image"], imresize(image, 8, 12, round_between=False))


@pytest.mark.parametrize("method", ["area", "linear", "cubic"])
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_the_step_runs_opencv(method: str, channels: int) -> None:
    image = formula(32, 48, channels)
    step = make(method=method)
    step.size = (8, 12)
    flag = {"area": cv2.INTER_AREA, "linear": cv2.INTER_LINEAR, "cubic": cv2.INTER_CUBIC}[method]
    wanted = np.dstack(
        [cv2.resize(image[..., channel].copy(), (12, 8), interpolation=flag) for channel in range(channels)]
    )
    out = step(image=image)["image"]
    assert out.shape == (8, 12, channels)
    np.testing.assert_allclose(out.astype(int), wanted.astype(int), atol=1)
    step.size = (70, 90)
    floats = step(image=(image / np.float32(255)))["image"]
    assert floats.dtype == np.float32
    assert floats.min() >= 0
    assert floats.max() <= 1


@pytest.mark.parametrize("method", ["area", "linear", "cubic", "matlab_bicubic"])
def test_a_scale_is_of_the_targets_size(method: str) -> None:
    """On the way to the target, as in Real-ESRGAN: whole pixels, of what came before at once."""
    image = np.random.default_rng(0).integers(0, 256, (120, 160, 3), np.uint8)
    step = ResizeToTarget(method=method, scale=(0.3, 1.2), p=1.0)
    step.size, step.py_random = (30, 40), Random(1)
    sizes = {step(image=image)["image"].shape[:2] for _ in range(200)}
    assert {height for height, _ in sizes} == {*range(9, 36)} and max(width for _, width in sizes) <= 48
    expected = ResizeToTarget(method=method, p=1.0)
    expected.size = (60, 80)
    doubled = ResizeToTarget(method=method, scale=(2, 2), p=1.0)
    doubled.size = (30, 40)
    np.testing.assert_array_equal(doubled(image=image)["image"], expected(image=image)["image"])


@pytest.mark.parametrize("method", ["area", "linear", "cubic", "matlab_bicubic"])
def test_every_level_scales_alike(method: str) -> None:
    image = np.random.default_rng(0).integers(0, 256, (120, 160, 3), np.uint8)
    steps = [{"ResizeToTarget": {"method": method, "scale": [0.3, 1.2]}}, {"ResizeToTarget": {"method": "area"}}]
    recipe = ar.load(degrade(steps))
    samples = []
    for kernels, optimize in itertools.product(KERNEL_SETS, ("none", "exact")):
        with using(kernels):
            pipeline = recipe.compile(optimize=optimize, seed=2)
            samples.append([pipeline.at(index)(hr=image)["lr"] for index in range(8)])
    for sample in samples:
        assert all(map(np.array_equal, sample, samples[0]))
    assert len({one.tobytes() for one in samples[0]}) == 8


@pytest.mark.parametrize("scale", [[0.5, 1], [2, 2], [2, 1]], ids=str)
def test_a_scaled_size_is_not_the_targets(scale: Any) -> None:
    with pytest.raises(ar.RecipeError, match=r"E312|E307"):
        ar.load(degrade([{"ResizeToTarget": {"scale": scale}}]))


def degrade(steps: Any) -> dict[str, Any]:
    inside = {"Degrade": {"source": "hr", "target": "lr", "steps": steps}}
    head = {"version": 1, "recipe": "t", "kind": "pair", "scales": {"lr": 1, "hr": 4}}
    plain = {"Degrade": {"source": "hr", "target": "lr", "steps": ["ResizeToTarget"]}}
    return {**head, "steps": [inside], "eval": [plain]}
