"""Peers draw what workloads ask for, anew for each sample; every script of benchmarks/ starts."""

import colorsys
import importlib
import random
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import peers
import pytest
import torch
from comparison import Each, Side, in_batches, ours
from workloads import ResizedCrops, Tiles, Windows, as_file, stained_text

import augrecipes as ar
from augrecipes.recipe.parse import parse_text

RECIPES = Path(__file__).parents[2] / "recipes"
_COUNT = 96
_SIZE, _OUT = 96, 64  # of tiles
_HEIGHT, _WIDTH = 375, 500  # of photographs
_LEAST, _MOST = 60, 190  # levels, from left to right


def ramp(height: int, width: int) -> np.ndarray:
    """Grey, lighter to the right."""
    levels = np.linspace(_LEAST, _MOST, width).round().astype(np.uint8)
    return np.repeat(np.tile(levels, (height, 1))[..., None], 3, axis=2)


def plain(height: int, width: int) -> np.ndarray:
    """Of one colour, a dull red."""
    return np.full((height, width, 3), (160, 100, 100), np.uint8)


def samples(side: Side, mean: Sequence[float], std: Sequence[float]) -> np.ndarray:
    """What a side makes, N×H×W×C, in levels."""
    made: list[np.ndarray] = []
    while len(made) < _COUNT:
        made += [one for batch in side.batches() for one in np.asarray(batch["image"]).copy()]
    return (np.stack(made).transpose(0, 2, 3, 1) * std + mean) * 255


def slopes(made: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """How steep the ramp is in the middle of each sample, down and across, beside the ramp as it was drawn."""
    edge = made.shape[1] // 4  # rotations bare nothing within
    middle = made[:, edge:-edge, edge:-edge].mean(3)
    drawn = (_MOST - _LEAST) / (width - 1)
    return np.diff(middle, axis=1).mean((1, 2)) / drawn, np.diff(middle, axis=2).mean((1, 2)) / drawn


def within(values: np.ndarray, *ranges: float) -> None:
    """The least and the greatest of what was drawn: each between two numbers."""
    least, least_most, most_least, most = ranges
    assert least <= values.min() <= least_most, values
    assert most_least <= values.max() <= most, values


def turns(made: np.ndarray) -> None:
    """By up to 25° to either side, which the crop's ratio makes 31° at most; flipped or not."""
    down, across = slopes(made, _SIZE)
    within(np.degrees(np.arctan2(np.abs(down), np.abs(across))), 0, 5, 18, 32)
    assert 0.2 < np.mean(across < 0) < 0.8, across


def crops(made: np.ndarray) -> None:
    """Half of the area to all of it: as steep as the crop is narrow, and as jitter makes it."""
    within(np.hypot(*slopes(made, _SIZE)) * _OUT / _SIZE, 0.45, 0.75, 0.88, 1.45)


def colours(made: np.ndarray) -> None:
    """Brightness by up to 0.2, hue by up to 0.02 of a turn, saturation by up to 0.05: with contrast by up to 0.155."""
    means = made[:, 16:-16, 16:-16].mean((1, 2))
    light = means.mean(1) / 120
    within(light, 0.75, 0.88, 1.12, 1.25)
    within(np.ptp(means, axis=1) / light / 60, 0.75, 0.98, 1.02, 1.3)
    hues = np.array([(colorsys.rgb_to_hsv(*mean)[0] + 0.5) % 1 - 0.5 for mean in means])
    within(hues, -0.03, -0.01, 0.01, 0.03)


def resized_crops(made: np.ndarray) -> None:
    """8 % of the area to all of it; flipped or not."""
    _, across = slopes(made, _WIDTH)
    within(np.abs(across) * made.shape[2], 90, 190, 300, _WIDTH)
    assert 0.2 < np.mean(across < 0) < 0.8, across


def windows(made: np.ndarray) -> None:
    """At full scale, from the left edge to the right one; flipped or not."""
    _, across = slopes(made, _WIDTH)
    within(np.abs(across), 0.96, 1.01, 0.99, 1.04)
    spare = (_WIDTH - made.shape[2]) / _WIDTH * (_MOST - _LEAST)
    within(np.ptp(made.mean((1, 2, 3)), keepdims=True) / spare, 0.8, 1.05, 0.8, 1.05)
    assert 0.2 < np.mean(across < 0) < 0.8, across


OF_TILES = {"turns": (turns, ramp), "crops": (crops, ramp), "colours": (colours, plain)}
OF_PHOTOS = {"resized crops": (resized_crops, ResizedCrops, "imagenet-train", 224)}
OF_PHOTOS["windows"] = (windows, Windows, "jpeg-crop-256", 256)
LIBRARIES = {library.name: library for library in peers.libraries()}


def case(which: str, scratch: Path) -> tuple[Any, Any, str]:
    """What is to be seen in samples, a workload that shows it, and its recipe as text."""
    if which in OF_TILES:
        check, draw = OF_TILES[which]
        return check, Tiles([draw(_SIZE, _SIZE)] * 8, _SIZE, _OUT), stained_text(_SIZE, _OUT)
    check, kind, name, out = OF_PHOTOS[which]
    data = cv2.imencode(".jpg", ramp(_HEIGHT, _WIDTH), [cv2.IMWRITE_JPEG_QUALITY, 98])[1].tobytes()
    return check, kind([data] * 8, ar.load(name), out, scratch), (RECIPES / f"{name}.yaml").read_text(encoding="utf-8")


def normal(recipe: ar.Recipe) -> tuple[Sequence[float], Sequence[float]]:
    return recipe.output.normalize.mean, recipe.output.normalize.std


@pytest.mark.filterwarnings("default")  # other libraries may warn
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("which", [*OF_TILES, *OF_PHOTOS])
def test_a_peer_draws_what_is_asked_for(library: str, which: str, tmp_path: Path) -> None:
    check, work, _ = case(which, tmp_path)
    random.seed(0)
    torch.manual_seed(0)
    offered = list(LIBRARIES[library].offers(work))
    sides = [side for side in offered if isinstance(side, Side)]
    if not sides:
        pytest.skip("; ".join(map(str, offered)) or "offers nothing for it")
    for side in sides:
        check(samples(side, *normal(work.recipe)))


@pytest.mark.parametrize(
    ("which", "asked", "read"),
    [
        ("turns", "limit: 25", "limit: 0.44"),  # as radians
        ("turns", "limit: 25", "limit: [25, 25]"),
        ("turns", "limit: 25", "limit: 50"),
        ("turns", "HorizontalFlip", "HorizontalFlip: {p: 0.0}"),
        ("crops", "scale: [0.5, 1.0]", "scale: [0.08, 1.0]"),
        ("crops", "scale: [0.5, 1.0]", "scale: [1.0, 1.0]"),
        ("colours", "brightness: 0.2", "brightness: 0.0"),
        ("colours", "brightness: 0.2", "brightness: 0.4"),
        ("colours", "saturation: 0.05", "saturation: 0.5"),
        ("colours", "hue: 0.02", "hue: 0.0"),
        ("colours", "hue: 0.02", "hue: 0.1"),
        ("resized crops", "[0.08, 1.0]", "[0.5, 1.0]"),
        ("resized crops", "[0.08, 1.0]", "[0.01, 0.1]"),
        ("resized crops", "p: 0.5", "p: 0.0"),
        ("windows", "- RandomCrop", "- CenterCrop"),
        ("windows", "- RandomCrop:", "- Resize: {height: 300, width: 300}\n  - RandomCrop:"),
        ("windows", "- HorizontalFlip", "- HorizontalFlip: {p: 1.0}"),
    ],
)
def test_who_misreads_it_is_found(which: str, asked: str, read: str, tmp_path: Path) -> None:
    check, work, text = case(which, tmp_path)
    pool = work.pool if which in OF_TILES else Each(work.pool, as_file)

    def made(text: str) -> np.ndarray:
        recipe = parse_text(text)
        batches = in_batches(ours(recipe, "none", pool), (3, work.out, work.out))
        return samples(Side("", "", batches), *normal(recipe))

    assert asked in text
    check(made(text))
    with pytest.raises(AssertionError):
        check(made(text.replace(asked, read, 1)))


ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
SCRIPTS = sorted(
    file.stem
    for file in BENCHMARKS.glob("*.py")
    if '__name__ == "__main__"' in file.read_text(encoding="utf-8") and not file.stem.endswith("images")  # of pages
)


def test_make_bench_runs_every_script() -> None:
    done = subprocess.run(["make", "-n", "bench"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert sorted(set(re.findall(r"benchmarks/(\w+)\.py", done.stdout))) == SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_imports_and_says_how_to_run_it(name: str) -> None:
    assert f"python benchmarks/{name}.py --write" in importlib.import_module(name).__doc__


def test_results_hold_no_section_of_a_script_that_is_gone() -> None:
    text = (BENCHMARKS / "RESULTS.md").read_text(encoding="utf-8")
    begun = re.findall(r"<!-- begin (\w+) -->", text)
    assert begun == re.findall(r"<!-- end (\w+) -->", text)
    assert set(begun) <= set(SCRIPTS)
    assert len(set(begun)) == len(begun)
