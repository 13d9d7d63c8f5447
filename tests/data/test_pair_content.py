"""Pairs that do not show the same are found and named; true pairs are left alone, however degraded."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_folders import make_pairs, reduced, save, scene

from augrecipes.kinds.pair.audit import compare, compare_scene

LARGE = scene(1, (256, 256))
SMALL = reduced(LARGE, 4)


def degraded(image, blur=0.0, noise=0.0, quality=100, seed=0):
    if blur:
        image = cv2.GaussianBlur(image, (0, 0), blur)
    noisy = image + np.random.default_rng(seed).normal(0, noise, image.shape)
    data = cv2.imencode(".jpg", np.clip(noisy, 0, 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return cv2.imdecode(data, cv2.IMREAD_COLOR)


@given(
    seed=st.integers(0, 50),
    scale=st.sampled_from([2, 3, 4]),
    method=st.sampled_from([cv2.INTER_AREA, cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_LANCZOS4]),
    blur=st.sampled_from([0.0, 0.7, 1.5]),
    noise=st.sampled_from([0.0, 5.0, 15.0]),
    quality=st.sampled_from([100, 80, 40]),
)
def test_true_pairs_are_left_alone(seed, scale, method, blur, noise, quality):
    large = scene(seed, (72 * scale, 90 * scale))
    small = cv2.resize(large, (90, 72), interpolation=method)
    assert compare(large, degraded(small, blur, noise, quality, seed)) is None


SHIFTS = {
    (0, 1): "shifted by 1 px to the right",
    (0, -1): "shifted by 1 px to the left",
    (1, 0): "shifted by 1 px down",
    (-2, 0): "shifted by 2 px up",
    (-1, 3): "shifted by 3 px to the right and 1 px up",
}


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("how", [{}, {"blur": 0.7, "noise": 5, "quality": 80}])
def test_shifts_are_found_to_the_pixel(shift, how):
    assert compare(LARGE, np.roll(degraded(SMALL, **how), shift, (0, 1))) == SHIFTS[shift]


@pytest.mark.parametrize("noise", [0, 3, 15, 30])
def test_images_with_nothing_to_see_are_not_judged(noise):
    y, x = np.mgrid[:256, :256]
    sky = np.stack([120 + y / 8, 150 + y / 9, 220 - x / 50], -1).astype(np.uint8)
    assert compare(sky, degraded(reduced(sky, 4), noise=noise)) is None


def test_grey_and_colour_can_be_compared():
    grey = cv2.cvtColor(LARGE, cv2.COLOR_RGB2GRAY)[..., None]
    assert compare(grey, SMALL) is None
    assert compare(LARGE, reduced(grey, 4)) is None


def defects_of(*files: Path, units: dict[str, int]) -> list[tuple[str, str]]:
    paths = dict(zip(units, map(str, files), strict=True))
    return [(defect.kind, defect.message) for defect in compare_scene(paths, units)]


def test_what_does_not_show_the_same_is_named(tmp_path):
    make_pairs(tmp_path, ["0", "1", "2"], size=(160, 192))
    high, low, units = tmp_path / "HR", tmp_path / "LR", {"hr": 4, "lr": 1}
    for name, other in (("0", "0"), ("0", "1"), ("1", "2")):
        found = defects_of(high / f"{name}.png", low / f"{other}x4.png", units=units)
        assert [kind for kind, _ in found] == (["content"] if name != other else [])
        assert all("they do not look like one scene" in text for _, text in found)
    save(low / "1x4.png", np.roll(reduced(scene(1, (160, 192)), 4), 1, 1))
    shifted = f"{high / '1.png'} and {low / '1x4.png'}: shifted by 1 px to the right"
    assert defects_of(high / "1.png", low / "1x4.png", units=units) == [("content", shifted)]
    whole = (low / "2x4.png").read_bytes()
    (low / "2x4.png").write_bytes(whole[:200] + bytes(50) + whole[250:])
    ((kind, text),) = defects_of(high / "2.png", low / "2x4.png", units=units)
    assert kind == "unreadable"
    assert text.startswith(f"{low / '2x4.png'}: damaged")


def test_every_target_of_a_pyramid_is_compared(tmp_path):
    image = scene(0, (128, 128))
    paths = [save(tmp_path / f"{s}.png", reduced(image, s) if s > 1 else image) for s in (1, 2, 4)]
    units = {"hr": 4, "x2": 2, "lr": 1}
    assert defects_of(*paths, units=units) == []
    save(tmp_path / "2.png", np.roll(reduced(image, 2), 2, 0))
    ((_, text),) = defects_of(*paths, units=units)
    assert text == f"{paths[0]} and {paths[1]}: shifted by 2 px down"
