"""PSNR and SSIM of bicubic interpolation: values by their definitions, and what recipes of pairs are told by them."""

import json
from dataclasses import replace
from itertools import pairwise
from math import inf, isnan, log10, nan
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from small_data import Page, kind_data
from support.folders import draw_waves

import augrecipes as ar
from augrecipes.bench.effects import Effects, effects
from augrecipes.bench.fidelity import Fidelity, bicubic_likeness, estimate, fidelity_verdicts, mean_text, psnr_and_ssim
from augrecipes.bench.report import page
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting
from augrecipes.bench.tables import report_of
from augrecipes.errors import DataError
from augrecipes.ops.matlab_bicubic import imresize
from augrecipes.recipe.parse import parse_text

PAIR = """
version: 1
recipe: it
kind: pair
scales: {lr: 1, hr: 4}
steps:
  - RandomCrop: {height: 16, width: 16, at: lr}
  - Degrade: {source: hr, target: lr, steps: [%s]}
eval: []
output: %s
"""
PLAIN = "ResizeToTarget: {method: matlab_bicubic}"


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Eight textured images of 120×160, as high resolution."""
    folder = draw_waves(tmp_path_factory.mktemp("hr"), 8, (120, 160), "png")
    rng = np.random.default_rng(1)
    for path in sorted(folder.rglob("*.png")):
        image: Any = cv2.imread(str(path))
        texture = cv2.GaussianBlur(np.asarray(rng.normal(0, 60, image.shape)), (0, 0), 1.2)
        assert cv2.imwrite(str(path), np.clip(image + texture, 0, 255).astype(np.uint8))
    return {"hr": str(folder)}


def recipe(*steps: str, output: str = "{}") -> Any:
    return parse_text(PAIR % (", ".join(f"{{{step}}}" for step in steps), output))


def measured(source: Any, data: Any, samples: int = 8, **setting: Any) -> tuple[Fidelity, ...]:
    return effects(source, Setting(data, **setting), samples).fidelity


def luma(image: np.ndarray) -> np.ndarray:
    """BasicSR's `to_y_channel`: of RGB floats of 0..1 in 16..235, not rounded."""
    unit = image.astype(np.float64) / 255
    return (unit @ np.array([65.481, 128.553, 24.966]) + 16)[..., None] if image.shape[2] == 3 else unit * 255


def basicsr_psnr(one: np.ndarray, other: np.ndarray, crop: int, y: bool) -> float:
    one, other = (a[crop:-crop, crop:-crop] if crop else a for a in (one, other))
    one, other = (luma(a) if y else a.astype(np.float64) for a in (one, other))
    error = ((one - other) ** 2).mean()
    return inf if error == 0 else 10 * log10(255.0 * 255.0 / error)


def basicsr_ssim(one: np.ndarray, other: np.ndarray, crop: int, y: bool) -> float:
    """Channel by channel: a window of 11×11 by `filter2D`, without what the window needs at the edges."""
    one, other = (a[crop:-crop, crop:-crop] if crop else a for a in (one, other))
    one, other = (luma(a) if y else a.astype(np.float64) for a in (one, other))
    c1, c2, line = (0.01 * 255) ** 2, (0.03 * 255) ** 2, cv2.getGaussianKernel(11, 1.5)
    window, values = np.outer(line, line), []

    def mean(values: np.ndarray) -> np.ndarray:
        return cv2.filter2D(values, -1, window)[5:-5, 5:-5]

    for k in range(one.shape[2]):
        a, b = (np.ascontiguousarray(image[..., k]) for image in (one, other))
        mu1, mu2 = mean(a), mean(b)
        s1, s2, s12 = mean(a**2) - mu1**2, mean(b**2) - mu2**2, mean(a * b) - mu1 * mu2
        values.append((((2 * mu1 * mu2 + c1) * (2 * s12 + c2)) / ((mu1**2 + mu2**2 + c1) * (s1 + s2 + c2))).mean())
    return float(np.mean(values))


def two_images(size: tuple[int, int], channels: int) -> tuple[np.ndarray, np.ndarray]:
    """A ramp with noise, and the same with more of it."""
    rng = np.random.default_rng(sum(size) + channels)
    ramp = np.linspace(0, 255, size[0] * size[1] * channels).reshape(*size, channels)
    return tuple(np.clip(ramp + rng.normal(0, s, ramp.shape), 0, 255).astype(np.uint8) for s in (2, 12))  # type: ignore[return-value]


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [(64, 48), (33, 47), (19, 200)])
@pytest.mark.parametrize("border", [0, 3, 4])
def test_values_are_those_of_the_definitions(size: tuple[int, int], channels: int, border: int) -> None:
    one, other = two_images(size, channels)
    psnr, ssim = psnr_and_ssim(one, other, border)
    assert psnr == pytest.approx(basicsr_psnr(one, other, border, True), abs=1e-6)
    assert ssim == pytest.approx(basicsr_ssim(one, other, border, True), abs=1e-6)
    assert psnr_and_ssim(other, one, border) == pytest.approx((psnr, ssim), abs=1e-9)
    assert ssim < 1 < psnr


@pytest.mark.parametrize("size", [(64, 48), (33, 47)])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_values_are_those_of_scikit_image(size: tuple[int, int], channels: int) -> None:
    metrics = pytest.importorskip("skimage.metrics")
    one, other = two_images(size, channels)
    how: dict[str, Any] = {"data_range": 255, "gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
    a, b = map(luma, (one, other))
    ssim = metrics.structural_similarity(a, b, win_size=11, channel_axis=2, **how)
    psnr = metrics.peak_signal_noise_ratio(a, b, data_range=255)
    assert psnr_and_ssim(one, other) == pytest.approx((psnr, ssim), abs=1e-6)


def test_planted_faults_are_seen() -> None:
    """Values that a border, luma or the window's width would change do change."""
    one, other = two_images((64, 48), 3)
    known = psnr_and_ssim(one, other, 4)
    framed = other.copy()
    framed[:4] = 255 - framed[:4]
    assert psnr_and_ssim(one, framed, 4) == known
    assert psnr_and_ssim(one, framed, 3) != known
    assert psnr_and_ssim(one[..., ::-1], other[..., ::-1], 4) != known
    assert basicsr_ssim(one, other, 4, True) != pytest.approx(basicsr_ssim(one[..., ::-1], other, 4, True), abs=1e-4)


def test_images_that_are_equal_or_tiny() -> None:
    grey = np.full((16, 16, 1), 90, np.uint8)
    assert psnr_and_ssim(grey, grey, 2) == (inf, 1.0)
    psnr, ssim = psnr_and_ssim(grey[:10], grey[:10] + 1)
    assert psnr == pytest.approx(20 * log10(255))
    assert isnan(ssim)
    assert all(map(isnan, psnr_and_ssim(grey, grey, 8))), "nothing is left"


def test_targets_are_enlarged_by_matlab_bicubic_without_their_scale_at_the_edges() -> None:
    hr = two_images((36, 48), 3)[1]
    images = {"lr": imresize(hr, 12, 16), "x2": imresize(hr, 24, 32), "hr": hr}
    found = bicubic_likeness(images, {"lr": 2, "x2": 4, "hr": 6})
    for name, border in (("lr", 3), ("x2", 2)):  # 6/4 is rounded up
        enlarged = imresize(images[name], 36, 48)
        expected = basicsr_psnr(enlarged, hr, border, True), basicsr_ssim(enlarged, hr, border, True)
        assert found[name, "hr"] == pytest.approx(expected, abs=1e-6)
    assert bicubic_likeness({"a": hr, "b": hr}, {"a": 1, "b": 1}) == {("a", "b"): (inf, 1.0)}


def test_a_heavier_degradation_is_further_away(scenes: dict[str, str]) -> None:
    found = []
    for deviation in (0.0, 0.02, 0.08, 0.2):
        noise = f"GaussNoise: {{std_range: [{deviation}, {deviation}], p: 1.0}}"
        (one,) = measured(recipe(PLAIN, noise), scenes)
        assert (one.target, one.reference, one.identical, len(one.psnr.samples)) == ("lr", "hr", 0, 8)
        assert one.psnr.low < one.psnr.mean < one.psnr.high
        found.append(one)
    for lighter, heavier in pairwise(found):
        assert all(np.greater(lighter.psnr.samples, heavier.psnr.samples))
        assert lighter.ssim.mean > heavier.ssim.mean


def test_samples_are_those_that_a_dataset_hands_out(scenes: dict[str, str]) -> None:
    source = recipe("GaussianBlur: {p: 0.5}", PLAIN)
    (one,) = measured(source, scenes, samples=12, seed=3)
    ds = ar.PairedImages(scenes, replace(source, output=ar.load("sr-x4").output), seed=3)
    for k, (psnr, ssim) in enumerate(zip(one.psnr.samples, one.ssim.samples, strict=True)):
        sample = ds[k // 8, k % 8]
        lr, hr = (np.rint(sample[name].numpy().transpose(1, 2, 0) * 255).astype(np.uint8) for name in ("lr", "hr"))
        enlarged = imresize(lr, 64, 64)
        assert psnr == pytest.approx(basicsr_psnr(enlarged, hr, 4, True), abs=1e-6)
        assert ssim == pytest.approx(basicsr_ssim(enlarged, hr, 4, True), abs=1e-6)


@pytest.mark.parametrize("output", ["{color: y}", "{dtype: uint8, color: bgr}", "{normalize: imagenet}"])
def test_the_output_changes_nothing(scenes: dict[str, str], output: str) -> None:
    assert measured(recipe(PLAIN, output=output), scenes) == measured(recipe(PLAIN), scenes)


def test_whole_images_of_odd_sizes(tmp_path: Path) -> None:
    """In evaluation, as published figures are: cut to whole cells, each image once."""
    hr = two_images((38, 51), 3)[1]
    for k in range(2):
        assert cv2.imwrite(str(tmp_path / f"{k}.png"), hr[..., ::-1])
    steps = {"steps": recipe(PLAIN).steps, "eval": recipe(PLAIN).steps[1:]}
    (one,) = measured(replace(recipe(PLAIN), **steps), {"hr": str(tmp_path)}, 64, mode="eval")
    whole = hr[:36, :48]
    enlarged = imresize(imresize(whole, 9, 12), 36, 48)
    expected = basicsr_psnr(enlarged, whole, 4, True), basicsr_ssim(enlarged, whole, 4, True)
    assert [(one.psnr.samples[k], one.ssim.samples[k]) for k in (0, 1)] == [pytest.approx(expected, abs=1e-6)] * 2
    lr = tmp_path / "lr"
    lr.mkdir()
    for k in range(2):
        assert cv2.imwrite(str(lr / f"{k}.png"), imresize(whole, 9, 12)[..., ::-1])
    read = parse_text("{version: 1, recipe: it, kind: pair, scales: {lr: 1, hr: 4}, steps: [D4: {p: 1.0}], eval: []}")
    assert measured(read, {"hr": str(tmp_path), "lr": str(lr)}, 64, mode="eval") == (one,), "of files, without a step"


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_deep_images_are_measured_in_levels(tmp_path: Path, dtype: str) -> None:
    """As fine as they are: of images that are nearly equal 8 bits would leave nothing."""
    hr = np.random.default_rng(0).uniform(0.2, 0.8, (48, 48, 1))
    top = 65535 if dtype == "uint16" else 1.0
    name = tmp_path / ("a.png" if dtype == "uint16" else "a.tiff")
    stored = (hr * top).astype(dtype)
    assert cv2.imwrite(str(name), stored)
    depth = f"inputs: {{depth: {dtype.removeprefix('u').removeprefix('int')}, channels: 1}}\nsteps:\n"
    source = parse_text((PAIR % (f"{{{PLAIN}}}", "{}")).replace("steps:\n", depth, 1))
    steps = {"steps": source.steps[1:]}
    (one,) = measured(replace(source, **steps), {"hr": str(tmp_path)}, 1)
    levels = (stored.reshape(48, 48, 1) / top * 255).astype(np.float32)
    small = imresize(levels, 12, 12, full_range=(0, 255))
    enlarged = imresize(small, 48, 48, full_range=(0, 255))
    assert one.psnr.mean == pytest.approx(basicsr_psnr(enlarged, levels, 4, True), abs=1e-3)


def test_samples_that_are_left_out_keep_their_places(scenes: dict[str, str], tmp_path: Path) -> None:
    for k, path in enumerate(sorted(Path(scenes["hr"]).rglob("*.png"))):
        whole = path.read_bytes()
        (tmp_path / path.name).write_bytes(whole if k != 3 else whole[: len(whole) // 2])
    found = effects(recipe(PLAIN), Setting({"hr": str(tmp_path)}), 8)
    assert found.left_out == 1
    (one,), (every,) = found.fidelity, measured(recipe(PLAIN), scenes)
    assert isnan(one.psnr.samples[3])
    assert one.psnr.samples[:3] + one.psnr.samples[4:] == every.psnr.samples[:3] + every.psnr.samples[4:]


# Verdicts, and what is shown.


def verdict_of(a: list[float], b: list[float]) -> Any:
    one, other = (Fidelity("lr", "hr", estimate(np.array(v)), estimate(np.full(len(v), 0.5)), 0) for v in (a, b))
    (found,) = fidelity_verdicts({"A": [one], "B": [other]})
    return found


def test_differences_are_those_of_pairs_of_samples() -> None:
    """Scenes differ by much more than recipes, which a difference of means would drown in."""
    rng = np.random.default_rng(0)
    scene = rng.uniform(20, 40, 12)
    near = verdict_of((scene + 1).tolist(), (scene + rng.normal(0, 0.1, 12)).tolist())
    assert near.differs
    assert 0.8 < near.psnr.low < 1 < near.psnr.high < 1.2
    assert near.text.startswith("lr of A is 0.")
    assert near.text.endswith("dB closer to hr than lr of B")
    assert verdict_of(scene.tolist(), (scene + 1).tolist()).text == "lr of B is 1.00 dB closer to hr than lr of A"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([30.0] * 9, [30.0] * 9),
        ([31.0] * 6, [30.0] * 6),  # too few
        ([inf] * 9, [inf] * 9),
        ([inf] * 9, [30.0] * 9),
        ([30.0, 32.0] * 6, [31.0] * 12),
        ([nan] * 9, [30.0] * 9),
    ],
)
def test_nothing_is_said_without_grounds(a: list[float], b: list[float]) -> None:
    found = verdict_of(a, b)
    assert not found.differs
    assert found.text == "lr of A and lr of B: no statistically significant difference in PSNR"


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    held = [(found := estimate(rng.normal(3, 2, 8))).low <= 3 <= found.high for _ in range(2000)]
    assert 0.98 < np.mean(held) < 0.998


def compared(data: Any, **recipes: Any) -> Any:
    return bench(recipes, Setting(data), Options(["exact"], samples=8, batch_size=4, seconds=0.01))


def test_two_recipes_are_compared_in_text_json_and_page(scenes: dict[str, str]) -> None:
    noise = "GaussNoise: {std_range: [0.1, 0.1], p: 1.0}"
    found = compared(scenes, clean=recipe(PLAIN), noisy=recipe(PLAIN, noise))
    record = json.loads(json.dumps(found.to_json()))
    clean, noisy = (one["effects"]["fidelity"][0] for one in record["recipes"])
    (verdict,) = record["fidelity_verdicts"]
    assert clean["psnr"]["mean"] - noisy["psnr"]["mean"] == pytest.approx(verdict["psnr"]["mean"])
    assert verdict["differs"]
    assert (verdict["one"], verdict["other"], verdict["target"]) == ("clean", "noisy", "lr")
    for shown in (report_of(found).text(120), Page(page(record, "none", None)).text_shown):
        assert verdict["text"] in shown
        assert f"{clean['psnr']['mean']:.2f} ({clean['psnr']['low']:.2f}–{clean['psnr']['high']:.2f})" in shown
        assert f"{noisy['ssim']['mean']:.4f}" in shown


def test_whole_images_of_several_sizes_and_low_resolution_of_files_beside_degraded(tmp_path: Path) -> None:
    for k in range(3):
        hr = two_images((38 + 4 * k, 51), 3)[1]
        for name, image in (("hr", hr), ("lr", imresize(hr[: 36 + 4 * k, :48], 9 + k, 12))):
            (tmp_path / name).mkdir(exist_ok=True)
            assert cv2.imwrite(str(tmp_path / name / f"{k}.png"), image[..., ::-1])
    degraded = replace(recipe(PLAIN), eval=recipe(PLAIN).steps[1:])
    read = parse_text("{version: 1, recipe: it, kind: pair, scales: {lr: 1, hr: 4}, steps: [], eval: []}")
    data, options = {name: str(tmp_path / name) for name in ("hr", "lr")}, Options(samples=3, seconds=0.01)
    found = bench({"degraded": degraded, "read": read}, Setting(data, "eval"), options)
    one, other = (record.effects.fidelity for record in found.recipes if record.effects)
    assert one == other and found.batch_size == 1
    with pytest.raises(DataError, match="lr is made by the recipe's Degrade and is not read"):
        bench({"degraded": degraded}, Setting(data, "eval"), options)


def test_identical_images_are_counted(tmp_path: Path) -> None:
    for k in range(8):
        assert cv2.imwrite(str(tmp_path / f"{k}.png"), np.full((80, 80, 3), 20 * k, np.uint8))
    found = compared({"hr": str(tmp_path)}, one=recipe(PLAIN), two=recipe(PLAIN))
    record = json.loads(json.dumps(found.to_json()))
    (one,) = record["recipes"][0]["effects"]["fidelity"]
    assert (one["identical"], one["psnr"]["mean"], one["psnr"]["samples"]) == (8, None, [None] * 8)
    assert one["ssim"]["mean"] == 1
    text = report_of(found).text(120)
    assert "one · lr        ∞  1.0000 (1.0000–1.0000)          8" in text
    assert "∞" in page(record, "none", None)


def test_several_targets_and_tiny_ones(tmp_path: Path) -> None:
    data, folders = two_images((40, 40), 3)[0], {}
    for name, factor in (("hr", 4), ("x2", 2), ("lr", 1)):
        folders[name] = str(tmp_path / name)
        Path(folders[name]).mkdir()
        assert cv2.imwrite(f"{folders[name]}/a.png", imresize(data, 10 * factor, 10 * factor))
    text = "{version: 1, recipe: it, kind: pair, scales: {lr: 1, x2: 2, hr: 4}, steps: [%s], eval: []}"
    source = parse_text(text % "RandomCrop: {height: 4, width: 4, at: lr}")
    lr, x2 = measured(source, folders, 2)
    assert (lr.target, x2.target, x2.reference) == ("lr", "x2", "hr")
    assert mean_text({"mean": None}, 4) == "–"
    assert isnan(lr.ssim.mean), "8 px are left"
    assert x2.psnr.mean > lr.psnr.mean
    assert not isnan(x2.ssim.mean)


@pytest.mark.parametrize("kind", ["image", "bag"])
def test_other_kinds_have_none(kind: str, tmp_path: Path) -> None:
    source, data = kind_data(kind, tmp_path)
    found = compared(data, one=source, two=source)
    assert found.fidelity_verdicts == ()
    assert all(isinstance(one.effects, Effects) and one.effects.fidelity == () for one in found.recipes)
    assert "PSNR" not in report_of(found).text() + page(found.to_json(), "none", None)
