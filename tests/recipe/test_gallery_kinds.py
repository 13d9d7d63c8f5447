"""The gallery's recipes of pairs and bags give what their headers promise."""

from __future__ import annotations

import numpy as np
import pytest

from augrecipes.errors import LintError
from augrecipes.lint import lint
from augrecipes.ops.matlab_bicubic import imresize
from augrecipes.recipe import load
from augrecipes.recipe.parse import parse_text


def scene(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A soft image with noise of its own."""
    coarse = np.random.default_rng(seed).integers(40, 216, (6, 8, 3), dtype=np.uint8)
    return imresize(coarse, height, width, round_between=False)


SHAPES = {
    "sr-x2": {"lr": 48, "hr": 96},
    "sr-x4": {"lr": 48, "hr": 192},
    "sr-multiscale": {"lr": 32, "x2": 64, "hr": 128},
    "real-esrgan-x4": {"lr": 64, "hr": 256},
}


@pytest.mark.parametrize("name", SHAPES)
def test_pairs(name: str) -> None:
    recipe = load(name)
    assert lint(recipe) == ()
    whole = scene(261, 300)
    for mode in ("train", "eval"):
        pipeline = recipe.compile(mode)
        finest = max(recipe.scales.values())
        given = {}
        for target in pipeline.targets:
            factor = finest // recipe.scales[target]
            given[target] = whole if factor == 1 else imresize(whole, 261 // factor, 300 // factor)
        for index in range(4):
            out = pipeline.at(index)(**given)
            for target, side in SHAPES[name].items():
                made = out[target]
                assert made.dtype == np.float32
                assert 0 <= made.min() <= made.max() <= 1
                rows, columns = 261 // finest, 300 // finest
                scale = recipe.scales[target]
                assert made.shape == ((3, side, side) if mode == "train" else (3, rows * scale, columns * scale))


def test_real_esrgan_is_worse_than_bicubic_and_still_the_same_scene() -> None:
    recipe = load("real-esrgan-x4")
    train, fixed = recipe.compile(), recipe.compile("eval")
    errors, means = [], []
    for index in range(24):
        out = train.at(index)(hr=scene(300, 400, index))
        high = np.ascontiguousarray(out["hr"].transpose(1, 2, 0))
        low, clean = out["lr"].transpose(1, 2, 0), imresize(high, 64, 64)
        errors.append(float(np.sqrt(((low - clean) ** 2).mean())))
        means.append(float((low - clean).mean()))
    assert len(set(errors)) == 24
    assert 0.02 < np.median(errors) < 0.1
    assert max(errors) < 0.2
    assert abs(np.median(means)) < 0.03
    whole = scene(300, 400)
    out = fixed.at(0)(hr=whole)
    levels = np.round(out["lr"] * 255).astype(np.uint8).transpose(1, 2, 0)
    np.testing.assert_array_equal(levels, imresize(whole, 75, 100, round_between=True))


def test_bags() -> None:
    recipe = load("stained-tissue-bag")
    assert lint(recipe) == ()
    tiles = [scene(512, 512, 1)] * 3
    out = recipe.compile().at(0)(images=tiles)["image"]
    assert out.shape == (3, 3, 224, 224)
    assert -1 <= out.min() <= out.max() <= 1
    assert not np.array_equal(out[0], out[1])
    fixed = recipe.compile("eval").at(0)(images=tiles)["image"]
    np.testing.assert_array_equal(fixed[0], fixed[1])


@pytest.mark.parametrize("step", ["GaussNoise", "CoarseDropout", "Rotate", "HorizontalFlip: {target: lr}"])
def test_what_cannot_be_shared_is_refused_before_it_runs(step: str) -> None:
    recipe = parse_text(f"version: 1\nrecipe: t\nkind: pair\nscales: {{lr: 1, hr: 4}}\nsteps:\n  - {step}\neval: []")
    with pytest.raises(LintError):
        recipe.compile()
