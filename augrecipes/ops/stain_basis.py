"""Bases of stains: optical densities in R, G, B of two or three of them. Needs no numpy: linting must be quick."""

from collections.abc import Mapping, Sequence
from math import hypot, inf, prod
from operator import mul
from typing import Any

Rows = Sequence[Sequence[float]]

_HED = ((0.65, 0.70, 0.29), (0.07, 0.99, 0.11), (0.27, 0.57, 0.78))  # Ruifrok and Johnston 2001, table 1
PRESETS: Mapping[str, Rows] = {"hed": _HED, "he": _HED[:2]}
_LEAST_VOLUME = 0.03  # of stains of length 1, as of two at 2 degrees: at less, noise of a level becomes one of thirty


def is_estimated(a: Mapping[str, Any]) -> bool:
    """Whether a step with these arguments has a basis that the tissue tells."""
    return isinstance(a["basis"], str) and a["basis"] not in PRESETS


def check_basis(a: Mapping[str, Any]) -> tuple[str, str] | None:
    """Two or three stains, of which none is a mixture of the others."""
    if isinstance(a["basis"], str) or _volume(a["basis"]) > _LEAST_VOLUME:
        return None
    wants = "two or three rows of three optical densities, of which none is 0, parallel to another or a mixture of two"
    return "basis", f"must be {wants}, got {a['basis']}"


def _volume(rows: Rows) -> float:
    """What stains of length 1 span, with what stands upright on two of them; 0 of what is no basis."""
    if len(rows) not in (2, 3) or any(len(row) != 3 for row in rows):
        return 0
    u, v, *more = rows
    normal = [u[k - 2] * v[k - 1] - u[k - 1] * v[k - 2] for k in range(3)]
    volume = abs(sum(map(mul, normal, *more))) if more else hypot(*normal)
    return volume / (prod(hypot(*row) for row in rows) or inf)
