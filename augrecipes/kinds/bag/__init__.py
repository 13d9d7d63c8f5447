"""Recipes of kind bag: many tiles of one slide."""

from augrecipes.kinds import Facts

FACTS = Facts(dataset="TileBags", unit="tile", keys=frozenset({"bag", "share"}), tiles=True)
