"""A trial's statistics: laws of each, and simulations of whole trials whose truth is known."""

from __future__ import annotations

from itertools import product
from math import inf, isinf, nan

import numpy as np
import pytest

from augrecipes.trials import statistics
from augrecipes.trials.record import NO_DIFFERENCE
from augrecipes.trials.statistics import (
    bca,
    compare,
    estimate,
    holm,
    seeds_needed,
    sign_flip,
    smallest_difference,
)


def random_numbers(*key: int) -> np.random.Generator:
    return np.random.default_rng((51, *key))


SAMPLES = [random_numbers(0, k).normal(0.3, 1, 1 + k % 12).round(k % 3 + 1).tolist() for k in range(36)]


def enumerated(differences: list[float]) -> float:
    """The p by its definition."""
    total = abs(sum(differences))
    sums = [abs(np.dot(signs, differences)) for signs in product((1, -1), repeat=len(differences))]
    return sum(each >= total - 1e-9 for each in sums) / len(sums)


def test_p_is_the_share_of_flips_that_are_as_extreme() -> None:
    for sample in SAMPLES:
        assert sign_flip(sample) == enumerated(sample)


def test_p_knows_neither_sign_nor_scale() -> None:
    for count in (3, 8, 12, 13, 30):
        differences = random_numbers(1, count).normal(0.3, 1, count)
        for scale in (-1.0, 3.0, 1e-200, 1e200):
            assert sign_flip(scale * differences) == sign_flip(differences)


def test_p_of_nothing_and_of_no_difference_is_one() -> None:
    assert [sign_flip([0.0] * count) for count in (0, 1, 8, 20)] == [1.0] * 4
    assert sign_flip([]) == 1.0


def test_sums_that_differ_by_rounding_are_ties() -> None:
    """Shares of a hundred samples: 0.3 - 0.1 is not 0.2 in floating point, and the p of whole numbers is the truth."""
    for k in range(20):
        a, b = random_numbers(2, k).integers(40, 60, (2, 9))
        assert sign_flip(a / 100 - b / 100) == sign_flip((a - b).astype(float))


@pytest.mark.parametrize("count", range(1, 9))
def test_level_is_exact(count: int) -> None:
    """Where each sign is as likely as the other, a p of at most α comes in at most α of the trials, for every α."""
    sizes = np.abs(random_numbers(3, count).normal(size=count)).round(1)
    ps = np.array([sign_flip(sizes * signs) for signs in product((1, -1), repeat=count)])
    assert all((ps <= alpha + 1e-12).mean() <= alpha + 1e-12 for alpha in np.unique(ps))


def test_random_flips_keep_the_level_and_are_near_the_exact_p() -> None:
    ps = np.array([sign_flip(random_numbers(4, k).normal(size=16)) for k in range(1500)])
    for alpha in (0.01, 0.05, 0.2):
        assert (ps <= alpha).mean() == pytest.approx(alpha, abs=2.5 * (alpha / 1500) ** 0.5)
    assert sign_flip([1.0] * 20) == 1 / (2**14 + 1)  # never nought: the flip that was seen counts
    differences = random_numbers(5).normal(0.4, 1, 13)
    signs = 1 - 2 * (np.arange(2**13)[:, None] >> np.arange(13) & 1)
    exact = (np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9).mean()
    assert sign_flip(differences) == pytest.approx(exact, abs=4 * (exact / 2**14) ** 0.5)


def test_interval_moves_with_its_values() -> None:
    for sample in SAMPLES:
        low, high = bca(sample)
        assert low <= np.mean(sample) <= high and min(sample) - 1e-12 <= low and high <= max(sample) + 1e-12
        assert bca([3 * each + 5 for each in sample]) == pytest.approx((3 * low + 5, 3 * high + 5))
        assert bca([1e-150 * each for each in sample]) == pytest.approx((1e-150 * low, 1e-150 * high))
        assert bca(sample) == (low, high)


def test_interval_of_values_that_do_not_vary_is_their_mean() -> None:
    cases: tuple[list[float], ...] = ([0.1] * 8, [0.0] * 3, [0.7], [0.1, 0.1 + 1e-17], [1e9] * 7)
    for values in cases:
        mean = float(np.mean(values))
        assert bca(values) == (mean, mean)


def test_interval_is_finite_and_leans_with_its_values() -> None:
    for count in (2, 3, 5, 8, 30, 200):
        values = [1.0] + [0.0] * (count - 1)
        low, high = bca(values)
        assert np.isfinite([low, high]).all() and low <= np.mean(values) <= high
    values = [0.0, 0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 3.0]
    low, high = bca(values)
    assert high - np.mean(values) > 1.2 * (np.mean(values) - low)


def coverage(seeds: int = 8, trials: int = 1500) -> dict[str, float]:
    def covered(values: np.ndarray, truth: float) -> float:
        return float(np.mean([low <= truth <= high for low, high in map(bca, values)]))

    numbers, shape = random_numbers(6), (trials, seeds)
    return {
        "normal": covered(numbers.normal(size=shape), 0.0),
        "skewed": covered(numbers.exponential(size=shape), 1.0),
        "coarse": covered(numbers.binomial(100, 0.8, shape) / 100, 0.8),
    }


def test_interval_covers_the_truth() -> None:
    shares = coverage()
    assert shares["normal"] >= 0.93 and min(shares.values()) >= 0.9, shares


def test_interval_that_does_not_know_few_values_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "student", lambda _, normal: normal)
    assert coverage()["normal"] < 0.93


def test_estimate_leaves_missing_seeds_out() -> None:
    assert estimate([0.5, nan, 0.7, inf]) == estimate([0.5, 0.7]) and estimate([0.5, 0.7]).mean == pytest.approx(0.6)
    assert np.isnan(estimate([nan]).mean) and estimate([0.4]).low == estimate([0.4]).high == 0.4


def test_holm_is_its_definition() -> None:
    """The procedure rejects the smallest ps for as long as each passes α over the number of those left."""
    for k in range(200):
        numbers = random_numbers(7, k)
        ps = (numbers.random(numbers.integers(1, 7)) ** 3).round(2).tolist()
        order = sorted(range(len(ps)), key=ps.__getitem__)
        for alpha in (0.05, 0.2, 0.5):
            rejected = set()
            for rank, which in enumerate(order):
                if ps[which] * (len(ps) - rank) > alpha:
                    break
                rejected.add(which)
            assert {which for which, p in enumerate(holm(ps)) if p <= alpha} == rejected
        assert [holm(ps)[which] for which in order] == sorted(holm(ps)) and max(holm(ps)) <= 1
    assert holm([]) == []


def test_seeds_needed_are_the_fewest_that_can_decide() -> None:
    assert [seeds_needed(pairs) for pairs in (1, 2, 3, 6, 10)] == [6, 7, 7, 8, 9]
    for pairs, alpha in product((1, 2, 3, 6, 15), (0.01, 0.025, 0.05)):
        seeds = seeds_needed(pairs, alpha)
        assert sign_flip([1.0] * seeds) <= alpha / pairs < sign_flip([1.0] * (seeds - 1))
        assert isinf(smallest_difference(0.1, seeds - 1, pairs, alpha))
        assert np.isfinite(smallest_difference(0.1, seeds, pairs, alpha))


def test_smallest_difference_grows_with_noise_and_pairs_and_falls_with_seeds() -> None:
    by_seeds = [smallest_difference(0.01, seeds, 3) for seeds in (7, 8, 10, 12, 13, 16, 32)]
    assert by_seeds == sorted(by_seeds, reverse=True) and by_seeds[0] < 0.03
    assert smallest_difference(0.02, 8) == 2 * smallest_difference(0.01, 8)
    assert smallest_difference(0.01, 8, 1) < smallest_difference(0.01, 8, 2) < smallest_difference(0.01, 8, 6)
    assert smallest_difference(0.0, 8) == 0 and isinf(smallest_difference(0.0, 5))


@pytest.mark.parametrize(("seeds", "pairs"), [(6, 1), (8, 1), (8, 3), (12, 6), (20, 3)])
def test_smallest_difference_is_seen_in_most_trials(seeds: int, pairs: int) -> None:
    difference = smallest_difference(1.0, seeds, pairs)
    noise = random_numbers(8, seeds, pairs).normal(size=(400, seeds))
    seen = np.mean([sign_flip(each + difference) <= 0.05 / pairs for each in noise])
    assert 0.75 <= seen <= 0.85, seen


def trial_scores(recipes: int, seeds: int, trial: int, better: float = 0.0) -> dict[str, list[float]]:
    """Accuracies of recipes on 500 samples; weights and order hit all recipes of a seed alike. The last is better."""
    numbers = random_numbers(9, recipes, seeds, trial)
    scores = 0.8 + numbers.normal(0, 0.03, seeds) + numbers.normal(0, 0.01, (recipes, seeds))
    scores[-1] += better
    return {f"recipe-{k}": (np.round(500 * each) / 500).tolist() for k, each in enumerate(scores)}


def trials_that_show(recipes: int, seeds: int, better: float = 0.0, trials: int = 300) -> float:
    """The share of trials with any verdict that is a difference."""
    verdicts = [compare(trial_scores(recipes, seeds, k, better)) for k in range(trials)]
    return float(np.mean([any(each.verdict in ("a", "b") for each in one) for one in verdicts]))


@pytest.mark.parametrize(("recipes", "seeds"), [(2, 6), (3, 8), (4, 12)])
def test_copies_show_no_difference(recipes: int, seeds: int) -> None:
    assert trials_that_show(recipes, seeds) <= 0.05


def test_many_pairs_without_holm_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "holm", list)
    assert trials_that_show(4, 8) > 0.08


def test_seeds_that_are_no_pairs_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hits both recipes of a seed cancels; where scores are sorted first, it does not."""
    better = smallest_difference(0.01 * 2**0.5, 8)
    assert trials_that_show(2, 8, better) >= 0.75

    def unpaired(differences: list[float]) -> float:
        noise = random_numbers(10, len(differences)).normal(0, 0.03 * 2**0.5, len(differences))
        return sign_flip(np.asarray(differences) + noise)

    monkeypatch.setattr(statistics, "sign_flip", unpaired)
    assert trials_that_show(2, 8, better) < 0.6


def test_planted_difference_is_seen_with_its_sign() -> None:
    better = smallest_difference(0.01 * 2**0.5, 8, 3)
    seen = []
    for trial in range(200):
        verdicts = {(each.a, each.b): each for each in compare(trial_scores(3, 8, trial, better))}
        worse = verdicts["recipe-0", "recipe-2"]
        assert worse.verdict in ("b", NO_DIFFERENCE) and (worse.difference < 0 or worse.verdict != "b")
        seen.append(worse.verdict == "b")
    assert 0.75 <= np.mean(seen) <= 0.9


def test_verdict_turns_with_the_order_of_recipes() -> None:
    scores = trial_scores(2, 10, 0, 0.05)
    (one,), (other,) = compare(scores), compare(dict(reversed(scores.items())))
    assert (one.a, one.b, one.verdict, other.verdict) == (other.b, other.a, "b", "a")
    assert other.difference == pytest.approx(-one.difference) and other.p == one.p
    assert one.low <= one.difference <= one.high < 0


def test_too_few_seeds_give_no_verdict() -> None:
    for recipes, needed in ((2, 6), (3, 7), (4, 8)):
        scores = {str(k): [0.1 * k + 0.001 * seed for seed in range(needed)] for k in range(recipes)}
        assert {(each.verdict, each.seeds, each.needed) for each in compare(scores)} == {("b", needed, needed)}
        fewer = compare({name: values[1:] for name, values in scores.items()})
        assert {(each.verdict, each.smallest) for each in fewer} == {(None, inf)}


def test_one_recipe_against_each_other_is_fewer_pairs() -> None:
    scores = trial_scores(4, 8, 1)
    verdicts = compare(scores, against="recipe-1")
    assert [(each.a, each.b) for each in verdicts] == [("recipe-1", f"recipe-{k}") for k in (0, 2, 3)]
    assert {each.needed for each in verdicts} == {7}
    assert compare({"alone": [0.5]}) == compare({}) == compare({"alone": [0.5]}, against="alone") == ()


def test_missing_seeds_leave_their_pairs_out() -> None:
    a, b = [0.5, nan, 0.6, 0.7, 0.4, 0.8, 0.9, 0.3, 0.2], [0.4, 0.1, nan, 0.5, 0.3, 0.6, 0.6, 0.2]
    (verdict,) = compare({"a": a, "b": b})
    both = [x - y for x, y in zip(a, b, strict=False) if not np.isnan(x + y)]
    assert (verdict.seeds, verdict.verdict) == (6, "a") and verdict.difference == pytest.approx(np.mean(both))
    (nothing,) = compare({"a": [nan, 0.5], "b": [0.4, nan]})
    assert (nothing.seeds, nothing.p, nothing.verdict) == (0, 1.0, None) and np.isnan(nothing.difference)


def test_the_very_same_scores_show_no_difference() -> None:
    scores = trial_scores(2, 8, 2)["recipe-0"]
    (verdict,) = compare({"a": scores, "b": scores})
    assert (verdict.verdict, verdict.difference, verdict.low, verdict.high, verdict.p) == (NO_DIFFERENCE, 0, 0, 0, 1)
