"""Proof that a plan is the recipe: the same samples through both, compared law by law."""

from __future__ import annotations

from augrecipes.preview.sheet import checked_path as checked_path
from augrecipes.preview.sheet import save_sheet as save_worst
from augrecipes.verify.metrics import LAWS as LAWS
from augrecipes.verify.metrics import Figure as Figure
from augrecipes.verify.metrics import SampleRef as SampleRef
from augrecipes.verify.metrics import Worst as Worst
from augrecipes.verify.metrics import number as number
from augrecipes.verify.picture import render_worst as render_worst
from augrecipes.verify.run import Verification as Verification
from augrecipes.verify.run import replay as replay
from augrecipes.verify.run import verify as verify

__all__ = [
    "LAWS",
    "Figure",
    "SampleRef",
    "Verification",
    "Worst",
    "checked_path",
    "render_worst",
    "replay",
    "save_worst",
    "verify",
]
