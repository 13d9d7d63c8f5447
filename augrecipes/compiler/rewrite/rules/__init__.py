"""The list of rewrite rules. Their order matters: a later rule works on what an earlier one has brought together."""

from augrecipes.compiler.rewrite.rule import Rule
from augrecipes.compiler.rewrite.rules import join_colours, join_warps, noise
from augrecipes.recipe.kinds import facts
from augrecipes.recipe.model import Optimize, Recipe

# Each keeps within its contract. Merging neighbouring moves and lookup tables into one pass needs no rule: the native
# program defers them until a step reads pixels.
FAST: tuple[Rule, ...] = (
    join_warps.join_warps,
    join_colours.join_colours,
    noise.own_noise,  # whatever its neighbours
    noise.coarse_fields,  # likewise
)

RULES: dict[Optimize, tuple[Rule, ...]] = {"none": (), "exact": (), "fast": FAST}


def rules_for(recipe: Recipe, optimize: Optimize) -> tuple[Rule, ...]:
    """The rules for a recipe, in order: those of its kind and `optimize`, without those that it refuses.

    >>> [rule.name for rule in rules_for(Recipe("sr", kind="pair"), "fast")]
    ['own_noise']
    """
    is_pair = facts(recipe.kind).scales  # whose steps act on several targets
    rules = tuple(rule for rule in RULES[optimize] if not is_pair or rule is noise.own_noise)
    return tuple(rule for rule in rules if rule.name not in recipe.without_rules)
