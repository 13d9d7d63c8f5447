"""Laws of stains that are estimated, and of what StainNormalize makes of images by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from kernel_sets import using

import augrecipes as ar
from augrecipes.errors import DataError, RecipeError
from augrecipes.native.kernels import library
from augrecipes.ops import stain_normalize
from augrecipes.ops.stain_estimates import BACKGROUND, StainEstimate, estimate_stains, estimates_of, has_tissue
from augrecipes.ops.stain_normalize import StainNormalize
from augrecipes.recipe.parse import parse_text

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
@pytest.mark.parametrize(("method", "noise", "degrees"), [("macenko", 0, 2), ("macenko", 2, 2), ("vahadane", 2, 2)])
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


# StainNormalize.


def normalized(image: np.ndarray, stains: Any = None, **arguments: Any) -> np.ndarray:
    """What StainNormalize makes of an image, by its class alone."""
    more = {} if stains is None else {"stains": stains}
    result: np.ndarray = StainNormalize(**arguments)(image=image, **more)["image"]
    return result


def numbers_of(stains: np.ndarray, most: Any = (1.5, 1.0)) -> dict[str, Any]:
    return {"stains": stains.tolist(), "most": [*most]}


def farthest(one: np.ndarray, other: np.ndarray) -> int:
    return int(np.abs(one.astype(int) - other).max())


def compiled(step: dict[str, Any], optimize: str, kind: str = "image", around: bool = True) -> Any:
    """A recipe of the step, with a flip before it and a crop behind."""
    steps = [{"StainNormalize": step}]
    if around:
        steps = [{"HorizontalFlip": {"p": 0.5}}, *steps, {"RandomCrop": {"height": 40, "width": 40}}]
    recipe = {
        "version": 1, "recipe": "law", "kind": kind, "steps": steps, "eval": "derived",
        "output": {"dtype": "uint8", "layout": "hwc", "normalize": "none"},
    }  # fmt: skip
    return parse_text(json.dumps(recipe)).compile(optimize=optimize)


def published(image: np.ndarray, source: dict[str, Any], target: dict[str, Any], light: float = 240) -> np.ndarray:
    """Normalisation as the published code has it: amounts by least squares, and no glass."""
    density = -np.log((image.reshape(-1, 3) + 1.0) / light)
    amounts = np.linalg.lstsq(np.array(source["stains"]).T, density.T, rcond=None)[0]
    amounts *= (np.array(target["most"]) / source["most"])[:, None]
    levels = light * np.exp(-np.array(target["stains"]).T @ amounts)
    return levels.T.clip(0, 255).astype(np.uint8).reshape(image.shape)


@pytest.mark.parametrize("seed", range(4))
def test_levels_are_those_of_the_published_code(seed: int) -> None:
    image = slide(_RUIFROK, 3, seed, 128)[0]
    source, target = numbers_of(_RUIFROK, (1.7, 1.2)), numbers_of(_MACENKO, (1.9705, 1.0308))
    ours = normalized(image, source=source, reference=target, white_threshold=None)
    assert farthest(ours, published(image, source, target)) <= 1
    bright = normalized(image, source=source, reference=target, white_threshold=None, light=255)
    assert farthest(bright, published(image, source, target, 255)) <= 1
    # planted: another law of light, or amounts that nobody has scaled, are farther
    assert farthest(ours, published(image, source, target, 255)) > 1
    assert farthest(ours, published(image, {**source, "most": target["most"]}, target)) > 1


@pytest.mark.parametrize("method", _METHODS)
def test_an_image_is_its_own_reference(method: str) -> None:
    image = slide(_MACENKO, 0, 3, 128, 0.2)[0]
    estimate = estimate_stains([image], method)
    assert estimate is not None
    names = ("mean", "std") if method == "reinhard" else ("stains", "most")
    values = np.reshape(estimate.numbers, (2, 3)) if method == "reinhard" else (estimate.stains, estimate.most)
    own = {name: value.tolist() for name, value in zip(names, values, strict=True)}
    same = normalized(image, method=method, reference=own, source="tile")
    assert farthest(same, image) <= (2 if method == "vahadane" else 1)
    assert farthest(normalized(image, method=method), image) > 10


_SOURCES: tuple[Any, ...] = "bag", "tile", numbers_of(_RUIFROK)


@pytest.mark.parametrize("source", _SOURCES, ids=["bag", "tile", "numbers"])
@pytest.mark.parametrize("method", _METHODS)
def test_exact_equals_none_bit_for_bit(method: str, source: Any) -> None:
    if method == "reinhard" and isinstance(source, dict):
        source = {"mean": [60, 20, -20], "std": [10, 5, 4]}
    step, image = {"method": method, "source": source}, slide(_RUIFROK, 2, 7, 64)[0]
    stains = {name: estimate_stains([slide(_RUIFROK, 2, 8)[0]], name) for name in _METHODS}
    for more in ({}, {"stains": stains}, {"stains": {method: None}}, {"stains": {}}):
        results = [
            compiled(step, optimize).at(k)(image=image, **more)["image"]
            for k in range(3)
            for optimize in ("none", "exact", "fast")
        ]
        with using(None):
            results += [compiled(step, "none").at(k)(image=image, **more)["image"] for k in range(3)]
        for k in range(3):
            assert all(np.array_equal(results[3 * k], other) for other in (*results[3 * k : 3 * k + 3], results[9 + k]))


@pytest.mark.parametrize("method", _METHODS)
def test_a_bag_is_normalised_by_one_estimate(method: str) -> None:
    pale, dark = slide(_RUIFROK, 2, 1, 64, 0.2)[0], slide(_RUIFROK, 2, 2, 64, 0.5)[0]
    tiles = [pale, dark, np.full_like(pale, 235), dark[::-1].copy()]
    stains = estimates_of(tiles, [method])  # type: ignore[list-item]
    bags = {optimize: compiled({"method": method}, optimize, "bag") for optimize in ("none", "exact", "fast")}
    bag = bags["none"].at(3)(images=tiles)["image"]
    for pipeline in bags.values():
        assert pipeline.source_methods == (method,)
        for given in ({}, {"stains": stains}):
            assert np.array_equal(pipeline.at(3)(images=tiles, **given)["image"], bag)
        for threads in (1, 3):
            made = pipeline.bag(3, 0, range(4), tiles.__getitem__, threads=threads, stains=stains)
            assert np.array_equal(made.image, bag)
        each = [pipeline.at(3, 0, k)(image=tile, stains=stains)["image"] for k, tile in enumerate(tiles)]
        assert np.array_equal(np.stack(each), bag)
        # planted: tiles by themselves are otherwise, and the stains of a bag are gone when it is
        alone = pipeline.bag(3, 0, range(4), tiles.__getitem__).image
        assert not np.array_equal(alone, bag)
        assert np.array_equal(pipeline.at(3)(images=tiles)["image"], bag)


def test_known_stains_need_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    if library() is None:
        pytest.skip("no kernels")
    tiles = [slide(_RUIFROK, 2, seed, 64)[0] for seed in range(4)]
    stains = estimates_of(tiles, ["macenko"])
    pipeline = compiled({}, "exact", "bag")
    numbers = compiled({"source": numbers_of(_RUIFROK)}, "exact")
    bag, image = pipeline.at(0)(images=tiles)["image"], numbers.at(0)(image=tiles[0])["image"]
    called: list[int] = []
    in_python = stain_normalize._through_tables
    monkeypatch.setattr(stain_normalize, "_through_tables", lambda *what: called.append(1) or in_python(*what))
    assert np.array_equal(pipeline.bag(0, 0, range(4), tiles.__getitem__, stains=stains).image, bag)
    assert np.array_equal(numbers.at(0)(image=tiles[0])["image"], image)
    assert np.array_equal(pipeline.at(0, 0, 1)(image=tiles[1], stains=stains)["image"], bag[1])
    assert not called
    pipeline.bag(0, 0, range(4), tiles.__getitem__)
    assert called


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("method", _METHODS)
def test_glass_stays(method: str, dtype: str) -> None:
    image = slide(_RUIFROK, 2, 4)[0]
    image[:, 128:] = np.random.default_rng(5).integers(205, 246, (256, 128, 3))
    image = image if dtype == "uint8" else image.astype(np.float32) / 255
    stains = estimates_of([image], [method])  # type: ignore[list-item]
    result = normalized(image, stains, method=method)
    assert result.dtype == image.dtype and result.shape == image.shape
    assert (result[:, 128:] >= 0.98 * image[:, 128:]).all()
    assert not np.array_equal(result[:, :128], image[:, :128])
    # planted: without glass it goes with the stains
    assert (normalized(image, stains, method=method, white_threshold=None)[:, 128:] < 0.98 * image[:, 128:]).any()


@pytest.mark.parametrize(
    "name", [name for name in _without_stains() if "one colour" not in name and "one " not in name]
)
@pytest.mark.parametrize("method", _METHODS)
def test_tiles_without_tissue_stay_where_the_stains_of_the_bag_are_known(name: str, method: str) -> None:
    image, tile = _without_stains()[name], slide(_RUIFROK)[0]
    stains = estimates_of([tile], [method])  # type: ignore[list-item]
    assert np.array_equal(normalized(image, stains, method=method), image, equal_nan=True)
    assert has_tissue(tile) and not has_tissue(image)
    if image.dtype == np.uint8:
        made = compiled({"method": method}, "exact", around=False).at(0)(image=image, stains=stains)["image"]
        assert np.array_equal(made, image)


@pytest.mark.parametrize("seed", range(6))
def test_kernels_see_the_tissue_that_is_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stains = {"macenko": stain_normalize.REFERENCES["crc"] and estimate_stains([slide(_RUIFROK)[0]], "macenko")}
    pipelines = [compiled({}, optimize, around=False).at(0) for optimize in ("none", "exact")]
    answers = set()
    for share in (0, 0.0005, 0.001, 0.002, 0.01, 1):
        image = np.full((97, 131, 3), 230, np.uint8)
        where = rng.random(image.shape[:2]) < share
        image[where] = rng.integers((120, 60, 110), (200, 140, 210), (where.sum(), 3))
        one, other = (pipeline(image=image, stains=stains)["image"] for pipeline in pipelines)
        assert np.array_equal(one, other)
        answers.add(np.array_equal(one, image))
    assert answers == {True, False}


def test_floats_and_levels_agree() -> None:
    image = slide(_RUIFROK, 2, 6, 64)[0]
    source = numbers_of(_RUIFROK)
    levels = normalized(image, source=source)
    floats = normalized(np.float32(image) / np.float32(255), source=source)
    assert np.abs(floats * 255 - levels).max() < 0.51
    small = image[:1, :1].copy()
    assert np.array_equal(normalized(small, source=source), levels[:1, :1])


def test_references_are_names_numbers_and_files(tmp_path: Path) -> None:
    image, other = slide(_RUIFROK, 2, 1, 64)[0], slide(_MACENKO, 2, 2, 64)[0]
    cv2.imwrite(str(tmp_path / "other.png"), other[..., ::-1])
    estimate = estimate_stains([other], "macenko")
    assert estimate is not None
    numbers = numbers_of(estimate.stains, estimate.most)
    (tmp_path / "other.json").write_text(json.dumps(numbers))
    by_numbers = normalized(image, reference=numbers)
    written = "{version: 1, recipe: a, steps: [{StainNormalize: {reference: %s}}], eval: derived}"
    for name in ("other.png", "other.json"):
        assert np.array_equal(normalized(image, reference=str(tmp_path / name)), by_numbers)
        (tmp_path / "recipe.yaml").write_text(written % name)  # relative paths count from the recipe's file
        made = ar.load(tmp_path / "recipe.yaml").compile().at(0)(image=image)["image"]
        assert np.allclose(made, by_numbers.transpose(2, 0, 1) / 255, atol=1e-6)
    assert np.array_equal(normalized(image, reference="macenko"), normalized(image))
    assert not np.array_equal(by_numbers, normalized(image))


@pytest.mark.parametrize(("step", "words"), [
    ("{reference: mackenko}", ("E308", "macenko", "did you mean")),
    ("{reference: missing.png}", ("E308", "missing.png", "No such file")),
    ("{reference: {stains: [[1, 0, 0], [1, 0, 0]], most: [1, 1]}}", ("two different colours",)),
    ("{reference: {stains: [[1, 0, 0], [0, 0, 0]], most: [1, 1]}}", ("two different colours",)),
    ("{reference: {stains: [[1, 0, 0], [0, 1, 0]], most: [1, 0]}}", ("above 0",)),
    ("{reference: {stains: [[1, 0, 0]], most: [1, 1]}}", ("`stains`, 2×3 numbers",)),
    ("{reference: {mean: [1, 2, 3], std: [1, 2, 3]}}", ("`most`",)),
    ("{source: {stains: [[1, 0, 0], [0, 1, 0]]}}", ("source", "`most`")),
    ("{method: reinhard, reference: macenko}", ("StainNormalize.reference:", "crc")),
    ("{source: {stains: [[1, 0, 0], [0, 1, 0]], most: [.inf, 1]}}", ("StainNormalize.source:", "above 0")),
    ("{method: reinhard, reference: {mean: [1, 2, 3], std: [1, 0, 3]}}", ("`std`, 3 numbers above 0",)),
    ("{target: macenko}", ("E207", "belongs to recipes of kind pair")),
    ("{method: macenco}", ("macenko",)),
    ("{source: slide}", ("source",)),
    ("{light: 0}", ("light",)),
])  # fmt: skip
def test_what_says_nothing_is_an_error_of_the_recipe(step: str, words: tuple[str, ...]) -> None:
    with pytest.raises(RecipeError) as error:
        parse_text(f"{{version: 1, recipe: a, steps: [{{StainNormalize: {step}}}], eval: derived}}")
    assert all(word in str(error.value) for word in words), str(error.value)


def test_what_cannot_be_read_or_has_no_tissue_is_an_error_of_data(tmp_path: Path) -> None:
    image = slide(_RUIFROK, 2, 1, 64)[0]
    cv2.imwrite(str(tmp_path / "white.png"), np.full((64, 64, 3), 255, np.uint8))
    (tmp_path / "cut.json").write_text('{"stains": [')
    for name in ("white.png", "cut.json", "missing.png", "missing.json"):
        with pytest.raises(DataError, match=name):
            normalized(image, reference=str(tmp_path / name))
    with pytest.raises(ValueError, match="macenko"):
        StainNormalize(reference="mackenko")
    for shape in ((8, 8), (8, 8, 1), (8, 8, 4)):
        with pytest.raises(DataError, match="RGB"):
            compiled({}, "exact", around=False).at(0)(image=np.zeros(shape, np.uint8))


def lasso_loss(density: np.ndarray, stains: np.ndarray, sparsity: float = 0.02) -> float:
    """What Vahadane's factorisation minimises, at the best amounts, by projected gradients."""
    amounts = np.zeros((len(density), 2))
    for _ in range(400):
        amounts = np.maximum(amounts - ((amounts @ stains - density) @ stains.T + sparsity) / 2, 0)
    return float((((amounts @ stains - density) ** 2).sum(axis=1) / 2 + sparsity * amounts.sum(axis=1)).mean())


@pytest.mark.parametrize("seed", range(3))
def test_vahadane_ends_at_a_minimum(seed: int) -> None:
    tile = slide(_RUIFROK, 3, seed, 64, 0.3)[0]
    estimates = [estimate_stains([tile], method) for method in ("macenko", "vahadane")]
    assert all(estimates)
    levels = tile.reshape(-1, 3)[(tile.reshape(-1, 3) <= 205).any(axis=1)]
    density = np.log(BACKGROUND / (levels + 1.0))
    begin, end = (lasso_loss(density, estimate.stains) for estimate in estimates if estimate)
    assert end < begin
    # planted: a step aside is worse
    rng, stains = np.random.default_rng(seed), estimates[1].stains  # type: ignore[union-attr]
    for _ in range(6):
        aside = np.maximum(stains + rng.normal(0, 0.02, stains.shape), 0)
        assert lasso_loss(density, aside / np.linalg.norm(aside, axis=1, keepdims=True)) > end


@pytest.mark.parametrize("seed", range(8))
def test_no_tissue_turns_black_or_to_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (40, 40, 3), np.uint8) if seed % 2 else cv2.GaussianBlur(
        rng.integers(0, 256, (40, 40, 3), np.uint8), (0, 0), 1 + seed
    )  # fmt: skip
    for method in _METHODS:
        for of_dtype in (image, np.float32(image) / np.float32(255)):
            result = normalized(of_dtype, method=method)
            assert np.isfinite(result).all() and result.max() > 0
            assert result.shape == image.shape and result.dtype == of_dtype.dtype
