"""Recipes of kind views: several views of one image, for networks that learn by comparing them."""

from augrecipes.kinds import Facts

FACTS = Facts(
    dataset="Views",
    unit="image",
    keys=frozenset({"views", "shared", "correspondence", "share"}),
    annotated=True,
    views=True,
)
