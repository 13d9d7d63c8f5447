"""Contact sheets: what a recipe does to images, as an image."""

from __future__ import annotations

from augrecipes.preview.grid import preview as preview
from augrecipes.preview.grid import sample_grid as sample_grid

__all__ = ["preview", "sample_grid"]
