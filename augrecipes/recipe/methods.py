"""Methods of Recipe that work in packages above the language: `augrecipes/api.py` has them, and binds them here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from augrecipes import api


class RecipeMethods:
    """What users call on a Recipe, but for what concerns the recipe as data."""

    __slots__ = ()

    if TYPE_CHECKING:
        compile = api.compile
        transform = api.transform
        map_batches = api.map_batches
        show = api.show
        to_yaml = api.to_yaml
        to_albumentations = api.to_albumentations
        device_stage = api.device_stage
