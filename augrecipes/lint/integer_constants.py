"""L501: OpenCV's integer where a name says what is meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.constants import TABLES, to_name
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """Interpolations and border modes given as numbers."""
    for step in recipe.walk():
        for argument in TABLES:
            value = step.args.get(argument)
            numbers = list(value.values()) if isinstance(value, Mapping) else [value]
            for number in numbers:
                name = _name(argument, number)
                if name:
                    yield Finding(f"write `{name}` for {step.name}.{argument}, not OpenCV's {number}", step, argument)


def _name(argument: str, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    name = to_name(argument, value)
    return name if isinstance(name, str) else None


LINT = Lint(
    "L501",
    "integer-constant",
    check,
    why="Nobody remembers that 4 is reflect_101 as a border and Lanczos as an interpolation.",
    fix="Write the name.",
    diff="""
 steps:
-  - Rotate: {limit: 25, border_mode: 4}
+  - Rotate: {limit: 25, border_mode: reflect_101}
 eval: []
""",
)
