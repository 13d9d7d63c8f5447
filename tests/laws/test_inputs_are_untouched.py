"""No array that goes in is changed, whatever the class, the target, the channels, the dtype and the layout in memory.

And how an array lies in memory decides nothing: what cannot be written to gives what a copy of it gives.
"""

from collections.abc import Callable, Iterator
from typing import Any

import albumentations as A
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import COLOURS, MOVES, OTHERS, RGB_ONLY, TABLES, build, photo
from support.checks import DEAR, in_a_soak, planted_faults, read_only
from support.every_class import SIZE, STEPS

from augrecipes.compat import albumentations
from augrecipes.compiler.kernels import sink as conversion
from augrecipes.compiler.rewrite import ARRIVALS, Compiled, Plan
from augrecipes.compiler.run import program_run, program_runner
from augrecipes.errors import AugrecipesError, DataError
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.ops import catalog, registry
from augrecipes.ops.records import op_record, record_names
from augrecipes.ops.registry import construct, names
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Keypoints, Output, Recipe, Step, label
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call

CASE = tuple[str, dict[str, Any]]
# An argument that is not one of a few values, under which a class does its work in another way.
ALSO: CASE = ("Posterize", {"num_bits": [[2, 3], [3, 4], [4, 5]]})
INPUTS = Inputs(boxes=Boxes(), keypoints=Keypoints())


def cases(name: str) -> Iterator[CASE]:
    """The class as others try it, and with every value of each argument that is one of a few."""
    base = next(step.args.plain() for step in STEPS if step.name == name)
    yield name, base
    for argument, part in catalog.shipped()[name]["properties"].items():
        for value in part.get("enum", (True, False) if part.get("type") == "boolean" else ()):
            if value != part.get("default"):
                yield name, {**base, argument: value}


def sample(channels: int, dtype: str) -> dict[str, Any]:
    """One of every target."""
    rng = np.random.default_rng(channels)
    image, labels = photo(1, channels, dtype, SIZE), rng.integers(0, 4, (2, *SIZE)).astype(np.uint8)
    return {
        "image": image,
        "images": np.stack([photo(2, channels, dtype, SIZE), image]),
        "volumes": np.stack([image, image])[None],
        "mask": labels[0],
        "masks": labels,
        "masks3d": labels[None],
        "other": photo(3, channels, dtype, SIZE),
        "cells": labels[1],
        "boxes": np.array([[3, 4, 30, 36], [10, 10, 20, 22]], np.float32),
        "box_labels": np.array([1, 2]),
        "keypoints": np.array([[5, 6], [30, 31]], np.float32),
        "cropping_bbox": np.array([5, 6, 30, 32]),
    }


def strided(array: np.ndarray) -> np.ndarray:
    """The same values, every second of a larger array's."""
    room = np.zeros([2 * n for n in array.shape], array.dtype)
    view = room[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def outcome(pipeline: Any, given: dict[str, Any]) -> dict[str, Any] | str:
    """What comes out, or which step failed; AssertionError where an array that goes in is not what it was."""
    before = {key: np.array(value) for key, value in given.items()}
    try:
        out: dict[str, Any] | str = pipeline.at(3, 1)(**given)
    except DataError as error:  # a crop of nothing, a wrong number of channels
        out = str(error.step)
    for key, value in before.items():
        np.testing.assert_array_equal(value, given[key], err_msg=f"{key} was written to")
    return out


def check(case: CASE, channels: int, dtype: str) -> None:
    name, args = case
    step = Step(name, Arguments(args), p=1.0)
    recipe = Recipe("law", steps=label([step]), inputs=INPUTS, output=Output(dtype="uint8"))
    everything = sample(channels, dtype)
    for targets in (["image"], ["image", "mask", "boxes", "box_labels", "keypoints", "cropping_bbox"], [*everything]):
        pipeline = build(recipe, "fast" if len(targets) == 1 else "none")
        pipeline.add_targets({"other": "image", "cells": "mask"})
        given = {key: everything[key] for key in targets}
        plain = outcome(pipeline, {key: value.copy() for key, value in given.items()})
        for lie in (strided, read_only):
            other = outcome(pipeline, {key: lie(value) for key, value in given.items()})
            np.testing.assert_equal(other, plain, err_msg=f"{case} of {lie.__name__} inputs")


CLASSES = [name for name in names() if name != "Degrade"]


def channels_of(name: str) -> tuple[int, ...]:
    return tuple(n for n in op_record(name).channels or (1, 3) if n in (1, 3))


@pytest.mark.parametrize("name", CLASSES)
def test_every_class(name: str) -> None:
    for channels in channels_of(name):
        check(next(cases(name)), channels, "uint8")


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_on_one_target_of_a_pair(name: str) -> None:
    for channels in channels_of(name):
        case, args = next(cases(name))
        step = Step(case, Arguments(args), p=1.0, target=("lr",))
        scales = Arguments({"lr": 1, "hr": 2})
        recipe = Recipe("law", kind="pair", scales=scales, steps=label([step]), allow_resampling=True)
        plans = dict.fromkeys(ARRIVALS, Plan(recipe.steps))
        pipeline = PairPipeline(Compiled(recipe, "train", "none", 0, False, plans))
        large = photo(2, channels, "uint8", (2 * SIZE[0], 2 * SIZE[1]))
        given = {"lr": photo(1, channels, "uint8", SIZE), "hr": large}
        plain = outcome(pipeline, {key: value.copy() for key, value in given.items()})
        np.testing.assert_equal(outcome(pipeline, {key: read_only(value) for key, value in given.items()}), plain)


OVERWRITE = [name for name in record_names() if op_record(name).overwrites is not None]
TOLD = [case for name in OVERWRITE for case in cases(name)] + [ALSO]


@pytest.mark.parametrize("case", TOLD, ids=str)
def test_classes_that_are_known_to_overwrite(case: CASE) -> None:
    for channels in (1, 3):
        check(case, channels, "uint8")


@pytest.mark.soak
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize("name", CLASSES)
def test_every_class_in_every_way(name: str, channels: int, dtype: str) -> None:
    # With more channels than ranges albumentations leaves some of the image to chance.
    for case in [*cases(name), *([ALSO] if ALSO[0] == name and channels < 5 else [])]:
        check(case, channels, dtype)


def test_the_facts_are_those_that_the_law_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the copies the law fails, for each class that the facts name, and only under the arguments they give."""
    monkeypatch.setattr("augrecipes.compat.albumentations.wrap_apply", lambda *_: None)
    for name, args in TOLD:
        record = op_record(name)
        assert record.overwrites is not None
        told = record.overwrites(registry.effective(Step(name, Arguments(args))))
        if told:
            with pytest.raises(AssertionError):
                check((name, args), 1, "uint8")
        else:
            check((name, args), 1, "uint8")


# What memory held before is in no sample: every class writes all of what it gives, or says why it cannot.


PLAIN = [ALSO, ("Posterize", {"num_bits": [[2, 3]] * 4}), *(next(cases(name)) for name in CLASSES)]


def results(case: CASE, optimize: Any) -> list[bytes]:
    """The sample of an image of 1, 3 and 4 channels; errors are no samples."""
    name, arguments = case
    found = []
    for channels in (1, 3, 4):
        image = np.random.default_rng(channels).integers(0, 256, (48, 56, channels), np.uint8)
        try:
            recipe = Recipe(name="tiny", steps=(Step(name, Arguments(arguments), p=1.0),))
            found.append(recipe.compile(seed=1, optimize=optimize).at(index=0, epoch=0)(image=image)["image"].tobytes())
        except AugrecipesError as error:
            found.append(type(error).__name__.encode())
    return found


def check_memory(case: CASE, monkeypatch: pytest.MonkeyPatch, optimize: Any = "none") -> None:
    """The law: whatever new memory is full of, the samples are the same."""
    seen = []
    empty, empty_like = np.empty, np.empty_like
    for dirt in (0, 113):

        def dirty(make: Callable[..., Any], dirt: int = dirt) -> Callable[..., Any]:
            def made(*args: Any, **options: Any) -> Any:
                array = make(*args, **options)
                if array.dtype.kind in "uif" and array.base is None:
                    array.fill(dirt)
                return array

            return made

        with monkeypatch.context() as patched:
            patched.setattr(np, "empty", dirty(empty))
            patched.setattr(np, "empty_like", dirty(empty_like))
            seen.append(results(case, optimize))
    assert seen[0] == seen[1], case


@in_a_soak("some", PLAIN, [case for name in CLASSES for case in cases(name)])
def test_no_class_shows_what_memory_held(some: list[CASE], monkeypatch: pytest.MonkeyPatch) -> None:
    for case in some:
        check_memory(case, monkeypatch)


@pytest.mark.parametrize("optimize", ["exact", "fast"])
def test_a_range_for_each_channel_is_held_to_the_image(optimize: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check_memory(ALSO, monkeypatch, optimize)
    assert [len(one) < 99 for one in results(ALSO, optimize)] == [True, False, True]


# What leaves a pipeline: whose memory it lies in, in which order its channels lie, which boxes are looked at twice.


POOL = MOVES + TABLES + OTHERS + COLOURS + RGB_ONLY
IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
BYTES = "{dtype: uint8, layout: hwc}"


def recipe(steps: str, output: str = BYTES, more: str = "") -> Recipe:
    return parse_text(f"version: 1\nrecipe: test\nsteps: {steps}\noutput: {output}\n{more}")


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_what_a_step_has_made_leaves_as_it_is_and_what_the_caller_holds_is_copied(p: float) -> None:
    pipeline = recipe(f"[{{VerticalFlip: {{p: {p}}}}}]").compile(optimize="none")
    sink, made = pipeline.sinks["image"], []

    def spy(*args: Any) -> Any:
        made.append(args[0])
        return sink(*args)

    pipeline.sinks["image"] = spy
    held = IMAGE.copy()
    out = pipeline.at(0)(image=held)["image"]
    assert (out is made[0]) == (p == 1.0)
    assert not np.shares_memory(out, held)


@pytest.mark.usefixtures("own_classes")
def test_what_a_class_of_the_users_has_made_is_copied() -> None:
    class KeepsItsResult(A.ImageOnlyTransform):
        room = np.zeros((60, 80, 3), np.uint8)

        def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
            self.room[...] = img
            return self.room

    registry.register(KeepsItsResult)
    for steps in ("", "{HorizontalFlip: {p: 0.5}}, "):  # in Python alone; behind a step of the kernels, which may act
        pipeline = recipe(f"[{steps}{{KeepsItsResult: {{p: 1.0}}}}]").compile()
        outs = [pipeline.at(k)(image=IMAGE)["image"] for k in range(6)]
        assert not any(np.shares_memory(out, KeepsItsResult.room) for out in outs)


def results_are_their_own() -> None:
    """What an opaque step hands back as it came is copied, wherever the kernels have left it."""
    for steps in ("[{XYMasking: {p: 1.0}}]", "[{HorizontalFlip: {p: 0.5}}, {XYMasking: {p: 1.0}}]"):
        for optimize in ("exact", "fast"):
            pipeline = recipe(steps).compile(optimize=optimize)
            assert not any(np.shares_memory(pipeline.at(k)(image=IMAGE)["image"], IMAGE) for k in range(8))


def test_what_an_opaque_step_hands_back_is_copied() -> None:
    results_are_their_own()


@pytest.mark.parametrize("where", [program_run, conversion])
def test_a_result_that_is_thought_to_be_free_is_found(where: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "is_free", lambda *_: True)
    with pytest.raises(AssertionError):
        results_are_their_own()


@pytest.mark.parametrize(("name", "args"), POOL, ids=[name for name, _ in POOL])
def test_no_class_keeps_what_it_has_handed_over(name: str, args: dict[str, Any]) -> None:
    step = construct(Step(name, Arguments(args), p=1.0))
    plain = A.Compose([step], seed=0)
    first = plain(image=IMAGE)["image"]
    before = first.copy()
    for k in range(3):
        plain(image=np.roll(IMAGE, k + 1, axis=1))
    np.testing.assert_array_equal(first, before)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("optimize", ["none", "fast"])
def test_masks_keep_their_dtype_where_the_image_leaves_as_uint8(dtype: Any, optimize: Any) -> None:
    mask = np.arange(60 * 80).reshape(60, 80).astype(dtype)
    held = mask.copy()
    out = recipe("[{HorizontalFlip: {p: 1.0}}]").compile(optimize=optimize).at(0)(image=IMAGE, mask=mask)["mask"]
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, held[:, ::-1])
    np.testing.assert_array_equal(mask, held)
    assert not np.shares_memory(out, mask)


_STEPS = [
    "{RandomCrop: {height: 40, width: 50}}",
    "{CenterCrop: {height: 40, width: 50}}",
    "{HorizontalFlip: {p: 0.5}}",
    "{Transpose: {p: 0.5}}",
    "{RandomGamma: {p: 0.5}}",
]


def check_masks(steps: list[str], output: str, mask: np.ndarray) -> None:
    """Masks of all levels are those of `none`, in memory of their own as it should lie; what came in stays."""
    held, written = mask.copy(), recipe(f"[{', '.join(steps)}]", output)
    plain, exact, fast = (written.compile(optimize=level) for level in ("none", "exact", "fast"))
    for index in range(3):
        expected = plain.at(index)(image=IMAGE, mask=held)["mask"].copy()
        for pipeline in (plain, exact, fast):
            made = pipeline.at(index)(image=IMAGE, mask=mask)["mask"]
            assert made.flags.c_contiguous
            assert not np.shares_memory(made, mask)
            np.testing.assert_array_equal(made, expected)
    np.testing.assert_array_equal(mask, held)


@given(
    steps=st.lists(st.sampled_from(_STEPS), max_size=4).filter(lambda steps: sum("Crop" in s for s in steps) < 2),
    output=st.sampled_from([BYTES, "{dtype: uint8}", "{}", "{layout: hwc}"]),
    dtype=st.sampled_from([bool, np.uint8, np.int16, np.int64, np.float32, np.float64]),
    columns_first=st.booleans(),
)
def test_masks_leave_in_memory_of_their_own(steps: list[str], output: str, dtype: Any, columns_first: bool) -> None:
    mask = (np.arange(80 * 60) % 200).reshape(80, 60).astype(dtype).T
    check_masks(steps, output, mask if columns_first else np.ascontiguousarray(mask))


MASK = np.arange(60 * 80, dtype=np.int16).reshape(60, 80)
test_planted_faults_are_caught = planted_faults({
    "a channel that nobody wrote": (
        lambda fixture: check_memory(ALSO, fixture("monkeypatch")),
        (albumentations, "require_channels", lambda channels, apply, img, *a, **k: apply(img, *a, **k)),
    ),
    "a view of a mask leaves": (
        lambda _: check_masks(_STEPS[2:3], BYTES, MASK),
        (program_runner, "from_bytes", lambda pixels, _: MASK), (program_runner, "mask_out", lambda made, *_: made),
    ),
})  # fmt: skip


# Boxes: refused and let through exactly as albumentations' own check does.

_EDGES = st.sampled_from([-0.1, -1e-9, 0.0, 1e-12, 0.25, 0.5, 0.5000001, 1.0, 1.000001, 1.1])


@DEAR
@given(boxes=st.lists(st.tuples(_EDGES, _EDGES, _EDGES, _EDGES), min_size=1, max_size=3))
def test_boxes_are_refused_as_albumentations_refuses_them(boxes: list[tuple[float, ...]]) -> None:
    pipeline = recipe("[]", more="inputs: {boxes: {format: albumentations, labels: box_labels}}").compile()
    plain = A.Compose([], bbox_params=A.BboxParams("albumentations", ["box_labels"]))
    array, labels = np.array(boxes, np.float32), list(range(len(boxes)))
    try:
        kept = plain(image=IMAGE, bboxes=array.copy(), box_labels=labels)
    except ValueError:
        with pytest.raises(DataError):
            pipeline.at(0)(image=IMAGE, boxes=array, box_labels=labels)
    else:
        done = pipeline.at(0)(image=IMAGE, boxes=array, box_labels=labels)
        np.testing.assert_allclose(np.reshape(done["boxes"], (-1, 4)), np.reshape(kept["bboxes"], (-1, 4)))
        assert list(done["box_labels"]) == [int(label) for label in kept["box_labels"]]
