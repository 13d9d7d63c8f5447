"""`verify` on noise of our own: judged by its distribution, and faults of a generator that it must find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planted import COLOURS, MOVES, draw_data, recipe

from augrecipes.compiler.kernels import own_noise, own_numbers, photons
from augrecipes.verify import Verification, verify

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


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_data(tmp_path_factory.mktemp("noise"))


def broken(found: Verification) -> set[str]:
    return {figure.law for figure in found.broken}


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


class TestPlantedFaults:
    def caught(self, data: Path, steps: str = NOISE, samples: int = 8) -> set[str]:
        return broken(verify(recipe(steps), data / "images", samples=samples, dtypes=("uint8",)))

    def parameters(self, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
        drawn = own_noise._PARAMETERS["gaussian"]
        monkeypatch.setitem(own_noise._PARAMETERS, "gaussian", lambda *given: change(*drawn(*given)))

    @pytest.mark.parametrize("samples", [3, 8, 30])
    def test_too_much_noise(self, data: Path, monkeypatch: pytest.MonkeyPatch, samples: int) -> None:
        self.parameters(monkeypatch, lambda mean, deviation: (mean, 1.06 * deviation))
        assert self.caught(data, samples=samples) == {"noise"}

    def test_a_mean_that_is_off(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parameters(monkeypatch, lambda mean, deviation: (mean + 0.01, deviation))
        assert "noise" in self.caught(data)

    def test_another_distribution_of_the_same_deviation(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        by = own_numbers.pieces
        monkeypatch.setattr(own_numbers, "pieces", lambda _: by("uniform"))
        monkeypatch.setattr(own_noise, "pieces", lambda _: by("uniform"))
        self.parameters(monkeypatch, lambda mean, deviation: (mean, 3**0.5 * deviation))
        assert "noise" in self.caught(data)

    def test_channels_that_are_alike(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        init = own_noise.Noise.__init__

        def alike(self: Any, distribution: Any, shape: Any, shared: bool, *more: Any) -> None:
            init(self, distribution, shape, True, *more)

        monkeypatch.setattr(own_noise.Noise, "__init__", alike)
        assert self.caught(data) == {"independence"}

    def test_the_same_noise_for_every_sample(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(own_noise, "mix", lambda *_: 7)
        assert self.caught(data) == {"independence"}

    def test_photons_that_are_too_many(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made = photons._bounds
        monkeypatch.setattr(photons, "_bounds", lambda rate, intensity: made(1.3 * rate, intensity))
        assert "noise" in self.caught(data, "\n  - ISONoise: {p: 1.0}\n")

    def test_other_draws(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        attach = own_noise.attach

        def careless(step: Any) -> None:
            attach(step)
            step.intensity = (0.2, 0.2)

        monkeypatch.setattr(own_noise, "attach", careless)
        assert "draws" in self.caught(data, "\n  - ISONoise: {p: 1.0}\n")
