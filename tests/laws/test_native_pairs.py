"""Pairs that programs carry out, alone or many at once, are those of the steps, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from examples import DEAR, PLANTED
from guarded import guarded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS
from random_pairs import SCALES, TURNS, moves, pair, recipes, unit_of
from undecoded_pictures import Picture

from augrecipes.compiler.executor.inputs import InMemory
from augrecipes.compiler.executor.op import NativeOp
from augrecipes.compiler.executor.program import Program, Stopped
from augrecipes.compiler.lowering import walk
from augrecipes.compiler.rewrite import ARRIVALS, Compiled, plan
from augrecipes.compiler.run import scene_lowering
from augrecipes.compiler.run.scene_plans import SceneOnTheWay, ScenePlans
from augrecipes.errors import DataError
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.native.kernels import Library, using
from augrecipes.recipe.model import Arguments, Optimize, Output, Recipe, Step

SETS = [kernels for kernels in KERNEL_SETS if kernels is not None]
pytestmark = pytest.mark.skipif(not SETS, reason="no native kernels here")
N, EPOCH = 5, 3
OUTPUTS = (Output(), Output(dtype="uint8", layout="hwc"), Output(layout="hwc", range=(-1.0, 1.0)), Output(color="bgr"))
Scene = dict[str, np.ndarray]


def build(recipe: Recipe, optimize: Optimize, seed: int, *, applied: bool = False) -> PairPipeline:
    plans = {arrival: plan(recipe, recipe.steps, optimize, arrival) for arrival in ARRIVALS}
    return PairPipeline(Compiled(recipe, "train", optimize, seed, applied, plans))


@contextmanager
def carried_out_by_albumentations(which: int) -> Iterator[None]:
    """Inside, some of the steps are taken to be unknown to the kernels, each by a bit of `which`."""
    known, alone = dict[int, bool](), walk.alone

    def some(step: Any, interpolation: int) -> NativeOp | None:
        opaque = known.setdefault(id(step), bool(which >> len(known) & 1))
        return None if opaque else alone(step, interpolation)

    with pytest.MonkeyPatch.context() as patched:
        for module in (walk, scene_lowering):
            patched.setattr(module, "alone", some)
        yield


def scene_of(pipeline: PairPipeline, recipe: Recipe, seed: int, at_end: bool, *, alike: bool) -> Scene:
    """Pictures of some cells, up to a pixel less than one more; between pages that nobody may read."""
    rng = np.random.default_rng(seed)
    rows, columns = (24, 29) if alike else (int(n) for n in rng.integers(22, 40, 2))
    units, made = unit_of(dict(recipe.scales)), {}
    for name in pipeline.targets:
        k = units[name]
        size = rows * k + int(rng.integers(0, k)), columns * k + int(rng.integers(0, k)), 3
        made[name] = guarded(rng.integers(0, 256, size, np.uint8), at_end)
    return made


def told(make: Any) -> Any:
    try:
        return make()
    except DataError as error:
        return f"{error.step}: {error.reason}"


def same(found: Any, wanted: Any, names: Any) -> None:
    assert isinstance(found, dict) == isinstance(wanted, dict), (found, wanted)
    if not isinstance(wanted, dict):
        assert found == wanted
        return
    for name in names:
        assert found[name].dtype == wanted[name].dtype
        np.testing.assert_array_equal(found[name], wanted[name], err_msg=name)


def law(recipe: Recipe, seed: int, kernels: Library, at_end: bool, *, alike: bool, which: int = 0) -> int:
    """How many samples were carried out natively."""
    plain = build(recipe, "none", seed)
    with using(kernels), carried_out_by_albumentations(which):
        exact, asked = build(recipe, "exact", seed), build(recipe, "exact", seed, applied=True)
        native, _ = exact.native, asked.native
    scenes = [scene_of(plain, recipe, seed + k, at_end, alike=alike) for k in range(N)]
    indices = [int(n) for n in np.random.default_rng(seed).integers(0, 2**40, N)]
    wanted = [told(lambda k=k: plain.at(indices[k], EPOCH)(**scenes[k])) for k in range(N)]
    for k, scene in enumerate(scenes):
        backwards = {name: array[::-1].copy()[::-1] for name, array in scene.items()}
        for coming in (scene, backwards, {name: Picture(array) for name, array in scene.items()}):
            same(told(lambda k=k, coming=coming: exact.at(indices[k], EPOCH)(**coming)), wanted[k], exact.outputs)
        same(told(lambda k=k, scene=scene: asked.at(indices[k], EPOCH)(**scene)), wanted[k], exact.outputs)
    pictures = {name: InMemory.of([scene[name] for scene in scenes]) for name in exact.targets}
    batch = told(lambda: exact.many(EPOCH, indices, pictures, lambda _, shape, dtype: np.empty((N, *shape), dtype)))
    if any(isinstance(one, str) for one in wanted):
        assert batch is None or batch == next(one for one in wanted if isinstance(one, str))
        return 0
    if batch is None:
        assert any(len({one[name].shape for one in wanted}) > 1 for name in exact.outputs)
        return 0
    for k, one in enumerate(wanted):
        same({name: batch[name][k] for name in exact.outputs}, one, exact.outputs)
    return 0 if isinstance(native, str) else sum(
        native.sample((EPOCH, index, 0), exact._whole_cells(scene), lambda _: np.empty) is not None
        for index, scene in zip(indices, scenes, strict=True)
    )  # fmt: skip


def check(kernels: Library, examples: Any, pool: Any) -> int:
    counts = []

    @examples
    @given(pool, st.integers(0, 2**32), st.sampled_from(OUTPUTS), st.booleans(), st.sampled_from((True, True, False)))
    def run(recipe: Recipe, seed: int, output: Output, at_end: bool, alike: bool) -> None:
        counts.append(law(replace(recipe, output=output), seed, kernels, at_end, alike=alike))

    run()
    return sum(counts)


ANY = st.one_of(st.sampled_from(SCALES).flatmap(moves), recipes())


@DEAR
@given(recipes(), st.integers(0, 2**32), st.booleans(), st.integers(0, 2**10 - 1))
def test_a_sample_may_stop_at_any_step(recipe: Recipe, seed: int, at_end: bool, which: int) -> None:
    law(recipe, seed, SETS[-1], at_end, alike=True, which=which)


@DEAR
@given(recipes(), st.integers(0, 2**32))
def test_fast_makes_the_same_whoever_asks(recipe: Recipe, seed: int) -> None:
    """Alone, in a batch, of other strides, of files, and with what its steps drew."""
    fast, asked = (build(recipe, "fast", seed, applied=applied) for applied in (False, True))
    scene = scene_of(fast, recipe, seed, True, alike=True)
    wanted = told(lambda: fast.at(seed, EPOCH)(**scene))
    backwards = {name: array[::-1].copy()[::-1] for name, array in scene.items()}
    for coming in (backwards, {name: Picture(array) for name, array in scene.items()}):
        same(told(lambda coming=coming: fast.at(seed, EPOCH)(**coming)), wanted, fast.outputs)
    same(told(lambda: asked.at(seed, EPOCH)(**scene)), wanted, fast.outputs)
    pictures = {name: InMemory.of([array]) for name, array in scene.items()}
    batch = told(lambda: fast.many(EPOCH, [seed], pictures, lambda _, shape, dtype: np.empty((1, *shape), dtype)))
    same({name: rows[0] for name, rows in batch.items()} if isinstance(batch, dict) else batch, wanted, fast.outputs)


@pytest.mark.parametrize("kernels", SETS, ids=lambda kernels: kernels.isa)
def test_samples_and_batches_are_those_of_the_steps(kernels: Library) -> None:
    assert check(kernels, DEAR, ANY)


@st.composite
def parting(draw: st.DrawFn) -> Recipe:
    """A step that only some targets go through, behind which their sizes may not fit."""
    scales = draw(st.sampled_from(SCALES))
    names, units = sorted(scales), unit_of(scales)
    some = tuple(draw(st.lists(st.sampled_from(names), min_size=1, unique=True)))
    side = 12 * min(units[name] for name in some)
    pool: Any = [("RandomCrop", {"height": side, "width": side}), *((turn, {}) for turn in TURNS)]
    if len(some) == 1:
        pool += [("Perspective", {"keep_size": False}), ("Perspective", {}), ("OpticalDistortion", {}), ("Rotate", {})]
    name, args = draw(st.sampled_from(pool))
    steps = [*draw(moves(scales)).steps]
    alone = Step(name, Arguments(args), p=draw(st.sampled_from([None, 1.0])), target=some)
    steps.insert(draw(st.integers(0, len(steps))), alone)
    return pair(scales, steps)


def fits_as_in_python(recipe: Recipe, seed: int) -> None:
    exact, python = build(recipe, "exact", seed), build(recipe, "exact", seed)
    python.__dict__["native"] = "not here"
    scene = scene_of(exact, recipe, seed, True, alike=True)
    found, wanted = (told(lambda made=made: made.at(seed, EPOCH)(**scene)) for made in (exact, python))
    same(found, wanted, exact.outputs)


@DEAR
@given(parting(), st.integers(0, 2**32))
def test_targets_that_no_longer_fit_are_refused(recipe: Recipe, seed: int) -> None:
    fits_as_in_python(recipe, seed)


def _a_step_too_far(sample: Any) -> Any:
    return lambda self, *args: sample(self, *args[:5], *(begin + (begin >= 0) for begin in args[5:]))


def _before_the_last_step(sample: Any) -> Any:
    def spoilt(self: Program, *args: Any) -> Any:
        made = sample(self, *args)
        return Stopped(made.place, args[3]) if isinstance(made, Stopped) else made

    return spoilt


STOPS = st.just(
    pair(
        {"lr": 1, "hr": 2},
        [
            Step("VerticalFlip", p=1.0), Step("PixelDropout", p=1.0, target=("lr",)), Step("Transpose", p=1.0),
            Step("ColorJitter", p=0.5), Step("HorizontalFlip", p=1.0), Step("InvertImg", p=1.0, target=("hr",)),
        ],
    )
)  # fmt: skip


class TestPlantedFaults:
    def caught(self, pool: Any = None) -> bool:
        try:
            check(SETS[-1], PLANTED, st.sampled_from(SCALES).flatmap(moves) if pool is None else pool)
        except AssertionError:
            return True
        return False

    def test_windows_that_count_pixels(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every target is cut where the coarsest is."""
        keyed = scene_lowering._of_target
        monkeypatch.setattr(
            scene_lowering,
            "_of_target",
            lambda *given: ((step, replace(one, cell=1)) for step, one in keyed(*given)),
        )
        assert self.caught()

    def test_a_batch_with_draws_of_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        many = ScenePlans.many
        monkeypatch.setattr(
            ScenePlans, "many", lambda self, epoch, indices, *rest: many(self, epoch, [k + 1 for k in indices], *rest)
        )
        assert self.caught()

    def test_pictures_with_parts_of_cells(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What lies beyond the last whole cell is cut from, too."""
        monkeypatch.setattr(InMemory, "first", lambda self, _: self)
        assert self.caught()

    def test_targets_that_draw_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        many, turn = Program.many, iter(range(10**9))
        monkeypatch.setattr(Program, "many", lambda self, epoch, *rest: many(self, epoch + next(turn) % 2, *rest))
        assert self.caught()

    def test_targets_that_part(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What only some targets go through is carried out as what all do."""
        monkeypatch.setattr(scene_lowering._WalkOfTarget, "_is_native", lambda *_: True)
        with pytest.raises(AssertionError):
            PLANTED(given(parting(), st.integers(0, 2**32))(fits_as_in_python))()

    def test_a_step_that_comes_too_early(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is carried out before all of its targets have come to it."""
        monkeypatch.setattr(SceneOnTheWay, "_first", lambda self: max(self._stops.values()))
        assert self.caught(STOPS)

    def test_a_step_that_draws_for_another_sample(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = SceneOnTheWay.__init__

        def elsewhere(self: SceneOnTheWay, plans: ScenePlans, *given: Any) -> None:
            made(self, replace(plans, position=lambda epoch, *key: plans.position(epoch + 1, *key)), *given)

        monkeypatch.setattr(SceneOnTheWay, "__init__", elsewhere)
        assert self.caught(STOPS)

    @pytest.mark.parametrize("fault", [_a_step_too_far, _before_the_last_step])
    def test_a_sample_that_goes_on_elsewhere(self, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Program, "sample", fault(Program.sample))
        assert self.caught(STOPS)

    def test_a_sample_that_is_spoilt(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sample = Program.sample

        def spoilt(self: Program, *given: Any) -> Any:
            made = sample(self, *given)
            if isinstance(made, np.ndarray):
                made.reshape(-1)[-1] += 1
            return made

        monkeypatch.setattr(Program, "sample", spoilt)
        assert self.caught()
