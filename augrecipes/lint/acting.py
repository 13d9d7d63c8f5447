"""Pairs: which targets each step acts on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from augrecipes.lint.arguments import sections
from augrecipes.ops import groups
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Recipe, Step


class Acting(NamedTuple):
    """One step and its targets.

    Attributes:
        step: the step, never a Degrade or what stands inside one.
        named: the targets that it acts on, its group's where it names none.
        there: those of them that exist when it runs: what a later Degrade makes is not there yet.
        degraded: whether a Degrade has run before it.
    """

    step: Step
    named: tuple[str, ...]
    there: tuple[str, ...]
    degraded: Step | None


def acting(recipe: Recipe) -> Iterator[Acting]:
    """Every step of a pair with its targets, groups before their children; of other recipes none."""
    for _, steps in sections(recipe) if recipe.facts.scales else ():
        waiting = [step.args.get("target") for step in steps if step.name == groups.DEGRADE]
        last: Step | None = None
        for step in steps:
            if step.name == groups.DEGRADE:
                waiting = waiting[1:]
                last = step
            else:
                there = tuple(name for name in recipe.scales if name not in waiting)
                yield from _inside(step, tuple(recipe.scales), there, last)


def _inside(step: Step, named: tuple[str, ...], there: tuple[str, ...], last: Step | None) -> Iterator[Acting]:
    named = step.target or named
    yield Acting(step, named, tuple(name for name in named if name in there), last)
    for child in step.steps:
        yield from _inside(child, named, there, last)


def degraded(recipe: Recipe) -> Iterator[tuple[Step, Step]]:
    """Every step inside a Degrade, with that Degrade."""
    for _, steps in sections(recipe):
        for degrade in steps:
            if degrade.name == groups.DEGRADE:
                for child in degrade.steps:
                    yield from ((degrade, inner) for inner in child.walk())


def moves(step: Step) -> bool:
    """Whether the step moves pixels, or bends the picture."""
    return claims(step.name).moves and claims(step.name).action != "identity"
