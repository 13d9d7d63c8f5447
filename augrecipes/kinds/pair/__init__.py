"""Recipes of kind pair: one scene on several grids."""

from augrecipes.kinds import Facts

FACTS = Facts(
    dataset="PairedImages",
    unit="scene",
    keys=frozenset({"scales", "allow_resampling", "target", "at", "batch", "tta"}),
    scales=True,
)
