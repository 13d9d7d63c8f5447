"""The steps of a plan as `explain` shows them: what they stand for, and which quicker ways they are carried out in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from augrecipes.compiler.plan.nodes import Fused, Node, Nodes, is_single, opened
from augrecipes.flow import Arrival
from augrecipes.native.kernels import library
from augrecipes.ops.own import OWN
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Optimize

_NATIVE, _WITH_OUTPUT = "native", " with the output"


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of the plan and, for a joined one, what it stands for; and its time, ms, where it was measured.

    `twins` are the steps, it or inside it, whose work a quicker twin does, wherever it can, and `drawn` those whose
    draws one makes: see `augrecipes.compiler.kernels.twins`.
    `to_output`: a native kernel carries it out together with what is behind it, up to the output.
    `runs`: by what, in words: natively, as part of a plan that runs without Python; in a kernel of its own; or in
    albumentations.
    """

    step: str
    stands_for: str
    twins: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    to_output: bool = False
    runs: str = ""
    ms: float | None = None

    @property
    def label(self) -> str:
        """As the compiler labels it."""
        return f"{self.step}({self.stands_for})" if self.stands_for else self.step


def planned_steps(
    nodes: Nodes, optimize: Optimize, arrival: Arrival, left: Collection[str] | None = None
) -> tuple[PlannedStep, ...]:
    """Each of a plan's steps, for pictures that come as `arrival` says.

    Args:
        nodes: of the plan.
        optimize: how it was made.
        arrival: how pictures come.
        left: labels of steps that a native plan leaves to Python; None: there is no native plan.
    """
    native = _to_output_from(nodes) if arrival != "float32" and library() is not None else len(nodes)
    found = []
    for place, node in enumerate(nodes):
        twins, drawn = _twins(node, optimize)
        runs = _runs(node, twins, drawn, left, to_output=place >= native)
        found.append(PlannedStep(*_planned(node), twins, drawn, to_output=place >= native, runs=runs))
    return tuple(found)


def _runs(
    node: Node, twins: Collection[str], drawn: Collection[str], left: Collection[str] | None, *, to_output: bool
) -> str:
    """By what a node runs; of a group by what its steps do."""
    if isinstance(node, Fused):
        return _NATIVE if left is not None else f"one native pass{_WITH_OUTPUT}" if to_output else "one kernel"
    by: dict[str, list[str]] = {}
    for step in [inner for inner in opened(node) if is_single(inner)]:
        if left is not None and step.site not in left:
            how = _NATIVE
        elif step.site in twins:
            how = "own kernel"
        else:
            how = "augrecipes" if step.name in OWN else "albumentations"
            how += ", own sampling" if step.site in drawn else ""
        by.setdefault(how, []).append(step.site)
    if len(by) == 1:
        return next(iter(by))
    return "; ".join(f"{how}: {', '.join(sites)}" for how, sites in by.items())


def _to_output_from(nodes: Nodes) -> int:
    """Where the steps begin that one native kernel carries out up to the output; their number where there are none."""
    fused = [node.kernel if isinstance(node, Fused) else "" for node in nodes]
    place = len(fused)
    while place and fused[place - 1] == "JoinedColours":
        place -= 1
    return place - 1 if place and fused[place - 1] == "JoinedWarps" else len(fused)


def _planned(node: Node) -> tuple[str, str]:
    return (node.kernel, " + ".join(step.site for step in node.steps)) if isinstance(node, Fused) else (node.site, "")


def _twins(node: Node, optimize: Optimize) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The steps of a plan's node whose work twins do, and those whose draws; groups opened, but not what is fused."""
    if optimize == "none":
        return (), ()
    from augrecipes.compiler.kernels.twins import quick_parts  # late: it brings albumentations with it

    found = [(step.site, *quick_parts(construct(step))) for step in opened(node) if is_single(step)]
    return tuple(site for site, works, _ in found if works), tuple(site for site, _, draws in found if draws)
