"""What tells two recipes apart in effect: steps, arguments, order, draws, output. Without pixels but in `picture`."""

from __future__ import annotations

from augrecipes.diff.differences import Change, Difference, Placed, StepDifference
from augrecipes.diff.recipes import diff

__all__ = ["Change", "Difference", "Placed", "StepDifference", "diff"]
