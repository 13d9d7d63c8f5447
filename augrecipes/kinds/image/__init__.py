"""Recipes of kind image: one image, and what lies on it."""

from augrecipes.kinds import Facts

FACTS = Facts(dataset="ImageFolder", unit="image", keys=frozenset({"batch", "tta"}), annotated=True)
