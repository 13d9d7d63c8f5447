"""Rule `join_tables`: lookup tables in a row are one table."""

from __future__ import annotations

from augrecipes.compiler.plan.nodes import Nodes
from augrecipes.compiler.plan.rule import Edit, Rule, join_runs
from augrecipes.flow import Flow


def _rewrite(steps: Nodes, flow: Flow) -> list[Edit]:
    return join_runs(steps, "lookup", "JoinedTable") if flow.dtype == "uint8" else []


RULE = Rule(
    name="join_tables",
    equation="Table(f) · Table(g) = Table(g ∘ f)   (uint8)",
    contract="EXACT",
    fires="[RandomGamma, Solarize, {RandomBrightnessContrast: {p: 1.0}}]",
    leaves="[RandomGamma, Blur, {RandomBrightnessContrast: {brightness_by_max: false, p: 1.0}}]",
    rewrite=_rewrite,
)
