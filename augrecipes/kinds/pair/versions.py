"""Chooses which image of a target a sample takes: one of its versions, or the result of a Degrade.

Versions are images of one scene on one grid, such as LR with several degradations: `lr`, `lr_2`, `lr_3`. With
`inputs: {lr: {real: 0.3}}` a sample takes a version with probability 0.3; otherwise, and where there is none, a Degrade
makes the target from HR. Both choices draw at a key of the target's own, so they change no draw of a step.
"""

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
    """The target that an image belongs to, by its name; None: no target.

    >>> target_of("lr", ["lr", "hr"]), target_of("lr_2", ["lr", "hr"]), target_of("lr_2", ["lr", "lr_2"])
    ('lr', 'lr', 'lr_2')
    >>> target_of("lr_1", ["lr", "hr"]) is None
    True
    """
    match = None if name in scales else _VERSION.fullmatch(name)
    base = name if match is None else match[1]
    return base if base in scales else None


def versions(names: Collection[str], scales: Collection[str]) -> dict[str, list[str]]:
    """The names of the versions of each target, in order.

    >>> versions(["hr", "lr_3", "lr", "lr_2", "mask"], ["lr", "hr"])
    {'hr': ['hr'], 'lr': ['lr', 'lr_2', 'lr_3']}
    """
    by_target = dict[str, list[str]]()
    for name in sorted(names, key=lambda name: (len(name), name)):
        if (target := target_of(name, scales)) is not None:
            by_target.setdefault(target, []).append(name)
    return by_target


def with_versions(scales: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    """The scales, extended by those of the versions among `names`."""
    return {**scales, **{name: scales[target] for name in names if (target := target_of(name, scales))}}


def read_order(names: Collection[str], scales: Mapping[str, int], optional: Collection[str] = ()) -> list[str]:
    """The names of a scene's images in their order: images that every scene has first, then by falling scale."""
    scale_of = with_versions(scales, names)
    return sorted(
        scale_of.keys() & {*names},
        key=lambda name: (target_of(name, scales) in optional, -scale_of[name], [*scale_of].index(name)),
    )


def optional_targets(recipe: Recipe, mode: Mode) -> frozenset[str]:
    """The targets that a section reads where they have files, and that its Degrades make otherwise."""
    return frozenset(recipe.inputs.real if mode == "train" else ())


@dataclass(frozen=True)
class Choices:
    """Chooses which image a sample takes of each target.

    Attributes:
        draws: the generator of each target that may be read, at the sample's key.
        shares: for targets that a Degrade makes, the share of samples that read them.
        scales: the recipe's scales.
        draws_version: whether the version is drawn; in evaluation it is the first.
    """

    draws: Mapping[str, Random]
    shares: Mapping[str, float]
    scales: Mapping[str, int]
    draws_version: bool

    def of_sample(self, names: Collection[str]) -> dict[str, str]:
        """The image that a sample takes for each target with a choice; "": its Degrade makes it."""
        choices, by_target = dict[str, str](), versions(names, self.scales)
        for target, draw in self.draws.items():
            candidates, share = by_target.get(target, []), self.shares.get(target, 1)
            if target in self.shares or candidates not in ([], [target]):
                is_real, place = draw.random() < share, draw.random()
                k = int(place * len(candidates)) if self.draws_version else 0
                choices[target] = candidates[k] if candidates and is_real else ""
        return choices


def applied_choices(choices: Mapping[str, str], images: Collection[str]) -> Iterator[Applied]:
    """The choices in the form of `applied`; `images` are the targets that were read."""
    for target, name in choices.items():
        is_real = target in images
        yield f"inputs.{target}", "real" if is_real else groups.DEGRADE, {"version": name} if is_real else {}


def reading(compiled: Compiled, real: frozenset[str]) -> Compiled:
    """The compiled recipe without the Degrades of the targets in `real`, which are read."""

    def without_degrades(steps: Any) -> Any:
        return tuple(step for step in steps if step.name != groups.DEGRADE or step.args["target"] not in real)

    plans = {arrival: replace(plan, steps=without_degrades(plan.steps)) for arrival, plan in compiled.plans.items()}
    inputs = replace(compiled.recipe.inputs, real=Arguments())
    recipe = replace(compiled.recipe, steps=without_degrades(compiled.recipe.steps), inputs=inputs)
    return replace(compiled, recipe=recipe, plans=plans, later=compiled.later - real)
