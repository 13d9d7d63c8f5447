"""What a merge may change, and the steps that forbid it because they would amplify the change."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from augrecipes.compiler.rewrite.nodes import in_each_epoch, is_single
from augrecipes.flow import Flow
from augrecipes.ops import groups
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
