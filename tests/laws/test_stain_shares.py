"""Stain, HSV and template jitter in bags: one draw a bag, or a tile, whoever makes it; what becomes of glass."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from support.every_class import TEMPLATE

import augrecipes as ar

JITTERS: dict[str, dict[str, Any]] = {
    "hed": {"StainJitter": {"sigma": 0.3}},
    "two given": {"StainJitter": {"sigma": 0.3, "basis": [[0.55, 0.76, 0.34], [0.1, 0.95, 0.28]]}},
    "macenko": {"StainJitter": {"sigma": 0.3, "basis": "macenko"}},
    "vahadane, a tile": {"StainJitter": {"sigma": 0.3, "basis": "vahadane", "source": "tile"}},
    "hsv": {"HueSaturationValue": {"hue_shift_limit": 20, "sat_shift_limit": 30, "val_shift_limit": 20}},
    "template": {"RandStainNA": {"template": TEMPLATE}},
}
EACH = pytest.mark.parametrize("jitter", JITTERS)
HOW: dict[str, Callable[[Any], Any]] = {
    "threads": lambda ds: ar.loader(ds, 1, collate="list", shuffle=False, num_workers=0),
    "workers": lambda ds: ar.loader(ds, 1, collate="list", shuffle=False, num_workers=2),
}


@cache
def tissue(seed: int) -> np.ndarray:
    """A tile of two stains, with nothing but tissue on its left and glass on its right."""
    rng = np.random.default_rng(seed)
    amounts = cv2.GaussianBlur(rng.gamma(1.5, 0.35, (48, 60, 2)), None, 1)
    image = 256 * 10 ** -(amounts @ np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11]])) - 1
    image[:, 40:] = rng.integers(236, 250, (48, 20, 3))
    return np.clip(image, 0, 255).astype(np.uint8)


def recipe(jitter: str, share: str, **more: Any) -> ar.Recipe:
    ((name, arguments),) = JITTERS[jitter].items()
    steps = [{name: {**arguments, "share": share, "p": 1.0}}]
    output = {"dtype": "uint8", "layout": "hwc"}
    return ar.load({"version": 1, "recipe": "t", "kind": "bag", "steps": steps, "eval": [], "output": output} | more)


def drawn(sample: Any) -> list[str]:
    """What each tile drew, without what its own pixels said."""
    return [
        str(
            [
                (site, sorted((k, v) for k, v in params.items() if k not in ("shape", "stains")))
                for site, _, params in tile
            ]
        )
        for tile in sample["applied"]
    ]


@EACH
@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_a_draw_is_one_of_a_bag_or_of_a_tile(jitter: str, optimize: Any) -> None:
    tiles = [tissue(1)] * 4
    for share, count in (("bag", 1), ("tile", 4)):
        pipeline = recipe(jitter, share).compile(optimize=optimize, seed=2, save_applied_params=True)
        bags = [pipeline.at(index)(images=tiles) for index in range(3)]
        for bag in bags:
            assert len(set(drawn(bag))) == count
            assert len({tile.tobytes() for tile in bag["image"]}) == count
            assert (bag["image"][0] != tissue(1)).any()
        assert len({draw for bag in bags for draw in drawn(bag)}) == 3 * count
        again = pipeline.at(1)(images=tiles)
        np.testing.assert_array_equal(again["image"], bags[1]["image"])


@EACH
def test_exact_is_none(jitter: str) -> None:
    tiles = [tissue(seed) for seed in range(5)]
    for share in ("bag", "tile"):
        made = [recipe(jitter, share).compile(optimize=level, seed=2).at(1)(images=tiles)["image"]
                for level in ("none", "exact")]  # fmt: skip
        np.testing.assert_array_equal(*made)


@pytest.fixture(scope="module")
def bags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bags")
    for bag in range(3):
        (root / f"bag{bag}").mkdir()
        for k in range(4):
            cv2.imwrite(str(root / f"bag{bag}" / f"{k}.png"), tissue(4 * bag + k)[..., ::-1])
    return root


@EACH
@pytest.mark.parametrize("share", ["bag", "tile"])
def test_threads_workers_and_packing_change_nothing(jitter: str, share: str, bags: Path, tmp_path: Path) -> None:
    data = ar.TileBags(bags, recipe(jitter, share), seed=5, threads=1)
    alone = [np.asarray(data[k]["image"]) for k in range(len(data))]
    assert len({bag.tobytes() for bag in alone}) == 3
    for how, loader in HOW.items():
        ds = ar.TileBags(bags, recipe(jitter, share), seed=5, threads=3)
        for batch, one in zip(loader(ds), alone, strict=True):
            np.testing.assert_array_equal(np.asarray(batch["image"][0]), one, err_msg=how)


def test_the_bags_stains_are_those_of_all_its_tiles() -> None:
    """A tile whose own stains cannot be told is jittered by its bag's; `source: tile` leaves it."""
    grey = np.full((48, 60, 3), 120, np.uint8)
    for source, changes in (("bag", True), ("tile", False)):
        steps = [{"StainJitter": {"basis": "macenko", "source": source, "sigma": 0.5, "share": "bag", "p": 1.0}}]
        one = ar.load({"version": 1, "recipe": "t", "kind": "bag", "steps": steps, "eval": [],
                       "output": {"dtype": "uint8", "layout": "hwc"}})  # fmt: skip
        made = one.compile().at(0)(images=[tissue(0), grey])["image"]
        assert (made[1] != grey).any() == changes


@pytest.mark.parametrize("jitter", [name for name in JITTERS if name != "hsv"])
def test_glass_stays_in_bags(jitter: str) -> None:
    tiles = [tissue(seed) for seed in range(3)]
    for share in ("bag", "tile"):
        for level in ("exact", "fast"):
            made = recipe(jitter, share).compile(optimize=level).at(2)(images=tiles)["image"]
            np.testing.assert_array_equal(made[:, :, 40:], np.stack(tiles)[:, :, 40:])


def test_what_hsv_jitter_does_to_glass() -> None:
    """Pure grey and white have no hue: they stay without `val_shift_limit`. What is nearly white is tinted."""

    def made(image: np.ndarray, **limits: Any) -> np.ndarray:
        none = dict.fromkeys(("hue_shift_limit", "sat_shift_limit", "val_shift_limit"), 0)
        step = {"HueSaturationValue": {**none, **limits, "p": 1.0}}
        one = ar.load({"version": 1, "recipe": "t", "steps": [step], "eval": [],
                       "output": {"dtype": "uint8", "layout": "hwc"}})  # fmt: skip
        result: np.ndarray = one.compile(seed=1).at(0)(image=image.copy())["image"]
        return result

    white, glass = np.full((8, 8, 3), 243, np.uint8), np.full((8, 8, 3), (243, 241, 245), np.uint8)
    colours = {"hue_shift_limit": [20, 20], "sat_shift_limit": [30, 30]}
    np.testing.assert_array_equal(made(white, **colours), white)
    assert np.abs(made(white, val_shift_limit=[-20, -20]).astype(int) - white).min() == 20
    assert np.abs(made(glass, **colours).astype(int) - glass).max() > 20


@pytest.mark.parametrize("name", ["stained-tissue", "stained-tissue-bag", "stain-normalized"])
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_glass_of_the_gallery_stays_white(name: str, mode: Any) -> None:
    """At least 0.98 of what it was: in the corners of what turns, reflected tissue."""
    one = ar.load(name, overrides={"output": {"dtype": "uint8", "layout": "hwc"}})
    rng = np.random.default_rng(0)
    for level in ("none", "exact", "fast"):
        pipeline = one.compile(mode=mode, optimize=level, seed=1)
        for index in range(4):
            glass = rng.integers(240, 244, (300, 300, 3)).astype(np.uint8)
            given = {"image": glass} if one.kind == "image" else {"images": [glass, glass]}
            assert np.asarray(pipeline.at(index)(**given)["image"]).min() >= 0.98 * 240
