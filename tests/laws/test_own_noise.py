"""Noise of our own is of the distribution that is asked for, and of nothing but the key."""

import ctypes
import hashlib
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import noise_in_numpy as numpys
import numpy as np
import pytest
from kernel_sets import SETS, using
from kernel_table import STILL
from noise_in_numpy import numbers

from augrecipes.compiler.kernels.counter_noise import Noise
from augrecipes.compiler.rewrite.nodes import CounterNoiseStep, opened
from augrecipes.native.kernels import instruction_sets, load, where
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text


def moved_without_photons(turned: float) -> bool:
    """Whether hues that vary by so many degrees, and they alone, move the levels of colourful pixels."""
    colours = np.array([[[255, 0, 7]], [[0, 255, 250]], [[3, 9, 255]]], np.uint8)
    image = np.random.default_rng(0).choice(colours, 1 << 16)
    image = np.ascontiguousarray(np.concatenate([image, 255 - image]))
    made = numpys.iso(image, turned * 1e9, 1e-9, 5)
    assert made is not None
    return not np.array_equal(made, image)


def test_hues_that_vary_little_move_no_level() -> None:
    assert not moved_without_photons(STILL)
    assert moved_without_photons(1.3 * STILL)


# Quality: what is measured is 0 but for chance, in standard errors.

LIMIT, FOUND = 5.5, 8.0
N, OF_KEYS = 1 << 16, 12


def drawn(make: Callable[[int], np.ndarray]) -> np.ndarray:
    """Numbers of keys as samples have them, keys × 256 × 64 × 4: rows, columns and channels of images."""
    keys = (int.from_bytes(hashlib.sha256(bytes([k])).digest()[:8], "little") for k in range(OF_KEYS))
    return np.array([make(key) for key in keys]).reshape(OF_KEYS, 256, 64, 4).astype(np.float64)


def shares(x: np.ndarray) -> np.ndarray:
    """The distribution function, by its table."""
    outer = np.concatenate([2.0 ** -np.arange(30, 5, -0.25), np.linspace(0.02, 1, 2000)])
    levels = np.array([-NormalDist().inv_cdf(share / 2) for share in outer])
    share = np.interp(np.abs(x), levels[::-1], outer[::-1]) / 2
    return np.where(x < 0, share, 1 - share)


def judged(x: np.ndarray) -> dict[str, float]:
    """How far numbers are from being independent, and from the distribution."""
    u = shares(x).ravel()
    n = u.size
    centred = np.sqrt(12) * (u.reshape(x.shape) - 0.5)
    found = {"mean": centred.mean() * np.sqrt(n), "power": ((centred**2).mean() - 1) * np.sqrt(n / 0.8)}
    counts = np.bincount((u * 64).astype(int).clip(0, 63), minlength=64)
    found["histogram"] = (((counts - n / 64) ** 2).sum() / (n / 64) - 63) / np.sqrt(126)
    ordered = np.sort(u)
    ks = np.sqrt(n) * np.abs(ordered - np.arange(n) / n).max()
    found["KS"] = np.sqrt(2) * max(ks, 0.5)  # exp(-2 ks²): as a normal distribution's tail, nearly
    for name, axis in (("sample", 0), ("row", 1), ("column", 2), ("channel", 3)):
        for by in (1, 2, 3):
            found[f"{name} {by}"] = (centred * np.roll(centred, by, axis)).mean() * np.sqrt(n)
            sizes = centred**2 - 1
            found[f"{name} {by}, sizes"] = (sizes * np.roll(sizes, by, axis)).mean() / 0.8 * np.sqrt(n)
    return {name: abs(value) for name, value in found.items()}


def test_numbers_are_normal_and_independent() -> None:
    found = judged(drawn(lambda key: numbers(key, N)))
    assert max(found.values()) < LIMIT, found


def off_by(x: np.ndarray) -> dict[str, float]:
    """How far numbers, all that there are, are from a normal distribution: moments and tails by their parts of it."""
    found = {f"moment {2 * k}": (x ** (2 * k)).mean() / of - 1 for k, of in enumerate((1, 1, 3, 15, 105))}
    found |= {f"moment {k}": (x**k).mean() for k in (1, 3, 5)}
    for bound, allowed in ((1, 0.01), (2, 0.02), (3, 0.05), (3.5, 0.06), (4, 0.1)):
        share = (np.abs(x) > bound).mean() / (2 * NormalDist().cdf(-bound)) - 1
        found[f"beyond {bound}"] = share * 0.02 / allowed  # 0.02 is what is allowed of all
    return {name: abs(float(value)) for name, value in found.items()}


def all_normals() -> np.ndarray:
    """The number that each 16 bits give."""
    return numpys.sums(np.arange(1 << 16, dtype=np.uint32))[::2] / np.float64(numpys._SPREAD)


def test_moments_and_tails_are_those_of_a_normal_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    found = off_by(all_normals())
    assert max(found.values()) < 0.02, found
    assert 4.1 < all_normals().max() == -all_normals().min() < 4.5
    for row in range(4):  # a table's greatest entry and its least a fourteenth nearer to its middle
        nearer = numpys._PARTS.copy()
        nearer[row, nearer[row].argmax()] -= 8
        nearer[row, nearer[row].argmin()] += 8
        monkeypatch.setattr(numpys, "_PARTS", nearer)
        assert max(off_by(all_normals()).values()) > 0.02


def levels_off(mean: float, deviation: float, fewer: int = 0) -> float:
    """How far whole levels, in so many bits fewer, are from numbers without what lies behind their point.

    That is their mean and how many differ, both in tenths, or how much more than a level one of them is off.
    """
    noise = Noise((256, 512), False, mean, deviation, 3)
    made = numpys.whole_levels(noise, numpys.parts(noise) - fewer)
    off = made - np.trunc(numbers(3, numpys.count(noise), 0, mean, deviation))
    return max(abs(float(off.mean())) * 10, float(np.abs(off).max()) - 1, float((off != 0).mean()) * 10)


def test_whole_levels_are_the_numbers_without_fractions() -> None:
    for mean, deviation in ((0, 0.3), (0, 5), (-3.4, 60), (0, 112), (90, 20), (-200, 1), (255, 255)):
        assert levels_off(mean, deviation) < 0.5, (mean, deviation)
    assert levels_off(0, 112, fewer=5) > 0.5


def test_keys_that_differ_in_a_bit_have_other_numbers() -> None:
    key, bound = 0x0123456789ABCDEF, LIMIT / np.sqrt(N)
    found = numbers(key, N)
    for bit in range(64):
        other = numbers(key ^ 1 << bit, N)
        assert abs(float((found * other).mean())) < bound
        assert abs(float(((found**2 - 1) * (other**2 - 1)).mean())) < 2 * bound
    assert abs(float((found * numbers(key, N)).mean())) > bound


def leaking(x: np.ndarray) -> np.ndarray:
    """A twenty-fifth of the first channel shows in the second."""
    return np.stack([x[..., 0], 0.999 * x[..., 1] + 0.04 * x[..., 0], x[..., 2], x[..., 3]], -1)


FAULTS: dict[str, Callable[[int], np.ndarray]] = {
    "deviation": lambda key: numbers(key, N) * np.float32(1.02),
    "mean": lambda key: numbers(key, N) + np.float32(0.02),
    "channels": lambda key: np.repeat(numbers(key, N // 4), 4),
    "some of a channel": lambda key: leaking(numbers(key, N).reshape(-1, 4)),
    "counter": lambda key: np.tile(numbers(key, 64 * 4), 256),
    "key": lambda key: numbers(1, N),
    "tails": lambda key: numbers(key, N).clip(-2.2, 2.2),
    "bits": lambda key: np.round(numbers(key, N) * 8) / 8,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault: str) -> None:
    assert max(judged(drawn(FAULTS[fault])).values()) > FOUND


# Through recipes.

STEPS = """
  - GaussNoise: {mean_range: [-0.1, 0.2], p: 0.9}
  - OneOf: {steps: [GaussNoise: {per_channel: false, p: 1}, GaussNoise: {std_range: [0.3, 0.4], p: 1}, ISONoise]}
  - SomeOf: {n: 2, replace: true, steps: [ISONoise, GaussNoise: {p: 1}]}
  - Sequential:
      steps:
        - GaussNoise: {mean_range: [0, 0.1], std_range: [0.1, 0.2]}
        - GaussNoise: {per_channel: false, std_range: [0.1, 0.1]}
"""
IMAGE = np.random.default_rng(0).choice(np.array([0, 1, 127, 255], np.uint8), (60, 80, 3))


def recipe(steps: str = STEPS, more: str = "") -> Recipe:
    return parse_text(
        f"version: 1\nrecipe: test\n{more}\nsteps:{steps}\neval: []\noutput: {{dtype: uint8, layout: hwc}}\n"
    )


def samples(pipeline: Any, count: int = 12) -> list[Any]:
    return [pipeline.at(k)(image=IMAGE) for k in range(count)]


def test_all_steps_with_noise_have_it_also_in_groups() -> None:
    plans = recipe().compile(optimize="fast").compiled.plans
    assert all(
        isinstance(step, CounterNoiseStep) for top in plans["uint8"].steps for step in opened(top) if not step.steps
    )
    others = [recipe().compile(optimize=optimize).compiled.plans["uint8"] for optimize in ("none", "exact")]  # type: ignore[arg-type]
    for steps in (plans["float32"].steps, *(plan.steps for plan in others)):
        assert not any(isinstance(step, CounterNoiseStep) for top in steps for step in opened(top))


def test_without_the_rule_samples_are_those_of_none() -> None:
    plain = samples(recipe().compile(optimize="none"))
    own = samples(recipe().compile(optimize="fast"))
    for one, other, noisy in zip(
        samples(recipe(more="without_rules: [own_noise]").compile(optimize="fast")), plain, own, strict=True
    ):
        np.testing.assert_array_equal(one["image"], other["image"])
        assert not np.array_equal(noisy["image"], other["image"])


def test_samples_are_the_same_with_all_kernels_and_without_them_those_of_none() -> None:
    every = [load(isa) for isa in instruction_sets(ctypes.CDLL(str(where())))] if SETS else []
    made = []
    for level in (None, *every):
        with using(level):
            made.append([one["image"] for one in samples(recipe().compile(optimize="fast", seed=3))])
    np.testing.assert_array_equal(made[0], [one["image"] for one in samples(recipe().compile(optimize="none", seed=3))])
    for other in made[1:]:
        assert not np.array_equal(other, made[0])
        np.testing.assert_array_equal(other, made[1])


def test_noise_is_of_seed_epoch_index_and_site_alone() -> None:
    steps = "\n  - GaussNoise: {std_range: [0.3, 0.3], p: 1}\n"

    def noise(at: tuple[int, int] = (0, 0), seed: int = 0, name: str = "") -> np.ndarray:
        named = steps.replace("p: 1", f"p: 1, id: {name}") if name else steps
        grey = np.full((64, 64, 3), 128, np.uint8)
        done = recipe(named).compile(optimize="fast", seed=seed).at(*at)(image=grey)["image"]
        return (done.astype(float) - 128).ravel()

    first = noise()
    np.testing.assert_array_equal(first, noise())
    for other in (noise((1, 0)), noise((0, 1)), noise(seed=1), noise(name="other")):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.05


def test_a_step_that_a_group_runs_twice_has_the_parameters_of_none_both_times() -> None:
    noise = "GaussNoise: {mean_range: [-0.5, 0.5], std_range: [0, 0.001], p: 1}"
    steps = f"\n  - SomeOf: {{n: 4, replace: true, steps: [{noise}, NoOp: {{p: 1}}]}}\n"
    image = np.full((40, 40, 3), 128, np.uint8)
    none, fast = (recipe(steps).compile(optimize=o) for o in ("none", "fast"))  # type: ignore[arg-type]
    for index in range(12):
        expected, made = (one.at(index)(image=image)["image"].astype(float) for one in (none, fast))
        np.testing.assert_allclose(made.mean(axis=(0, 1)), expected.mean(axis=(0, 1)), atol=1.0)


def test_tiles_share_the_noise_of_their_bag_and_no_other() -> None:
    steps = "\n  - GaussNoise: {p: 1, share: bag}\n  - ISONoise: {p: 0}\n"
    text = f"version: 1\nrecipe: test\nkind: bag\nsteps:{steps}\neval: []\noutput: {{dtype: uint8, layout: hwc}}\n"
    for shared in (True, False):
        pipeline = parse_text(text if shared else text.replace(", share: bag", "")).compile(optimize="fast")
        tiles = pipeline.at(4)(images=[IMAGE] * 3)["image"]
        assert np.array_equal(tiles[0], tiles[1]) == np.array_equal(tiles[0], tiles[2]) == shared
