"""Rewrite rules, one file each. Their order is meaning: what an early rule brings together a later one joins."""

from __future__ import annotations

from augrecipes.compiler.rewrite import crop_first, drop_noops, fold_sink, join_crops, join_flips, join_tables
from augrecipes.compiler.rewrite.rule import Firing, Rule, apply_rules
from augrecipes.recipe.model import Optimize

# Rules that change no bit.
EXACT: tuple[Rule, ...] = (
    drop_noops.RULE,  # first: what it removes may stand between two neighbours
    crop_first.RULE,  # before join_crops and join_tables: it makes crops neighbours, and tables too
    join_crops.RULE,
    join_flips.RULE,
    join_tables.RULE,
    fold_sink.RULE,  # last: it takes joined crops and flips as they are
)

RULES: dict[Optimize, tuple[Rule, ...]] = {"none": (), "exact": EXACT, "fast": EXACT}

__all__ = ["EXACT", "RULES", "Firing", "Rule", "apply_rules"]
