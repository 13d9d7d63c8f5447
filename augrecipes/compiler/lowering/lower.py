"""Lowering: steps become albumentations objects, and each object gets the label that keys its draws."""

from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from augrecipes.compat.albumentations import A, RandomOrder
from augrecipes.compiler.rewrite.nodes import CounterNoiseStep, Fused, ObjectStep
from augrecipes.ops import groups
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance, construct
from augrecipes.recipe.model import Step

# Every object that draws: (object, its label, whether the tiles of a bag share its draw).
Sites = list[tuple[Any, str, bool]]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A node of a plan, and the object that draws for it.

    Attributes:
        node: a step, a group, or merged steps.
        transform: the transform or group of albumentations; None for merged steps, each of which has its own.
        children: the nodes inside it, lowered.
    """

    node: Step
    transform: Any
    children: "tuple[Lowered, ...]" = ()


def transforms_of(lowered: Sequence[Lowered]) -> Iterator[Any]:
    """The transforms that run some nodes one by one, in order; merged steps are opened."""
    for one in lowered:
        yield from transforms_of(one.children) if one.transform is None else (one.transform,)


def lower(nodes: Sequence[Step]) -> tuple[tuple[Lowered, ...], Sites]:
    """Lower the nodes of a plan; return them, and every object that draws with its label.

    Keys are assigned later, object by object: building a Compose or a group reseeds its children.
    """
    sites: Sites = []
    return tuple(_lower(node, sites) for node in nodes), sites


def _lower(node: Step, sites: Sites, share: str = "tile") -> Lowered:
    """Lower one node.

    Args:
        node: the node.
        sites: receives the objects that draw.
        share: `share` of the group around the node.
    """
    if isinstance(node, Fused):
        return Lowered(node, None, tuple(_lower(step, sites, share) for step in node.steps))
    share = node.share or share
    children = tuple(_lower(child, sites, share) for child in node.steps)
    step = group(node, [*transforms_of(children)]) if node.is_group else transform(node)
    sites.append((step, node.site, share == "bag"))
    if isinstance(node, ObjectStep):
        sites += [(part, site, share == "bag") for part, site in zip(parts_of(step), node.parts, strict=True)]
    return Lowered(node, step, children)


def copied(source: Any) -> Any:
    """A deep copy of a user's object; a shallow one where it holds a file, a lock or a model that cannot be copied."""
    try:
        return deepcopy(source)
    except Exception:
        return copy(source)


def parts_of(group: Any) -> Iterator[Any]:
    """The transforms inside a user's group, at any depth; none inside a pipeline that keys its own draws."""
    for part in () if getattr(group, "keys_draws", False) else getattr(group, "transforms", ()):
        yield part
        yield from parts_of(part)


def transform(step: Step) -> Any:
    """Construct the transform of a single step, with the noise generator that the plan asks for."""
    if isinstance(step, ObjectStep):
        source = copied(step.source)
        source.is_object = True
        return source
    if isinstance(step, CounterNoiseStep):
        return construct(step, resolve_name(f"augrecipes.compiler.kernels.{op_record(step.name).own_noise}"))
    return construct(step)


def group(step: Step, children: list[Any]) -> Any:
    """Construct an albumentations group with our defaults: p is 1, and RandomOrder runs all of its steps."""
    p = chance(step)
    # A count may be written 2.0, as any whole number may.
    match step.name:
        case groups.ONE_OF:
            for child in () if any(child.p for child in children) else children:
                child.p = 1.0  # with all weights 0 it never acts, but albumentations divides by their sum
            one_of = A.OneOf(children, p=p)
            for child in children:
                # A child's p is its weight, which OneOf has read; SomeOf and RandomOrder would gate by it once more.
                if isinstance(child, A.BaseCompose) and not getattr(child, "is_object", False):
                    child.p = 1.0
            return one_of
        case groups.SOME_OF:
            return A.SomeOf(children, n=int(step.args.get("n", 1)), replace=step.args.get("replace", False), p=p)
        case groups.RANDOM_ORDER:
            order = RandomOrder(children, n=int(step.args.get("n", len(children))), p=p)
            kept = step.args.get("keep_order", ())
            order.kept_places = frozenset(place for place, child in enumerate(step.steps) if child.id in kept)
            return order
        case _:
            return A.Sequential(children, p=p)
