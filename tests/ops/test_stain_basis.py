"""StainJitter by bases of two and three stains, given or estimated from tissue."""

import math
from typing import Any

import numpy as np
import pytest

import augrecipes as ar
from augrecipes.ops.stain import StainJitter, density_matrix
from augrecipes.ops.stain_estimates import estimate_stains

RUIFROK = [[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]]
OURS = [[0.55, 0.76, 0.34], [0.10, 0.95, 0.28]]
GIVEN: tuple[Any, ...] = ("hed", "he", OURS, [*OURS, [0.9, 0.1, 0.6]], [[-0.1, 0.9, 0.2], [1, 0, 0]])
ESTIMATED = ("macenko", "vahadane")
OUTPUT = {"dtype": "uint8", "layout": "hwc"}


def tile(seed: int, stains: Any = RUIFROK[:2], size: tuple[int, int] = (80, 90)) -> np.ndarray:
    """Tissue that is a mixture of two stains."""
    rng, rows = np.random.default_rng(seed), np.array(stains, float)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    amounts = rng.gamma(2.0, 0.25, (*size, 2)) * (rng.random((*size, 2)) < 0.8) + 0.1
    return np.clip(256 * 10 ** -(amounts @ rows) - 1, 0, 255).astype(np.uint8)


def recipe(basis: Any, **more: Any) -> ar.Recipe:
    steps = [{"StainJitter": {"basis": basis, "sigma": 0.3, "bias": 0.1, "p": 1.0, **more}}]
    return ar.load({"version": 1, "recipe": "t", "steps": steps, "eval": [], "output": OUTPUT})


def rows_of(basis: Any, image: np.ndarray) -> np.ndarray:
    if isinstance(basis, str):
        estimate = estimate_stains([image], basis) if basis in ESTIMATED else None
        basis = RUIFROK[: len(basis)] if estimate is None else estimate.stains
    return np.array(basis, float)


def jittered(image: np.ndarray, rows: np.ndarray, factors: Any, shifts: Any) -> np.ndarray:
    """By its definition, pixel by pixel in optical density."""
    factors, shifts = np.array(factors), np.array(shifts)
    if len(rows) == 2:
        rows, factors, shifts = np.vstack([rows, np.cross(*rows)]), [*factors[:2], 1.0], [*shifts[:2], 0.0]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    amounts = np.linalg.solve(rows.T, -np.log10((image.reshape(-1, 3) + 1.0) / 256).T).T
    back = 256 * 10 ** -((amounts * factors + shifts) @ rows) - 1
    made = np.clip(np.rint(back), 0, 255).reshape(image.shape)
    return np.where((image >= 217).all(axis=-1, keepdims=True), image, made).astype(np.uint8)


@pytest.mark.parametrize("basis", [*GIVEN, *ESTIMATED], ids=str)
def test_values_are_those_of_the_definition(basis: Any) -> None:
    for index in range(4):
        image, drawn, made = tile(index), None, {}
        for level in ("none", "exact", "fast"):
            sample = recipe(basis).compile(optimize=level, seed=1, save_applied_params=True).at(index)(image=image)
            ((_, _, drawn),), made[level] = sample["applied"], sample["image"]
        expected = jittered(image, rows_of(basis, image), drawn["factors"], drawn["shifts"]).astype(int)
        assert (made["none"] != image).mean() > 0.5
        np.testing.assert_array_equal(made["exact"], made["none"])
        for level in ("none", "fast"):
            assert np.abs(made[level] - expected).max() <= 1


def test_draws_are_the_same_for_every_basis() -> None:
    drawn = set()
    for basis in (*GIVEN, *ESTIMATED):
        ((_, _, params),) = recipe(basis).compile(seed=1, save_applied_params=True).at(7)(image=tile(0))["applied"]
        drawn.add((params["factors"], params["shifts"]))
    assert len(drawn) == 1 and [*map(len, *drawn)] == [3, 3]


def test_the_default_is_hed_and_lengths_do_not_matter() -> None:
    image = tile(3)
    plain = ar.load({"version": 1, "recipe": "t", "steps": [{"StainJitter": {"sigma": 0.3, "bias": 0.1, "p": 1.0}}],
                     "eval": [], "output": OUTPUT})  # fmt: skip
    longer = (np.array(RUIFROK) * [[2], [0.5], [7]]).tolist()
    made = [one.compile().at(0)(image=image)["image"] for one in (plain, recipe("hed"), recipe(RUIFROK))]
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[0], made[2])
    far = recipe(longer).compile().at(0)(image=image)["image"].astype(int)
    assert np.abs(far - made[0]).max() <= 1


def test_what_two_stains_leave_is_not_jittered() -> None:
    rows = np.array(OURS) / np.linalg.norm(OURS, axis=1, keepdims=True)
    residual = np.cross(*rows) / np.linalg.norm(np.cross(*rows))
    for factors, shifts in (((1.3, 0.8, 5.0), (0.0, 0.1, 9.0)), ((1.0, 1.0, 0.0), (0.0, 0.0, 3.0))):
        matrix = density_matrix(factors, shifts, tuple(map(tuple, OURS)))
        logs = np.log(np.random.default_rng(0).integers(1, 257, (50, 3)))
        before, after = (math.log(256) - one for one in (logs, logs @ matrix[:, :3].T + matrix[:, 3]))
        np.testing.assert_allclose(np.linalg.solve(np.array([*rows, residual]).T, after.T)[2],
                                   np.linalg.solve(np.array([*rows, residual]).T, before.T)[2], atol=1e-9)  # fmt: skip


def test_estimated_stains_follow_the_tissue() -> None:
    """The same factors change an image of other stains along these: what is no haematoxylin and eosin does not come."""
    for basis in ESTIMATED:
        estimate = estimate_stains([tile(0, OURS)], basis)
        assert estimate is not None
        unit = np.array(OURS) / np.linalg.norm(OURS, axis=1, keepdims=True)
        assert (np.abs((estimate.stains * unit).sum(axis=1)) > math.cos(math.radians(5))).all()


@pytest.mark.parametrize("basis", ESTIMATED)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_images_whose_stains_cannot_be_told_stay(basis: str, dtype: str) -> None:
    for level in (0, 128, 255):
        image = np.full((20, 30, 3), level, np.uint8)
        image = image if dtype == "uint8" else image / np.float32(255)
        one = ar.load({"version": 1, "recipe": "t", "steps": [{"StainJitter": {"basis": basis, "p": 1.0}}], "eval": [],
                       "output": {"dtype": dtype, "layout": "hwc"}})  # fmt: skip
        np.testing.assert_array_equal(one.compile().at(0)(image=image.copy())["image"], image)


@pytest.mark.parametrize("basis", ESTIMATED)
def test_a_bags_estimate_goes_before_the_tiles(basis: str) -> None:
    """`stains` in the call's data is the bag's; `source: tile` does not look at it."""
    other = estimate_stains([tile(1, OURS)], basis)  # type: ignore[arg-type]
    made = {}
    for source in ("bag", "tile"):
        for name, stains in (("own", {}), ("bag", {basis: other}), ("nothing", {basis: None})):
            step = StainJitter(basis=basis, source=source, sigma=0.4, p=1.0)
            step.set_random_seed(3)
            made[source, name] = step(image=tile(0), stains=stains)["image"]
    np.testing.assert_array_equal(made["tile", "own"], made["tile", "bag"])
    np.testing.assert_array_equal(made["tile", "own"], made["bag", "own"])
    assert (made["bag", "bag"] != made["bag", "own"]).any()
    np.testing.assert_array_equal(made["bag", "nothing"], tile(0))


@pytest.mark.parametrize(
    "basis",
    [
        [], [[]], [[1, 0, 0]], [*RUIFROK, [1, 0, 0]], [[0, 0, 0], [1, 0, 0]], [[1, 0], [0, 1]],
        [[1, 0, 0], [2, 0, 0]], [[1, 0, 0], [-2, 0, 0]], [[1, 0, 0], [0, 1, 0], [1, 1, 0]],
        [[1, 1, 0.4], [1.01, 1, 0.4]], "ruifrok", 3, None, [[1, 0, "a"], [0, 1, 0]],
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_basis_is_a_typed_error(basis: Any) -> None:
    with pytest.raises(ar.RecipeError, match=r"StainJitter\.basis"):
        recipe(basis)
    with pytest.raises(ValueError, match="basis"):
        StainJitter(basis=basis)


def test_glass_stays_with_every_basis() -> None:
    image = tile(0)
    image[:, 40:] = np.random.default_rng(1).integers(217, 256, image[:, 40:].shape)
    for basis in (*GIVEN, *ESTIMATED):
        for level in ("exact", "fast"):
            made = recipe(basis).compile(optimize=level).at(0)(image=image)["image"]
            np.testing.assert_array_equal(made[:, 40:], image[:, 40:])
            assert (made[:, :40] != image[:, :40]).any()


def test_other_sizes() -> None:
    for size in ((1, 1), (1, 7), (300, 2)):
        for basis in (*GIVEN, *ESTIMATED):
            made = recipe(basis).compile().at(0)(image=tile(1, size=size))["image"]
            assert made.shape == (*size, 3)


@pytest.mark.parametrize("basis", ["he", OURS, *ESTIMATED], ids=str)
def test_far_pixels_count_where_stains_are_estimated(basis: Any) -> None:
    here, there = tile(0), tile(0)
    there[:, 45:] = tile(1, OURS)[:, 45:]
    made = [recipe(basis, source="tile").compile().at(0)(image=image)["image"][:, :45] for image in (here, there)]
    assert (made[0] != made[1]).any() == (basis in ESTIMATED)
