"""Laws of stains that are estimated, and of what StainNormalize makes of images by them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from augrecipes.ops.stain_estimates import BACKGROUND, StainEstimate, estimate_stains

_RUIFROK = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11]])
_RUIFROK /= np.linalg.norm(_RUIFROK, axis=1, keepdims=True)
_MACENKO = np.array([[0.5626, 0.7201, 0.4062], [0.2159, 0.8012, 0.5581]])
_MACENKO /= np.linalg.norm(_MACENKO, axis=1, keepdims=True)
_METHODS = "macenko", "vahadane", "reinhard"


def slide(stains: np.ndarray, noise: float = 0, seed: int = 0, side: int = 256, strength: float = 0.4) -> tuple:
    """Tissue of two stains, of which each is absent in a fifth of the pixels, and how much there is of them."""
    rng = np.random.default_rng(seed)
    amounts = rng.gamma(2, strength, (side * side, 2)) * (rng.random((side * side, 2)) < 0.8)
    levels = BACKGROUND * np.exp(-amounts @ stains) - 1 + rng.normal(0, noise, (side * side, 3))
    return np.clip(np.rint(levels), 0, 255).astype(np.uint8).reshape(side, side, 3), amounts


def angles(estimate: StainEstimate, stains: np.ndarray) -> np.ndarray:
    """Degrees between each estimated stain and its own."""
    return np.degrees(np.arccos(np.clip((estimate.stains * stains).sum(axis=1), -1, 1)))


@pytest.mark.parametrize("stains", [_RUIFROK, _MACENKO], ids=["ruifrok", "macenko"])
@pytest.mark.parametrize(("method", "noise", "degrees"), [("macenko", 0, 2), ("macenko", 2, 2), ("vahadane", 2, 3.5)])
def test_planted_stains_are_found(stains: np.ndarray, method: str, noise: float, degrees: float) -> None:
    tile, amounts = slide(stains, noise)
    estimate = estimate_stains([tile], method)
    assert estimate is not None
    assert angles(estimate, stains).max() < degrees
    assert np.allclose(estimate.most, np.percentile(amounts, 99, axis=0), rtol=0.2)
    # planted: the other order of the stains is no estimate within these bounds
    assert angles(estimate, stains[::-1]).min() > 3 * degrees


@pytest.mark.parametrize("method", _METHODS)
def test_estimates_do_not_go_by_the_order_of_tiles_and_pixels(method: str) -> None:
    tiles = [slide(_RUIFROK, 2, seed, 64)[0] for seed in range(5)]
    estimate = estimate_stains(tiles, method)
    assert estimate is not None
    assert estimate_stains(tiles[::-1], method) == estimate
    assert estimate_stains([tile[::-1, ::-1] for tile in tiles], method) == estimate
    assert estimate_stains([np.float32(tile) / 255 for tile in tiles], method) == estimate
    assert StainEstimate(tuple(json.loads(json.dumps(estimate.numbers)))) == estimate
    assert estimate_stains(tiles[1:], method) != estimate


@pytest.mark.parametrize("method", ["macenko", "vahadane"])
def test_stains_are_unit_vectors_that_absorb(method: str) -> None:
    estimate = estimate_stains([slide(_RUIFROK, 4)[0]], method)
    assert estimate is not None
    assert np.allclose(np.linalg.norm(estimate.stains, axis=1), 1)
    assert (estimate.stains >= 0).all() and (estimate.most > 0).all()
    assert estimate.stains[0, 0] > estimate.stains[1, 0]


def test_glass_does_not_count() -> None:
    tile = slide(_RUIFROK)[0]
    glass = np.random.default_rng(1).integers(208, 250, tile.shape, np.uint8)
    for method in _METHODS:
        assert estimate_stains([tile, glass, glass], method) is not None
        assert estimate_stains([glass], method) is None
    with_glass, alone = (estimate_stains(tiles, "macenko") for tiles in ([tile, glass], [tile]))
    assert with_glass is not None and alone is not None
    assert np.allclose(with_glass.numbers, alone.numbers, atol=0.05)


def _without_stains() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 4, (64, 64, 3))
    return {
        "white": np.full((64, 64, 3), 255, np.uint8),
        "black": np.zeros((64, 64, 3), np.uint8),
        "grey": np.full((64, 64, 3), 128, np.uint8),
        "noisy grey": np.clip(128 + 5 * noise, 0, 255).astype(np.uint8),
        "one pixel": np.full((1, 1, 3), 120, np.uint8),
        "one channel": np.full((64, 64, 1), 120, np.uint8),
        "not a number": np.full((64, 64, 3), np.nan, np.float32),
        "one colour": np.full((64, 64, 3), (150, 100, 160), np.uint8),
        "noise about one colour": np.clip(noise + np.array([150, 100, 160]), 0, 255).astype(np.uint8),
    }


@pytest.mark.parametrize("name", _without_stains())
def test_images_whose_stains_cannot_be_told_have_no_estimate(name: str) -> None:
    image = _without_stains()[name]
    assert estimate_stains([image], "macenko") is None
    assert estimate_stains([image], "vahadane") is None
    assert "noise about" in name or estimate_stains([image], "reinhard") is None
    assert estimate_stains([], "macenko") is None
