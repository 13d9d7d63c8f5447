"""Rewrite rules, one file each. Their order is meaning: what an early rule brings together a later one joins."""

from __future__ import annotations

from augrecipes.compiler.rewrite import (
    crop_first,
    drop_noops,
    fold_sink,
    join_colours,
    join_crops,
    join_flips,
    join_tables,
    join_warps,
    read_scaled,
    read_window,
    reduce_first,
    shrink_first,
)
from augrecipes.compiler.rewrite.rule import Firing, Rule, apply_rules
from augrecipes.recipe.model import Optimize

# Rules that change no bit.
EXACT: tuple[Rule, ...] = (
    drop_noops.RULE,  # first: what it removes may stand between two neighbours
    crop_first.RULE,  # before join_crops and join_tables: it makes crops neighbours, and tables too
    join_crops.RULE,
    join_flips.RULE,
    join_tables.RULE,
    fold_sink.RULE,  # it takes joined crops and flips as they are
    read_window.RULE,  # last: it takes whatever comes first
)

# Rules that keep within a bound.
FAST: tuple[Rule, ...] = (
    drop_noops.RULE,
    crop_first.RULE,  # before join_warps: a table between two warps parts them no more
    shrink_first.RULE,  # the same for colours; after crop_first, which keeps every bit
    join_warps.RULE,  # before the other joins: it takes crops and flips with it
    reduce_first.RULE,  # of what join_warps has made
    join_crops.RULE,
    join_flips.RULE,
    join_colours.RULE,  # before join_tables: some tables are matrices as well
    join_tables.RULE,
    fold_sink.RULE,
    read_scaled.RULE,
    read_window.RULE,
)

RULES: dict[Optimize, tuple[Rule, ...]] = {"none": (), "exact": EXACT, "fast": FAST}

__all__ = ["EXACT", "FAST", "RULES", "Firing", "Rule", "apply_rules"]
