"""Proof that a plan is the recipe: the same samples through both, compared law by law."""

from __future__ import annotations

from augrecipes.preview.sheet import checked_path
from augrecipes.preview.sheet import save_sheet as save_worst
from augrecipes.verify.contract import LAWS, Figure, SampleRef, Worst, number
from augrecipes.verify.run import Verification, render_worst, replay, verify

__all__ = [
    "LAWS",
    "Figure",
    "SampleRef",
    "Verification",
    "Worst",
    "checked_path",
    "number",
    "render_worst",
    "replay",
    "save_worst",
    "verify",
]
