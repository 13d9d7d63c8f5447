"""Packing: a recipe's first steps carried out once over all the data, into a store that `ar.Packed` reads.

`augrecipes.pack.run` is the way in. Nothing is imported here: worker processes come through, and need little.
"""
