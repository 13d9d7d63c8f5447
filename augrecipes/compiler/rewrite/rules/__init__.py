"""The list of rewrite rules. Their order is meaning: what an early rule brings together a later one joins."""

from __future__ import annotations

from augrecipes.compiler.rewrite.rule import Rule
from augrecipes.compiler.rewrite.rules import exact, join_colours, join_warps, noise
from augrecipes.recipe.kinds import facts
from augrecipes.recipe.model import Optimize, Recipe

# Rules that change no bit. That moves and tables in a row are one pass over the pixels that are left needs no rule: the
# native program leaves them pending until somebody reads pixels.
EXACT: tuple[Rule, ...] = (
    exact.open_groups,  # first: what it brings out has neighbours there
    exact.drop_noops,  # before the others: what it removes may stand between two neighbours
)

# Rules that keep within a bound.
FAST: tuple[Rule, ...] = (
    *EXACT,
    join_warps.join_warps,
    join_warps.reduce_first,  # of what join_warps has made
    join_warps.read_scaled,  # the same, and of a resize that begins
    join_colours.join_colours,
    noise.own_noise,  # whatever stands beside it
    noise.coarse_fields,  # the same
)

# Rules of pairs, whose steps act on several targets. They change no bit; `fast` has its own noise beside them.
PAIR = tuple(rule for rule in EXACT if not rule.opens)

RULES: dict[Optimize, tuple[Rule, ...]] = {"none": (), "exact": EXACT, "fast": FAST}


def rules_for(recipe: Recipe, optimize: Optimize) -> tuple[Rule, ...]:
    """The rules that a recipe is rewritten by, in order: those of its kind and of `optimize` that it does not refuse.

    >>> [rule.name for rule in rules_for(Recipe("sr", kind="pair"), "exact")]
    ['drop_noops']
    """
    rules = RULES[optimize]
    if facts(recipe.kind).scales and optimize != "none":
        rules = (*PAIR, noise.own_noise) if optimize == "fast" else PAIR
    return tuple(rule for rule in rules if rule.name not in recipe.without_rules)
