"""The records of lints and findings, and helpers to walk recipes. docs/CODES.md explains each lint, with examples."""

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
    """A finding of a lint.

    Attributes:
        message: what is wrong, and how to mend it.
        step: the step that it concerns; None: the recipe.
        argument: the step's argument that it concerns, if any.
        fixes: edits of the recipe's text that may mend it, the likeliest first.
    """

    message: str
    step: Step | None = None
    argument: str | None = None
    fixes: tuple[Fix, ...] = ()

    @property
    def place(self) -> Position:
        """The line and column of the finding in the recipe's file."""
        if self.step is None:
            return NOWHERE
        place = self.step.places.get(self.argument) if self.argument else None
        # A value set by the caller has no line, but its step has.
        return place if isinstance(place, Position) and place.line else self.step.position


Findings = Iterator[Finding]
REMOVE = (Fix("remove"),)
Check = Callable[[Recipe], Findings]


@dataclass(frozen=True, slots=True)
class Lint:
    """A lint.

    Attributes:
        code: its code, such as `L101`, which never changes.
        name: its name, such as `random-in-eval`, which never changes.
        check: the function that finds its findings.
        severity: `error` stops `compile`; `warning` is logged.
        advice: whether it is a matter of taste or speed, which only `augrecipes check` reports.
    """

    code: str
    name: str
    check: Check
    severity: Severity = "warning"
    advice: bool = False


registered: dict[str, Lint] = {}


def rule(code: str, name: str, severity: Severity = "warning", *, advice: bool = False) -> Callable[[Check], Check]:
    """Register a function of a recipe as a lint."""

    def register(check: Check) -> Check:
        registered[code] = Lint(code, name, check, severity, advice)
        return check

    return register


def sections(recipe: Recipe) -> list[tuple[Step, ...]]:
    """The sections that a recipe has."""
    return [steps for steps in (recipe.steps, recipe.eval) if steps is not None]


# -- sizes: an interval of heights and one of widths -------------------------------------------------------------------


def arriving(recipe: Recipe) -> SizeBounds:
    """The sizes that a recipe declares for its images; of a pair, for the coarsest target."""
    least = recipe.inputs.min_size
    return UNKNOWN if least is None else SizeBounds(least, (inf, inf), True)


def along(recipe: Recipe, steps: tuple[Step, ...]) -> Iterator[tuple[Step, SizeBounds, SizeBounds]]:
    """Each step of a section, with bounds of the size before and after it."""
    size = arriving(recipe)
    for step in steps:
        before, size = size, after(step, size)
        yield step, before, size


def after(step: Step, size: SizeBounds) -> SizeBounds:
    """Bounds of the size after a step that may act or not."""
    p = registry.chance(step)
    if p <= 0:
        return size
    acted = acting(step, size)
    return acted if p >= 1 else acted.join(size)


def acting(step: Step, size: SizeBounds) -> SizeBounds:
    """Bounds of the size after a step that acts."""
    match step.name:
        case groups.SEQUENTIAL:
            return reduce(lambda known, child: after(child, known), step.steps, size)
        case groups.ONE_OF:
            ends = [acting(child, size) for child in step.steps if registry.chance(child) > 0]
            return reduce(SizeBounds.join, ends) if ends else size
        case groups.SOME_OF | groups.RANDOM_ORDER:
            # Children and their order are drawn: the size is known only where no child changes it.
            return size if all(after(child, size) == size for child in step.steps) else UNKNOWN
    record = records.op_record(step.name)
    if not record.is_known:
        return size if registry.is_image_only(step.name) else UNKNOWN
    return size if record.size is None else record.size(registry.effective(step), size)


def on_one_grid(recipe: Recipe) -> Iterator[tuple[Step, ...]]:
    """The sections of a recipe; those of a pair without steps of single targets, in pixels of the coarsest target.

    >>> from augrecipes.recipe.parse import parse_text
    >>> head = "version: 1\\nrecipe: t\\nkind: pair\\nscales: {lr: 1, hr: 4}\\n"
    >>> recipe = parse_text(head + "steps: [RandomCrop: {height: 192, width: 96, at: hr}, Blur: {target: lr}]")
    >>> [(step.name, step.args["height"], step.args["width"]) for step in next(on_one_grid(recipe))]
    [('RandomCrop', 48, 24)]
    """
    scales: dict[str, int] = recipe.scales.plain()
    for steps in sections(recipe):
        shared = (step for step in steps if step.name != groups.DEGRADE and not step.target)
        yield tuple(_in_coarsest(step, scales) for step in shared) if scales else steps


def _in_coarsest(step: Step, scales: dict[str, int]) -> Step:
    if step.steps:
        return replace(step, steps=tuple(_in_coarsest(child, scales) for child in step.steps))
    record = records.op_record(step.name)
    if not record.pixels or step.at is None:
        return step
    coarsest, own = min(scales.values()), scales[step.at]
    values = registry.effective(step)
    counted = {name: _scale(values[name], coarsest, own) for name in record.pixels if values.get(name) is not None}
    return replace(step, args=Arguments({**step.args.plain(), **counted}))


def _scale(value: Any, numerator: int, denominator: int) -> Any:
    """A number of pixels, or each of a list, times numerator / denominator."""
    if isinstance(value, list | tuple):
        return [_scale(item, numerator, denominator) for item in value]
    return value * numerator // denominator if isinstance(value, int) else value


# -- pairs -------------------------------------------------------------------------------------------------------------


# A step of a pair (no Degrade, and not inside one); the targets that it acts on, by its `target:` or its group's; those
# of them that exist when it runs, as a later Degrade may make others; and the Degrade before it.
StepTargets = tuple[Step, tuple[str, ...], tuple[str, ...], Step | None]


def by_target(recipe: Recipe) -> Iterator[StepTargets]:
    """Every step of a pair with its targets, groups before their children; nothing for other recipes."""
    for steps in sections(recipe) if recipe.facts.scales else ():
        waiting = [step.args.get("target") for step in steps if step.name == groups.DEGRADE]
        last: Step | None = None
        for step in steps:
            if step.name == groups.DEGRADE:
                waiting = waiting[1:]
                last = step
            else:
                present = tuple(name for name in recipe.scales if name not in waiting)
                yield from _children(step, tuple(recipe.scales), present, last)


def _children(step: Step, named: tuple[str, ...], present: tuple[str, ...], last: Step | None) -> Iterator[StepTargets]:
    named = step.target or named
    yield step, named, tuple(name for name in named if name in present), last
    for child in step.steps:
        yield from _children(child, named, present, last)


def moves(step: Step) -> bool:
    """Whether a step moves pixels."""
    record = records.op_record(step.name)
    return record.displaces or (record.moves and record.action != "identity")
