"""Packing: a recipe's first steps run once over all the data, into a store that `ar.Packed` reads.

`augrecipes.packing.run` is the way in. Nothing is imported here: worker processes come through, and need little.
"""
