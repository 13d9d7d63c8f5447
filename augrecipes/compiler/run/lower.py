"""Lowering: steps become albumentations objects, and each object is given the label that keys its draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from augrecipes.compat.albumentations import A
from augrecipes.compat.samplers import with_quick_matrix
from augrecipes.compiler.kernels import own_noise
from augrecipes.compiler.kernels.colour_ops import ColourOps, ColourStep
from augrecipes.compiler.kernels.joined import Joined
from augrecipes.compiler.kernels.warps import Deferred, Warps
from augrecipes.compiler.plan.nodes import Fused, Group, Node, Renoised, action_of
from augrecipes.ops import groups
from augrecipes.ops.capabilities import capability
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Step

Wrap = Callable[[Step, Any], Any]
# What follows a step's drawing: (object, label, whether one draw is shared by the tiles of a bag).
Sites = list[tuple[Any, str, bool]]


def lower(steps: tuple[Node, ...]) -> tuple[list[Any], Sites]:
    """The transforms of `steps`, and every object that draws with its label.

    Keys are assigned later, object by object: building a Compose or a group reseeds its children.
    """
    sites: Sites = []
    made = [lower_step(step, sites) for step in steps]
    for place, kernel in enumerate(made):
        if isinstance(kernel, Warps | ColourOps):
            # The sink takes a last turn along, a warp and colours; so do colour steps.
            later = made[place + 1 :]
            kernel.to_sink = not later or (isinstance(later[0], ColourOps) and isinstance(kernel, Warps))
    return made, sites


def lower_step(node: Node, sites: Sites, share: str = "tile", wrap: Wrap | None = None) -> Any:
    """The transform of one step, or of one node of a plan; what draws in it is added to `sites`.

    Args:
        node: the step.
        sites: grows.
        share: that of the group around it.
        wrap: what a kernel puts around the steps inside it, groups opened.
    """
    if isinstance(node, Fused):
        return _fused(node, sites, share)
    step = node.written if isinstance(node, Group) else node
    share = step.share or share
    children = [lower_step(child, sites, share, wrap) for child in node.steps]
    made = group(step, children) if step.is_group else transform(step)
    sites.append((made, step.site, share == "bag"))
    return made if wrap is None or step.is_group else wrap(step, made)


def transform(step: Step) -> Any:
    """The transform of a single step, with the noise that the plan wants."""
    made = construct(step)
    if isinstance(step, Renoised):
        own_noise.attach(made)
    return made


def _fused(node: Fused, sites: Sites, share: str) -> Any:
    """The kernel that carries out steps together."""
    wrap = {"JoinedWarps": _deferred, "JoinedColours": _colour_step}.get(node.kernel)
    children = [lower_step(step, sites, share, wrap) for step in node.steps]
    if node.kernel == "JoinedWarps":
        return Warps(children, reduces=node.reduces, scales=node.scales)
    if node.kernel == "JoinedColours":
        return ColourOps(children)
    return Joined(children, tuple(map(action_of, node.steps)), to_sink=node.kernel == "IntoSink")


def _deferred(step: Step, made: Any) -> Any:
    record = capability(step.name)
    return Deferred(with_quick_matrix(made), action_of(step), record.warp if record is not None else None)


def _colour_step(step: Step, made: Any) -> Any:
    record = capability(step.name)
    return ColourStep(made, record.colour_ops if record is not None else None)


def group(step: Step, children: list[Any]) -> Any:
    """An albumentations group with our defaults: p 1, and RandomOrder runs all of its steps."""
    p = 1.0 if step.p is None else step.p
    # A count may be written 2.0, as any whole number may.
    match step.name:
        case groups.ONE_OF:
            made = A.OneOf(children, p=p)
            for child in children:
                # Here a child's p is its weight, already read. SomeOf and RandomOrder would gate by it once more.
                if isinstance(child, A.BaseCompose):
                    child.p = 1.0
            return made
        case groups.SOME_OF:
            return A.SomeOf(children, n=int(step.args.get("n", 1)), replace=step.args.get("replace", False), p=p)
        case groups.RANDOM_ORDER:
            return A.RandomOrder(children, n=int(step.args.get("n", len(children))), p=p)
        case _:
            return A.Sequential(children, p=p)
