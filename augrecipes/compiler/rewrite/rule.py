"""What a rewrite rule is, and how rules run over the straight parts of a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil

from augrecipes.compiler.rewrite.contracts import FLOAT_LEVELS, Contract, before, before_each, enlarged
from augrecipes.flow import Flow
from augrecipes.ops.capabilities import capability
from augrecipes.ops.capability import Kind
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Step

Steps = tuple[Step, ...]

# Steps that rules make; no recipe can name them.
JOINED_FLIPS = "JoinedFlips"
JOINED_CROPS = "JoinedCrops"
JOINED_TABLE = "JoinedTable"
INTO_SINK = "IntoSink"
JOINED_WARPS = "JoinedWarps"
JOINED_COLOURS = "JoinedColours"
WINDOW_READ = "WindowRead"
OWED_MOVES = "OwedMoves"  # of a pair
REDUCES = "reduces"  # argument of joined warps: they may reduce a picture before they warp it
SCALES = "scales"  # and the decoder may do that, for a picture that is not decoded yet
READS = "reads"  # argument of a plan's first step: it takes a picture that is not decoded yet
JOINED = (JOINED_FLIPS, JOINED_CROPS, JOINED_TABLE, INTO_SINK, JOINED_WARPS, JOINED_COLOURS, WINDOW_READ)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewrite rule.

    Attributes:
        name: snake_case.
        equation: what becomes what, in one line.
        contract: `EXACT`: the same bits. `LEVELS`: pointwise work, a few of 255 levels apart, see `levels`. `GEOMETRY`:
            merged resampling: places agree to 0.01 px wherever both are inside the source, and the result is never
            further from an analytic truth; pixels may differ, and `augrecipes verify` reports by how much.
        fires: YAML steps that it fires on.
        leaves: YAML steps that it must leave alone.
        rewrite: from a straight run of steps to its edits, in order and apart, after which the rule finds no more. It
            looks at each step a fixed number of times. One that changes a bit asks `contracts.held_from` whether what
            comes behind bears it.
        outermost: only for the recipe's own steps, not for those inside a Sequential: it looks at what comes after.
    """

    name: str
    equation: str
    contract: Contract
    fires: str
    leaves: str
    rewrite: Callable[[Steps, Flow], Iterable[Edit]]
    outermost: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """What a rule does at one place.

    Attributes:
        start, stop: of the steps that it replaces; the end is exclusive.
        steps: that it puts in their place.
        levels: of a rule with contract `LEVELS`: by how many levels of 255 it may change what comes out of them on
            uint8. On float32, where no step rounds to levels, `FLOAT_LEVELS` is the bound of every such edit.
    """

    start: int
    stop: int
    steps: Steps
    levels: float = 0


@dataclass(frozen=True, slots=True)
class Firing:
    """One application of a rule.

    Attributes:
        rule: its name.
        before: the labels that it read.
        after: the labels that it left in their place.
        contract: the rule's.
        levels: of a `LEVELS` rule: what this adds to how far the pictures behind it may be apart, of 255.
    """

    rule: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    contract: Contract = "EXACT"
    levels: float = 0


def kind_of(step: Step) -> Kind:
    """What the compiler may assume of a step: its capability, given its arguments."""
    record = capability(step.name)
    if record is None:
        return "opaque"
    return record.kind if record.when is None else record.kind_for(effective(step))


def runs(steps: Steps, belongs: Callable[[Step], bool]) -> Iterator[tuple[int, int]]:
    """The stretches [start, stop) of neighbours that belong together, as long as they can be."""
    place = 0
    for together, stretch in groupby(steps, belongs):
        start, place = place, place + sum(1 for _ in stretch)
        if together:
            yield start, place


def swaps(steps: Steps, back: Sequence[bool], front: Sequence[bool]) -> Iterator[Edit]:
    """Steps marked in `front` before those marked in `back` that stand directly before them; each keeps its order.

    >>> steps = tuple(Step("step", site=site) for site in "abcde")
    >>> [edit] = swaps(steps, [True, True, False, False, True], [False, False, True, False, False])
    >>> edit.start, edit.stop, [step.site for step in edit.steps]
    (0, 3, ['c', 'a', 'b'])
    """
    start = stop = None
    for place, (moves, passes) in enumerate(zip([*back, False], [*front, False], strict=True)):
        if moves:
            start = place if start is None else start
        elif not passes:
            if start is not None and stop is not None:
                yield Edit(start, stop, tuple(steps[k] for k in sorted(range(start, stop), key=back.__getitem__)))
            start = stop = None
        elif start is not None:
            stop = place + 1


def join(name: str, steps: Steps) -> Step:
    """One step that stands for several; each keeps its own label, so that each keeps its own draws."""
    return Step(name, steps=steps, site=f"{name}({' + '.join(s.site for s in steps)})", p=1.0)


def join_runs(steps: Steps, kind: Kind, name: str) -> list[Edit]:
    """Every stretch of neighbours of `kind` joined into one step called `name`."""
    stretches = runs(steps, lambda step: not step.steps and kind_of(step) == kind)
    return [Edit(start, stop, (join(name, steps[start:stop]),)) for start, stop in stretches if stop - start > 1]


def apply_rules(steps: Steps, flow: Flow, rules: tuple[Rule, ...]) -> tuple[Steps, tuple[Firing, ...]]:
    """The steps after every rule, in order, and what fired.

    Rules see straight runs only: the recipe itself and the inside of every Sequential. A OneOf's children are
    looked into, never added, dropped or moved, since that would change its choice.
    """
    fired: list[Firing] = []
    rewritten = _straight(steps, flow, rules, fired, outermost=True)
    return rewritten, tuple(fired)


def _straight(steps: Steps, flow: Flow, rules: tuple[Rule, ...], fired: list[Firing], *, outermost: bool) -> Steps:
    if any((record := capability(s.name)) and record.changes_dtype for step in steps for s in step.walk()):
        flow = replace(flow, dtype=None)
    flows = before_each(steps, flow)
    steps = tuple(_inside(step, flow, rules, fired) for step, flow in zip(steps, flows, strict=True))
    for rule in rules:
        if rule.outermost and not outermost:
            continue
        steps = _edited(rule, steps, flow, fired)
    return steps


def _edited(rule: Rule, steps: Steps, flow: Flow, fired: list[Firing]) -> Steps:
    """The steps after one rule."""
    edits = list(rule.rewrite(steps, flow))
    made: list[Step] = []
    place, apart = 0, 0.0
    for edit, end in zip(edits, [*(edit.start for edit in edits), len(steps)][1:], strict=True):
        made += [*steps[place : edit.start], *edit.steps]
        place, were = edit.stop, apart
        if rule.contract == "LEVELS":
            # What edits before this one have changed goes through its steps too.
            apart = enlarged(apart, edit.steps, flow) if apart else 0
            apart += edit.levels if flow.dtype == "uint8" else FLOAT_LEVELS
            apart = enlarged(apart, steps[edit.stop : end], flow) if apart else 0
        before, after = (tuple(s.site for s in part) for part in (steps[edit.start : edit.stop], edit.steps))
        whole = ceil if flow.dtype == "uint8" else float
        fired.append(Firing(rule.name, before, after, rule.contract, whole(apart) - whole(were)))
    return (*made, *steps[place:])


def _inside(step: Step, flow: Flow, rules: tuple[Rule, ...], fired: list[Firing]) -> Step:
    if not step.is_group:
        return step
    flow = replace(flow, encoded=False)  # here a picture is decoded already
    if step.name == "Sequential":
        children = _straight(step.steps, flow, rules, fired, outermost=False)
    else:
        if step.name != "OneOf":
            flow = before(step.steps, flow)  # any of them may come after any other
        children = tuple(_inside(child, flow, rules, fired) for child in step.steps)
    return step if children == step.steps else replace(step, steps=children)
