"""The list of rewrite rules. Their order is meaning: what an early rule brings together a later one joins."""

from augrecipes.compiler.rewrite.rule import Rule
from augrecipes.compiler.rewrite.rules import join_colours, join_warps, noise
from augrecipes.recipe.kinds import facts
from augrecipes.recipe.model import Optimize, Recipe

# Each keeps within a bound. That moves and tables in a row are one pass over the pixels that are left needs no rule:
# the native program leaves them pending until somebody reads pixels.
FAST: tuple[Rule, ...] = (
    join_warps.join_warps,
    join_colours.join_colours,
    noise.own_noise,  # whatever stands beside it
    noise.coarse_fields,  # the same
)

RULES: dict[Optimize, tuple[Rule, ...]] = {"none": (), "exact": (), "fast": FAST}


def rules_for(recipe: Recipe, optimize: Optimize) -> tuple[Rule, ...]:
    """The rules that a recipe is rewritten by, in order: those of its kind and of `optimize` that it does not refuse.

    >>> [rule.name for rule in rules_for(Recipe("sr", kind="pair"), "fast")]
    ['own_noise']
    """
    is_pair = facts(recipe.kind).scales  # whose steps act on several targets
    rules = tuple(rule for rule in RULES[optimize] if not is_pair or rule is noise.own_noise)
    return tuple(rule for rule in rules if rule.name not in recipe.without_rules)
