"""What a plan is made of: steps as they were written, and steps fused into one, which groups have inside them, too."""

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
    """Neighbours that one kernel carries out together, whose name it has; each keeps its own label and draws."""


def fuse(kernel: Fusion, steps: Steps) -> Fused:
    """Steps as they were written, in order, fused.

    >>> fuse("JoinedWarps", (Step("Rotate", site="Rotate#1"), Step("Resize", site="Resize#1"))).site
    'JoinedWarps(Rotate#1 + Resize#1)'
    """
    return Fused(kernel, p=1.0, steps=steps, site=f"{kernel}({' + '.join(step.site for step in steps)})")


@dataclass(frozen=True, slots=True)
class CounterNoiseStep(Step):
    """A step as it was written, whose noise, or field of displacements, is made by counting."""


@dataclass(frozen=True, slots=True)
class ObjectStep(Step):
    """A step whose transform is somebody's object, of which nothing is known.

    Attributes:
        source: the object; each pipeline, and each of its threads, runs a copy.
        parts: the labels of the transforms in it, and in those, where it is a group.
    """

    source: Any = field(default=None, compare=False)
    parts: tuple[str, ...] = ()


def changed(step: Step, kind: type[Step]) -> Step:
    """The same step, as one that is carried out otherwise."""
    return kind(**{field.name: getattr(step, field.name) for field in fields(step)})


def in_each_epoch(nodes: Steps) -> Iterator[Steps]:
    """The nodes as they are written and, where numbers are scheduled, with those of each end of a schedule.

    What holds of all of these holds in every epoch, whose numbers lie between.
    """
    yield nodes
    for epoch in schedule.ends(nodes):
        yield tuple(schedule.in_epoch(node, epoch) for node in nodes)


def is_single(step: Step) -> bool:
    """Whether a step is no group, and not fused of several."""
    return not step.steps


def singles(node: Step) -> Iterator[Step]:
    """The single steps of a node, groups and fused steps opened."""
    if is_single(node):
        yield node
    for inside in node.steps:
        yield from singles(inside)


def is_open(node: Step) -> bool:
    """Whether the steps inside a node are run one by one; those of fused steps are not."""
    return node.is_group or node.name == groups.DEGRADE


def opened(node: Step) -> Iterator[Step]:
    """A node and those inside it that are run one by one, groups before their children."""
    yield node
    if is_open(node):
        for inside in node.steps:
            yield from opened(inside)


def action_of(node: Step) -> Action:
    """What the compiler may assume of a node: what its record says, given its arguments."""
    return record_of(node).action
