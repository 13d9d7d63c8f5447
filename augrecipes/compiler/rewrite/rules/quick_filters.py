"""Filters of many weights take a few quick passes: running sums over a disc, or separable filters."""

from __future__ import annotations

from collections.abc import Iterable

from augrecipes.compiler.rewrite.contracts import held_from
from augrecipes.compiler.rewrite.nodes import Nodes, Refiltered, changed, is_single
from augrecipes.compiler.rewrite.rule import Edit, Rule
from augrecipes.flow import Flow
from augrecipes.ops.capabilities import claims


def _rewrite(steps: Nodes, flow: Flow) -> Iterable[Edit]:
    behind = held_from(steps, flow, "LEVELS")
    for place, step in enumerate(steps):
        if not is_single(step) or isinstance(step, Refiltered) or step.p == 0 or behind[place + 1] is not None:
            continue
        if flow.dtype == "uint8" and (levels := claims(step.name).filter_error):
            yield Edit(place, place + 1, (changed(step, Refiltered),), levels)


RULE = Rule(
    name="quick_filters",
    equation="Filter(K) ~ Filter(A) + Filter(B) + ...   where A + B + ... is near K, and each is quick",
    contract="LEVELS",
    fires="[{Defocus: {p: 1.0}}]",
    leaves="[{Defocus: {p: 1.0}}, {Posterize: {p: 1.0}}]",
    rewrite=_rewrite,
    singly=True,
)
