"""The steps of `batch:`, a module a family, each with a table `MIXTURES`.

They import numpy when a batch is mixed, not before: who only reads a recipe does without.
"""
