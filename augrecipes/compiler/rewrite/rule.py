"""What a rewrite rule is, and how rules run over the straight parts of a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

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
        rewrite: from a straight run of steps to the rewritten run, or None where the rule does not apply. One that
            changes a bit asks `contracts.held` whether what comes behind bears it.
        outermost: only for the recipe's own steps, not for those inside a Sequential: it looks at what comes after.
        levels: of a rule with contract `LEVELS`: from the step that it has made to the bound, in levels of 255, on
            uint8. On float32, where no step rounds to levels, `FLOAT_LEVELS` is the bound of every such rule.
    """

    name: str
    equation: str
    contract: Contract
    fires: str
    leaves: str
    rewrite: Callable[[Steps, Flow], Steps | None]
    outermost: bool = False
    levels: Callable[[Step], int] | None = None


@dataclass(frozen=True, slots=True)
class Firing:
    """One application of a rule.

    Attributes:
        rule: its name.
        before: the labels that it read.
        after: the labels that it left in their place.
        contract: the rule's.
        levels: what a `LEVELS` rule may change here, of 255.
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


def runs(steps: Steps, kind: Kind) -> Iterator[tuple[int, int]]:
    """The stretches [start, stop) of at least two neighbours of one kind."""
    start = 0
    while start < len(steps):
        stop = start
        while stop < len(steps) and not steps[stop].steps and kind_of(steps[stop]) == kind:
            stop += 1
        if stop - start > 1:
            yield start, stop
        start = max(stop, start + 1)


def join(name: str, steps: Steps) -> Step:
    """One step that stands for several; each keeps its own label, so that each keeps its own draws."""
    return Step(name, steps=steps, site=f"{name}({' + '.join(s.site for s in steps)})", p=1.0)


def join_runs(steps: Steps, kind: Kind, name: str) -> Steps | None:
    """Every stretch of neighbours of `kind` joined into one step called `name`."""
    found = list(runs(steps, kind))
    for start, stop in reversed(found):
        steps = (*steps[:start], join(name, steps[start:stop]), *steps[stop:])
    return steps if found else None


def apply_rules(steps: Steps, flow: Flow, rules: tuple[Rule, ...]) -> tuple[Steps, tuple[Firing, ...]]:
    """The steps after every rule, in order, each until it no longer applies, and what fired.

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
        # Each firing removes a step or an inversion, so the bound is never met by a correct rule.
        for _ in range(len(steps) ** 2 + 1):
            after = rule.rewrite(steps, flow)
            if after is None:
                break
            fired.append(_difference(rule, steps, after, flow))
            steps = after
    return steps


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


def _difference(rule: Rule, before: Steps, after: Steps, flow: Flow) -> Firing:
    """The labels of the part that changed."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    changed = after[head : len(after) - tail]
    levels: float = 0
    if rule.levels is not None:
        made = sum(rule.levels(step) for step in changed) if flow.dtype == "uint8" else FLOAT_LEVELS
        levels = enlarged(made, after[len(after) - tail :], flow)
    sites = tuple(s.site for s in before[head : len(before) - tail])
    return Firing(rule.name, sites, tuple(s.site for s in changed), rule.contract, levels)
