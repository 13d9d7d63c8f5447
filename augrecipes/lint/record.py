"""What a lint is, what it looks at and finds. Why each matters, how to fix it, and examples stand in docs/CODES.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from math import inf
from typing import Any

from augrecipes.errors import Fix, Severity
from augrecipes.ops import groups, records, registry
from augrecipes.ops.sizes import UNKNOWN, SizeBounds
from augrecipes.recipe.model import NOWHERE, Arguments, Position, Recipe, Step


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a lint has to say.

    Attributes:
        message: what is wrong, and how to mend it.
        step: the step that it speaks of; None where it speaks of the recipe.
        argument: the argument that it speaks of, if it is one.
        fixes: edits of the text that may mend it, the likeliest first.
    """

    message: str
    step: Step | None = None
    argument: str | None = None
    fixes: tuple[Fix, ...] = ()

    @property
    def place(self) -> Position:
        """Where the finding stands in the recipe's file."""
        if self.step is None:
            return NOWHERE
        place = self.step.places.get(self.argument) if self.argument else None
        # What the caller set has no line; its step has.
        return place if isinstance(place, Position) and place.line else self.step.position


Findings = Iterator[Finding]
REMOVE = (Fix("remove"),)
Check = Callable[[Recipe], Findings]


@dataclass(frozen=True, slots=True)
class Lint:
    """One rule of taste or sense.

    Attributes:
        code: stable, such as `L101`.
        name: stable, such as `random-in-eval`.
        check: finds it.
        severity: `error` stops `compile`; `warning` is logged.
        advice: a matter of taste or speed, which `check` tells and nothing else logs.
    """

    code: str
    name: str
    check: Check
    severity: Severity = "warning"
    advice: bool = False


registered: dict[str, Lint] = {}


def rule(code: str, name: str, severity: Severity = "warning", *, advice: bool = False) -> Callable[[Check], Check]:
    """A function of a recipe becomes a lint."""

    def register(check: Check) -> Check:
        registered[code] = Lint(code, name, check, severity, advice)
        return check

    return register


def sections(recipe: Recipe) -> list[tuple[Step, ...]]:
    """The sections of a recipe that it has."""
    return [steps for steps in (recipe.steps, recipe.eval) if steps is not None]


# -- sizes: an interval of heights and one of widths -------------------------------------------------------------------


def arriving(recipe: Recipe) -> SizeBounds:
    """What a recipe declares of its images; of a pair, of its coarsest target."""
    least = recipe.inputs.min_size
    return UNKNOWN if least is None else SizeBounds(least, (inf, inf), True)


def along(recipe: Recipe, steps: tuple[Step, ...]) -> Iterator[tuple[Step, SizeBounds, SizeBounds]]:
    """Each step of a section, with what is known of the size before it and after it."""
    size = arriving(recipe)
    for step in steps:
        before, size = size, after(step, size)
        yield step, before, size


def after(step: Step, size: SizeBounds) -> SizeBounds:
    """What is known of the size after `step`, which may not act."""
    p = registry.chance(step)
    if p <= 0:
        return size
    acted = acting(step, size)
    return acted if p >= 1 else acted.join(size)


def acting(step: Step, size: SizeBounds) -> SizeBounds:
    """What is known of the size after `step` has acted."""
    match step.name:
        case groups.SEQUENTIAL:
            return reduce(lambda known, child: after(child, known), step.steps, size)
        case groups.ONE_OF:
            ends = [acting(child, size) for child in step.steps if registry.chance(child) > 0]
            return reduce(SizeBounds.join, ends) if ends else size
        case groups.SOME_OF | groups.RANDOM_ORDER:
            # Which children run, and in which order, is drawn: say something only where none changes the size.
            return size if all(after(child, size) == size for child in step.steps) else UNKNOWN
    record = records.op_record(step.name)
    if not record.is_known:
        return size if registry.is_image_only(step.name) else UNKNOWN
    return size if record.size is None else record.size(registry.effective(step), size)


def on_one_grid(recipe: Recipe) -> Iterator[tuple[Step, ...]]:
    """The sections of a recipe; those of a pair without what acts on single targets, in pixels of the coarsest one.

    >>> from augrecipes.recipe.parse import parse_text
    >>> head = "version: 1\\nrecipe: t\\nkind: pair\\nscales: {lr: 1, hr: 4}\\n"
    >>> recipe = parse_text(head + "steps: [RandomCrop: {height: 192, width: 96, at: hr}, Blur: {target: lr}]")
    >>> [(step.name, step.args["height"], step.args["width"]) for step in next(on_one_grid(recipe))]
    [('RandomCrop', 48, 24)]
    """
    scales: dict[str, int] = recipe.scales.plain()
    for steps in sections(recipe):
        shared = (step for step in steps if step.name != groups.DEGRADE and not step.target)
        yield tuple(_counted(step, scales) for step in shared) if scales else steps


def _counted(step: Step, scales: dict[str, int]) -> Step:
    if step.steps:
        return replace(step, steps=tuple(_counted(child, scales) for child in step.steps))
    record = records.op_record(step.name)
    if not record.pixels or step.at is None:
        return step
    coarsest, own = min(scales.values()), scales[step.at]
    values = registry.effective(step)
    counted = {name: _scaled(values[name], coarsest, own) for name in record.pixels if values.get(name) is not None}
    return replace(step, args=Arguments({**step.args.plain(), **counted}))


def _scaled(value: Any, numerator: int, denominator: int) -> Any:
    """A number of pixels, or each in a list, by a ratio."""
    if isinstance(value, list | tuple):
        return [_scaled(item, numerator, denominator) for item in value]
    return value * numerator // denominator if isinstance(value, int) else value


# -- pairs -------------------------------------------------------------------------------------------------------------


# A step of a pair, never a Degrade or what stands inside one; the targets that it acts on, its group's where it names
# none; those of them that exist when it runs: what a later Degrade makes is not there yet; and the Degrade before it.
StepTargets = tuple[Step, tuple[str, ...], tuple[str, ...], Step | None]


def by_target(recipe: Recipe) -> Iterator[StepTargets]:
    """Every step of a pair with its targets, groups before their children; of other recipes none."""
    for steps in sections(recipe) if recipe.facts.scales else ():
        waiting = [step.args.get("target") for step in steps if step.name == groups.DEGRADE]
        last: Step | None = None
        for step in steps:
            if step.name == groups.DEGRADE:
                waiting = waiting[1:]
                last = step
            else:
                there = tuple(name for name in recipe.scales if name not in waiting)
                yield from _inside(step, tuple(recipe.scales), there, last)


def _inside(step: Step, named: tuple[str, ...], there: tuple[str, ...], last: Step | None) -> Iterator[StepTargets]:
    named = step.target or named
    yield step, named, tuple(name for name in named if name in there), last
    for child in step.steps:
        yield from _inside(child, named, there, last)


def moves(step: Step) -> bool:
    """Whether the step moves pixels, or bends the image."""
    record = records.op_record(step.name)
    return record.displaces or (record.moves and record.action != "identity")
