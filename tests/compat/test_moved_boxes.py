"""Boxes moved by a matrix are those of albumentations, bit for bit."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from examples import PLANTED
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compat import moved_boxes
from augrecipes.compat.albumentations import geometric

PLACES = st.floats(-0.25, 1.25, width=32) | st.sampled_from([0.0, 0.5, 1.0])
BOXES = st.lists(st.tuples(PLACES, PLACES, PLACES, PLACES, st.integers(0, 5)), max_size=6)
SIDES = st.integers(1, 900)
# About none at all, nearly none, and what steps draw.
PARTS = st.sampled_from([0.0, 1e-9, 9e-6, 1.1e-5, -0.25, 0.4, 1.5]) | st.floats(-2, 2)
SHIFTS = st.sampled_from([0.0, 1e-9, 1.0]) | st.floats(-500, 500)
CASES = {
    "boxes": BOXES,
    "dtype": st.sampled_from(["float32", "float64"]),
    "columns": st.sampled_from([4, 5]),
    "parts": st.tuples(PARTS, PARTS, SHIFTS, PARTS, PARTS, SHIFTS),
    "method": st.sampled_from(["largest_box", "largest_box", "ellipse"]),
    "border": st.sampled_from([cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_WRAP]),
    "sizes": st.tuples(SIDES, SIDES, SIDES, SIDES),
}


def check(
    boxes: list[tuple[float, ...]],
    dtype: str,
    columns: int,
    parts: tuple[float, ...],
    method: str,
    border: int,
    sizes: tuple[int, int, int, int],
) -> None:
    given_in = np.array(boxes, dtype).reshape(-1, 5)[:, :columns]
    matrix = np.eye(3) + np.array([*parts, 0, 0, 0]).reshape(3, 3)
    before = given_in.copy(), matrix.copy()
    found, expected = (
        home.bboxes_affine(given_in, matrix, method, sizes[:2], border, sizes[2:])  # type: ignore[attr-defined]
        for home in (moved_boxes, geometric)
    )
    np.testing.assert_array_equal(given_in, before[0])
    np.testing.assert_array_equal(matrix, before[1])
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


@given(**CASES)
def test_boxes_are_moved_as_albumentations_moves_them(**case: object) -> None:
    check(**case)  # type: ignore[arg-type]


def test_where_the_border_reflects_they_are_seen_more_than_once() -> None:
    turned = np.array([[0.8, 0.6, -20], [-0.6, 0.8, 30], [0, 0, 1]])
    boxes = np.array([[0.1, 0.2, 0.4, 0.9]])
    found, expected = (
        home.bboxes_affine(boxes, turned, "largest_box", (90, 70), cv2.BORDER_REFLECT_101, (90, 70))  # type: ignore[attr-defined]
        for home in (moved_boxes, geometric)
    )
    assert len(found) > 1
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_CORNERS", [0, 1, 2, 3, 0, 1, 2, 3]),
        ("_STILL", (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.5)),
        ("_PLAIN", (cv2.BORDER_CONSTANT, cv2.BORDER_REFLECT_101)),
    ],
)
def test_the_law_sees_boxes_moved_wrongly(name: str, fault: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moved_boxes, name, fault)
    with pytest.raises(AssertionError):
        if name == "_PLAIN":
            test_where_the_border_reflects_they_are_seen_more_than_once()
        else:
            PLANTED(given(**CASES)(check))()
