"""Boxes keep their place: conversions lead back, filters cut at the sides and drop what has no size; labels travel."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import EACH_SET, Spoilt, spoil_first, using

from augrecipes.compat import boxes as module
from augrecipes.compat.albumentations import A, BboxProcessor
from augrecipes.compat.boxes import COMES, LEAVES, PointRules, filter_boxes, prepare
from augrecipes.errors import DataError
from augrecipes.native.kernels import Library
from augrecipes.ops.places import MatrixPlaces, StepGeometry

PLACES = st.one_of(
    st.floats(-0.25, 1.25, width=32),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e-9, -1e-9, 1 + 2**-20, 1 / 3, float("nan")]),
)
BOXES = st.lists(st.tuples(PLACES, PLACES, PLACES, PLACES, st.integers(0, 5)), max_size=6)
SIDES = st.integers(1, 2000)
PARAMS = st.fixed_dictionaries(
    {
        "min_area": st.sampled_from([0.0, 4.0, 1000.0]),
        "min_visibility": st.sampled_from([0.0, 0.3, 1.0]),
        "min_width": st.sampled_from([0.0, 1.0, 20.0]),
        "min_height": st.sampled_from([0.0, 1.0, 20.0]),
        "max_accept_ratio": st.sampled_from([None, None, 3.0]),
    }
)
FORMATS = ("pascal_voc", "coco", "yolo", "albumentations")


def processor_of(**params: Any) -> Any:
    made = BboxProcessor(A.BboxParams(label_fields=["kind", "rows"], **params))
    prepare(made, "rows")
    return made


def check_filter(boxes: list[Any], columns: int, sizes: list[tuple[int, int]], params: Any) -> None:
    """Filters the boxes again and again, as behind every step, and as the definition does it."""
    ours = processor_of(format="albumentations", **params)
    needs = np.array([-1.0 if params[name] is None else params[name] for name in LAX])
    found = expected = np.array(boxes, float).reshape(-1, 5)[:, :columns]
    for height, width in sizes:
        before = found.copy()
        with np.errstate(all="ignore"):
            filtered = ours.filter(found, {"height": height, "width": width})
            expected = filter_boxes(expected, height, width, needs)
        assert found.tobytes() == before.tobytes()
        assert filtered.tobytes() == expected.tobytes()
        found = filtered


@EACH_SET
@given(
    boxes=BOXES,
    columns=st.sampled_from([4, 5]),
    sizes=st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=3).flatmap(
        lambda sizes: st.lists(st.sampled_from(sizes), min_size=1, max_size=5)
    ),
    params=PARAMS,
)
def test_the_kernel_filters_as_it_is_defined(
    kernels: Library, boxes: list[Any], columns: int, sizes: list[tuple[int, int]], params: Any
) -> None:
    with using(kernels):
        check_filter(boxes, columns, sizes, params)


MATRIX = st.one_of(
    st.tuples(*[st.floats(-3, 3)] * 2, st.floats(-90, 90), *[st.floats(-3, 3)] * 2, st.floats(-90, 90)),
    st.tuples(st.sampled_from([-1, 0, 0.5, 2]), st.just(0), st.integers(-9, 9), st.just(0), st.just(1), st.just(0)),
).flatmap(lambda rows: st.tuples(st.just(rows), st.sampled_from([(0, 0), (1e-4, -2e-4)])))


class Places(MatrixPlaces):
    """Moves places by whatever matrix, and knows no directions."""

    _shows_directions = False


def check_moves(count: int, steps: list[Any], form: str, clip: bool, passed: bool, params: Any, removes: bool) -> None:
    """Boxes and keypoints behind some matrices, as the steps and the filters between them move them."""
    rng = np.random.default_rng(count)
    sizes = [(int(a), int(b)) for a, b in rng.integers(20, 200, (len(steps) + 1, 2))]
    shapes = [{"height": height, "width": width} for height, width in sizes]
    moves = [
        StepGeometry(np.array([*rows, *far, 1], float).reshape(3, 3), before, after)
        for (rows, far), before, after in zip(steps, sizes, sizes[1:], strict=False)
    ]
    noted = np.array([(0, *before, *after, *matrix.ravel()) for matrix, before, after in moves]).reshape(-1, 14)
    low, more = rng.uniform(0, 0.7, (count, 2)), rng.uniform(0.01, 0.4 if clip else 0.3, (count, 2))
    corners = np.hstack([low, low + more, rng.integers(0, 5, (count, 1))])
    boxes = processor_of(format=form).rules.convert(corners, shapes[0], "from")
    rules = processor_of(format=form, clip=clip, **params).rules
    points = PointRules(A.KeypointParams(format="xy", remove_invisible=removes))
    dots = np.hstack([low * sizes[0][::-1], np.zeros((count, 3))])
    found = [
        rule.move(array.copy(), noted, sizes[0], COMES | LEAVES, passed)
        for rule, array in ((rules, boxes), (points, dots))
    ]
    boxes, filtered = rules.convert(boxes, shapes[0]), points.filter
    if passed or not moves:
        boxes, dots = rules.filter(boxes, shapes[0]), filtered(dots, shapes[0])
    for move, shape in zip(moves, shapes[1:], strict=True):
        boxes, dots = Places().apply_to_bboxes(boxes, move), Places().apply_to_keypoints(dots, move)
        boxes, dots = rules.filter(boxes, shape), filtered(dots, shape)
    expected = rules.convert(boxes, shapes[-1], "from")
    assert len(found[0]) == len(boxes)
    assert not len(boxes) or np.array_equal(found[0], expected)
    assert np.array_equal(found[1], dots)


MOVES = (
    st.integers(0, 6), st.lists(MATRIX, max_size=3), st.sampled_from(FORMATS), st.booleans(), st.booleans(), PARAMS,
    st.booleans(),
)  # fmt: skip


@EACH_SET
@given(case=st.tuples(*MOVES))
def test_kernels_move_what_lies_on_images_as_steps_do(kernels: Library, case: Any) -> None:
    with using(kernels):
        check_moves(*case)


@EACH_SET
def test_places_that_a_kernel_moves_otherwise_are_noticed(kernels: Library) -> None:
    spoilt: Any = Spoilt(kernels, 0, spoil_first, "places")
    with using(spoilt), pytest.raises(AssertionError):
        check_moves(4, [((1, 0, 0, 0, 1, 0), (0, 0))], "coco", False, True, LAX, False)


LAX = {"min_area": 0.0, "min_visibility": 0.0, "min_width": 0.0, "min_height": 0.0, "max_accept_ratio": None}


@EACH_SET
def test_a_box_that_a_kernel_cuts_otherwise_is_noticed(kernels: Library) -> None:
    spoilt: Any = Spoilt(kernels, 0, spoil_first, "places")
    with using(spoilt), pytest.raises(AssertionError):
        check_filter([(0.1, 0.1, 0.5, 0.5, 0)], 5, [(200, 200)], LAX)


WHOLE_PX = st.tuples(st.integers(0, 90), st.integers(0, 90), st.integers(1, 30), st.integers(1, 30))


def in_format(form: str, box: tuple[float, ...], sides: tuple[int, int]) -> np.ndarray:
    """A box of left, top, width and height in pixels, as a format has it."""
    x, y, w, h = box
    made = {
        "pascal_voc": (x, y, x + w, y + h),
        "coco": box,
        "yolo": ((x + w / 2) / sides[0], (y + h / 2) / sides[1], w / sides[0], h / sides[1]),
        "albumentations": (x / sides[0], y / sides[1], (x + w) / sides[0], (y + h) / sides[1]),
    }
    return np.array([[*made[form], 0]], np.float64)


@pytest.mark.parametrize("form", FORMATS)
@given(box=WHOLE_PX, sides=st.tuples(st.integers(120, 500), st.integers(120, 500)))
def test_conversions_lead_back_and_a_whole_box_is_kept(form: str, box: tuple[int, ...], sides: tuple[int, int]) -> None:
    ours, shape = processor_of(format=form, min_visibility=1.0), {"width": sides[0], "height": sides[1]}
    given_box = in_format(form, box, sides)
    shares = ours.check_and_convert(given_box, shape)
    np.testing.assert_allclose(shares, in_format("albumentations", box, sides), atol=1e-12)
    back = ours.check_and_convert(ours.filter(shares, shape), shape, "from")
    np.testing.assert_allclose(back, given_box, atol=1e-9)


def crop_law(form: str, box: tuple[int, ...], cut: int) -> None:
    """Of a box and a crop to the columns left of `cut`: what is left has the right size, or nothing is left."""
    ours, sides = processor_of(format=form), (120, 130)
    shares = ours.check_and_convert(in_format(form, box, sides), {"width": 120, "height": 130})
    shares[:, [0, 2]] *= sides[0] / cut
    left = ours.filter(shares, {"width": cut, "height": 130})
    width = min(box[0] + box[2], cut) - box[0]
    assert len(left) == (width > 0)
    if width > 0:
        np.testing.assert_allclose((left[0, 2] - left[0, 0]) * cut, width, atol=1e-6)


@pytest.mark.parametrize("form", FORMATS)
@given(box=WHOLE_PX, cut=st.integers(1, 120))
def test_no_box_is_left_without_width(form: str, box: tuple[int, ...], cut: int) -> None:
    crop_law(form, box, cut)


def test_a_box_without_width_that_is_left_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    crop_law("coco", (60, 10, 20, 10), 60)
    monkeypatch.setattr(module, "library", lambda: None)
    monkeypatch.setattr(module, "_LEAST", -1.0)
    with pytest.raises(AssertionError):
        crop_law("coco", (60, 10, 20, 10), 60)


@pytest.mark.parametrize(
    ("box", "said"),
    [
        ((float("nan"), 1, 5, 5), "is not a box"),
        ((4, 1, 4, 5), "no width or height"),
        ((4, 8, 9, 5), "no width or height"),
        ((4, 1, 85, 5), "`clip: true`"),
        ((-3, 1, 8, 5), "`clip: true`"),
    ],
)
def test_what_is_no_box_of_the_image_is_named(box: tuple[float, ...], said: str) -> None:
    rows = np.array([[1, 1, 5, 5, 0], [*box, 1]], float)
    with pytest.raises(DataError, match=f"box 1 .*{said}"):
        processor_of(format="pascal_voc").check_and_convert(rows, {"width": 80, "height": 60})


def test_clip_cuts_at_the_sides_and_drops_what_is_beyond() -> None:
    rows = np.array([[-3, 1, 8, 5, 0], [90, 1, 99, 5, 1], [60, 50, 99, 70, 2]], float)
    found = processor_of(format="pascal_voc", clip=True).check_and_convert(rows, {"width": 80, "height": 60})
    np.testing.assert_allclose(found, [[0, 1 / 60, 0.1, 1 / 12, 0], [0.75, 5 / 6, 1, 1, 2]])


LABELS = st.sampled_from([[3, 1, 2], [1.5, 2.0, 0.1], ["a", "b", "a"], [True, False, True], [0, 0, 0], [2**53, 1, 2]])


@given(labels=LABELS, kept=st.sets(st.integers(0, 2)), form=st.sampled_from(["pascal_voc", "coco", "yolo"]))
def test_labels_travel_as_albumentations_lets_them(labels: list[Any], kept: set[int], form: str) -> None:
    boxes = np.array([[0.4, 0.4, 0.5, 0.6], [0.4, 0.5, 0.7, 0.7], [0.5, 0.5, 0.6, 0.8]], np.float32)
    boxes = boxes if form == "yolo" else boxes * np.float32(100)
    seen = []
    for processor in (BboxProcessor(A.BboxParams(form, label_fields=["kind", "rows"])), processor_of(format=form)):
        image = np.zeros((200, 300, 3), np.uint8)
        data: dict[str, Any] = {"image": image, "bboxes": boxes.copy(), "kind": labels, "rows": [0, 1, 2]}
        processor.preprocess(data)
        middle = data["bboxes"]
        kind = processor.label_manager.metadata["bboxes"]["kind"]
        classes = kind.encoder and kind.encoder.classes_
        data["bboxes"] = middle[sorted(kept)]
        processor.postprocess(data)
        seen.append((middle[:, 4:].tolist(), classes, kind.is_numerical, [int(row) for row in data["rows"]]))
    assert seen[0] == seen[1]
