"""What the two numbers of an argument are called that is a pair but no range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Arguments of two numbers that are no range, and what the numbers are.
_PAIRS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("size", "max_size_hw"), ("height", "width")),
    **dict.fromkeys(("grid", "tile_grid_size"), ("rows", "columns")),
    **dict.fromkeys(("holes_number_xy", "num_grid_xy", "shift_xy"), ("x", "y")),
    "padding": ("left, right", "top, bottom"),
}
_TWO = 2
_RANGE_WORDS = {"x-range", "x-nondecreasing"}


def pair_names(argument: str, schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """What the two numbers of an argument are called that is a pair but no range; None of every other argument.

    Args:
        argument: its name.
        schema: its JSON Schema, with the keywords of `tests/recipe_schema.py`.

    >>> from augrecipes.ops.registry import takes
    >>> pair_names("size", takes("RandomResizedCrop")["size"]), pair_names("limit", takes("Rotate")["limit"])
    (('height', 'width'), None)
    """
    parts = (schema, *schema.get("anyOf", ()))
    items = next((one["prefixItems"] for one in parts if len(one.get("prefixItems", ())) == _TWO), None)
    if items is None or argument in _PAIRS:
        return items and _PAIRS[argument]
    # A range says so: by its validators, by one number that may stand for it, or by its name.
    said = any(_RANGE_WORDS & one.keys() or one.get("type") in ("number", "integer") for one in parts)
    whole = all("number" not in [part.get("type") for part in (one, *one.get("anyOf", ()))] for one in items)
    return ("first", "second") if whole and not said and not argument.endswith(("_range", "_limit")) else None
