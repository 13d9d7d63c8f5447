"""How albumentations' constructors are made, and what their InitSchema keeps to itself. Imports no albumentations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any


def constructor_of(cls: type) -> Callable[..., Any]:
    """The constructor that a class has or inherits."""
    return vars(next(base for base in cls.__mro__ if "__init__" in vars(base)))["__init__"]


def is_validated(cls: type) -> bool:
    """Whether an InitSchema checks the arguments first: albumentations' metaclass names such constructors so."""
    return constructor_of(cls).__name__ == "custom_init"


def fields(cls: type) -> dict[str, tuple[Any, Sequence[Any]]]:
    """Annotation and metadata of each field of the InitSchema that a class has or inherits.

    A constructor without an InitSchema of its own hands what it shares with its parent on to the parent's.
    """
    init_schema = getattr(cls, "InitSchema", None)
    if init_schema is None or not hasattr(init_schema, "model_fields"):
        return {}
    return {name: (field.annotation, field.metadata) for name, field in init_schema.model_fields.items()}


def closure_bounds(check_range: Callable[..., Any]) -> dict[str, Any]:
    """The bounds, as keywords of JSON Schema, that a function of albumentations' `check_range_bounds` has kept."""
    seen = inspect.getclosurevars(check_range).nonlocals
    bounds = {}
    if seen.get("min_val") is not None:
        bounds["minimum" if seen.get("min_inclusive", True) else "exclusiveMinimum"] = seen["min_val"]
    if seen.get("max_val") is not None:
        bounds["maximum" if seen.get("max_inclusive", True) else "exclusiveMaximum"] = seen["max_val"]
    return bounds
