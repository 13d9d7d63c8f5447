"""The nodes of a plan: steps as written, and steps fused into one, also inside groups."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from augrecipes.ops import groups, schedule
from augrecipes.ops.record import Action
from augrecipes.ops.registry import record_of
from augrecipes.recipe.model import Step

Fusion = Literal["JoinedWarps", "JoinedColours"]
Steps: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Fused(Step):
    """Neighbouring steps that one kernel runs together; `name` is the kernel's. Each keeps its label and draws."""


def fuse(kernel: Fusion, steps: Steps) -> Fused:
    """Fuse neighbouring steps, in order.

    >>> fuse("JoinedWarps", (Step("Rotate", site="Rotate#1"), Step("Resize", site="Resize#1"))).site
    'JoinedWarps(Rotate#1 + Resize#1)'
    """
    return Fused(kernel, p=1.0, steps=steps, site=f"{kernel}({' + '.join(step.site for step in steps)})")


@dataclass(frozen=True, slots=True)
class CounterNoiseStep(Step):
    """A step as written whose noise, or field of displacements, comes from a counter-based generator."""


@dataclass(frozen=True, slots=True)
class ObjectStep(Step):
    """A step whose transform is a user's object, of which nothing is known.

    Attributes:
        source: the object; each pipeline, and each of its threads, runs a copy.
        parts: the labels of the transforms inside it, at any depth, where it is a group.
    """

    source: Any = field(default=None, compare=False)
    parts: tuple[str, ...] = ()


def as_kind(step: Step, kind: type[Step]) -> Step:
    """The same step as a node of another class."""
    return kind(**{field.name: getattr(step, field.name) for field in fields(step)})


def in_each_epoch(nodes: Steps) -> Iterator[Steps]:
    """The nodes as written and, where arguments are scheduled, at each end of a schedule.

    What is true of all of these is true in every epoch, because its arguments lie between.
    """
    yield nodes
    for epoch in schedule.ends(nodes):
        yield tuple(schedule.in_epoch(node, epoch) for node in nodes)


def is_single(step: Step) -> bool:
    """Whether a node is a single step: no group and not fused."""
    return not step.steps


def singles(node: Step) -> Iterator[Step]:
    """The single steps inside a node; groups and fused steps are opened."""
    if is_single(node):
        yield node
    for inside in node.steps:
        yield from singles(inside)


def is_open(node: Step) -> bool:
    """Whether the steps inside a node run one by one; fused steps do not."""
    return node.is_group or node.name == groups.DEGRADE


def opened(node: Step) -> Iterator[Step]:
    """A node and the nodes inside it that run one by one, groups before their children."""
    yield node
    if is_open(node):
        for inside in node.steps:
            yield from opened(inside)


def action_of(node: Step) -> Action:
    """The action of a node by its record and arguments: what the compiler may assume of it."""
    return record_of(node).action
