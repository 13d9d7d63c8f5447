"""Boxes are filtered, and labels carried along, as albumentations' own processors do it: bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def careless(self: Settled, data: np.ndarray, shape: Any) -> np.ndarray:
    """Settled at another size, too."""
    if (data.tobytes(),) != self._known:
        data = self._own(data, shape)
        self._known = (data.tobytes(),)
    return data


def test_a_box_taken_for_settled_at_another_size_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    lax = {"min_visibility": 0.0, "min_width": 0.0, "min_height": 0.0, "max_accept_ratio": None}
    case = [(0.1, 0.1, 0.5, 0.5, 0)], "float32", 5, [(200, 200), (200, 200), (9, 9)], {**lax, "min_area": 1000.0}
    check_filter(*case)
    monkeypatch.setattr(Settled, "filter", careless)
    with pytest.raises(AssertionError):
        check_filter(*case)


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
