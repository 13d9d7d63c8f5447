"""The recipe language: YAML text to a frozen Recipe."""

from __future__ import annotations

from augrecipes.recipe.parse import load

__all__ = ["load"]
