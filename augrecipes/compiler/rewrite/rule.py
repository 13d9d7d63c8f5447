"""What a rewrite rule is, and how rules run over the sequential parts of a recipe."""

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
        equation: the rewrite in one line.
        contract: `LEVELS`: pointwise work, within a few of 255 levels, see `Edit.levels`. `GEOMETRY`: merged
            resampling: positions agree to 0.01 px wherever both are inside the source, and the result is never
            further from an analytic truth; pixels may differ, and `augrecipes verify` reports by how much.
            `DISTRIBUTION`: other random numbers of the same distribution, under the same parameters.
        fires: YAML steps on which it fires.
        leaves: YAML steps that it must leave alone.
        rewrite: from a sequence of steps to disjoint edits in order, after which the rule would find no more. It looks
            at each step a bounded number of times. A rewrite that changes bits asks `contracts.obstacles_from` whether
            later steps allow it.
        singly: it replaces one step by one, whatever its neighbours, and so also works inside groups and Degrade.
    """

    name: str
    equation: str
    contract: Contract
    fires: str
    leaves: str
    rewrite: Rewrite
    singly: bool = False


def rule(contract: Contract, fires: str, leaves: str, **flags: bool) -> Callable[[Any], Rule]:
    """Make a rule of a rewriting function: its name names the rule, its docstring is the equation."""
    return lambda rewrite: Rule(rewrite.__name__, rewrite.__doc__ or "", contract, fires, leaves, rewrite, **flags)


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of neighbouring steps by a rule.

    Attributes:
        start, stop: the range of steps that it replaces; `stop` is exclusive.
        steps: the steps that replace them.
        levels: by how many levels of 255 it may change a pixel behind them.
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
        before: the labels of the steps that it replaced.
        after: the labels of the steps in their place.
        contract: the rule's contract.
        levels: how many of 255 levels this firing adds to the largest difference of images behind it.
    """

    rule: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    contract: Contract
    levels: float = 0


def runs(nodes: Steps, belongs: Callable[[Step], bool]) -> Iterator[tuple[int, Steps]]:
    """The maximal runs of neighbours that `belongs` accepts: the place of the first, and the steps."""
    run: list[Step] = []
    for place, node in enumerate((*nodes, None)):
        if node is not None and belongs(node):
            run.append(node)
        elif run:
            yield place - len(run), tuple(run)
            run = []


def apply_rules(steps: Steps, flow: Flow, rules: tuple[Rule, ...]) -> tuple[Steps, tuple[Firing, ...]]:
    """Apply all rules in order; return the steps, and what fired.

    Rules see sequences: the recipe itself and the inside of every Sequential. The children of a OneOf are rewritten
    inside, but none is added, dropped or moved, since that would change its choice.
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
    """The edits that a rule makes in every epoch alike."""
    epochs = [{_shape(edit): edit for edit in rule.rewrite(nodes, flow)} for nodes in in_each_epoch(steps)]
    return [
        replace(edit, levels=max(edits[shape].levels for edits in epochs))
        for shape, edit in epochs[0].items()
        if all(shape in edits for edits in epochs)
    ]


def _shape(edit: Edit) -> tuple[object, ...]:
    return edit.start, edit.stop, *(step.site for step in edit.steps)


def _edited(rule: Rule, steps: Steps, flow: Flow, fired: list[Firing]) -> Steps:
    """The steps after one rule."""
    edits = _agreed(rule, steps, flow)
    result: list[Step] = []
    place, levels = 0, 0.0
    for edit, end in zip(edits, [*(edit.start for edit in edits), len(steps)][1:], strict=True):
        result += [*steps[place : edit.start], *edit.steps]
        place, earlier = edit.stop, levels
        # Differences by earlier edits go through the steps of this one too.
        levels = amplified(levels, edit.steps, flow) if levels else 0
        levels += edit.levels
        levels = amplified(levels, steps[edit.stop : end], flow) if levels else 0
        before, after = (tuple(s.site for s in part) for part in (steps[edit.start : edit.stop], edit.steps))
        fired.append(Firing(rule.name, before, after, rule.contract, ceil(levels) - ceil(earlier)))
    return (*result, *steps[place:])


def _inside(node: Step, flow: Flow, rules: tuple[Rule, ...], fired: list[Firing]) -> Step:
    if not is_open(node):
        return node
    flow = replace(flow, encoded=False)  # inside groups images are decoded
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
            inside = tuple(step for child in inside for step in _edited(rule, (child,), flow, fired))
    return node if inside == node.steps else replace(node, steps=inside)
