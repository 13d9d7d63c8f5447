"""Bases of stains: the optical densities of two or three stains in R, G, B. Needs no numpy: linting must be fast."""

from collections.abc import Mapping, Sequence
from math import hypot, inf, prod
from operator import mul
from typing import Any

Rows = Sequence[Sequence[float]]

_HED = ((0.65, 0.70, 0.29), (0.07, 0.99, 0.11), (0.27, 0.57, 0.78))  # Ruifrok and Johnston 2001, table 1
PRESETS: Mapping[str, Rows] = {"hed": _HED, "he": _HED[:2]}
_LEAST_VOLUME = 0.03  # spanned by unit stains, as by two 2 degrees apart: below, noise of 1 level becomes 30 levels


def is_estimated(a: Mapping[str, Any]) -> bool:
    """Whether a step with these arguments estimates its basis from the tissue."""
    return isinstance(a["basis"], str) and a["basis"] not in PRESETS


def check_basis(a: Mapping[str, Any]) -> tuple[str, str] | None:
    """Check that a basis is two or three stains of which none is a mixture of the others."""
    if isinstance(a["basis"], str) or _volume(a["basis"]) > _LEAST_VOLUME:
        return None
    wants = "two or three rows of three optical densities, of which none is 0, parallel to another or a mixture of two"
    return "basis", f"must be {wants}, got {a['basis']}"


def _volume(rows: Rows) -> float:
    """The volume spanned by unit stains, two of them completed by their normal; 0 where they are no basis."""
    if len(rows) not in (2, 3) or any(len(row) != 3 for row in rows):
        return 0
    u, v, *more = rows
    normal = [u[k - 2] * v[k - 1] - u[k - 1] * v[k - 2] for k in range(3)]
    volume = abs(sum(map(mul, normal, *more))) if more else hypot(*normal)
    return volume / (prod(hypot(*row) for row in rows) or inf)
