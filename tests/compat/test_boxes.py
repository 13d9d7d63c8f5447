"""Boxes are filtered, checked and converted bit for bit as albumentations' processors do it; labels travel alike."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import EACH_SET, KERNEL_SETS, Spoilt, spoil_first

from augrecipes.compat.albumentations import A, BboxProcessor
from augrecipes.compat.boxes import BoxKernels, Settled, quicken
from augrecipes.native.kernels import Library, using

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


def processors(**params: Any) -> tuple[Any, Any]:
    """Albumentations' own, and one in less time."""
    plain, ours = (BboxProcessor(A.BboxParams(label_fields=["kind", "rows"], **params)) for _ in range(2))
    quicken(ours, "rows")
    return plain, ours


def same(found: np.ndarray, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


def check_filter(boxes: list[Any], dtype: str, columns: int, sizes: list[tuple[int, int]], params: Any) -> None:
    """Filters the boxes again and again, as after every step of a recipe."""
    plain, ours = processors(format="albumentations", **params)
    found = expected = np.array(boxes, dtype).reshape(-1, 5)[:, :columns]
    for height, width in sizes:
        shape = {"height": height, "width": width}
        before = found.copy()
        with np.errstate(all="ignore"):
            filtered, expected = ours.filter(found, shape), plain.filter(expected.copy(), shape)
        same(found, before)
        same(filtered, expected)
        found = filtered


DTYPES = st.sampled_from(["float32", "float64", "float16"])
COLUMNS = st.sampled_from([4, 5])


@pytest.mark.parametrize("kernels", KERNEL_SETS, ids=lambda kernels: kernels and kernels.isa)
@given(
    boxes=BOXES,
    dtype=DTYPES,
    columns=COLUMNS,
    sizes=st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=3).flatmap(
        lambda sizes: st.lists(st.sampled_from(sizes), min_size=1, max_size=5)
    ),
    params=PARAMS,
)
def test_boxes_are_filtered_bit_for_bit(
    kernels: Library | None, boxes: list[Any], dtype: str, columns: int, sizes: list[tuple[int, int]], params: Any
) -> None:
    with using(kernels):
        check_filter(boxes, dtype, columns, sizes, params)


LAX = {"min_area": 0.0, "min_visibility": 0.0, "min_width": 0.0, "min_height": 0.0, "max_accept_ratio": None}


@EACH_SET
def test_a_box_that_a_kernel_cuts_otherwise_is_noticed(kernels: Library) -> None:
    spoilt: Any = Spoilt(kernels, 0, spoil_first, "boxes")
    with using(spoilt), pytest.raises(AssertionError):
        check_filter([(0.1, 0.1, 0.5, 0.5, 0)], "float64", 5, [(200, 200)], LAX)


def check_check(boxes: list[Any], dtype: str, columns: int) -> None:
    """Errors of boxes that are none."""
    said = []
    for processor in processors(format="albumentations"):
        with np.errstate(all="ignore"):
            try:
                processor.check(np.array(boxes, dtype).reshape(-1, 5)[:, :columns], {})
            except ValueError as error:
                said.append(str(error))
            else:
                said.append("")
    assert said[0] == said[1]


@EACH_SET
@given(boxes=BOXES, dtype=DTYPES, columns=COLUMNS)
def test_boxes_are_refused_as_albumentations_refuses_them(
    kernels: Library, boxes: list[Any], dtype: str, columns: int
) -> None:
    with using(kernels):
        check_check(boxes, dtype, columns)


def test_a_box_that_is_none_and_goes_through_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = [(0.5, 0.1, 0.25, 0.5, 0)], "float64", 5
    check_check(*case)
    monkeypatch.setattr(BoxKernels, "check", lambda self, data, shape: None)
    with pytest.raises(AssertionError):
        check_check(*case)


def careless(self: Settled, data: np.ndarray, shape: Any) -> np.ndarray:
    """Settled at another size, too."""
    if (data.tobytes(),) != self._known:
        data = self._own(data, shape)
        self._known = (data.tobytes(),)
    return data


def test_a_box_taken_for_settled_at_another_size_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = [(0.1, 0.1, 0.5, 0.5, 0)], "float32", 5, [(200, 200), (200, 200), (9, 9)], {**LAX, "min_area": 1000.0}
    check_filter(*case)
    monkeypatch.setattr(Settled, "filter", careless)
    with pytest.raises(AssertionError):
        check_filter(*case)


def check_conversion(boxes: list[Any], dtype: str, columns: int, size: tuple[int, int], params: Any) -> None:
    """Converts boxes to albumentations' terms, or back, and finds the same errors."""
    given, shape = np.array(boxes, dtype).reshape(-1, 5)[:, :columns], {"height": size[0], "width": size[1]}
    for direction, unit in (("to", max(size)), ("from", 1)):
        found: list[Any] = []
        for processor in processors(**params):
            with np.errstate(all="ignore"):
                try:
                    found.append(processor.check_and_convert(given * np.array(unit, dtype), shape, direction))
                except ValueError as error:
                    found.append(str(error))
        assert type(found[0]) is type(found[1])
        if isinstance(found[0], str):
            assert found[0] == found[1]
        else:
            same(found[1], found[0])


FORMS = st.fixed_dictionaries(
    {
        "format": st.sampled_from(["pascal_voc", "pascal_voc", "coco", "yolo", "albumentations"]),
        "clip": st.booleans(),
        "filter_invalid_bboxes": st.booleans(),
    }
)


@EACH_SET
@given(boxes=BOXES, dtype=DTYPES, columns=COLUMNS, size=st.tuples(SIDES, SIDES), params=FORMS)
def test_boxes_are_converted_bit_for_bit(
    kernels: Library, boxes: list[Any], dtype: str, columns: int, size: tuple[int, int], params: Any
) -> None:
    with using(kernels):
        check_conversion(boxes, dtype, columns, size, params)


def test_a_box_whose_sides_are_taken_for_each_other_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = [(0.125, 0.25, 0.5, 0.75, 0)], "float32", 5, (200, 300), {"format": "pascal_voc"}
    check_conversion(*case)
    own = BoxKernels.check_and_convert
    turned = lambda self, data, shape, *way: own(self, data, {"height": shape["width"], "width": shape["height"]}, *way)  # noqa: E731
    monkeypatch.setattr(BoxKernels, "check_and_convert", turned)
    with pytest.raises(AssertionError):
        check_conversion(*case)


LABELS = st.sampled_from([[3, 1, 2], [1.5, 2.0, 0.1], ["a", "b", "a"], [True, False, True], [0, 0, 0], [2**53, 1, 2]])


@given(labels=LABELS, kept=st.sets(st.integers(0, 2)), form=st.sampled_from(["pascal_voc", "coco", "yolo"]))
def test_labels_travel_as_albumentations_lets_them(labels: list[Any], kept: set[int], form: str) -> None:
    boxes = np.array([[0.4, 0.4, 0.5, 0.6], [0.4, 0.5, 0.7, 0.7], [0.5, 0.5, 0.6, 0.8]], np.float32)
    boxes = boxes if form == "yolo" else boxes * np.float32(100)
    seen = []
    for processor in processors(format=form):
        image = np.zeros((200, 300, 3), np.uint8)
        data: dict[str, Any] = {"image": image, "bboxes": boxes.copy(), "kind": labels, "rows": [0, 1, 2]}
        processor.preprocess(data)
        middle = data["bboxes"]
        kind = processor.label_manager.metadata["bboxes"]["kind"]
        classes = kind.encoder and kind.encoder.classes_
        data["bboxes"] = middle[sorted(kept)]
        processor.postprocess(data)
        seen.append((middle, classes, kind.is_numerical, data["bboxes"], [int(row) for row in data["rows"]]))
    (middle, *first, last, rows), (middle2, *first2, last2, rows2) = seen
    same(middle2, middle)
    same(last2, last)
    assert (first2, rows2) == (first, rows)
