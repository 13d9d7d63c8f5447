"""What a plan is made of: steps as they were written, steps fused into one, and groups with such steps inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias, TypeGuard

from augrecipes.lint import walk
from augrecipes.ops import groups, schedule
from augrecipes.ops.record import Action
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective
from augrecipes.ops.sizes import UNKNOWN, SizeBounds
from augrecipes.recipe.model import Step

Fusion = Literal["JoinedWarps", "JoinedColours"]


@dataclass(frozen=True, slots=True)
class Fused:
    """Neighbours that one kernel carries out together; each keeps its own label, draws and probability.

    Attributes:
        kernel: what carries them out.
        steps: as they were written, in order.
        reads: it takes an image that is not decoded yet; only at the beginning of a plan.
        reduces: joined warps that may reduce an image before they warp it.
        scales: and the decoder may do that, for an image that is not decoded yet.

    >>> Fused("JoinedWarps", (Step("Rotate", site="Rotate#1"), Step("Resize", site="Resize#1"))).site
    'JoinedWarps(Rotate#1 + Resize#1)'
    """

    kernel: Fusion
    steps: tuple[Step, ...]
    reads: bool = False
    reduces: bool = False
    scales: bool = False
    p: ClassVar[None] = None
    is_group: ClassVar[bool] = False

    @property
    def site(self) -> str:
        """Its label."""
        return f"{self.kernel}({' + '.join(step.site for step in self.steps)})"


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


@dataclass(frozen=True, slots=True)
class Group:
    """A group of a recipe with fused steps inside.

    Attributes:
        written: the group as it was written.
        steps: what it is made of now.
    """

    written: Step
    steps: tuple[Node, ...]
    is_group: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """`OneOf`, `Sequential`, ..."""
        return self.written.name

    @property
    def p(self) -> float | None:
        """As written."""
        return self.written.p

    @property
    def site(self) -> str:
        """Its label."""
        return self.written.site


Node: TypeAlias = Step | Fused | Group
Steps: TypeAlias = tuple[Step, ...]
Nodes: TypeAlias = tuple[Node, ...]


def in_each_epoch(nodes: Nodes) -> Iterator[Nodes]:
    """The nodes as they are written and, where numbers are scheduled, with those of each end of a schedule.

    What holds of all of these holds in every epoch, whose numbers lie between.
    """
    yield nodes
    tops = [one for node in nodes for one in _written(node)]
    for epoch in schedule.ends(tops):
        yield tuple(schedule.in_epoch(node, epoch) for node in nodes)


def _written(node: Node) -> Steps:
    return (node,) if isinstance(node, Step) else (node.written,) if isinstance(node, Group) else node.steps


def with_inside(group: Step | Group, inside: Nodes) -> Step | Group:
    """A group with other steps inside it."""
    written = group.written if isinstance(group, Group) else group
    steps = tuple(node for node in inside if isinstance(node, Step))
    return replace(written, steps=steps) if len(steps) == len(inside) else Group(written, inside)


def is_single(node: Node) -> TypeGuard[Step]:
    """Whether a node is one step: no group, not fused."""
    return isinstance(node, Step) and not node.steps


def singles(node: Node) -> Iterator[Step]:
    """The single steps of a node, groups and fused steps opened."""
    if is_single(node):
        yield node
    for inside in node.steps:
        yield from singles(inside)


def is_open(node: Node) -> bool:
    """Whether the steps inside a node are run one by one; those of fused steps are not."""
    return node.is_group or (isinstance(node, Step) and node.name == groups.DEGRADE)


def opened(node: Node) -> Iterator[Node]:
    """A node and those inside it that are run one by one, groups before their children."""
    yield node
    if is_open(node):
        for inside in node.steps:
            yield from opened(inside)


def action_of(node: Node) -> Action:
    """What the compiler may assume of a node: what its record says, given its arguments."""
    if not isinstance(node, Step):
        return "opaque"
    record = op_record(node.name)
    return record.action if not record.when else record.under(effective(node)).action


def after(node: Node, size: SizeBounds) -> SizeBounds:
    """What is known of an image's size behind a node."""
    if isinstance(node, Fused):
        return UNKNOWN
    return walk.after(node if isinstance(node, Step) else node.written, size)
