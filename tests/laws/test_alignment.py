"""Targets of a pair show the same part of the scene, whatever is drawn."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from kernel_sets import NEEDS_KERNELS
from random_pairs import SCALES, Scales, misalignment, moves, pair, scene, unit_of
from random_recipes import Pool, assert_same, build, outcome, pool, recipes, targets
from support.checks import FAILURES, SEEDS, holds, planted, planted_faults
from support.programs import by_programs
from test_native_plan import NATIVE, ON_MASKS, WARPED, carried_out_by_albumentations, recipe_of

from augrecipes.compat import normals
from augrecipes.compat.boxes import BoxRules
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.run import points
from augrecipes.compiler.run.program_run import ProgramRun
from augrecipes.errors import DataError
from augrecipes.kinds.pair import shared
from augrecipes.kinds.pair.grid import Scene
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Keypoints, Recipe, Step

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


act = shared.PairStep.act


def _each_for_itself(self: shared.PairStep, scene: Scene, names: list[str]) -> None:
    for name in names:
        one = Scene({name: scene.arrays[name]}, scene.factors, scene.matrix)
        act(self, one, [name])
        scene.arrays[name] = one.arrays[name]


def _one_pixel_off_on_the_finest(self: shared.PairStep, scene: Scene, names: list[str]) -> None:
    if self.how == "window":
        scene.arrays[names[-1]] = np.roll(np.asarray(scene.arrays[names[-1]]), 1, axis=0)
    act(self, scene, names)


def _a_turn_that_one_misses(self: shared.PairStep, scene: Scene, names: list[str]) -> None:
    act(self, scene, names[:-1] if self.how == "dihedral" else names)


def _without_the_half_pixel(matrix: np.ndarray, unit: int) -> np.ndarray:
    forth = np.diag([unit, unit, 1.0])
    return forth @ matrix @ np.linalg.inv(forth)


FOUR: Scales = {"lr": 1, "hr": 4}
ALIGNED, OTHERS = planted(law, moves(FOUR), SEEDS), planted(law, moves({"a": 2, "b": 3}), SEEDS)
test_planted_faults_are_caught = planted_faults(
    {
        "each target draws for itself": (ALIGNED, (shared.PairStep, "act", _each_for_itself)),
        "a window one pixel off": (ALIGNED, (shared.PairStep, "act", _one_pixel_off_on_the_finest)),
        "a turn that one target misses": (OTHERS, (shared.PairStep, "act", _a_turn_that_one_misses)),
        "a matrix without the half pixel": (
            lambda _: warps_are_aligned(FOUR, WARPS[0]),
            (shared, "in_pixels", _without_the_half_pixel),
        ),
    },
    (*FAILURES, DataError),
)


ABOUT_BOXES: Pool = pool("""
    BBoxSafeRandomCrop, BBoxSafeRandomCrop: {erosion_rate: 0.4}, AtLeastOneBBoxRandomCrop: {height: 14, width: 11},
    AtLeastOneBBoxRandomCrop: {height: 21, width: 20, erosion_factor: 0.3},
    RandomSizedBBoxSafeCrop: {height: 31, width: 24},
    RandomSizedBBoxSafeCrop: {height: 30, width: 41, interpolation: 0, erosion_rate: 0.2}
""")


def given_to(recipe: Recipe, seed: int) -> dict[str, Any]:
    made = targets(recipe, seed, 3, "uint8")
    return {**made, "mask": made["mask"].astype(np.uint8)}


def are_alike(one: Any, other: Any) -> None:
    """Two samples to the bit, or two errors; a step that does nothing is left out of plans."""
    for made in (one, other):
        if isinstance(made, dict) and "applied" in made:
            made["applied"] = [step for step in made["applied"] if step[1] != "NoOp"]
    assert_same(one, other)


def check(recipe: Recipe, seed: int) -> int:
    """How many samples of `exact` the program made, boxes and all."""
    plain, exact, count = build(recipe, "none", seed), build(recipe, "exact", seed), 0
    for index in range(4):
        sample = given_to(recipe, seed + index)
        are_alike(outcome(plain, index, sample), outcome(exact, index, sample))
        count += by_programs(exact, index, sample) is not None
    return count


@NEEDS_KERNELS
def test_boxes_are_those_of_the_steps() -> None:
    carried_out: list[int] = []
    made = recipes(NATIVE + ON_MASKS + (WARPED + ABOUT_BOXES) * 2).filter(
        lambda recipe: recipe.inputs.boxes is not None
    )
    holds(lambda recipe, seed: carried_out.append(check(recipe, seed)), made, SEEDS)
    assert sum(carried_out)


MOVING: Pool = (("Morphological", {"p": 0.7}), ("RandomGridShuffle", {"p": 0.7}), ("Spatter", {"p": 0.7}))


def stop_anywhere(recipe: Recipe, seed: int, which: int, asked: bool) -> int:
    """Samples with boxes that stop at any step are those of the steps, and so is what these have drawn."""
    plain, count = build(recipe, "none", seed), 0
    with carried_out_by_albumentations(which):
        exact = build(recipe, "exact", seed)
        assert exact.native
    both = [one.again(replace(one.compiled, save_applied_params=asked)) for one in (plain, exact)]
    with carried_out_by_albumentations(which):
        assert both[1].native
    for index in range(3):
        sample = given_to(recipe, seed + index)
        found, wanted = (outcome(one, index, sample) for one in reversed(both))
        for made in (found, wanted):
            if isinstance(made, dict) and asked:
                made["applied"] = plain_values(made["applied"])
        are_alike(wanted, found)
        count += isinstance(wanted, dict) and by_programs(both[1], index, sample) is not None
    return count


def plain_values(value: Any) -> Any:
    """The same without arrays, to be compared."""
    if isinstance(value, dict):
        return {key: plain_values(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [*map(plain_values, value)]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


@NEEDS_KERNELS
def test_samples_with_boxes_may_stop_at_any_step() -> None:
    carried_out: list[int] = []

    def law(recipe: Recipe, seed: int, which: int, asked: bool) -> None:
        carried_out.append(stop_anywhere(recipe, seed, which, asked))

    made = recipes(NATIVE + ON_MASKS + (ABOUT_BOXES + MOVING) * 2, max_steps=5)
    holds(law, made, SEEDS, st.integers(0, 2**12 - 1), st.booleans())
    assert sum(carried_out) > len(carried_out) // 2


POINTED = Inputs(boxes=Boxes(), keypoints=Keypoints())


def pointed(*steps: tuple[str, dict[str, Any]]) -> Recipe:
    """A recipe for images with boxes and keypoints."""
    return replace(recipe_of(*steps), inputs=POINTED)


STOPPING = pointed(("InvertImg", {"p": 1.0}), ("Spatter", {"p": 1.0}))
FAULTY = pointed(("Affine", {"rotate": [20, 30], "p": 1.0}), ("Resize", {"height": 30, "width": 30}))
run_to, sampler, move_boxes = ProgramRun.run_to, points.sampler_of, BoxRules.move


@NEEDS_KERNELS
def test_what_is_planted_below_runs_natively() -> None:
    assert stop_anywhere(STOPPING, 3, 0, asked=True)
    assert check(FAULTY, 5)


test_planted_faults_are_found = NEEDS_KERNELS(
    planted_faults(
        {
            "a step without its pixels": (
                lambda _: stop_anywhere(STOPPING, 3, 0, asked=True),
                (ProgramRun, "run_to", lambda self, place: {"image": 255 - run_to(self, place)["image"]}),
            ),
            "boxes that stay": (
                lambda _: check(FAULTY, 5),
                (BoxRules, "move", lambda self, boxes, moves, *rest: move_boxes(self, boxes, moves[:0], *rest)),
            ),
            "draws of another sample": (
                lambda _: check(FAULTY, 5),
                (
                    points,
                    "sampler_of",
                    lambda step: lambda data: (sampler(step)(data), sampler(step)(data))[1],
                ),
            ),
        }
    )
)


@NEEDS_KERNELS
@pytest.mark.parametrize("step", ABOUT_BOXES, ids=lambda step: step[0])
def test_windows_about_boxes_are_made_by_plans_and_of_boxes_alone(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = pointed(("Affine", {"rotate": 20}), step, ("InvertImg", {"p": 1.0}))
    assert check(recipe, 5) == 4
    plain, exact, seen = build(recipe, "none"), build(recipe, "exact"), given_to(recipe, 5)
    assert isinstance(exact.native, Program)
    for sample in ({"image": seen["image"]}, {**seen, "boxes": np.zeros((0, 4))}):
        are_alike(outcome(plain, 0, sample), outcome(exact, 0, sample))
    assert "draws by boxes" in str(exact.why_one_by_one())
    monkeypatch.setattr(Program, "take_python_draws", lambda _: None)
    with pytest.raises(AssertionError):
        check(recipe, 5)


@NEEDS_KERNELS
@pytest.mark.skipif(not normals(), reason="numpy does not tell where it makes normal numbers")
def test_boxes_are_cut_off_by_the_size_that_a_step_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Perspective without `keep_size`: other steps that resample say their size."""
    tilt = ("Perspective", {"scale": [0.1, 0.3], "keep_size": False, "p": 1.0})
    recipe = pointed(tilt, ("RandomCrop", {"height": 11, "width": 13, "p": 1.0}))
    assert sum(check(recipe, seed) for seed in range(8))
    move_boxes = BoxRules.move

    def keep_size(self: BoxRules, boxes: np.ndarray, moves: np.ndarray, *rest: Any) -> np.ndarray:
        tilted = moves[:, 11] != 0
        moves[tilted, 3:5] = moves[tilted, 1:3]
        return move_boxes(self, boxes, moves, *rest)

    monkeypatch.setattr(BoxRules, "move", keep_size)
    with pytest.raises(AssertionError):
        for seed in range(8):
            check(recipe, seed)
