"""Each kernel does what its definition says, to the last bit, and reads and writes nothing beside its arrays.

So it is on every instruction set, with guard pages around arrays, for rows of tests/laws/kernel_table.py.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from kernel_sets import KERNEL_SETS, Spoilt
from kernel_table import TABLE, WHOLE, Row, law
from support.checks import FAILURES, PLANTED, holds

from augrecipes.native.kernels import Library
from augrecipes.ops import places

ROWS = [
    pytest.param(row, kernels, id=f"{row.kernel}-{kernels.isa if kernels else 'python'}")
    for row in TABLE
    for kernels in KERNEL_SETS
    if (row.python if kernels is None else row.exists(kernels))
]
NATIVE = [row for row in ROWS if row.values[1] is not None]


@pytest.mark.parametrize(("row", "kernels"), ROWS)
def test_a_kernel_does_its_work_and_touches_nothing_beside_its_arrays(row: Row, kernels: Library | None) -> None:
    worked: list[bool] = []
    layouts = st.sampled_from(list(row.layouts.values()))
    holds(lambda case, layout: worked.append(law(row, kernels, case, layout)), row.cases, layouts, tried=row.tried)
    assert sum(worked) > len(worked) // 3


@pytest.mark.parametrize(("row", "kernels"), NATIVE)
def test_one_bit_that_is_another_is_seen(row: Row, kernels: Library) -> None:
    spoilt: Any = Spoilt(kernels, row.result, row.spoil, row.kernel)
    with pytest.raises(FAILURES):
        holds(lambda case: law(row, spoilt, case, WHOLE["behind a page"]), row.cases, tried=PLANTED)


def test_a_mask_has_the_nearest_pixels() -> None:
    """Of every size to every other: no pixel's middle lies nearer to where the result's lies."""
    for now in range(1, 40):
        for count in range(1, 40):
            chosen = places.nearest(np.arange(now)[:, None], (count, 1))[:, 0]
            middles = (np.arange(count) + 0.5) * now / count - 0.5
            assert (np.abs(chosen - middles) <= 0.5 + 1e-9).all(), (now, count)
