"""A table of a table is one table."""

from __future__ import annotations

from augrecipes.compiler.rewrite.rule import JOINED_TABLE, Edit, Rule, Steps, join_runs
from augrecipes.flow import Flow


def _rewrite(steps: Steps, flow: Flow) -> list[Edit]:
    return join_runs(steps, "lookup", JOINED_TABLE) if flow.dtype == "uint8" else []


RULE = Rule(
    name="join_tables",
    equation="Table(f) · Table(g) = Table(g ∘ f)   (uint8)",
    contract="EXACT",
    fires="[RandomGamma, Solarize, {RandomBrightnessContrast: {p: 1.0}}]",
    leaves="[RandomGamma, Blur, {RandomBrightnessContrast: {brightness_by_max: false, p: 1.0}}]",
    rewrite=_rewrite,
)
