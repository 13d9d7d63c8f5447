"""`verify` raises no alarm over sound plans, whatever moves their pixels, and does over plans that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import GEOMETRY, draw_data, labels, noop, planted, recipe, rewritten, shifted
from random_geometry import figures, picture, random_recipe
from reference import composed

from augrecipes.compiler.kernels import warped
from augrecipes.flow import Dtype
from augrecipes.ops import warps
from augrecipes.recipe.model import Step
from augrecipes.sources.sample import Sample
from augrecipes.verify import Verification, verify
from augrecipes.verify.apart import MOST_APART_PX, compare
from augrecipes.verify.maps import legs_of
from augrecipes.verify.probe import Probe, tears
from augrecipes.verify.run import builder

# Some classes say that they are special cases of others.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

MASKED = "inputs: {mask: optional}"
TURN = "Rotate: {limit: [12, 30], p: 1.0, border_mode: reflect_101}"
WIDE = "Affine: {rotate: [-30, 30], p: 1.0, border_mode: reflect_101}"
CROP = "RandomResizedCrop: {size: [64, 64]}"
SOUND = {
    "a distortion": ["GridDistortion: {p: 1.0}", "ShiftScaleRotate: {p: 1.0}", "Resize: {height: 60, width: 90}"],
    "distortions between": [TURN, "ElasticTransform: {alpha: 60, sigma: 6, p: 1.0}", TURN, "RandomScale: {p: 1.0}"],
    "a shuffle": ["RandomGridShuffle: {p: 1.0}", "ShiftScaleRotate: {p: 1.0}", "Resize: {height: 60, width: 90}"],
    "the nearest pixel": ["Rotate: {limit: 20, interpolation: nearest, p: 1.0}", TURN, CROP],
    "folds": [TURN, CROP, WIDE],
    "repeated edges": ["Affine: {rotate: [-9, 9], p: 1.0}", "RandomResizedCrop: {size: [96, 128]}", TURN],
    "a coarse grid": ["Resize: {height: 32, width: 32}", TURN, "Resize: {height: 96, width: 96}"],
    "large, then small": ["Resize: {height: 187, width: 187}", "Rotate: {limit: [3, 20], crop_border: true, p: 1.0}",
                          "Resize: {height: 47, width: 47}"],
    "a fine grid": ["Resize: {height: 260, width: 260}", TURN, "Resize: {height: 48, width: 64}"],
}  # fmt: skip
BACK = "Resize: {height: 96, width: 128}"
MERGES = [TURN, "RandomCrop: {height: 60, width: 70}", "Resize: {height: 50, width: 50}"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_data(tmp_path_factory.mktemp("alarms"))


def of(steps: list[str], more: str = MASKED) -> Any:
    return recipe("\n" + "\n".join(f"  - {step}" for step in steps) + "\n", more)


def broken(found: Verification) -> set[str]:
    return {figure.law for figure in found.broken}


@pytest.mark.parametrize("name", SOUND)
def test_what_several_resamplings_blur_is_no_fault(data: Path, name: str) -> None:
    found = verify(of(SOUND[name]), data / "list.csv", samples=8)
    assert found.ok, found.broken
    assert found.promise.geometry
    (share,) = {figure.share for figure in found.figures if figure.law == "displacement" and figure.dtype == "uint8"}
    assert share > 0.05


def alarms(seed: int, samples: int) -> list[Any]:
    """What is said to be broken in a random recipe."""
    made, channels, size = random_recipe(seed)
    dtypes: tuple[Dtype, ...] = ("uint8", "float32")
    found = [figures(made, channels, size, dtype, range(samples)) for dtype in dtypes]
    return [(seed, figure) for of_dtype in found for figure in of_dtype if not figure.ok]


def test_sound_plans_of_random_recipes() -> None:
    assert [alarm for seed in range(16, 30) for alarm in alarms(seed, 2)] == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_sound_plans_of_many_random_recipes(seed: int) -> None:
    assert alarms(seed, 200) == []


def disagreement(seed: int, index: int, dtype: Dtype, build: Any = None) -> tuple[float, float]:
    """How far the plan is from a reference that blends nothing, px of the output; and the share that could be told."""
    made, channels, size = random_recipe(seed)
    make = build or builder("train", 0)
    plain, fast = make(made, "none"), make(made, "fast")
    torn = tears(plain, fast, dtype)
    given = Sample(index, 0, "", {"image": picture(*size, channels, index)}, {"mask": labels(*size, index)})
    known = composed(plain, torn, given, dtype)
    far, told = 0.0, []
    legs = [legs_of(Probe(pipeline, dtype, torn), given, 0, {"image": "image"}) for pipeline in (plain, fast)]
    for k, (x, y, sure) in enumerate(known):
        where, its = (of_leg[k][1]["image"] for of_leg in legs)
        if legs[0][k][0].alone:
            continue
        apart = compare(where, its)
        both = apart.where & sure
        told.append(both.sum() / max(apart.where.sum(), 1))
        if both.any():
            far = max(far, float(np.hypot(its.x - x, its.y - y)[both].max()) / where.scales()[0])
    return far, min(told)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_reference_that_blends_nothing_agrees() -> None:
    found = [disagreement(seed, 0, "float32") for seed in range(40, 52)]
    assert max(far for far, _ in found) <= MOST_APART_PX
    assert np.median([told for _, told in found]) > 0.95  # what is compared is certain, nearly all of it


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2000, 2060))
def test_a_reference_that_blends_nothing_agrees_on_many(seed: int) -> None:
    assert max(disagreement(seed, index, "uint8")[0] for index in range(50)) <= MOST_APART_PX


@pytest.mark.parametrize("seed", range(60, 68))
def test_a_shift_is_found_in_every_random_recipe(seed: int) -> None:
    """What is left out of the comparison leaves enough of it: a twentieth of a pixel is seen, wherever places are."""

    def shift(done: dict[str, Any]) -> None:
        done["image"] = shifted(np.ascontiguousarray(done["image"][..., :4]), 0.05)

    made, channels, size = random_recipe(seed)
    if channels > 4:
        pytest.skip("OpenCV shifts four channels at most")
    sound = figures(made, channels, size, "float32", range(2), promise=GEOMETRY)
    (share,) = [figure.share for figure in sound if figure.law == "displacement"]
    faulty = figures(made, channels, size, "float32", range(2), planted(shift), promise=GEOMETRY)
    assert share is not None
    assert share < 0.02 or ("displacement" in {figure.law for figure in faulty if not figure.ok})


class TestPlantedFaults:
    """Behind each thing that is no fault, one that is."""

    @pytest.mark.parametrize("before", ["GridDistortion", "ElasticTransform", "RandomGridShuffle"])
    def test_a_wrong_matrix_behind_a_step_that_tears(
        self, data: Path, monkeypatch: pytest.MonkeyPatch, before: str
    ) -> None:
        def careless(x: float, y: float, x0: float = 0.0, y0: float = 0.0) -> Any:
            return (x, 0.0, x0, 0.0, y, y0, 0.0, 0.0, 1.0)

        monkeypatch.setattr(warps, "scaling", careless)
        assert "displacement" in broken(verify(of([f"{before}: {{p: 1.0}}", *MERGES]), data / "list.csv", samples=2))

    @pytest.mark.parametrize("behind", [False, True])
    def test_a_window_forgotten_beside_a_step_that_tears(
        self, data: Path, monkeypatch: pytest.MonkeyPatch, behind: bool
    ) -> None:
        monkeypatch.setattr(warped, "stays_inside", lambda *_: True)
        hides = ["Resize: {height: 80, width: 100}", "CenterCrop: {height: 60, width: 60}"]
        hides, torn = [*hides, "Rotate: {limit: [20, 40], p: 1.0}"], ["RandomGridShuffle: {p: 1.0}"]
        found = verify(of(hides + torn if behind else torn + hides), data / "list.csv", samples=3)
        assert "hidden" in broken(found)

    @pytest.mark.parametrize("name", ["GridDistortion", "RandomGridShuffle", "ElasticTransform"])
    def test_a_step_that_tears_is_forgotten(self, data: Path, name: str) -> None:
        def forget(steps: tuple[Step, ...]) -> tuple[Step, ...]:
            return tuple(noop(step) if step.name == name else step for step in steps)

        steps = of([TURN, f"{name}: {{p: 1.0}}", *MERGES])
        found = verify(steps, data / "list.csv", samples=2, build=rewritten(forget), promise=GEOMETRY)
        assert "displacement" in broken(found)

    @pytest.mark.parametrize("name", ["GridDistortion", "RandomGridShuffle", "ElasticTransform", "PiecewiseAffine"])
    def test_a_step_that_tears_draws_otherwise(self, data: Path, name: str) -> None:
        steps = of(["Resize: {height: 70, width: 70}", f"{name}: {{p: 1.0}}"])
        build = rewritten(lambda steps: steps, seed=1)
        found = verify(steps, data / "list.csv", samples=2, build=build, promise=GEOMETRY)
        assert "displacement" in broken(found)

    def test_steps_on_the_wrong_side_of_one_that_tears(self, data: Path) -> None:
        steps = of([TURN, "GridDistortion: {p: 1.0}", "Resize: {height: 70, width: 70}"])
        swap = rewritten(lambda steps: (steps[1], steps[0], steps[2]))
        assert "displacement" in broken(verify(steps, data / "list.csv", samples=2, build=swap, promise=GEOMETRY))

    def test_a_fold_that_is_none(self, data: Path) -> None:
        """What a border reflects is looked at, too: another border shows the picture, but elsewhere."""

        def repeat(steps: tuple[Step, ...]) -> tuple[Step, ...]:
            return of([step.replace("reflect_101", "reflect") for step in folds]).steps  # half a pixel further

        folds = ["Affine: {rotate: [25, 25], scale: [0.6, 0.6], p: 1.0, border_mode: reflect_101}", MERGES[-1]]
        found = verify(of(folds), data / "list.csv", samples=2, build=rewritten(repeat), promise=GEOMETRY)
        assert "displacement" in broken(found)


def merge_whatever_lies_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the optimiser merge steps through any grid, at any cost."""
    monkeypatch.setattr(warped.Warped, "_in_turn", lambda self: float("inf"))
    monkeypatch.setattr(warped, "narrows", lambda *_: False, raising=False)
    monkeypatch.setattr(warped, "edge_reach", lambda warp: 0.5 if warp.border is None else 0.0, raising=False)


class TestDetail:
    """Merges that undo a low resolution in the middle."""

    @pytest.mark.parametrize("dtype", ["uint8", "float32"])
    @pytest.mark.parametrize(
        "steps",
        [
            ["Resize: {height: 32, width: 32}", BACK],
            ["RandomScale: {scale_limit: [-0.75, -0.75], p: 1.0}", BACK],
            ["Affine: {scale: 0.25, p: 1.0}", "Affine: {scale: 4, p: 1.0}", "CenterCrop: {height: 60, width: 80}"],
            ["Resize: {height: 96, width: 40}", "Resize: {height: 80, width: 110}"],
            ["Resize: {height: 24, width: 32}", "Affine: {rotate: [5, 9], scale: 1.5, p: 1.0}", BACK],
            [
                "HorizontalFlip: {p: 1.0}",
                "Resize: {height: 50, width: 60}",
                "RandomCrop: {height: 40, width: 50}",
                BACK,
            ],
            ["GridDistortion: {p: 1.0}", "Resize: {height: 40, width: 50}", BACK],
        ],
        ids=lambda steps: " ".join(step.split(":")[0] for step in steps),
    )
    def test_a_low_resolution_that_is_left_out(
        self, data: Path, monkeypatch: pytest.MonkeyPatch, steps: list[str], dtype: Dtype
    ) -> None:
        merge_whatever_lies_between(monkeypatch)
        found = verify(of(steps, ""), data / "images", samples=2, dtypes=(dtype,))
        assert broken(found) == {"detail"}

    def test_a_softer_first_part_is_no_fault(self, data: Path) -> None:
        steps = [TURN, "Resize: {height: 32, width: 40}", "Resize: {height: 96, width: 128}"]
        found = verify(of(steps), data / "list.csv", samples=4, build=rewritten(lambda steps: steps), promise=GEOMETRY)
        assert found.ok, found.broken
        (worst,) = {figure.worst for figure in found.figures if figure.law == "detail" and figure.dtype == "uint8"}
        assert worst == 0.0

    def test_where_no_grid_is_coarser_nothing_is_measured(self, data: Path) -> None:
        found = verify(of(MERGES), data / "list.csv", samples=2)
        assert not [figure for figure in found.figures if figure.law == "detail"]


def test_ramps_go_through_the_plan_of_the_dtype(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan for uint8 is measured with float ramps, which a plan of its own would be made for."""
    from augrecipes.compiler.plan.rule import Edit, Rule
    from augrecipes.compiler.plan.rules import RULES

    def careless(steps: Any, flow: Any) -> Any:
        turns = [place for place, step in enumerate(steps) if step.name == "Rotate"]
        return [Edit(place, place + 1, ()) for place in turns if flow.dtype == "uint8"]

    rule = Rule("forget_turns", "", "GEOMETRY", "", "", careless)
    monkeypatch.setitem(RULES, "fast", (rule,))
    found = verify(of(MERGES), data / "list.csv", samples=2)
    assert {figure.dtype for figure in found.broken if figure.law == "displacement"} == {"uint8"}
