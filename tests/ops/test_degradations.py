"""KernelBlur, PoissonNoise and ImageCompression are what their papers' code defines, written out here in numpy."""

from collections import Counter
from random import Random
from typing import Any

import albumentations as A
import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, using
from scipy import special  # type: ignore[import-untyped]

import augrecipes as ar
from augrecipes.interop.plain import python_of
from augrecipes.ops.degradations import ImageCompression, KernelBlur, PoissonNoise, blur_kernel

TURNED = ("aniso", "generalized_aniso", "plateau_aniso")
ROUND = ("iso", "generalized_iso", "plateau_iso")
SIDES = st.integers(3, 12).map(lambda half: 2 * half + 1)
FACTORS = {"4:2:0": 0x221111, "4:2:2": 0x211111, "4:4:4": 0x111111}
SHUFFLED = np.random.default_rng(5).permutation(24 * 31 * 3).reshape(24, 31, 3) % 256


def ramps(channels: int = 3, size: tuple[int, int] = (57, 64)) -> np.ndarray:
    """Slopes along both ways, an edge, and single bright pixels."""
    y, x = np.mgrid[: size[0], : size[1]]
    planes = [(4 * x) % 256, (3 * y + x) % 256, np.where(x > 30, 240, 10), (x * y) % 256, 255 - 3 * y][:channels]
    image = np.stack(planes, axis=-1).clip(0, 255).astype(np.uint8)
    image[20, 40], image[50, 3] = 255, 0
    return image


def published_kernel(shape: str, side: int, sigmas: tuple[float, float], theta: float, beta: float) -> np.ndarray:
    """By the matrix of covariance, as the papers write it; theta in radians."""
    axis = np.arange(-side // 2 + 1.0, side // 2 + 1.0)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    turn = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    inverse = np.linalg.inv(turn @ np.diag(np.square(sigmas)) @ turn.T)
    squares = np.einsum("yxi,ij,yxj->yx", grid, inverse, grid)
    kernel = 1 / (squares**beta + 1) if "plateau" in shape else np.exp(-0.5 * squares**beta)
    return np.asarray(kernel / kernel.sum())


def published_sinc(side: int, cutoff: float) -> np.ndarray:
    middle = (side - 1) / 2

    def weight(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        far = np.sqrt((x - middle) ** 2 + (y - middle) ** 2)
        with np.errstate(all="ignore"):
            return np.asarray(cutoff * special.j1(cutoff * far) / (2 * np.pi * far))

    kernel = np.fromfunction(weight, (side, side))
    kernel[side // 2, side // 2] = cutoff**2 / (4 * np.pi)
    return np.asarray(kernel / kernel.sum())


def blurred(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """In float64, without a rounding."""
    wide = cv2.filter2D(image.astype(np.float64), -1, kernel, borderType=cv2.BORDER_REFLECT_101)
    return wide.reshape(image.shape).clip(0, 255)


@settings(deadline=None)
@given(st.sampled_from(TURNED), SIDES, st.floats(0.2, 4), st.floats(0.2, 4), st.floats(-180, 180), st.floats(0.5, 4))
def test_kernels_are_the_published_ones(
    shape: str, side: int, wide: float, high: float, angle: float, beta: float
) -> None:
    beta = 1.0 if shape == "aniso" else beta
    expected = published_kernel(shape, side, (wide, high), np.deg2rad(angle), beta)
    assert np.abs(blur_kernel(shape, side, [wide, high], angle, beta) - expected).max() < 1e-9
    round_shape = shape.replace("aniso", "iso")
    expected = published_kernel(round_shape, side, (wide, wide), 0.0, beta)
    assert np.abs(blur_kernel(round_shape, side, [wide], beta=beta) - expected).max() < 1e-9


@settings(deadline=None)
@given(SIDES, st.floats(0.3, np.pi))
def test_sinc_is_the_published_one_and_that_of_ringing_overshoot(side: int, cutoff: float) -> None:
    kernel = blur_kernel("sinc", side, cutoff=cutoff)
    assert np.abs(kernel - published_sinc(side, cutoff)).max() < 1e-9
    theirs = A.RingingOvershoot(blur_limit=(side, side), cutoff=(cutoff, cutoff), p=1).get_params()["kernel"]
    assert np.abs(kernel - theirs).max() < 1e-6


@pytest.mark.parametrize("shape", [*ROUND, *TURNED, "sinc"])
@pytest.mark.parametrize("kernels", KERNEL_SETS, ids=lambda kernels: kernels.isa if kernels else "none")
def test_the_drawn_kernel_blurs_ramps_as_defined(shape: Any, kernels: Any) -> None:
    step = KernelBlur(shapes={shape: 1}, p=1.0)
    step.py_random = Random(1)
    for channels in (1, 3, 4):
        image = ramps(channels)
        for _ in range(4):
            drawn = step.get_params()
            assert drawn["shape"] == shape
            if shape == "sinc":
                expected = published_sinc(drawn["side"], drawn["cutoff"])
            else:
                sigma = drawn["sigma"]
                expected = published_kernel(
                    shape,
                    drawn["side"],
                    (sigma[0], sigma[-1]),
                    np.deg2rad(drawn.get("angle", 0.0)),
                    drawn.get("beta", 1.0),
                )
            assert np.abs(drawn["kernel"] - expected).max() < 1e-6
            with using(kernels):
                result = step.apply(image, **drawn)
            assert np.abs(result - blurred(image, expected)).max() < 0.65  # half a level is the rounding
            floats = step.apply(image.astype(np.float32) / np.float32(255), **drawn)
            assert np.abs(floats * 255 - blurred(image, expected)).max() < 0.01


def test_an_impulse_shows_the_kernel() -> None:
    image = np.zeros((25, 25, 3), np.uint8)
    image[12, 12] = 255
    kernel = blur_kernel("plateau_aniso", 21, [3.0, 1.0], 30.0, 1.5)
    shown = KernelBlur(p=1.0).apply(image, kernel)[2:-2, 2:-2, 0]
    np.testing.assert_allclose(shown, kernel[::-1, ::-1] * 255, atol=0.51)


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (3, 700), (40, 5), (200, 190)])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_blurred_bits_are_the_same_without_kernels(size: tuple[int, int], channels: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (*size, channels), np.uint8)
    step = KernelBlur(p=1.0, blur_limit=(7, 25), cutoff=(0.3, 3.1))
    step.py_random = Random(2)
    for _ in range(12):
        kernel = step.get_params()["kernel"]
        results = []
        for kernels in KERNEL_SETS:
            with using(kernels):
                results.append(step.apply(image, kernel))
        assert all(result.shape == image.shape and np.array_equal(result, results[0]) for result in results)


def test_what_kernels_are_drawn() -> None:
    step = KernelBlur(p=1.0, betag_range=(0.5, 4.0), betap_range=(1.0, 2.0))
    step.py_random = Random(3)
    draws = [step.get_params() for _ in range(6000)]
    shares = Counter(drawn["shape"] for drawn in draws)
    for shape, share in step.shapes.items():
        assert abs(shares[shape] / 6000 - share) < 0.02
    assert {drawn["side"] for drawn in draws} == {*range(7, 22, 2)}
    for drawn in draws:
        if drawn["shape"] == "sinc":
            assert np.pi / (3 if drawn["side"] < 13 else 5) <= drawn["cutoff"] <= np.pi
        else:
            assert len(drawn["sigma"]) == 1 + (drawn["shape"] in TURNED)
            assert all(0.2 <= sigma <= 3.0 for sigma in drawn["sigma"])
            assert (drawn["shape"] in TURNED) == ("angle" in drawn) and -180 <= drawn.get("angle", 0) <= 180
    below = [drawn["beta"] < 1 for drawn in draws if drawn["shape"].startswith("generalized")]
    assert abs(np.mean(below) - 0.5) < 0.07
    flat = [drawn["beta"] == 1 for drawn in draws if drawn["shape"].startswith("plateau")]
    assert abs(np.mean(flat) - 0.5) < 0.07


def test_spread_says_what_is_uniform() -> None:
    for spread, mean in (("sigma", 1.5), ("variance", 2.0)):
        step = KernelBlur(shapes={"iso": 1}, sigma_limit=(0, 3), spread=spread, p=1.0)
        step.py_random = Random(4)
        assert abs(np.mean([step.get_params()["sigma"] for _ in range(4000)]) - mean) < 0.05


@pytest.mark.parametrize("subsampling", FACTORS)
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("quality", [20, 75, 95])
def test_subsampled_jpegs_are_opencvs(subsampling: Any, channels: int, quality: int) -> None:
    image = np.concatenate([ramps(channels), np.resize(SHUFFLED, (20, 64, channels)).astype(np.uint8)])
    step = ImageCompression(quality_range=(quality, quality), subsampling=subsampling, p=1.0)
    result = step(image=image)["image"]
    colours = image[..., :3] if channels > 1 else image
    how = [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, FACTORS[subsampling]]
    expected = cv2.imdecode(cv2.imencode(".jpg", colours, how)[1], cv2.IMREAD_UNCHANGED).reshape(colours.shape)
    np.testing.assert_array_equal(result[..., : colours.shape[2]], expected)
    floats = step(image=image.astype(np.float32) / np.float32(255))["image"]
    np.testing.assert_allclose(floats * 255, result, atol=1e-3)
    theirs = A.ImageCompression(quality_range=(quality, quality), p=1.0)(image=image)["image"]
    assert np.array_equal(theirs, result) == (subsampling == "4:2:0" or channels == 1)
    np.testing.assert_array_equal(theirs[..., 3:], result[..., 3:])


def test_photons_are_counted_as_published() -> None:
    """By the definition on the same photons, and by their moments."""
    for image, gray in ((ramps(3), False), (ramps(3), True), (ramps(1), False)):
        step = PoissonNoise(p=1.0, per_channel=not gray)
        for scale in (0.05, 1.0, 3.0):
            unit = (cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if gray else image) / 255
            photons = 2 ** np.ceil(np.log2(len(np.unique(unit))))
            noise = np.random.default_rng(7).poisson(unit * photons) / photons - unit
            expected = np.clip(image / 255 + scale * (noise[..., None] if gray else noise), 0, 1) * 255
            result = step.apply(image, scale, 7)
            assert np.abs(result - expected).max() < 0.51
            floats = step.apply(image.astype(np.float32) / np.float32(255), scale, 7)
            assert np.abs(floats * 255 - expected).max() < (0.6 if gray else 0.01)
    flat = np.full((200, 200, 3), 128, np.uint8)
    flat[0, :16] = np.arange(48).reshape(16, 3)  # 49 levels: v is 64
    noise = PoissonNoise(p=1.0).apply(flat, 2.0, 1).astype(float)[1:] - 128
    assert abs(noise.mean()) < 0.5
    assert abs(noise.std() - 2 * 255 * np.sqrt(128 / 255 / 64)) < 0.5
    grey = PoissonNoise(p=1.0, per_channel=False).apply(flat, 0.5, 1)[1:]
    assert (grey == grey[..., :1]).all()
    assert not np.array_equal(grey[..., :1], PoissonNoise(p=1.0).apply(flat, 0.5, 1)[1:, :, :1])


STEPS = {
    "blur": [{"KernelBlur": {"p": 1}}],
    "photons": [{"PoissonNoise": {"p": 1}}, {"PoissonNoise": {"per_channel": False, "p": 1}}],
    "JPEG": [{"ImageCompression": {"quality_range": [20, 90], "subsampling": ["4:2:0", "4:2:2", "4:4:4"], "p": 1}}],
    "WebP": [{"ImageCompression": {"quality_range": [20, 90], "compression_type": "webp", "p": 1}}],
    "one of formats": [
        {
            "OneOf": {
                "steps": [
                    {"ImageCompression": {"quality_range": [20, 90], "subsampling": "4:2:2", "id": "jpeg", "p": 1}},
                    {"ImageCompression": {"quality_range": [20, 90], "compression_type": "webp", "id": "webp", "p": 1}},
                ]
            }
        }
    ],
}


def degraded(steps: list[Any], optimize: str, channels: int = 3, **inputs: Any) -> Any:
    inside = [*steps, {"ResizeToTarget": {"method": "area"}}, *([] if inputs else [{"GaussNoise": {"p": 1}}])]
    recipe = {
        "version": 1,
        "recipe": "t",
        "kind": "pair",
        "scales": {"lr": 1, "hr": 2},
        "inputs": {"image": {"channels": channels}} | inputs,
        "steps": [
            {"RandomCrop": {"height": 20, "width": 24, "at": "lr"}},
            {"Degrade": {"source": "hr", "target": "lr", "steps": inside}},
        ],
        "eval": "derived",
    }
    return ar.load(recipe).compile(optimize=optimize, seed=3)


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("channels", [1, 3])
def test_in_degrade_every_level_gives_the_same_bits(steps: list[Any], channels: int) -> None:
    image, samples = ramps(channels, (90, 80)), []
    plain = degraded(steps, "none", channels)
    for optimize in ("none", "exact"):
        for kernels in KERNEL_SETS:
            with using(kernels):
                pipeline = degraded(steps, optimize, channels)
                samples.append([pipeline.at(index)(hr=image)["lr"] for index in range(6)])
    for each in samples:
        for index, expected in enumerate(samples[0]):
            np.testing.assert_array_equal(each[index], expected)
    lr = [sample.tobytes() for sample in samples[0]]
    assert len({*lr}) == 6
    assert [plain.at(index)(hr=image)["lr"].tobytes() for index in reversed(range(6))] == lr[::-1]


def test_sixteen_bits() -> None:
    image = (ramps(1, (90, 80)).astype(np.uint16) << 8) + 3
    for name in ("blur", "photons"):
        samples = [degraded(STEPS[name], level, 1, depth=16).at(1)(hr=image)["lr"] for level in ("none", "exact")]
        assert samples[0].std() > 0.01
        np.testing.assert_array_equal(*samples)
    for name in ("JPEG", "WebP"):
        with pytest.raises(ar.LintError, match="L305"):
            degraded(STEPS[name], "none", 1, depth=16)


@pytest.mark.parametrize(
    "step",
    [
        {"KernelBlur": {"shapes": {"isso": 1}}},
        {"KernelBlur": {"shapes": {"iso": 0}}},
        {"KernelBlur": {"shapes": {"iso": -1}}},
        {"KernelBlur": {"shapes": {}}},
        {"KernelBlur": {"blur_limit": [8, 9]}},
        {"KernelBlur": {"blur_limit": [7, 27]}},
        {"KernelBlur": {"cutoff": [1, 4]}},
        {"KernelBlur": {"cutoff": [0, 0]}},
        {"KernelBlur": {"sigma_limit": [3, 1]}},
        {"PoissonNoise": {"scale_range": [-1, 1]}},
        {"ImageCompression": {"subsampling": "4:1:1"}},
        {"ImageCompression": {"subsampling": []}},
        {"ImageCompression": {"subsampling": "4:4:4", "compression_type": "webp"}},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_an_error_of_the_recipe(step: Any) -> None:
    with pytest.raises(ar.RecipeError, match=r":\d+:\d+: E3"):
        ar.load({"version": 1, "recipe": "t", "steps": [step], "eval": []})


def test_albumentations_class_stands_for_what_it_can_do() -> None:
    steps = [
        {"ImageCompression": {"p": 1, "id": "a"}},
        {"ImageCompression": {"subsampling": "4:4:4", "p": 1, "id": "b"}},
    ]
    recipe = ar.load({"version": 1, "recipe": "t", "steps": steps, "eval": []})
    classes = [type(step) for step in recipe.to_albumentations().transforms[:2]]
    assert classes == [A.ImageCompression, ImageCompression]
    assert "A.ImageCompression(p=1.0)" in python_of(recipe)
