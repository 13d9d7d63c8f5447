"""Recipes of kind pair: one scene on several grids."""

from augrecipes.kinds import Facts

FACTS = Facts(
    dataset="PairedImages",
    unit="scene",
    keys=frozenset({"batch", "scales", "allow_resampling", "target", "at"}),
    scales=True,
)
