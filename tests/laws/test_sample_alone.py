"""The sample alone decides what its image is: not how arrays lie, what lies beside it, or who asks for it and how."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from random_recipes import MOVES, TABLES, Pool, build, outcome, photo, pool, recipes, steps_for, targets
from support.checks import SEEDS, holds, in_a_thread, planted, planted_faults, read_only
from support.programs import RUN_BATCH, by_programs, with_results
from test_fast import COLOURS, WARPS, WINDOWS
from test_golden import GALLERY
from test_golden import given as of_gallery

import augrecipes as ar
from augrecipes.compiler.executor import inputs
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.rewrite import Compiled, plan
from augrecipes.compiler.run import program_runner
from augrecipes.compiler.run.clock import Clock, clocked
from augrecipes.compiler.run.extra_targets import LIKE, STACKS
from augrecipes.compiler.run.points import PointMoves
from augrecipes.compiler.run.program_run import PythonFallback
from augrecipes.compiler.run.program_runner import ProgramRunner
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.native.kernels import library
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Arguments, Optimize, Output, Recipe, Step, label

# Grey images make some colour steps warn on every call, and one warp says that it is a special case of another.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

Lay = Callable[[np.ndarray], np.ndarray]
Sample = dict[str, Any]


class Subclass(np.ndarray):
    """As `np.memmap` is one."""


def inside(array: np.ndarray, rows: slice, columns: slice, channels: slice = slice(None)) -> np.ndarray:
    """The array as that part of a larger one."""
    some = (rows, columns, channels)[: array.ndim]
    room = np.full([3 * n + 8 for n in array.shape], 77, array.dtype)
    view = room[some][tuple(map(slice, array.shape))]
    view[...] = array
    return view


def off_its_place(array: np.ndarray) -> np.ndarray:
    """Elements that begin at any byte."""
    made = np.frombuffer(bytearray(array.nbytes + 1), np.uint8)[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


LAID: dict[str, Lay] = {
    "rows backwards": lambda a: a[::-1].copy()[::-1],
    "columns backwards": lambda a: a[:, ::-1].copy()[:, ::-1],
    "channels backwards": lambda a: a[..., ::-1].copy()[..., ::-1],
    "a window of rows": lambda a: inside(a, slice(3, None), slice(5, None)),
    "every second pixel": lambda a: inside(a, slice(None, None, 2), slice(None, None, 2)),
    "some of more channels": lambda a: inside(a, slice(None), slice(None), slice(1, None)),
    "Fortran's order": np.asfortranarray,
    "transposed": lambda a: a.swapaxes(0, 1).copy().swapaxes(0, 1),
    "read-only": read_only,
    "a subclass": lambda a: a.view(Subclass),
}

KERNELS = pytest.mark.skipif(library() is None, reason="no native kernels")
_LAID = 4  # ways in which one image is laid


def ways(recipe: Recipe, optimize: Optimize, seed: int) -> dict[str, ImagePipeline]:
    """The pipeline, and others that make the same samples."""
    made = build(recipe, optimize, seed)
    timed = made.again()
    clocked(timed, Clock())
    return {
        "as it is": made,
        "applied parameters asked for": made.again(replace(made.compiled, save_applied_params=True)),
        "timed": timed,
        "pickled": pickle.loads(pickle.dumps(made)),
    }


def variations(made: dict[str, ImagePipeline], sample: Sample, index: int, wanted: np.ndarray) -> Iterator[Any]:
    """(what is varied, what then makes the image)."""
    pipeline = made["as it is"]

    def at(**others: Any) -> Any:
        return pipeline.at(index, 2)(**{**sample, **others})["image"]

    turned = [*LAID.items()] * 2
    turned = turned[index % len(LAID) :]
    for name, lay in turned[:_LAID]:
        yield f"image: {name}", lambda lay=lay: at(image=lay(sample["image"]))
    name, lay = turned[_LAID]
    yield f"mask: {name}", lambda: at(mask=lay(sample["mask"]))
    if lay is not read_only:
        yield f"out: {name}", lambda: at(out=lay(np.zeros_like(wanted)))
    yield "out: off its place", lambda: at(out=off_its_place(np.zeros_like(wanted)))
    for dtype in (np.uint8, np.int64, np.float32, bool):
        yield f"mask: {dtype}", lambda dtype=dtype: at(mask=(sample["mask"] % 2).astype(dtype))
    yield "mask: three channels", lambda: at(mask=np.dstack([sample["mask"]] * 3))
    for left in ({"mask"}, {"boxes", "box_labels"}, {"keypoints"}, sample.keys() - {"image"}):
        few = {name: value for name, value in sample.items() if name not in left}
        yield f"without {sorted(left)}", lambda few=few: pipeline.at(index, 2)(**few)["image"]
    for name in ("applied parameters asked for", "timed", "pickled"):
        yield name, lambda name=name: made[name].at(index, 2)(**sample)["image"]
    yield "in another thread", lambda: in_a_thread(at)
    two = [sample["image"], LAID["columns backwards"](sample["image"])]
    for threads in (1, 2):
        yield f"batch by {threads}", lambda n=threads: pipeline.batch(two, [index, index], 2, threads=n)[0]
        yield f"second of a batch by {threads}", lambda n=threads: pipeline.batch(two, [index] * 2, 2, threads=n)[1]


def check(recipe: Recipe, optimize: Optimize, sample: Sample, seed: int) -> None:
    """The law."""
    made = ways(recipe, optimize, seed)
    try:
        wanted = np.array(made["as it is"].at(seed, 2)(**sample)["image"])
    except ar.DataError:  # a random recipe may be foolish
        return
    for name, make in variations(made, sample, seed, wanted):
        np.testing.assert_array_equal(np.asarray(make()), wanted, err_msg=f"{optimize}: {name}")


def alone(pool: Pool) -> Pool:
    """Without the classes whose draws go by what lies on an image."""
    return tuple((name, args) for name, args in pool if "BBox" not in name and "mask" not in op_record(name).draws_from)


JOINED: Pool = alone(WARPS + WINDOWS + COLOURS + MOVES + TABLES)
RESAMPLED: Pool = pool("""
    Rotate: {limit: 30, border_mode: reflect_101}, Affine: {scale: [0.8, 1.3], rotate: [-20, 20]},
    RandomResizedCrop: {size: [21, 27], scale: [0.4, 1.0]}, Resize: {height: 33, width: 42}, HorizontalFlip
""")
OUTPUTS = st.sampled_from([Output(), Output(dtype="uint8", layout="hwc"), Output(layout="hwc", color="bgr")])


def law(recipe: Recipe, output: Output, seed: int, channels: int, dtype: str, optimize: Optimize) -> None:
    check(replace(recipe, output=output), optimize, targets(recipe, seed, channels, dtype), seed)


def of(pool: Pool, channels: int = 3, dtype: str = "uint8", optimize: Optimize = "fast") -> Any:
    """Examples for it."""
    return recipes(pool, max_steps=5), OUTPUTS, SEEDS, st.just(channels), st.just(dtype), st.just(optimize)


@pytest.mark.parametrize(("optimize", "pool"), [("exact", JOINED), ("fast", JOINED), ("fast", RESAMPLED)])
def test_on_recipes_that_join_everywhere(optimize: Optimize, pool: Pool) -> None:
    holds(law, *of(pool, optimize=optimize))


@pytest.mark.parametrize("channels", [1, 3])
def test_on_random_recipes(channels: int) -> None:
    holds(law, *of(alone(steps_for(channels)), channels))


def test_on_images_of_floats() -> None:
    holds(law, *of(JOINED, dtype="float32"))


def test_a_group_that_nobody_knows_among_merged_warps() -> None:
    """SomeOf that may run a step twice is albumentations' to run, and there is no image for it to begin with."""
    turn = Step("Rotate", Arguments({"limit": 30}), p=1.0)
    steps = (turn, turn, Step("SomeOf", Arguments({"n": 1, "replace": True}), p=0.5, steps=(turn,)))
    recipe = Recipe("law", steps=label(steps))
    for seed in range(8):
        check(recipe, "fast", targets(recipe, seed, 3, "uint8"), seed)


@KERNELS
@pytest.mark.parametrize("output", [Output(dtype="float16"), Output(color="gray"), Output(dtype="uint8", color="y")])
def test_outputs_that_no_kernel_writes_are_those_of_none(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = label((Step("RandomCrop", Arguments({"height": 20, "width": 24}), p=1.0), Step("RandomGamma", p=1.0)))
    recipe = Recipe("law", steps=steps, output=output)
    none, exact = build(recipe, "none"), build(recipe, "exact")
    assert not isinstance(exact.native, str)

    def apart() -> int:
        images = [targets(recipe, seed, 3, "uint8")["image"] for seed in range(4)]
        return sum(
            not np.array_equal(none.at(seed)(image=image)["image"], exact.at(seed)(image=image)["image"])
            for seed, image in enumerate(images)
        )

    assert apart() == 0
    monkeypatch.setattr(Program, "run_batch", with_results(lambda result: result.__ixor__(16)))  # planted
    assert apart() == 4


@KERNELS
def test_masks_that_kernels_do_not_move_are_those_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = label(
        (Step("Rotate", Arguments({"limit": 30}), p=1.0), Step("RandomCrop", Arguments({"height": 20, "width": 24})))
    )
    recipe = Recipe("law", steps=steps)
    sample = targets(recipe, 1, 3, "uint8")
    sample["mask"] = np.dstack([sample["mask"] % 200] * 3).astype(np.uint8)

    def apart() -> int:
        none, fast = build(recipe, "none"), build(recipe, "fast")
        assert by_programs(fast, 1, sample, 0) is not None
        return sum(
            not np.array_equal(none.at(index)(**sample)["mask"], fast.at(index)(**sample)["mask"]) for index in range(4)
        )

    assert apart() == 0
    run_steps: Any = ImagePipeline.run_steps

    def at_another_key(self: ImagePipeline, key: tuple[int, int, int], *more: Any) -> Any:
        return run_steps(self, (key[0] + (self.optimize == "fast"), *key[1:]), *more)

    monkeypatch.setattr(ImagePipeline, "run_steps", at_another_key)
    assert apart() > 0


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_recipes_of_every_kind_see_pixels_and_not_how_they_lie(path: Path) -> None:
    recipe = ar.load(path)
    pipeline = recipe.compile(optimize="fast", seed=3)
    sample = of_gallery(recipe, 0, "uint8")
    wanted = pipeline.at(1)(**sample)
    for name, lay in LAID.items():
        laid = {key: lay(value) if isinstance(value, np.ndarray) and value.ndim == 3 else value
                for key, value in sample.items()}  # fmt: skip
        if "images" in sample:
            laid["images"] = [lay(image) for image in sample["images"]]
        made = pipeline.at(1)(**laid)
        for output in pipeline.outputs:
            np.testing.assert_array_equal(made[output], wanted[output], err_msg=name)


def _lies_well(image: Any, *, files: bool) -> bool:
    return not files and bool(image.flags.c_contiguous) and image.dtype == np.uint8


def _refuse(*_: Any) -> Any:
    raise PythonFallback


test_planted_faults_are_caught = planted_faults(
    {
        "kernels refuse rows because of where they lie": (
            planted(law, *of(JOINED)),
            (inputs, "has_plain_rows", lambda image: image.strides[1:] == (image.shape[2], 1)),
            (inputs, "is_image", _lies_well),
            (program_runner, "is_image", _lies_well),
        ),
        "masks keep images from running natively": (
            planted(law, *of(RESAMPLED)),
            (ProgramRunner, "_add_mask", _refuse),
        ),
        "boxes keep images from running natively": (
            planted(law, *of(RESAMPLED)),
            (PointMoves, "run", _refuse),
        ),
    },
)


# Whatever `none` transforms, `exact` and `fast` transform: every target that albumentations knows, and added ones.


ADDED = {"other": "image", "cells": "mask", "clip": "images", "scan": "volume"}
ALL = {**STACKS, **ADDED}


def beside(names: set[str], seed: int, channels: int, dtype: str, *, lists: bool) -> dict[str, Any]:
    """Images and masks of the size of `targets`, under these names."""
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {}
    for k, name in enumerate(sorted(names)):
        like = LIKE[ALL[name]]
        stack = (2,) * like.axes
        if like.is_image:
            one = photo(seed + k, channels, dtype)
            made[name] = np.stack([one] * 2 ** len(stack)).reshape(*stack, *one.shape)
        else:
            made[name] = rng.integers(0, 700, (*stack, 37, 52)).astype(np.uint16)
        if lists and like.axes == 1 and ALL[name] in ("images", "masks"):
            made[name] = list(made[name])
    return made


def outcome_of(recipe: Recipe, optimize: Any, seed: int, sample: dict[str, Any]) -> Any:
    pipeline = build(recipe, optimize, seed)
    pipeline.add_targets(ADDED)
    return outcome(pipeline, 2, sample, 1)


def check_extra(recipe: Recipe, channels: int, dtype: str, seed: int, names: set[str], lists: bool, bare: bool) -> None:
    sample = {**targets(recipe, seed, channels, dtype), **beside(names, seed, channels, dtype, lists=lists)}
    if bare and any(LIKE[ALL[name]].is_image for name in names):
        del sample["image"]
    none = outcome_of(recipe, "none", seed, sample)
    if isinstance(none, dict):
        assert none.keys() == sample.keys()
    for optimize in ("exact", "fast"):
        np.testing.assert_equal(outcome_of(recipe, optimize, seed, sample), none, err_msg=optimize)


BOOLEANS = st.booleans()
DTYPES = st.sampled_from(["uint8", "float32"])
NAMES = st.sets(st.sampled_from(sorted(ALL)), min_size=1, max_size=4)


POOL = WARPS + WINDOWS + COLOURS + MOVES + TABLES


def of_extra(pool: Pool, channels: int, dtypes: Any = DTYPES, chance: Any = BOOLEANS) -> Any:
    """Examples for it."""
    return recipes(pool, max_steps=5), st.just(channels), dtypes, SEEDS, NAMES, chance, chance


def test_on_recipes_that_join_everywhere_extra() -> None:
    holds(check_extra, *of_extra(POOL, 3))


@pytest.mark.parametrize("channels", [1, 3, 5])
def test_on_random_recipes_extra(channels: int) -> None:
    holds(check_extra, *of_extra(steps_for(channels), channels))


honest, arrival = build, ImagePipeline._arrival_of


def _knows_of_the_image_alone(recipe: Recipe, optimize: Any, seed: int = 0) -> ImagePipeline:
    made = honest(recipe, optimize, seed)
    plans = {**made.compiled.plans, "together": plan(recipe, recipe.steps, optimize, "uint8")}
    return ImagePipeline(Compiled(recipe, "train", optimize, seed, False, plans))


def _hands_targets_on(self: ImagePipeline, sample: Any) -> Any:
    return arrival(self, sample if self.optimize == "none" else {"image": sample.get("image")})


NOISE = pool("GaussNoise, ISONoise")  # of `fast`, whose own the plan for an image alone has
PLAIN = planted(check_extra, *of_extra(NOISE, 3, st.just("uint8"), st.just(False)))
test_planted_faults_of_extra_targets_are_caught = planted_faults(
    {
        "a plan knows of the image alone": (PLAIN, (f"{__name__}.build", _knows_of_the_image_alone)),
        "a target is handed on": (PLAIN, (ImagePipeline, "_arrival_of", _hands_targets_on)),
    },
)


# What a pipeline has made before decides nothing: sizes, dtypes, masks and layout may change from call to call.


CALLED_STEPS = [
    "{NoOp: {p: 1.0}}",
    "{HorizontalFlip: {p: 0.5}}",
    "{RandomGamma: {p: 0.5}}",
    "{RandomRotate90: {p: 0.5}}",
    "{SmallestMaxSize: {max_size: 24}}",
    "{RandomCrop: {height: 20, width: 20, p: 1.0}}",
    "{Rotate: {limit: 30, p: 1.0}}",
    "{RandomBrightnessContrast: {p: 1.0}}",
]
WRITTEN_OUTPUTS = ["{dtype: uint8, layout: hwc}", "{}"]
MASKS = ["", None, np.uint8, np.uint8, bool, np.int64]
CALL = st.tuples(
    st.sampled_from([(24, 30, 3), (30, 24, 3), (26, 26, 1)]),
    st.sampled_from([np.uint8, np.uint8, np.uint8, np.float32]),
    st.sampled_from(MASKS),
    st.sampled_from([*LAID, ""]),
)
MANY = st.lists(CALL, min_size=4, max_size=10)


def sample_of_call(seed: int, shape: tuple[int, ...], dtype: Any, of_mask: Any, lies: str) -> dict[str, Any]:
    """An image, and a mask of some dtype on it, or one that is None, or none."""
    random = np.random.default_rng(seed)
    image, mask = random.integers(0, 256, shape, np.uint8), random.integers(0, 2, shape[:2])
    given: dict[str, Any] = {"image": image if dtype == np.uint8 else image.astype(np.float32) / 255}
    if of_mask != "":
        given["mask"] = None if of_mask is None else mask.astype(of_mask)
    return {name: None if array is None else LAID.get(lies, np.copy)(array) for name, array in given.items()}


def check_calls(steps: list[str], output: str, calls: list[Any], optimize: Any = "exact") -> None:
    """`exact` makes what `none` makes, call by call; and what any pipeline makes stays, in memory of its own."""
    recipe = ar.load(f"version: 1\nrecipe: test\nsteps: [{', '.join(steps)}]\noutput: {output}\n")
    pipeline, plain = (recipe.compile(optimize=level) for level in (optimize, "none"))
    made: list[tuple[np.ndarray, np.ndarray]] = []
    for k, call in enumerate(calls):
        targets = sample_of_call(k, *call)
        wanted, done = (one.at(k)(**targets) for one in (plain, pipeline))
        assert done.keys() == wanted.keys()
        for name, array in done.items():
            assert array.dtype == wanted[name].dtype
            others = [*targets.values(), *(before for before, _ in made)]
            assert not any(np.shares_memory(array, other) for other in others if other is not None)
            made.append((array, (array if optimize == "fast" else wanted[name]).copy()))
    for array, expected in made:
        np.testing.assert_array_equal(array, expected)


@KERNELS
def test_earlier_samples_decide_nothing() -> None:
    steps = st.lists(st.sampled_from(CALLED_STEPS), max_size=3, unique=True)
    holds(
        check_calls,
        steps,
        st.sampled_from(WRITTEN_OUTPUTS),
        MANY,
        st.sampled_from(("exact", "fast")),
        tried=settings.default,
    )


def test_a_mask_that_is_required_is_asked_for_again() -> None:
    text = "version: 1\nrecipe: test\nsteps: [HorizontalFlip]\ninputs: {mask: required}\n"
    pipeline = ar.load(text).compile()
    targets = sample_of_call(0, (24, 30, 3), np.uint8, np.uint8, "")
    pipeline.at(0)(**targets), pipeline.at(1)(**targets)
    with pytest.raises(ar.DataError, match="require 'mask'"):
        pipeline.at(2)(image=targets["image"])


RUN_ONE = Program.run_one


def recycled() -> Any:
    """`Program.run_one`, which gives out the same memory for each result of a shape."""
    kept: dict[Any, np.ndarray] = {}

    def run_one(self: Program, epoch: int, index: int, tile: int, image: Any, _: Any, *more: Any, **named: Any) -> Any:
        allocate = lambda shape, dtype: kept.setdefault((shape, dtype), np.empty(shape, dtype))  # noqa: E731
        return RUN_ONE(self, epoch, index, tile, image, allocate, *more, **named)

    return run_one


def remembered() -> Any:
    """`Program.run_batch`, which takes an image of a shape for the one of that shape before it."""
    kept: dict[Any, np.ndarray] = {}

    def run_batch(self: Program, epoch: int, keys: Any, images: Any, *more: Any, **named: Any) -> Any:
        before = [kept.setdefault((id(self), image.shape), image.copy()) for image in images]
        return RUN_BATCH(self, epoch, keys, before, *more, **named)

    return run_batch


CALLS = CALLED_STEPS[:2], WRITTEN_OUTPUTS[0], [((24, 30, 3), np.uint8, np.uint8, "")] * 4
WARPED_CALLS = CALLED_STEPS[-2:], *CALLS[1:], "fast"
test_planted_faults_between_calls_are_caught = KERNELS(
    planted_faults(
        {
            "memory that was handed out is written to": (
                lambda _: check_calls(*CALLS),
                (Program, "run_one", recycled()),
            ),
            "so it is by merged steps": (lambda _: check_calls(*WARPED_CALLS), (Program, "run_one", recycled())),
            "an image of before": (lambda _: check_calls(*CALLS), (Program, "run_batch", remembered())),
        }
    )
)
