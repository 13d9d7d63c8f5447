"""What leaves a pipeline: whose memory it lies in, in which order its channels lie, which boxes are looked at twice."""

from __future__ import annotations

from typing import Any

import albumentations as A
import numpy as np
import pytest
from examples import DEAR
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import COLOURS, MOVES, OTHERS, RGB_ONLY, TABLES

from augrecipes.compiler.kernels import sink as sinks
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.run import natively
from augrecipes.errors import DataError
from augrecipes.native.kernels import using
from augrecipes.ops import registry
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Arguments, Normalize, Output, Recipe, Step
from augrecipes.recipe.parse import parse_text

POOL = MOVES + TABLES + OTHERS + COLOURS + RGB_ONLY
IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
BYTES = "{dtype: uint8, layout: hwc}"


def recipe(steps: str, output: str = BYTES, more: str = "") -> Recipe:
    return parse_text(f"version: 1\nrecipe: test\nsteps: {steps}\noutput: {output}\n{more}")


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_samples_stay_as_they_were_while_others_are_made(optimize: Any) -> None:
    steps = "[{Rotate: {p: 0.5}}, {RandomCrop: {height: 40, width: 50}}, HorizontalFlip, {RandomGamma: {p: 0.5}}]"
    pipeline = recipe(steps).compile(optimize=optimize)
    mask = np.arange(60 * 80, dtype=np.uint8).reshape(60, 80)
    kept = [pipeline.at(k)(image=IMAGE, mask=mask) for k in range(12)]
    for k, sample in enumerate(kept):
        again = recipe(steps).compile(optimize=optimize).at(k)(image=IMAGE.copy(), mask=mask.copy())
        for name in ("image", "mask"):
            np.testing.assert_array_equal(sample[name], again[name])


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


def test_what_a_class_of_the_users_has_made_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))

    class KeepsItsResult(A.ImageOnlyTransform):
        room = np.zeros((60, 80, 3), np.uint8)

        def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
            self.room[...] = img
            return self.room

    registry.register(KeepsItsResult)
    out = recipe("[{KeepsItsResult: {p: 1.0}}]").compile().at(0)(image=IMAGE)["image"]
    assert not np.shares_memory(out, KeepsItsResult.room)


@pytest.mark.parametrize(("name", "args"), POOL, ids=[name for name, _ in POOL])
def test_no_class_keeps_what_it_has_handed_over(name: str, args: dict[str, Any]) -> None:
    step = construct(Step(name, Arguments(args), p=1.0))
    plain = A.Compose([step], seed=0)
    first = plain(image=IMAGE)["image"]
    before = first.copy()
    for k in range(3):
        plain(image=np.roll(IMAGE, k + 1, axis=1))
    np.testing.assert_array_equal(first, before)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.int32, np.int64, np.float32])
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
    dtype=st.sampled_from([bool, np.uint8, np.int16, np.int64, np.float32]),
    columns_first=st.booleans(),
)
def test_masks_leave_in_memory_of_their_own(steps: list[str], output: str, dtype: Any, columns_first: bool) -> None:
    mask = (np.arange(80 * 60) % 200).reshape(80, 60).astype(dtype).T
    check_masks(steps, output, mask if columns_first else np.ascontiguousarray(mask))


def test_the_law_of_masks_sees_a_view_that_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    mask = np.arange(60 * 80, dtype=np.int16).reshape(60, 80)
    check_masks(_STEPS[2:3], BYTES, mask)
    monkeypatch.setattr(natively, "of_bytes", lambda pixels, _: mask)
    monkeypatch.setattr(natively, "mask_out", lambda made, *_: made)
    with pytest.raises(AssertionError):
        check_masks(_STEPS[2:3], BYTES, mask)


# The sink, channels in turn: the very numbers of the sink by channel.

_OUTPUTS = st.builds(
    Output,
    dtype=st.sampled_from(["float32", "float16"]),
    layout=st.just("hwc"),
    normalize=st.sampled_from([None, Normalize((0.5,), (0.25,)), Normalize((0.0,), (1.0,))]),
    range=st.sampled_from([(0.0, 1.0), (0.0, 255.0), (-1.0, 1.0)]),
)


def _by_channel(output: Output, image: np.ndarray) -> np.ndarray:
    planes = Output(dtype=output.dtype, layout="chw", normalize=output.normalize, range=output.range)
    return np.moveaxis(Sink(planes)(image), 0, -1)


@given(
    output=_OUTPUTS,
    shape=st.tuples(st.integers(1, 40), st.sampled_from([1, 7, 33, 20_000]), st.sampled_from([1, 2, 3, 4, 5])),
    floats=st.booleans(),
    cut=st.booleans(),
    seed=st.integers(0, 9),
)
def test_channels_in_turn_have_the_bits_of_channels_one_by_one(
    output: Output, shape: tuple[int, int, int], floats: bool, cut: bool, seed: int
) -> None:
    if shape[1] > 100:
        shape = (min(shape[0], 3), *shape[1:])
    image: Any = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    image = image.astype(np.float32) / np.float32(255) if floats else image
    image = image[:, : shape[1] // 2 + 1] if cut else image
    own = Output(
        dtype=output.dtype, layout="hwc", range=output.range,
        normalize=output.normalize and Normalize(tuple(np.linspace(0.1, 0.6, shape[2]).tolist()), (0.25,)),
    )  # fmt: skip
    made = Sink(own)(image)
    assert made.flags.c_contiguous
    np.testing.assert_array_equal(made, _by_channel(own, image))


def test_the_law_of_channels_sees_values_that_slip_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = sinks.scales_and_shifts

    def slipped(output: Output, *rest: Any) -> list[tuple[float, float]]:
        found = numbers(output, *rest)
        return found[1:] + found[:1] if output.layout == "hwc" else found

    monkeypatch.setattr(sinks, "scales_and_shifts", slipped)
    output = Output(layout="hwc", normalize=Normalize((0.1, 0.2, 0.3), (0.25,)))
    with using(None):
        assert not np.array_equal(Sink(output)(IMAGE), _by_channel(output, IMAGE))


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
