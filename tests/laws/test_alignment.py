"""Targets of a pair show the same part of the scene, whatever is drawn."""

from typing import Any

import numpy as np
import pytest
from examples import BROKEN, SEEDS, holds, planted
from random_pairs import SCALES, Scales, misalignment, moves, pair, scene, unit_of
from random_recipes import build
from support.checks import planted_faults

from augrecipes.compiler.run import shared
from augrecipes.compiler.run.scene import Scene
from augrecipes.errors import DataError
from augrecipes.recipe.model import Arguments, Recipe, Step

TINY = 1e-4  # cells: rounding of float32 positions
WARPS = (
    Step("Rotate", Arguments({"limit": 30, "border_mode": "constant"}), p=1.0),
    Step("Rotate", Arguments({"limit": 30, "border_mode": "constant", "crop_border": True}), p=1.0),
    Step("SafeRotate", Arguments({"limit": 30, "border_mode": "constant"}), p=1.0),
    Step("Affine", Arguments({"scale": [0.9, 1.3], "rotate": [-20, 20], "translate_percent": [-0.1, 0.1]}), p=1.0),
    Step("Affine", Arguments({"shear": [-10, 10], "fit_output": True}), p=1.0),
)
SIZES = (
    Step("Resize", Arguments({"height": 36, "width": 28})),
    Step("RandomScale", Arguments({"scale_limit": [-0.3, 0.4]}), p=1.0),
    Step("SmallestMaxSize", Arguments({"max_size": 36})),
    Step("LongestMaxSize", Arguments({"max_size": 36})),
    Step("RandomResizedCrop", Arguments({"size": [36, 36], "scale": [0.5, 1.0]})),
)


EACH = pytest.mark.parametrize("scales", SCALES, ids=lambda scales: ",".join(map(str, scales.values())))


def law(recipe: Recipe, seed: int) -> None:
    scales: Scales = dict(recipe.scales)
    pipeline = build(recipe, seed=seed)
    for index in range(3):
        arrays = scene(scales, 24 + index, 31 - index, rest=index)
        assert misalignment(pipeline.at(index, 1)(**arrays), scales) < TINY


@EACH
def test_random_windows_and_turns(scales: Scales) -> None:
    holds(law, moves(scales), SEEDS)


def warps_are_aligned(scales: Scales, step: Step) -> None:
    """Bilinear sampling of a ramp is exact, so that alignment shows to a hundredth of a pixel."""
    pipeline = build(pair(scales, [step], allow_resampling=True))
    for index in range(4):
        out = pipeline.at(index)(**scene(scales, 40, 34))
        inside = {name: array[..., 2] >= 1 / 256 - 1e-7 for name, array in out.items() if name in scales}
        assert all(mask.mean() > 0.3 for mask in inside.values())
        assert ramps_agree(out, scales)


@EACH
@pytest.mark.parametrize("step", WARPS, ids=lambda step: step.name)
def test_warps_that_are_allowed_to_resample(scales: Scales, step: Step) -> None:
    warps_are_aligned(scales, step)


@EACH
@pytest.mark.parametrize("step", SIZES, ids=lambda step: step.name)
def test_resizes_that_are_allowed(scales: Scales, step: Step) -> None:
    pipeline = build(pair(scales, [step], allow_resampling=True))
    for index in range(4):
        out = pipeline.at(index)(**scene(scales, 48, 42))
        # cv2.resize repeats the edge, up to half a pixel of the coarsest grid.
        core = {name: out[name][2 * k : -2 * k, 2 * k : -2 * k] for name, k in unit_of(scales).items()}
        assert misalignment(core, scales) < 0.05


def ramps_agree(out: dict[str, Any], scales: Scales) -> bool:
    """Whether an affine map from place to position, fitted to the coarsest target, holds on all others to 0.01 px."""
    units = unit_of(scales)
    base = min(units, key=lambda name: units[name])

    def places(name: str) -> tuple[np.ndarray, np.ndarray]:
        array = out[name].astype(np.float64)
        inside = array[..., 2] >= 1 / 256 - 1e-7
        y, x = (np.mgrid[: array.shape[0], : array.shape[1]] + 0.5) / units[name]
        return np.stack([y[inside], x[inside], np.ones(inside.sum())], axis=1), array[inside][:, :2] * 256

    fitted = np.linalg.lstsq(*places(base), rcond=None)[0]
    for name, k in units.items():
        where, what = places(name)
        if np.abs(where @ fitted - what).max() * k > 0.02 * max(1, k):
            return False
    return True


@pytest.mark.parametrize("border", ["constant", "reflect", "wrap"])
@EACH
def test_padding_is_whole_cells(scales: Scales, border: str) -> None:
    """Where a window is larger than the scene, every target is padded by the same cells."""
    units = unit_of(scales)
    side = 12 * min(units.values())
    args = Arguments({"height": side, "width": side, "pad_if_needed": True, "border_mode": border})
    pipeline = build(pair(scales, [Step("RandomCrop", args), Step("D4", p=1.0)]))
    rng = np.random.default_rng(3)
    cell = rng.integers(0, 256, (7, 20, 3), np.uint8)
    arrays = {name: cell.repeat(k, axis=0).repeat(k, axis=1) for name, k in units.items()}
    for index in range(30):
        out = pipeline.at(index)(**arrays)
        small = [out[name][::k, ::k] for name, k in units.items()]
        assert all(one.shape == (12, 12, 3) and (one == small[0]).all() for one in small)
        assert all((out[name] == small[0].repeat(k, axis=0).repeat(k, axis=1)).all() for name, k in units.items())


act = shared.Shared.act


def _each_for_itself(self: shared.Shared, scene: Scene, names: list[str]) -> None:
    for name in names:
        one = Scene({name: scene.arrays[name]}, scene.units, scene.region)
        act(self, one, [name])
        scene.arrays[name] = one.arrays[name]


def _one_pixel_off_on_the_finest(self: shared.Shared, scene: Scene, names: list[str]) -> None:
    if self.how == "window":
        scene.arrays[names[-1]] = np.roll(np.asarray(scene.arrays[names[-1]]), 1, axis=0)
    act(self, scene, names)


def _a_turn_that_one_misses(self: shared.Shared, scene: Scene, names: list[str]) -> None:
    act(self, scene, names[:-1] if self.how == "dihedral" else names)


def _without_the_half_pixel(matrix: np.ndarray, unit: int) -> np.ndarray:
    forth = np.diag([unit, unit, 1.0])
    return forth @ matrix @ np.linalg.inv(forth)


FOUR: Scales = {"lr": 1, "hr": 4}
ALIGNED, OTHERS = planted(law, moves(FOUR), SEEDS), planted(law, moves({"a": 2, "b": 3}), SEEDS)
test_planted_faults_are_caught = planted_faults(
    {
        "each target draws for itself": (ALIGNED, (shared.Shared, "act", _each_for_itself)),
        "a window one pixel off": (ALIGNED, (shared.Shared, "act", _one_pixel_off_on_the_finest)),
        "a turn that one target misses": (OTHERS, (shared.Shared, "act", _a_turn_that_one_misses)),
        "a matrix without the half pixel": (
            lambda _: warps_are_aligned(FOUR, WARPS[0]),
            (shared, "between_pixels", _without_the_half_pixel),
        ),
    },
    (*BROKEN, DataError),
)
