"""What a recipe means as plain JSON, equal recipes alike: what its digest is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

HOW = frozenset(
    {"name", "about", "optimize", "without_rules", "plugins", "max_bytes"}
)  # fields that say how a recipe runs, not what it does


def canonical(value: Any) -> Any:
    """Values as JSON has them, equal ones alike: 25.0 is 25; fields that do not compare are left out.

    >>> canonical({"scale": (0.5, 1.0)})
    {'scale': [0.5, 1]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        said = [(f, getattr(value, f.name)) for f in fields(value) if f.compare]
        return {f.name: canonical(part) for f, part in said if part or not f.metadata.get("unsaid")}
    if isinstance(value, Mapping):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [canonical(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
