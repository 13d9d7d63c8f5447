"""What a rewrite rule is, what it may change and which steps forbid that, and how rules run over a recipe."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Literal, TypeAlias

from augrecipes.compiler.rewrite.nodes import Steps, in_each_epoch, is_open, is_single, singles
from augrecipes.flow import Flow
from augrecipes.ops import groups
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import record_of
from augrecipes.recipe.model import Step

Contract = Literal["LEVELS", "GEOMETRY", "DISTRIBUTION"]
# The kind of a merge: its contract, or RESAMPLES for several resamplings made one, which is GEOMETRY and more.
Merge = Contract | Literal["RESAMPLES"]
INEXACT: tuple[Merge, ...] = ("LEVELS", "GEOMETRY", "RESAMPLES", "DISTRIBUTION")

ALL = 255  # levels: no two images are further apart
_MOST = 2.0  # the largest gain allowed behind a merge: beyond it a few levels become many


def obstacle(behind: Iterable[Step], flow: Flow, merge: Merge) -> str | None:
    """Why no merge of a kind is allowed in front of the steps `behind`; None where it is.

    Draws are the same at every level of optimisation. So no merge that changes a bit may precede a step that draws by
    what the merge changes: merged colours change the image alone, merged resamplings the mask as well.

    A LEVELS merge may not precede a step that amplifies differences without bound, or more than twofold. Nor may
    several resamplings made one; but for these the hues of nearly grey pixels, which a colour step may turn, do not
    count. A single resampling done otherwise may: it is a level or two off. DISTRIBUTION may precede a step of noise:
    what that draws by the image is noise, and no parameter.

    >>> obstacle([Step("Blur", site="Blur#1"), Step("ShotNoise", site="ShotNoise#1")], Flow(), "GEOMETRY")
    'ShotNoise#1 makes draws that depend on the image'
    >>> obstacle([Step("CLAHE", site="CLAHE#1")], Flow(), "RESAMPLES")
    'CLAHE#1 depends on thresholds or statistics of the image, so that a small difference may become a large one'
    >>> obstacle([Step("CLAHE", site="CLAHE#1")], Flow(), "GEOMETRY") is None
    True
    """
    return next((why for step in behind if (why := _first_obstacle(step, flow, merge))), flow.obstacles.get(merge))


def obstacles_from(steps: Sequence[Step], flow: Flow, merge: Merge) -> list[str | None]:
    """`obstacle` for the steps from each place on, and for none. The steps are read once, backwards."""
    obstacles = [flow.obstacles.get(merge)]
    for step in reversed(steps):
        obstacles.append(_first_obstacle(step, flow, merge) or obstacles[-1])
    return obstacles[::-1]


def flow_before(behind: Iterable[Step], flow: Flow) -> Flow:
    """The flow inside a group, in front of the steps `behind`."""
    behind = tuple(behind)
    obstacles: dict[str, str] = {kind: why for kind in INEXACT if (why := obstacle(behind, flow, kind)) is not None}
    return flow if obstacles == flow.obstacles else replace(flow, obstacles=obstacles)


def flows_before_each(steps: Sequence[Step], flow: Flow) -> list[Flow]:
    """The flow inside each step, if it is a group: it precedes all later steps. The steps are read once, backwards."""
    flows = []
    for step in reversed(steps):
        flows.append(flow)
        flow = flow_before((step,), flow)
    return flows[::-1]


def amplified(levels: float, behind: Iterable[Step], flow: Flow) -> float:
    """The largest difference, in levels, that one of `levels` levels may become behind some steps.

    >>> amplified(2, [Step("Blur"), Step("HorizontalFlip")], Flow())
    3.0
    """
    for step in behind:
        levels = min(max(_through(node, levels, flow) for (node,) in in_each_epoch((step,))), ALL)
    return levels


def _through(node: Step, levels: float, flow: Flow) -> float:
    if node.p == 0:
        return levels
    if not is_single(node):
        if node.name == groups.ONE_OF:
            return max(_through(child, levels, flow) for child in node.steps)
        for child in node.steps:
            levels = _through(child, levels, flow)
        return levels
    record = record_of(node)
    if not record.is_known or record.action in STILL:
        return levels
    return (levels + (flow.dtype == "uint8")) * max(1.0, record.gain or 1.0)


STILL = ("identity", "window", "dihedral")


def _first_obstacle(step: Step, flow: Flow, merge: Merge) -> str | None:
    """The first step inside `step` that forbids a merge in front of it, and why."""
    leaves = (leaf for (node,) in in_each_epoch((step,)) for leaf in _leaves(node))
    return next((f"{leaf.site} {why}" for leaf in leaves if (why := _why(leaf, flow, merge))), None)


def _leaves(step: Step) -> list[Step]:
    """The steps that may act, groups and fused steps opened."""
    if step.p == 0:
        return []
    return [step] if is_single(step) else [leaf for child in step.steps for leaf in _leaves(child)]


def _why(leaf: Step, flow: Flow, merge: Merge) -> str | None:
    record = record_of(leaf)
    if record.draws_from is None:
        return "is of an unknown class, whose draws may depend on the image"
    changed = record.draws_from if merge in ("GEOMETRY", "RESAMPLES") else record.draws_from & {"image"}
    if changed and not (merge == "DISTRIBUTION" and record.effect == "noise"):
        return f"makes draws that depend on the {' and the '.join(sorted(changed))}"
    if merge in ("GEOMETRY", "DISTRIBUTION"):
        return None
    if flow.dtype != "uint8" and merge == "LEVELS" and record.in_levels:
        return "rounds float32 to 1/255, so that another last bit may become another level"
    colours = merge == "RESAMPLES" and record.recolours  # hues of nearly grey pixels do not count
    gain = record.joined_error[1] if colours else record.gain
    if gain is None:
        return "depends on thresholds or statistics of the image, so that a small difference may become a large one"
    if gain > _MOST:
        return f"amplifies differences up to {gain:.2g} times"
    return None


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
    steps = tuple(_rewrite_children(step, flow, rules, fired) for step, flow in zip(steps, flows, strict=True))
    for rule in rules:
        steps = _apply_rule(rule, steps, flow, fired)
    return steps


def _common_edits(rule: Rule, steps: Steps, flow: Flow) -> list[Edit]:
    """The edits that a rule makes in every epoch alike."""
    epochs = [{_shape(edit): edit for edit in rule.rewrite(nodes, flow)} for nodes in in_each_epoch(steps)]
    return [
        replace(edit, levels=max(edits[shape].levels for edits in epochs))
        for shape, edit in epochs[0].items()
        if all(shape in edits for edits in epochs)
    ]


def _shape(edit: Edit) -> tuple[object, ...]:
    return edit.start, edit.stop, *(step.site for step in edit.steps)


def _apply_rule(rule: Rule, steps: Steps, flow: Flow, fired: list[Firing]) -> Steps:
    """The steps after one rule."""
    edits = _common_edits(rule, steps, flow)
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


def _rewrite_children(node: Step, flow: Flow, rules: tuple[Rule, ...], fired: list[Firing]) -> Step:
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
        inside = tuple(_rewrite_children(child, flow, rules, fired) for child in node.steps)
        for rule in singly:
            inside = tuple(step for child in inside for step in _apply_rule(rule, (child,), flow, fired))
    return node if inside == node.steps else replace(node, steps=inside)
