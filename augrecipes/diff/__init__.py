"""What tells two recipes apart in effect: steps, arguments, order, draws, output. Without pixels but in `picture`."""

from __future__ import annotations

from augrecipes.diff.differences import Change as Change
from augrecipes.diff.differences import Difference as Difference
from augrecipes.diff.differences import Placed as Placed
from augrecipes.diff.differences import StepDifference as StepDifference
from augrecipes.diff.recipes import diff as diff

__all__ = ["Change", "Difference", "Placed", "StepDifference", "diff"]
