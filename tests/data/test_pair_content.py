"""Pairs that do not show the same are found and named; true pairs are left alone, however degraded."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_folders import make_pairs, reduced, save, scene

from augrecipes.data.tables.pair_content import compare
from augrecipes.data.tables.pair_matches import compare_scenes

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
    assert compare(large, degraded(small, blur, noise, quality, seed)).problem is None


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
    assert compare(LARGE, np.roll(degraded(SMALL, **how), shift, (0, 1))).problem == SHIFTS[shift]


TURNS = {
    "mirrored left to right": lambda image: image[:, ::-1],
    "upside down (mirrored)": lambda image: image[::-1],
    "turned by 180°": lambda image: image[::-1, ::-1],
    "transposed": lambda image: image.swapaxes(0, 1),
    "turned by 90° clockwise": lambda image: np.rot90(image, -1),
    "turned by 90° counter-clockwise": np.rot90,
    "transposed the other way": lambda image: np.rot90(image.swapaxes(0, 1), 2),
    "red and blue look exchanged": lambda image: image[..., ::-1],
    "one is the negative of the other": lambda image: 255 - image,
}


@pytest.mark.parametrize("turn", TURNS)
def test_turns_and_exchanged_colours_are_found(turn):
    large = LARGE.copy()
    large[..., 0] = np.clip(large[..., 0] * 0.5 + 120, 0, 255)
    large[..., 2] = large[..., 2] // 2
    assert compare(large, np.ascontiguousarray(TURNS[turn](reduced(large, 4)))).problem == turn


def test_brightness_and_blank_images_are_told():
    assert compare(LARGE, (SMALL * 0.7).astype(np.uint8)).problem.startswith("brightness differs: 1")
    assert compare(LARGE, np.full_like(SMALL, 120)).problem == "one of them shows next to nothing"


@pytest.mark.parametrize("noise", [0, 3, 15, 30])
def test_images_with_nothing_to_see_are_not_judged(noise):
    y, x = np.mgrid[:256, :256]
    sky = np.stack([120 + y / 8, 150 + y / 9, 220 - x / 50], -1).astype(np.uint8)
    assert compare(sky, degraded(reduced(sky, 4), noise=noise)).problem is None


def test_grey_and_colour_can_be_compared():
    grey = cv2.cvtColor(LARGE, cv2.COLOR_RGB2GRAY)[..., None]
    assert compare(grey, SMALL).problem is None
    assert compare(LARGE, reduced(grey, 4)).problem is None


def listed(folder: Path, names: list[str]) -> list[tuple[str, str]]:
    return [(str(folder / "HR" / f"{name}.png"), str(folder / "LR" / f"{name}x4.png")) for name in names]


def test_what_a_set_shows_instead_is_named(tmp_path):
    names = [f"{i}" for i in range(10)]
    make_pairs(tmp_path, names, size=(160, 192))
    assert compare_scenes(("hr", "lr"), listed(tmp_path, names), {"hr": 4, "lr": 1}) == []
    low = tmp_path / "LR"
    (low / "1x4.png").rename(low / "t.png")
    (low / "2x4.png").rename(low / "1x4.png")
    (low / "t.png").rename(low / "2x4.png")
    save(low / "3x4.png", reduced(scene(77, (160, 192)), 4))
    save(low / "4x4.png", reduced(scene(5, (160, 192)), 4))
    save(low / "6x4.png", np.roll(reduced(scene(6, (160, 192)), 4), 1, 1))
    whole = (low / "7x4.png").read_bytes()
    (low / "7x4.png").write_bytes(whole[:200] + bytes(50) + whole[250:])
    calls: list[tuple[int, int]] = []
    found = compare_scenes(
        ("hr", "lr"),
        listed(tmp_path, names),
        {"hr": 4, "lr": 1},
        advance=lambda done, total: calls.append((done, total)),
    )
    said = [defect.message.replace(f"{tmp_path}/", "") for defect in found]
    assert said[:2] == [
        "HR/1.png and LR/1x4.png: swapped with LR/2x4.png: each shows the scene of the other's pair",
        "HR/2.png and LR/2x4.png: swapped with LR/1x4.png: each shows the scene of the other's pair",
    ]
    assert said[2].startswith("HR/3.png and LR/3x4.png: they do not look like one scene")
    assert said[3:5] == [
        "HR/4.png and LR/4x4.png: another scene, that of HR/5.png",
        "HR/6.png and LR/6x4.png: shifted by 1 px to the right",
    ]
    assert said[5].startswith("LR/7x4.png: damaged")
    assert [defect.kind for defect in found] == ["content"] * 5 + ["unreadable"]
    assert calls[-1] == (10, 10)


def test_every_target_of_a_pyramid_is_compared(tmp_path):
    image = scene(0, (128, 128))
    paths = tuple(str(save(tmp_path / f"{s}.png", reduced(image, s) if s > 1 else image)) for s in (1, 2, 4))
    units = {"hr": 4, "x2": 2, "lr": 1}
    assert compare_scenes(("hr", "x2", "lr"), [paths], units) == []
    save(tmp_path / "2.png", np.roll(reduced(image, 2), 2, 0))
    (found,) = compare_scenes(("hr", "x2", "lr"), [paths], units)
    assert found.files == paths[:2]
