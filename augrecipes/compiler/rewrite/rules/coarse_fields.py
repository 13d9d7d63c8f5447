"""A smooth random field of displacements is drawn on a coarse grid: its noise is no longer made for every pixel."""

from __future__ import annotations

from functools import partial

from augrecipes.compiler.rewrite.rule import Rule
from augrecipes.compiler.rewrite.rules.own_noise import counted_noise

RULE = Rule(
    name="coarse_fields",
    equation="blur(noise of every pixel) ~ spline(blur(noise on a grid))",
    contract="DISTRIBUTION",
    fires="[{ElasticTransform: {p: 1.0}}]",
    leaves="[{ElasticTransform: {sigma: 3}}]",
    rewrite=partial(counted_noise, moves=True),
    singly=True,
)
