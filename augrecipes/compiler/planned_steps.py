"""The steps of a plan as `explain` shows them: what they stand for, by what each runs, and why not natively."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from augrecipes.compiler.plan.nodes import Fused, Node, Nodes, singles
from augrecipes.ops.capabilities import capability
from augrecipes.ops.own import OWN

NATIVE = "native"


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of the plan.

    Attributes:
        step: its label; of merged steps what merges them.
        stands_for: of merged steps their labels.
        runs: by what, in words: natively, or in albumentations, and why.
        segment: which stretch of native steps it belongs to, from 1: one ends where a step acts that is not native.
        ms: its time, where that was measured.
    """

    step: str
    stands_for: str
    runs: str = ""
    segment: int = 1
    ms: float | None = None

    @property
    def label(self) -> str:
        """As the compiler labels it."""
        return f"{self.step}({self.stands_for})" if self.stands_for else self.step


def planned_steps(nodes: Nodes, opaque: Collection[str] | None = None) -> tuple[PlannedStep, ...]:
    """Each of a plan's steps.

    Args:
        nodes: of the plan.
        opaque: labels of steps at which a native plan stops; None: all run in albumentations, as they are written.
    """
    found, segment = [], 1
    for node in nodes:
        step, stands_for = node.site, ""
        if isinstance(node, Fused):
            step, stands_for = node.kernel, " + ".join(step.site for step in node.steps)
        found.append(PlannedStep(step, stands_for, _runs(node, opaque), segment))
        segment += opaque is not None and any(inner.site in opaque for inner in singles(node))
    return tuple(found)


def _runs(node: Node, opaque: Collection[str] | None) -> str:
    """By what a node runs; of a group by what its steps do."""
    by: dict[str, list[str]] = {}
    for step in singles(node):
        if opaque is None:
            how = "augrecipes" if step.name in OWN else "albumentations"
        else:
            how = f"albumentations: {why_opaque(step.name)}" if step.site in opaque else NATIVE
        by.setdefault(how, []).append(step.site)
    if len(by) == 1:
        return next(iter(by))
    return "; ".join(f"{', '.join(sites)} {how}" for how, sites in by.items())


def why_opaque(name: str) -> str:
    """Why a step of a class runs in albumentations, and what would change that.

    >>> why_opaque("Defocus"), why_opaque("Blur")
    ('no kernel does what it does', 'native only with `blur_limit` up to 15')
    """
    record = capability(name)
    if record is None:
        return "a class of your own"
    if not record.native:
        return "no kernel does what it does"
    if record.native_when:
        return f"native only with {record.native_when}"
    return "it draws or paints otherwise here than the kernels do"
