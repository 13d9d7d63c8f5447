"""Boxes are filtered, and labels carried along, as albumentations' own processors do it: bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import PLANTED
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compat import boxes as quick
from augrecipes.compat.albumentations import A, BboxProcessor
from augrecipes.compat.boxes import Settled, quicken

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


@given(
    boxes=BOXES,
    dtype=st.sampled_from(["float32", "float64"]),
    columns=st.sampled_from([4, 5]),
    sizes=st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=3).flatmap(
        lambda sizes: st.lists(st.sampled_from(sizes), min_size=1, max_size=5)
    ),
    params=PARAMS,
)
def test_boxes_are_filtered_bit_for_bit(
    boxes: list[Any], dtype: str, columns: int, sizes: list[tuple[int, int]], params: Any
) -> None:
    check_filter(boxes, dtype, columns, sizes, params)


def test_the_law_sees_boxes_taken_for_settled_at_another_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(self: Settled, boxes: np.ndarray, shape: Any, params: Any) -> np.ndarray:
        if getattr(self, "_seen", None) == boxes.tobytes():
            return boxes
        made = quick.filtered(boxes, shape["height"], shape["width"], params)
        self.__dict__["_seen"] = made.tobytes()
        return made

    monkeypatch.setattr(Settled, "filter", careless)
    params = {"min_area": 1000.0, "min_visibility": 0.0, "min_width": 0.0, "min_height": 0.0, "max_accept_ratio": None}
    with pytest.raises(AssertionError):
        check_filter([(0.1, 0.1, 0.5, 0.5, 0)], "float32", 5, [(200, 200), (200, 200), (9, 9)], params)


@pytest.mark.parametrize("name", ["min_area", "min_visibility", "min_width", "min_height"])
def test_the_law_sees_a_bound_that_is_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    filtered = quick.filtered
    params = {"min_area": 0.0, "min_visibility": 0.0, "min_width": 0.0, "min_height": 0.0, "max_accept_ratio": None}
    bound = {"min_area": 1000.0, "min_visibility": 0.9, "min_width": 20.0, "min_height": 20.0}[name]
    boxes = [(0.9, 0.9, 1.3, 1.3, 0), (0.1, 0.1, 0.12, 0.12, 1)]
    check_filter(boxes, "float32", 5, [(100, 100)], {**params, name: bound})
    lax = A.BboxParams(format="albumentations", **params)
    monkeypatch.setattr(quick, "filtered", lambda boxes, height, width, _: filtered(boxes, height, width, lax))
    with pytest.raises(AssertionError):
        check_filter(boxes, "float32", 5, [(100, 100)], {**params, name: bound})


LABELS = st.sampled_from([[3, 1, 2], [1.5, 2.0, 0.1], ["a", "b", "a"], [True, False, True], [0, 0, 0], [2**53, 1, 2]])


@given(labels=LABELS, kept=st.sets(st.integers(0, 2)), form=st.sampled_from(["pascal_voc", "coco", "yolo"]))
def test_labels_travel_as_albumentations_lets_them(labels: list[Any], kept: set[int], form: str) -> None:
    boxes = np.array([[0.4, 0.4, 0.5, 0.6], [0.4, 0.5, 0.7, 0.7], [0.5, 0.5, 0.6, 0.8]], np.float32)
    boxes = boxes if form == "yolo" else boxes * np.float32(100)
    seen = []
    for processor in processors(format=form):
        picture = np.zeros((200, 300, 3), np.uint8)
        data: dict[str, Any] = {"image": picture, "bboxes": boxes.copy(), "kind": labels, "rows": [0, 1, 2]}
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


FORMATS = st.sampled_from(["coco", "pascal_voc", "yolo"])
# Mostly boxes that are as they should be; corners in shares of the picture.
NEAT = st.tuples(*(st.floats(0, 0.5, width=32),) * 2, *(st.floats(0.125, 0.5, width=32),) * 2, st.integers(0, 5))
CONVERTED = {
    "boxes": st.lists(NEAT, max_size=6) | BOXES,
    "dtype": st.sampled_from(["float32", "float64"]),
    "columns": st.sampled_from([4, 5]),
    "form": FORMATS,
    "clip": st.sampled_from([False, False, True]),
    "size": st.tuples(SIDES, SIDES),
}


def check_conversion(boxes: list[Any], dtype: str, columns: int, form: str, clip: bool, size: tuple[int, int]) -> None:
    """Boxes come in and go out as albumentations converts them, or are refused in its words."""
    plain, ours = processors(format=form, clip=clip)
    shape = {"height": size[0], "width": size[1]}
    given_in = np.array(boxes, dtype).reshape(-1, 5)[:, :columns]
    if form != "yolo":
        given_in[:, :4] *= np.array((size[1], size[0]) * 2, dtype)
    given_out = np.array(boxes, dtype).reshape(-1, 5)[:, :columns]
    given_out[:, 2:4] += given_out[:, :2]
    for array, direction in ((given_in, "to"), (given_out, "from")):
        made: list[Any] = []
        before = array.copy()
        for processor in (ours, plain):
            try:
                with np.errstate(all="ignore"):
                    made.append(processor.check_and_convert(array.copy(), shape, direction))
            except ValueError as error:
                made.append(str(error))
        same(array, before)
        assert isinstance(made[0], str) == isinstance(made[1], str)
        if isinstance(made[1], str):
            assert made[0] == made[1]
        else:
            same(*made)


@given(**CONVERTED)
def test_boxes_are_converted_bit_for_bit(**case: Any) -> None:
    check_conversion(**case)


def _first_to_last(boxes: np.ndarray, form: str, sides: np.ndarray) -> np.ndarray:
    return true_inward(boxes, form, sides[::-1].copy())


def _by_reciprocals(boxes: np.ndarray, form: str, sides: np.ndarray) -> np.ndarray:
    made = true_inward(boxes, form, np.ones(4))
    made[:, :4] *= (1 / (sides if form != "yolo" else np.ones(4))).astype(np.float32)
    return made


true_inward = quick._inward


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_inward", _first_to_last),
        ("_inward", _by_reciprocals),
        ("_outward", lambda boxes, form, sides: boxes * 1),
        ("_plainly_valid", lambda boxes: True),
    ],
)
def test_the_law_sees_boxes_converted_wrongly(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, name, fault)
    with pytest.raises(AssertionError):
        PLANTED(given(**CONVERTED)(check_conversion))()
