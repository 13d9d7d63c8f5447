"""Pipelines that run: a plan lowered to albumentations objects, keyed draws, and one module a kind of sample."""
