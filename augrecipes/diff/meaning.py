"""What a step means: its arguments with defaults merged, what it inherits, and whether it draws at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from augrecipes.kinds import Facts
from augrecipes.ops import groups
from augrecipes.ops.capabilities import capability
from augrecipes.ops.ranges import makes_draws
from augrecipes.ops.registry import chance, effective
from augrecipes.recipe.model import Recipe, Step


@dataclass(frozen=True, slots=True)
class Meaning:
    """One step in effect.

    Attributes:
        step: as it was written.
        place: from 1, in its section, then in each group on the way to it.
        behind: the label of the step before it in its list; None where it is the first.
        values: arguments that take effect, without `p`; of `target`, `at` and `share` those that say something.
        p: effective. In a OneOf it is a weight.
        weight: its share of the weights of its OneOf; None elsewhere.
        draws: whether it makes draws that a sample can show.
        steps: of a group.
        key: names all of the above that says what the step does; equal keys do the same, with the same draws.
    """

    step: Step
    place: tuple[int, ...]
    behind: str | None
    values: Mapping[str, Any]
    p: float
    weight: float | None
    draws: bool
    steps: tuple[Meaning, ...]
    key: str

    def walk(self) -> Iterator[Meaning]:
        """The step and everything inside it, in reading order."""
        yield self
        for child in self.steps:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class _StepContext:
    """What steps inherit from where they stand."""

    facts: Facts
    scales: Mapping[str, int]
    targets: tuple[str, ...] = ()
    share: str = "tile"
    degrade: bool = False


def meanings(recipe: Recipe, steps: tuple[Step, ...]) -> tuple[Meaning, ...]:
    """The steps of a section of `recipe`.

    >>> flip = Step("HorizontalFlip", site="HorizontalFlip#1")
    >>> [(one.p, one.draws, one.place) for one in meanings(Recipe("tiny"), (flip,))]
    [(0.5, True, (1,))]
    """
    scales: dict[str, int] = dict(recipe.scales)
    return _all(steps, _StepContext(recipe.facts, scales, tuple(sorted(scales))), ())


def _all(
    steps: tuple[Step, ...], context: _StepContext, place: tuple[int, ...], *, one_of: bool = False
) -> tuple[Meaning, ...]:
    weights = sum(chance(step) for step in steps) if one_of else 0.0
    befores = (None, *(step.site for step in steps))
    return tuple(
        _meaning(step, context, (*place, number), behind, weights)
        for number, (step, behind) in enumerate(zip(steps, befores, strict=False), 1)
    )


def _meaning(step: Step, context: _StepContext, place: tuple[int, ...], behind: str | None, weights: float) -> Meaning:
    values = _arguments(step)
    p = float(values.pop("p"))
    weight = p / weights if weights else None
    draws = _draws(step, p, weight)
    targets, share = tuple(sorted(step.target)) or context.targets, step.share or context.share
    inside = _StepContext(context.facts, context.scales, targets, share, context.degrade or step.name == groups.DEGRADE)
    if context.facts.scales and not step.steps and not context.degrade:  # a group's targets are its children's
        values |= {"target": list(targets), **_at(step, context, targets)}
    if context.facts.tiles and draws:
        values["share"] = share
    children = _all(step.steps, inside, place, one_of=step.name == groups.ONE_OF)
    parts = [step.name, values, p, [child.key for child in children]]
    key = hashlib.sha256(word(parts).encode()).hexdigest()
    return Meaning(step, place, behind, values, p, weight, draws, children, key)


def _arguments(step: Step) -> dict[str, Any]:
    values = effective(step)
    match step.name:
        case groups.SOME_OF:
            values = {"n": 1, "replace": False, **values}
        case groups.RANDOM_ORDER:
            values = {"n": len(step.steps), **values}
    return values


def _at(step: Step, context: _StepContext, targets: tuple[str, ...]) -> dict[str, str]:
    """The target whose pixels the numbers count; of those of one scale the first by name, as they count alike."""
    record = capability(step.name)
    if record is None or not record.pixels:
        return {}
    scales = context.scales
    scale = scales[step.at] if step.at is not None else min(scales[name] for name in targets)
    return {"at": min(name for name in scales if scales[name] == scale)}


def _draws(step: Step, p: float, weight: float | None) -> bool:
    if p == 0:
        return False
    if weight is None and p < 1:
        return True
    if step.steps:
        return step.name not in (groups.SEQUENTIAL, groups.DEGRADE)
    # Nothing is known of a class of the user's own, so it may draw.
    return capability(step.name) is None or makes_draws(step)


def plain(value: Any) -> Any:
    """A value as JSON has it; 25.0 is 25.

    >>> plain({"scale": (0.5, 1.0)})
    {'scale': [0.5, 1]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def word(value: Any) -> str:
    """A value as text that equal values share, and no others."""
    return json.dumps(plain(value), sort_keys=True)


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same to a step: 25 is 25.0, a list is a tuple, true is not 1.

    >>> equal((1, 2.0), [1.0, 2]), equal(True, 1), equal({"x": 1}, {"x": 1.0})
    (True, False, True)
    """
    return word(a) == word(b)
