"""Keypoints are checked, filtered and converted as albumentations' own processor does it: bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import PLANTED
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.compat import boxes as quick
from augrecipes.compat.albumentations import A, KeypointsProcessor

INSIDE = st.floats(0, 29, width=32)
PLACES = st.one_of(INSIDE, INSIDE, INSIDE, INSIDE, st.sampled_from([-0.0, -1e-6, 30.0, 45.0, 1e9, float("nan")]))
ANGLES = st.sampled_from([0.0, 3.0, 7.0, -1e-9])
CASES = {
    "points": st.lists(st.tuples(PLACES, PLACES, st.sampled_from([0.0, -2.0]), ANGLES, PLACES, PLACES), max_size=3),
    "dtype": st.sampled_from(["float32", "float64"]),
    "labels": st.integers(0, 1),
    "form": st.sampled_from(["xy", "yx", "xya", "xysa"]),
    "size": st.tuples(st.integers(24, 50), st.integers(24, 50)),
    "remove_invisible": st.booleans(),
    "deep": st.sampled_from([False, False, False, True]),
}


# At an angle that rounds up to a turn; below the picture.
TELLING = [(5.0, 5.0, 0.0, -1e-9, 1.0, 1.0), (5.0, 35.0, 0.0, 0.0, 1.0, 1.0)]


def outcome(work: Any, *args: Any) -> Any:
    try:
        return work(*args)
    except ValueError as error:
        return str(error)


def check(
    points: list[Any], dtype: str, labels: int, form: str, size: tuple[int, int], remove_invisible: bool, deep: bool
) -> None:
    """The law."""
    params = {"format": form, "remove_invisible": remove_invisible}
    plain, ours = (KeypointsProcessor(A.KeypointParams(**params)) for _ in range(2))
    quick._quicken_keypoints(ours)
    shape = {"height": size[0], "width": size[1]} | ({"depth": 3} if deep else {})
    array = np.array(points, dtype).reshape(-1, 6)
    given_in, inside = array[:, : len(form) + labels], array[:, : 5 + labels]
    for name, data, more in (
        ("check_and_convert", given_in, ["to"]),
        ("filter", inside, []),
        ("check_and_convert", inside, ["from"]),
    ):
        before = data.copy()
        with np.errstate(all="ignore"):
            found, wanted = (outcome(getattr(one, name), data.copy(), shape, *more) for one in (ours, plain))
        assert data.tobytes() == before.tobytes()
        if isinstance(wanted, str):
            assert isinstance(found, str)
            assert found == wanted
        else:
            assert (found.dtype, found.shape, found.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())


@given(**CASES)
def test_keypoints_bit_for_bit(**case: Any) -> None:
    check(**case)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_plainly_inside", lambda points, shape: True),
        ("_LEAST", np.array([0, 0, -np.inf, -np.inf])),
        ("_ORDER", {"xy": slice(2), "yx": slice(2)}),
        ("_points_outward", lambda points, order: points[:, order].copy()),
        ("_most", lambda height, width: np.array([height, width, np.inf, np.inf])),
    ],
)
def test_the_law_sees_keypoints_treated_wrongly(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    quick._most.cache_clear()
    monkeypatch.setattr(quick, name, fault)
    with pytest.raises(AssertionError):
        for point in TELLING:
            check([point], "float32", 0, "xy", (30, 40), remove_invisible=True, deep=False)
        PLANTED(given(**CASES)(check))()
    monkeypatch.undo()
    quick._most.cache_clear()
