"""Proof that a plan is the recipe: the same samples through both, compared law by law."""

from __future__ import annotations

from augrecipes.verify.contract import LAWS, Figure, SampleRef, Verification, Worst, number
from augrecipes.verify.run import render_worst, replay, verify

__all__ = ["LAWS", "Figure", "SampleRef", "Verification", "Worst", "number", "render_worst", "replay", "verify"]
