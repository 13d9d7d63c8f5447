"""Verifies that an optimised plan equals its recipe: runs samples through both and compares them law by law."""

from augrecipes.verify.contract import LAWS, Figure, SampleRef, Verification, Worst, number
from augrecipes.verify.labels import label_safety
from augrecipes.verify.run import render_worst, replay, verify
from augrecipes.verify.safety import LabelSafety

__all__ = [
    "LAWS", "Figure", "LabelSafety", "SampleRef", "Verification", "Worst", "label_safety", "number", "render_worst",
    "replay", "verify",
]  # fmt: skip
