"""From a recipe to a pipeline: checking, rewriting, lowering, and the kernels. Begin with `compile.py`."""
