"""What the first steps cut off need not be read: the drawn window goes to the decoder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from augrecipes.compiler.plan.nodes import Fused, Nodes, Steps, action_of, is_single
from augrecipes.compiler.plan.rule import Edit, Rule
from augrecipes.flow import Flow
from augrecipes.ops.capabilities import capability
from augrecipes.recipe.model import Step


def _cuts(step: Step) -> bool:
    record = capability(step.name)
    return action_of(step) == "window" or (record is not None and record.windowed)


def _leading(nodes: Nodes) -> Steps:
    """The first steps as long as they are turns and windows, up to the last window, or to a window that is scaled."""
    found: list[Step] = []
    stop = 0
    for node in nodes:
        if not is_single(node) or not (_cuts(node) or action_of(node) in ("dihedral", "identity")):
            break
        found.append(node)
        if _cuts(node):
            stop = len(found)
            if action_of(node) == "warp":
                break
    return tuple(found[:stop])


def _rewrite(nodes: Nodes, flow: Flow) -> Iterable[Edit]:
    if not flow.encoded or not nodes:
        return []
    first = nodes[0]
    if isinstance(first, Fused):
        moves = first.kernel in ("IntoSink", "JoinedResize") and _leading(first.steps)
        cuts = moves or first.kernel in ("JoinedWarps", "JoinedCrops")
        return [Edit(0, 1, (replace(first, reads=True),))] if cuts and not first.reads else []
    leading = _leading(nodes)
    return [Edit(0, len(leading), (Fused("WindowRead", leading, reads=True),))] if leading else []


RULE = Rule(
    name="read_window",
    equation="Window · Decode = Decode(window)   of pictures that come as files",
    contract="EXACT",
    fires="[HorizontalFlip, {RandomResizedCrop: {size: [20, 20]}}, Blur]",
    leaves="[Blur, {RandomCrop: {height: 16, width: 16}}, Blur]",
    rewrite=_rewrite,
)
