"""Packing: run a recipe's first steps once over all the data, into a store that `ar.Packed` reads.

Begin with `augrecipes.packing.run`. Nothing is imported here, to keep the start of worker processes cheap.
"""
