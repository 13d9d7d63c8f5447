"""Whether two samples, or batches of them, are the same, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def same(a: Any, b: Any) -> None:
    """Fails where types, keys, shapes, dtypes or values differ."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, torch.Tensor | np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    elif isinstance(a, list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    else:
        assert a == b
