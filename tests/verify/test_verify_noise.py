"""`verify` on noise of our own: judged by its distribution, and faults of a generator that it must find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planted import COLOURS, MOVES, recipe

from augrecipes.compiler.kernels import counter_numbers, own_noise, photons
from augrecipes.verify import verify

NOISE = "\n  - GaussNoise: {std_range: [0.1, 0.2], p: 0.8}\n"
MANY = """
  - OneOf:
      steps:
        - GaussNoise: {per_channel: false, p: 1.0}
        - GaussNoise: {noise_scale_factor: 0.3, p: 1.0}
        - ISONoise: {p: 1.0}
        - ShotNoise: {p: 1.0}
        - MultiplicativeNoise: {elementwise: true, p: 1.0}
"""


@pytest.mark.parametrize(
    ("samples", "steps"),
    [(1, MANY), (5, MOVES + NOISE + COLOURS), (24, COLOURS + MANY), *((k, NOISE) for k in (1, 5, 24))],
)
def test_sound_noise_keeps_its_contract(data: Path, steps: str, samples: int) -> None:
    found = verify(recipe(steps), data / "images", samples=samples)
    assert found.ok, found.broken
    assert "DISTRIBUTION" in str(found.promise)
    assert {"draws", "noise", "independence"} <= {figure.law for figure in found.figures} or samples == 1


def test_the_rest_of_the_plan_is_compared_with_the_same_noise(data: Path) -> None:
    found = verify(recipe(COLOURS + NOISE), data / "images", samples=4, dtypes=("uint8",))
    [levels] = [figure for figure in found.figures if figure.law == "levels"]
    assert levels.worst <= 4


def test_exact_and_a_recipe_without_the_rule_promise_bits(data: Path) -> None:
    for chosen, optimize in ((recipe(NOISE), "exact"), (recipe(NOISE, "without_rules: [own_noise]"), "fast")):
        found = verify(chosen, data / "images", samples=3, optimize=optimize)  # type: ignore[arg-type]
        assert found.ok
        assert str(found.promise) == "EXACT"


def test_noise_inside_degrade_is_judged(data: Path, tmp_path: Path) -> None:
    steps = """
  - Degrade:
      source: hr
      target: lr
      steps: [{ResizeToTarget: {method: area}}, {GaussNoise: {p: 1.0}}]
"""
    chosen = recipe(steps, "kind: pair\nscales: {lr: 1, hr: 2}", "{dtype: uint8, layout: hwc}")
    found = verify(chosen, {"hr": data / "images"}, samples=6)
    assert found.ok, found.broken
    assert {"noise", "independence"} <= {figure.law for figure in found.figures if figure.target == "lr"}


def gaussian(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    drawn = own_noise._PARAMETERS["gaussian"]
    monkeypatch.setitem(own_noise._PARAMETERS, "gaussian", lambda *given: change(*drawn(*given)))


def too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    gaussian(monkeypatch, lambda mean, deviation: (mean, 1.06 * deviation))


def mean_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    gaussian(monkeypatch, lambda mean, deviation: (mean + 0.01, deviation))


def other_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same deviation."""
    by = counter_numbers.pieces
    for module in (counter_numbers, own_noise):
        monkeypatch.setattr(module, "pieces", lambda _: by("uniform"))
    gaussian(monkeypatch, lambda mean, deviation: (mean, 3**0.5 * deviation))


def channels_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    init = own_noise.Noise.__init__
    monkeypatch.setattr(
        own_noise.Noise, "__init__",
        lambda self, distribution, shape, shared, *more: init(self, distribution, shape, True, *more),
    )  # fmt: skip


def samples_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_noise, "mix", lambda *_: 7)


def many_photons(monkeypatch: pytest.MonkeyPatch) -> None:
    made = photons._bounds
    monkeypatch.setattr(photons, "_bounds", lambda rate, intensity: made(1.3 * rate, intensity))


def other_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    attach = own_noise.attach
    monkeypatch.setattr(own_noise, "attach", lambda step: (attach(step), setattr(step, "intensity", (0.2, 0.2))))


ISO = "\n  - ISONoise: {p: 1.0}\n"


# What is wrong with the generator, the recipe, how many samples; the law, `=`: and no other.
@pytest.mark.parametrize(
    ("plant", "steps", "samples", "law"),
    [
        *((too_much, NOISE, samples, "=noise") for samples in (3, 8, 30)),
        (mean_is_off, NOISE, 8, "noise"),
        (other_distribution, NOISE, 8, "noise"),
        (channels_alike, NOISE, 8, "=independence"),
        (samples_alike, NOISE, 8, "=independence"),
        (many_photons, ISO, 8, "noise"),
        (other_draws, ISO, 8, "draws"),
    ],
)
def test_faults_of_the_generator_are_found(
    data: Path, monkeypatch: pytest.MonkeyPatch, plant: Any, steps: str, samples: int, law: str
) -> None:
    plant(monkeypatch)
    found = {figure.law for figure in verify(recipe(steps), data / "images", samples=samples, dtypes=("uint8",)).broken}
    assert law.removeprefix("=") in found
    assert len(found) == 1 or not law.startswith("=")
