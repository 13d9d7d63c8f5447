"""Pairs that programs carry out, alone or many at once, are those of the steps, bit for bit."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import EACH_SET, KERNEL_SETS, NEEDS_KERNELS, SETS, guarded, using
from random_pairs import SCALES, TURNS, Scales, moves, pair, recipes, unit_of
from random_recipes import Picture, attempt, build
from support.checks import DEAR, FAILURES, PLANTED, SEEDS, holds, planted, planted_faults
from support.programs import a_step_too_far, before_the_last_step, one_level_off
from test_native_plan import carried_out_by_albumentations

from augrecipes.compiler.executor.inputs import MappedImages
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.executor.program_buffer import ProgramBuffer
from augrecipes.compiler.run.program_run import ProgramRun, PythonFallback
from augrecipes.kinds.pair import lowering
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.kinds.pair.programs import PairPrograms, PairRun
from augrecipes.kinds.pair.shared import Degrade, DegradeProgram
from augrecipes.native.kernels import Library
from augrecipes.recipe.model import Arguments, Output, Recipe, Step

N, EPOCH = 5, 3
OUTPUTS = (Output(), Output(dtype="uint8", layout="hwc"), Output(layout="hwc", range=(-1.0, 1.0)), Output(color="bgr"))
Scene = dict[str, np.ndarray]
told = partial(attempt, reason=True)


def scene_of(pipeline: PairPipeline, recipe: Recipe, seed: int, at_end: bool, *, alike: bool) -> Scene:
    """Images of some cells, up to a pixel less than one more; between pages that nobody may read."""
    rng = np.random.default_rng(seed)
    rows, columns = (24, 29) if alike else (int(n) for n in rng.integers(22, 40, 2))
    units, made = unit_of(dict(recipe.scales)), {}
    for name in pipeline.targets:
        k = units[name]
        size = rows * k + int(rng.integers(0, k)), columns * k + int(rng.integers(0, k)), 3
        made[name] = guarded(rng.integers(0, 256, size, np.uint8), at_end)
    return made


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
    with using(kernels), carried_out_by_albumentations(which, lowering):
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
    images = {name: MappedImages.of([scene[name] for scene in scenes]) for name in exact.targets}
    batch = told(lambda: exact.run_batch(EPOCH, indices, images, lambda _, shape, dtype: np.empty((N, *shape), dtype)))
    if any(isinstance(one, tuple) for one in wanted):
        assert batch is None or batch == next(one for one in wanted if isinstance(one, tuple))
        return 0
    if batch is None:
        assert any(len({one[name].shape for one in wanted}) > 1 for name in exact.outputs)
        return 0
    for k, one in enumerate(wanted):
        same({name: batch[name][k] for name in exact.outputs}, one, exact.outputs)
    pairs = zip(indices, scenes, strict=True)
    return sum(runs_natively(native, (EPOCH, index, 0), exact._whole_cells(scene)) for index, scene in pairs)


def runs_natively(native: PairPrograms | str, key: Any, scene: Any) -> bool:
    if isinstance(native, str):
        return False
    try:
        return bool(PairRun(native, key, scene).finish(lambda _: np.empty))
    except PythonFallback:
        return False


def check(kernels: Library, examples: Any, pool: Any) -> int:
    counts = []

    def run(recipe: Recipe, seed: int, output: Output, at_end: bool, alike: bool) -> None:
        counts.append(law(replace(recipe, output=output), seed, kernels, at_end, alike=alike))

    holds(
        run, pool, SEEDS, st.sampled_from(OUTPUTS), st.booleans(), st.sampled_from((True, True, False)), tried=examples
    )
    return sum(counts)


MOVES = st.sampled_from(SCALES).flatmap(moves)
ANY = st.one_of(MOVES, recipes())


@NEEDS_KERNELS
@DEAR
@given(recipes(), SEEDS, st.booleans(), st.integers(0, 2**10 - 1))
def test_a_sample_may_stop_at_any_step(recipe: Recipe, seed: int, at_end: bool, which: int) -> None:
    law(recipe, seed, SETS[-1], at_end, alike=True, which=which)


@NEEDS_KERNELS
@DEAR
@given(recipes(), SEEDS)
def test_fast_makes_the_same_whoever_asks(recipe: Recipe, seed: int) -> None:
    """Alone, in a batch, of other strides, of files, and with what its steps drew."""
    fast, asked = (build(recipe, "fast", seed, applied=applied) for applied in (False, True))
    scene = scene_of(fast, recipe, seed, True, alike=True)
    wanted = told(lambda: fast.at(seed, EPOCH)(**scene))
    backwards = {name: array[::-1].copy()[::-1] for name, array in scene.items()}
    for coming in (backwards, {name: Picture(array) for name, array in scene.items()}):
        same(told(lambda coming=coming: fast.at(seed, EPOCH)(**coming)), wanted, fast.outputs)
    same(told(lambda: asked.at(seed, EPOCH)(**scene)), wanted, fast.outputs)
    images = {name: MappedImages.of([array]) for name, array in scene.items()}
    batch = told(lambda: fast.run_batch(EPOCH, [seed], images, lambda _, shape, dtype: np.empty((1, *shape), dtype)))
    if batch is not None:
        same(
            {name: rows[0] for name, rows in batch.items()} if isinstance(batch, dict) else batch, wanted, fast.outputs
        )


@NEEDS_KERNELS
@EACH_SET
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


@NEEDS_KERNELS
@DEAR
@given(parting(), SEEDS)
def test_targets_that_no_longer_fit_are_refused(recipe: Recipe, seed: int) -> None:
    fits_as_in_python(recipe, seed)


STOPS = st.just(
    pair(
        {"lr": 1, "hr": 2},
        [
            Step("VerticalFlip", p=1.0), Step("PixelDropout", p=1.0, target=("lr",)), Step("Transpose", p=1.0),
            Step("ColorJitter", p=0.5), Step("HorizontalFlip", p=1.0), Step("InvertImg", p=1.0, target=("hr",)),
        ],
    )
)  # fmt: skip


ops, run_batch, of_program = lowering._ops, PairPrograms.run_batch, Program.run_batch
begun, turn = PairRun.__init__, iter(range(10**9))


def _for_another_sample(self: PairRun, programs: PairPrograms, *rest: Any) -> None:
    begun(self, replace(programs, position=lambda epoch, *key: programs.position(epoch + 1, *key)), *rest)


def _breaks(pool: Any) -> Any:
    return lambda _: check(SETS[-1], PLANTED, pool)


test_planted_faults_are_caught = NEEDS_KERNELS(planted_faults(
    {
        "windows count pixels: every target is cut where the coarsest is": (
            _breaks(MOVES),
            (lowering, "_ops", lambda *args: ((step, replace(one, cell=1)) for step, one in ops(*args))),
        ),
        "a batch has draws of others": (
            _breaks(MOVES), (PairPrograms, "run_batch", lambda self, epoch, indices, *rest: run_batch(
                self, epoch, [k + 1 for k in indices], *rest)),
        ),
        "what lies beyond the last whole cell is cut from": (
            _breaks(MOVES), (MappedImages, "first", lambda self, _: self),
        ),
        "targets draw alone": (
            _breaks(MOVES),
            (Program, "run_batch", lambda self, epoch, *rest, **named: of_program(
                self, epoch + next(turn) % 2, *rest, **named)),
        ),
        "what only some targets go through is carried out as what all do": (
            planted(fits_as_in_python, parting(), SEEDS), (lowering._TargetWalk, "_is_native", lambda *_: True),
        ),
        "a step draws for another sample": (_breaks(STOPS), (PairRun, "__init__", _for_another_sample)),
        "a sample goes on a step too far": (_breaks(STOPS), (Program, "run_batch", a_step_too_far)),
        "a sample goes on before the last step": (
            _breaks(STOPS), (Program, "run_batch", before_the_last_step),
        ),
        "a sample is spoilt": (_breaks(MOVES), (Program, "run_batch", one_level_off())),
    },
))  # fmt: skip


@NEEDS_KERNELS
@pytest.mark.soak
def test_a_step_that_comes_too_early_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is carried out before all of its targets have come to it."""
    monkeypatch.setattr(PairRun, "_next_exit", lambda self: max(self._exits.values()))
    with pytest.raises(FAILURES):
        check(SETS[-1], PLANTED, STOPS)


# What resamples in pairs, shared by targets or inside a Degrade, has the bits of `none`.


PAIRED: Scales = {"lr": 1, "hr": 4}


def step(name: str, p: float | None = 1.0, **arguments: Any) -> Step:
    return Step(name, Arguments(arguments), p=p)


WARPS = (
    step("Rotate", limit=40, border_mode="reflect_101"),
    step("Rotate", limit=40, crop_border=True),
    step("SafeRotate", limit=40),
    step("Affine", scale=[0.7, 1.3], rotate=[-20, 20], shear=[-9, 9], border_mode="replicate"),
    step("Affine", shear=[-10, 10], fit_output=True),
    step("ShiftScaleRotate", rotate_limit=30, interpolation="nearest"),
)
SIZES = (
    step("Resize", height=36, width=28),
    step("RandomScale", scale_limit=[-0.4, 0.6]),
    step("RandomScale", scale_limit=[-0.5, -0.1], area_for_downscale="image"),
    step("SmallestMaxSize", max_size=36),
    step("LongestMaxSize", max_size=36),
    step("RandomResizedCrop", size=[36, 36], scale=[0.3, 1.0]),
    step("RandomSizedCrop", min_max_height=[12, 24], size=[20, 20]),
)
# Inside Degrade, before the target's size is reached.
WORSE = (
    step("ImageCompression", quality_range=[10, 95]), step("GaussNoise"), step("RandomScale", scale_limit=[-0.5, 0.5]),
    step("RandomScale", scale_limit=[-0.5, 0.5], interpolation="area"),
    step("Affine", rotate=[-20, 20]), step("HueSaturationValue"), step("Sharpen"), step("Blur", p=0.5),
)  # fmt: skip
METHODS = st.sampled_from(["area", "linear", "cubic", "matlab_bicubic"])


def check_degrades(recipe: Recipe, level: Any, seed: int, dtype: str = "uint8") -> None:
    """Holds `exact` to `none`, for a few samples."""
    rng = np.random.default_rng(seed)
    with using(level):
        plain, exact = (build(recipe, optimize, seed) for optimize in ("none", "exact"))
        for index in range(3):
            given = {}
            for name in plain.targets:
                k = unit_of(dict(recipe.scales))[name]
                image = rng.integers(0, 256, (40 * k, (34 + index) * k, 3), np.uint8)
                given[name] = image if dtype == "uint8" else image.astype(np.float32) / np.float32(255)
            asked, found = (pipeline.at(index)(**given) for pipeline in (plain, exact))
            for name in recipe.scales:
                np.testing.assert_array_equal(found[name], asked[name], err_msg=f"{name} of {recipe.steps}")


@given(
    scales=st.sampled_from(SCALES), shared=st.sampled_from([*WARPS, *SIZES]), level=st.sampled_from(KERNEL_SETS),
    seed=st.integers(0, 99), dtype=st.sampled_from(["uint8", "uint8", "float32"]),
)  # fmt: skip
def test_what_targets_share(scales: Scales, shared: Step, level: Any, seed: int, dtype: str) -> None:
    check_degrades(pair(scales, [shared], allow_resampling=True), level, seed, dtype)


@pytest.mark.parametrize("shared", [*WARPS, *SIZES], ids=lambda step: step.name)
def test_every_step_that_targets_can_share(shared: Step) -> None:
    check_degrades(pair({"a": 2, "b": 3}, [shared], allow_resampling=True), KERNEL_SETS[-1], 0)


def degrading(steps: list[Step], method: str) -> Recipe:
    inside = (*steps, step("ResizeToTarget", method=method))
    degrade = Step("Degrade", Arguments({"source": "hr", "target": "lr"}), steps=inside)
    return pair(PAIRED, [step("RandomCrop", None, height=16, width=16), degrade])


@given(
    steps=st.lists(st.sampled_from(WORSE), max_size=3), method=METHODS, level=st.sampled_from(KERNEL_SETS),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_what_degrades(steps: list[Step], method: str, level: Any, seed: int) -> None:
    check_degrades(degrading(steps, method), level, seed)


QUICK = [level for level in KERNEL_SETS if level is not None and level.isa != "base"]


def natively(recipe: Recipe, level: Any) -> tuple[tuple[str, ...], int]:
    """The steps at which samples stop, and how many of ten go through Degrade natively."""
    with using(level):
        pipeline = build(recipe, "exact", 0)
        native = pipeline.native
    assert isinstance(native, PairPrograms)
    given = {"hr": np.random.default_rng(0).integers(0, 256, (160, 136, 3), np.uint8)}
    act, by_python = Degrade.act, list[Degrade]()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Degrade, "act", lambda self, *given: (by_python.append(self), act(self, *given))[1])
        made = [runs_natively(native, (0, index, 0), given) for index in range(10)]
    return native.stops, sum(made) - len(by_python)


@pytest.mark.parametrize("level", QUICK, ids=lambda level: level.isa)
@pytest.mark.parametrize(
    ("steps", "method", "stops"),
    [
        ([*WORSE[:3], *WORSE[4:]], "area", ()),
        ([WORSE[0]], "linear", ()),
        ([step("Defocus"), WORSE[0]], "matlab_bicubic", ("Degrade#1/Defocus#1", "Degrade#1/ResizeToTarget#1")),
    ],
)
def test_samples_go_through_degrade_natively(
    level: Any, steps: list[Step], method: str, stops: tuple[str, ...]
) -> None:
    assert natively(degrading(steps, method), level) == (stops, 10)


def test_a_size_that_was_not_told_makes_samples_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, run_step = [], DegradeProgram.run_step
    monkeypatch.setattr(
        DegradeProgram, "run_step", lambda self, place, data: (stopped.append(place), run_step(self, place, data))[1]
    )
    assert natively(degrading([], "area"), QUICK[-1])[1] == 10
    assert not stopped
    monkeypatch.setattr(ProgramBuffer, "resize_to", lambda *_: None)
    check_degrades(degrading([], "area"), QUICK[-1], 0)
    assert stopped


def test_what_a_plan_does_not_take_degrades_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DegradeProgram, "run", nowhere)
    recipe = degrading([WORSE[1], WORSE[0]], "area")
    check_degrades(recipe, QUICK[-1], 0)
    assert natively(recipe, QUICK[-1])[1] == 0


def nowhere(*_: Any, **__: Any) -> Any:
    raise PythonFallback


def test_a_copy_that_goes_on_from_the_image_itself_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProgramRun, "resume", lambda self, data: None)
    with pytest.raises(AssertionError):
        check_degrades(degrading([step("Defocus"), WORSE[0]], "area"), QUICK[-1], 0)
