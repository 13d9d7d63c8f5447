"""What a rewrite rule is, and how rules run over the straight parts of a recipe."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, TypeAlias

from augrecipes.compiler.rewrite.contracts import Contract, amplified, flow_before, flows_before_each
from augrecipes.compiler.rewrite.nodes import Steps, in_each_epoch, is_open, singles
from augrecipes.flow import Flow
from augrecipes.ops import groups
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Step

Rewrite: TypeAlias = "Callable[[Steps, Flow], Iterable[Edit]]"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewrite rule.

    Attributes:
        name: snake_case.
        equation: what becomes what, in one line.
        contract: `LEVELS`: pointwise work, a few of 255 levels apart, see `levels`. `GEOMETRY`:
            merged resampling: places agree to 0.01 px wherever both are inside the source, and the result is never
            further from an analytic truth; pixels may differ, and `augrecipes verify` reports by how much.
            `DISTRIBUTION`: other random numbers of the same distribution, under the same parameters.
        fires: YAML steps that it fires on.
        leaves: YAML steps that it must leave alone.
        rewrite: from a straight run of steps to its edits, in order and apart, after which the rule finds no more. It
            looks at each step a fixed number of times. One that changes a bit asks `contracts.obstacles_from` whether
            what comes behind bears it.
        singly: it puts one step in the place of one, whatever stands around it: so it does inside every group, too, and
            inside Degrade.
    """

    name: str
    equation: str
    contract: Contract
    fires: str
    leaves: str
    rewrite: Rewrite
    singly: bool = False


def rule(contract: Contract, fires: str, leaves: str, **flags: bool) -> Callable[[Any], Rule]:
    """Make a rule of the function that rewrites steps: it has the rule's name, and its docstring is the equation."""
    return lambda rewrite: Rule(rewrite.__name__, rewrite.__doc__ or "", contract, fires, leaves, rewrite, **flags)


@dataclass(frozen=True, slots=True)
class Edit:
    """What a rule does at one place.

    Attributes:
        start, stop: of the steps that it replaces; the end is exclusive.
        steps: that it puts in their place.
        levels: by how many levels of 255 it may change what comes out of them, pixel by pixel.
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
        levels: of a `LEVELS` rule: what this adds to how far the images behind it may be apart, of 255.
    """

    rule: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    contract: Contract
    levels: float = 0


def runs(nodes: Steps, belongs: Callable[[Step], bool]) -> Iterator[tuple[int, Steps]]:
    """Where steps begin that stand side by side and belong together, and these steps, as many as there are."""
    run: list[Step] = []
    for place, node in enumerate((*nodes, None)):
        if node is not None and belongs(node):
            run.append(node)
        elif run:
            yield place - len(run), tuple(run)
            run = []


def apply_rules(steps: Steps, flow: Flow, rules: tuple[Rule, ...]) -> tuple[Steps, tuple[Firing, ...]]:
    """The steps after every rule, in order, and what fired.

    Rules see straight runs only: the recipe itself and the inside of every Sequential. A OneOf's children are
    looked into, never added, dropped or moved, since that would change its choice.
    """
    fired: list[Firing] = []
    rewritten = _straight(steps, flow, rules, fired)
    return rewritten, tuple(fired)


def _straight(steps: Steps, flow: Flow, rules: tuple[Rule, ...], fired: list[Firing]) -> Steps:
    if any(op_record(s.name).changes_dtype for step in steps for s in singles(step)):
        flow = replace(flow, dtype=None)
    flows = flows_before_each(steps, flow)
    steps = tuple(_inside(step, flow, rules, fired) for step, flow in zip(steps, flows, strict=True))
    for rule in rules:
        steps = _edited(rule, steps, flow, fired)
    return steps


def _agreed(rule: Rule, steps: Steps, flow: Flow) -> list[Edit]:
    """The edits of a rule that it makes in every epoch."""
    found = [{_shape(edit): edit for edit in rule.rewrite(now, flow)} for now in in_each_epoch(steps)]
    return [
        replace(edit, levels=max(each[shape].levels for each in found))
        for shape, edit in found[0].items()
        if all(shape in each for each in found)
    ]


def _shape(edit: Edit) -> tuple[object, ...]:
    return edit.start, edit.stop, *(step.site for step in edit.steps)


def _edited(rule: Rule, steps: Steps, flow: Flow, fired: list[Firing]) -> Steps:
    """The steps after one rule."""
    edits = _agreed(rule, steps, flow)
    made: list[Step] = []
    place, apart = 0, 0.0
    for edit, end in zip(edits, [*(edit.start for edit in edits), len(steps)][1:], strict=True):
        made += [*steps[place : edit.start], *edit.steps]
        place, were = edit.stop, apart
        # What edits before this one have changed goes through its steps too.
        apart = amplified(apart, edit.steps, flow) if apart else 0
        apart += edit.levels
        apart = amplified(apart, steps[edit.stop : end], flow) if apart else 0
        before, after = (tuple(s.site for s in part) for part in (steps[edit.start : edit.stop], edit.steps))
        fired.append(Firing(rule.name, before, after, rule.contract, ceil(apart) - ceil(were)))
    return (*made, *steps[place:])


def _inside(node: Step, flow: Flow, rules: tuple[Rule, ...], fired: list[Firing]) -> Step:
    if not is_open(node):
        return node
    flow = replace(flow, encoded=False)  # here an image is decoded already
    singly = tuple(rule for rule in rules if rule.singly)
    if node.name == groups.DEGRADE:
        inside = _straight(node.steps, flow, singly, fired)
    elif node.name == groups.SEQUENTIAL:
        inside = _straight(node.steps, flow, rules, fired)
    else:
        if node.name != groups.ONE_OF:
            flow = flow_before(node.steps, flow)  # any of them may come after any other
        inside = tuple(_inside(child, flow, rules, fired) for child in node.steps)
        for rule in singly:
            inside = tuple(made for child in inside for made in _edited(rule, (child,), flow, fired))
    return node if inside == node.steps else replace(node, steps=inside)
