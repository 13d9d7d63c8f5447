"""Pairs, as the lints of sizes look at them: every number of pixels counted on the coarsest target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from augrecipes.lint.arguments import arguments, sections
from augrecipes.ops import groups
from augrecipes.ops.capabilities import capability
from augrecipes.recipe.model import Arguments, Recipe, Step


def on_one_grid(recipe: Recipe) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """The sections of a recipe; those of a pair without what acts on single targets, in pixels of the coarsest one.

    >>> from augrecipes.recipe.parse import parse_text
    >>> head = "version: 1\\nrecipe: t\\nkind: pair\\nscales: {lr: 1, hr: 4}\\n"
    >>> recipe = parse_text(head + "steps: [RandomCrop: {height: 192, width: 96, at: hr}, Blur: {target: lr}]")
    >>> [(step.name, step.args["height"], step.args["width"]) for step in dict(on_one_grid(recipe))["steps"]]
    [('RandomCrop', 48, 24)]
    """
    if not recipe.facts.scales:
        yield from sections(recipe)
        return
    scales: dict[str, int] = recipe.scales.plain()
    for name, steps in sections(recipe):
        yield name, tuple(_counted(step, scales) for step in steps if step.name != groups.DEGRADE and not step.target)


def _counted(step: Step, scales: dict[str, int]) -> Step:
    if step.steps:
        return replace(step, steps=tuple(_counted(child, scales) for child in step.steps))
    record = capability(step.name)
    if record is None or not record.pixels or step.at is None:
        return step
    factor = Fraction(min(scales.values()), scales[step.at])
    values = arguments(step)
    counted = {name: _times(values[name], factor) for name in record.pixels if values.get(name) is not None}
    return replace(step, args=Arguments({**step.args.plain(), **counted}))


def _times(value: Any, factor: Fraction) -> Any:
    if isinstance(value, list | tuple):
        return [_times(item, factor) for item in value]
    return int(value * factor) if isinstance(value, int) else value
