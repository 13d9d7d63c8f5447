"""Which image of a target a sample takes: one of its versions, or the one that a Degrade makes.

Versions are images of one scene on one grid, such as LR of several degradations: `lr`, `lr_2`, `lr_3`. Where
`inputs: {lr: {real: 0.3}}` says so, a sample takes them with that probability, and else what a Degrade makes of HR; so
it does wherever there is none. Both are drawn by a key of the target's own: no draw of a step changes with them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from augrecipes.compiler.rewrite import Compiled
from augrecipes.ops import groups
from augrecipes.recipe.model import Arguments, Mode, Recipe

Applied = tuple[str, str, dict[str, Any]]  # of `applied`: label, class, parameters
_VERSION = re.compile(r"(.+)_([2-9]|[1-9]\d)")


def target_of(name: str, scales: Collection[str]) -> str | None:
    """The target that an image is of, by its name; None where it is of none.

    >>> target_of("lr", ["lr", "hr"]), target_of("lr_2", ["lr", "hr"]), target_of("lr_2", ["lr", "lr_2"])
    ('lr', 'lr', 'lr_2')
    >>> target_of("lr_1", ["lr", "hr"]) is None
    True
    """
    match = None if name in scales else _VERSION.fullmatch(name)
    base = name if match is None else match[1]
    return base if base in scales else None


def versions(names: Collection[str], scales: Collection[str]) -> dict[str, list[str]]:
    """The names of the versions of each target, the first one first.

    >>> versions(["hr", "lr_3", "lr", "lr_2", "mask"], ["lr", "hr"])
    {'hr': ['hr'], 'lr': ['lr', 'lr_2', 'lr_3']}
    """
    several = dict[str, list[str]]()
    for name in sorted(names, key=lambda name: (len(name), name)):
        if (target := target_of(name, scales)) is not None:
            several.setdefault(target, []).append(name)
    return several


def with_versions(scales: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    """The scales with those of the versions among `names`."""
    return {**scales, **{name: scales[target] for name in names if (target := target_of(name, scales))}}


def read_order(names: Collection[str], scales: Mapping[str, int], optional: Collection[str] = ()) -> list[str]:
    """The names of a scene's images in their order: those that every scene has, then by scale, the largest first."""
    every = with_versions(scales, names)
    return sorted(
        every.keys() & {*names},
        key=lambda name: (target_of(name, scales) in optional, -every[name], [*every].index(name)),
    )


def optional_targets(recipe: Recipe, mode: Mode) -> frozenset[str]:
    """The targets that a section reads where they are, and has its Degrades make where not."""
    return frozenset(recipe.inputs.real if mode == "train" else ())


@dataclass(frozen=True)
class Choices:
    """Chooses which image a sample takes of each target.

    Attributes:
        draws: of each target that may be read, at the key of the sample.
        shares: of samples that read a target which a Degrade makes; all read the others.
        scales: of the recipe.
        draws_version: in evaluation the first is taken.
    """

    draws: Mapping[str, Random]
    shares: Mapping[str, float]
    scales: Mapping[str, int]
    draws_version: bool

    def of_sample(self, names: Collection[str]) -> dict[str, str]:
        """Which of these images it takes, of each target that leaves a choice; "": the one that its Degrade makes."""
        choices, there = dict[str, str](), versions(names, self.scales)
        for target, draw in self.draws.items():
            several, share = there.get(target, []), self.shares.get(target, 1)
            if target in self.shares or several not in ([], [target]):
                is_real, place = draw.random() < share, draw.random()
                k = int(place * len(several)) if self.draws_version else 0
                choices[target] = several[k] if several and is_real else ""
        return choices


def applied_choices(choices: Mapping[str, str], images: Collection[str]) -> Iterator[Applied]:
    """What was chosen, of targets of which there are images and of others, as `applied` has it."""
    for target, name in choices.items():
        is_real = target in images
        yield f"inputs.{target}", "real" if is_real else groups.DEGRADE, {"version": name} if is_real else {}


def reading(compiled: Compiled, real: frozenset[str]) -> Compiled:
    """A compiled recipe without the Degrades of targets that are read."""

    def rest(steps: Any) -> Any:
        return tuple(step for step in steps if step.name != groups.DEGRADE or step.args["target"] not in real)

    plans = {arrival: replace(plan, steps=rest(plan.steps)) for arrival, plan in compiled.plans.items()}
    inputs = replace(compiled.recipe.inputs, real=Arguments())
    recipe = replace(compiled.recipe, steps=rest(compiled.recipe.steps), inputs=inputs)
    return replace(compiled, recipe=recipe, plans=plans, later=compiled.later - real)
