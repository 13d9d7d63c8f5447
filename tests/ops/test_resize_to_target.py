"""ResizeToTarget and its MATLAB bicubic: against a slow reference, laws, and goldens."""

import hashlib
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import DEAR

from augrecipes.compiler.run.draws import Draws
from augrecipes.ops.matlab_bicubic import imresize
from augrecipes.ops.records import op_record, record_names, rescalable
from augrecipes.ops.registry import construct, effective
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


def slow(image: np.ndarray, height: int, width: int, *, round_between: bool) -> np.ndarray:
    """Rows first unless the width shrinks more; returns float64, unrounded at the end."""
    axes = [(0, height), (1, width)]
    if width * image.shape[0] < height * image.shape[1]:
        axes.reverse()
    current = image.astype(float)
    for index, (axis, count) in enumerate(axes):
        current = np.apply_along_axis(slow_line, axis, current, count)
        if index == 0 and round_between:
            current = np.clip(np.floor(current + 0.5), 0, 255)
    return current


@DEAR
@given(
    st.integers(1, 24), st.integers(1, 24), st.integers(1, 24), st.integers(1, 24), st.integers(1, 5), st.booleans(),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_it_agrees_with_a_slow_reference(
    h: int, w: int, height: int, width: int, channels: int, between: bool, seed: int
) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (h, w, channels), dtype=np.uint8)
    kept = image.copy()
    out = imresize(image, height, width, round_between=between)
    wanted = slow(image, height, width, round_between=between)
    assert out.shape == (height, width, channels)
    assert out.dtype == np.uint8
    assert out.flags.c_contiguous
    # A first pass may stand on a tie, and then the passes differ by a level's weight; without rounding they may not.
    assert np.abs(out - np.clip(wanted, 0, 255)).max() <= (1.5 if between else 0.5 + 1e-9)
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
        (np.zeros((4, 4), np.uint16), (2, 2), TypeError, "uint16"),
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


# What records say of one draw on several grids, held against albumentations itself, for every class.


# Some steps warn of images so small, or of so little colour.

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("AdditiveNoise", {"spatial_mode": "per_pixel"}),
    ("AdditiveNoise", {"spatial_mode": "shared"}),
    ("MultiplicativeNoise", {"elementwise": True}),
    ("MultiplicativeNoise", {"per_channel": True}),
    ("RandomSnow", {"method": "texture"}),
    ("RandomBrightnessContrast", {"brightness_by_max": False}),
    ("ColorJitter", {"contrast": 0.5}),
]
DRAWN = ("random_seed", "seed")


def image_only() -> list[tuple[str, dict[str, Any]]]:
    """Every class that changes images alone, with its defaults, and the variants above."""
    plain = [(name, {}) for name in record_names() if "mask" not in op_record(name).targets]
    return [(name, args) for name, args in plain + VARIANTS if name not in ("ResizeToTarget", "FromFloat")]


def carried_by(*wanted: str) -> list[Any]:
    found = []
    for name, args in image_only():
        step = Step(name, Arguments(args))
        if op_record(name).grids_for(effective(step)) in wanted:
            found.append(pytest.param(name, args, id="-".join([name, *args])))
    return found


def scene() -> tuple[np.ndarray, np.ndarray]:
    """A smooth image, and the same one where every pixel is two by two."""
    rng = np.random.default_rng(0)
    small = cv2.resize(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8), (64, 48), interpolation=cv2.INTER_CUBIC)
    return small, doubled(small)


def doubled(image: np.ndarray) -> np.ndarray:
    return image.repeat(2, axis=0).repeat(2, axis=1)


def drawn(name: str, args: dict[str, Any], image: np.ndarray, index: int) -> tuple[Any, dict[str, Any]]:
    """A keyed step, and the parameters that it draws for `image`."""
    step = construct(Step(name, Arguments(args), p=1.0))
    draws = Draws(0)
    step.random_generator, step.py_random = draws.add(name)
    draws.position(0, index)
    data = {"image": image}
    params = step.update_transform_params(params=step.get_params(), data=data)
    params.update(step.get_params_dependent_on_data(params=params, data=data))
    return step, params


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return a.shape == np.shape(b) and np.array_equal(a, b)
    return bool(a == b)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "args"), carried_by("same", "alike"))
def test_draws_do_not_depend_on_the_grid(name: str, args: dict[str, Any]) -> None:
    statistics = op_record(name).statistics
    small, large = scene()
    for index in range(20):
        here, there = drawn(name, args, small, index)[1], drawn(name, args, large, index)[1]
        assert not set(here) & set(DRAWN), "draws again when it is applied"
        for key in set(here) - {"shape"}:
            if not (statistics and key in ("stain_matrix",)):
                assert equal(here[key], there[key]), key


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "args"), carried_by("same"))
def test_one_draw_changes_the_same_scene(name: str, args: dict[str, Any]) -> None:
    small, large = scene()
    for index in range(20):
        step, params = drawn(name, args, small, index)
        coarse = step.apply_with_params(dict(params), image=small)["image"]
        fine = step.apply_with_params({**params, "shape": large.shape}, image=large)["image"]
        np.testing.assert_allclose(fine.astype(int), doubled(coarse).astype(int), atol=1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "args"), carried_by("never"))
def test_what_is_never_shared_cannot_be(name: str, args: dict[str, Any]) -> None:
    small, large = scene()
    apart = False
    for index in range(20):
        here, there = drawn(name, args, small, index)[1], drawn(name, args, large, index)[1]
        apart |= any(key in DRAWN or not equal(here[key], there[key]) for key in set(here) - {"shape"})
    if name == "Superpixels":  # draws which of its own segments it flattens
        step, params = drawn(name, args, small, 0)
        fine = step.apply_with_params({**params, "shape": large.shape}, image=large)["image"]
        apart = not np.array_equal(fine, doubled(step.apply_with_params(params, image=small)["image"]))
    assert apart


@pytest.mark.filterwarnings("ignore")
def test_geometry_says_what_the_compiler_can_carry_from_grid_to_grid() -> None:
    geometric = {name: op_record(name) for name in record_names() if "mask" in op_record(name).targets}
    able = {
        name
        for name, record in geometric.items()
        if record is not None and record.resamples and record.grids_for(effective(Step(name))) == "same"
    }
    assert able == set(rescalable())
    for name, record in geometric.items():
        if record is not None and record.action in ("window", "dihedral"):
            assert record.grids_for(effective(Step(name))) == "same", name
