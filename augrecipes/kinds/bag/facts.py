"""What is known of bags."""

from augrecipes.kinds.record import Facts

FACTS = Facts(dataset="TileBags", unit="tile", keys=frozenset({"bag", "share"}), tiles=True)
