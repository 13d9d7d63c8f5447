"""Pictures for recipes that are shown without any: a landscape, a slide's tissue, a scene at several scales."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.bring.gain import targets_on
from augrecipes.demo.photos import CLASSES, render_photo
from augrecipes.demo.tissue import CLASSES as TISSUES
from augrecipes.demo.tissue import LABORATORIES, render_tile
from augrecipes.errors import DataError
from augrecipes.ops.matlab_bicubic import imresize
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Mode, Recipe

SIZES = ((288, 384), (768, 1024))  # the larger where steps want more than the smaller has
TILES = 6
_OF_SLIDES = ("tissue", "stain", "patholog", "slide")


def on_drawn(recipe: Recipe, mode: Mode, show: Callable[[Any], Sheet]) -> Sheet:
    """What `show` makes of a drawn sample: the targets of one, of bags a list of tiles.

    Raises:
        DataError: the recipe cannot act on it.
    """
    for size in SIZES[:-1]:
        try:
            return show(_sample(recipe, mode, size))
        except DataError:
            continue
    return show(_sample(recipe, mode, SIZES[-1]))


def _sample(recipe: Recipe, mode: Mode, size: tuple[int, int]) -> Any:
    if recipe.facts.tiles:
        return [_tissue((size[0] // 2, size[0] // 2), number) for number in range(TILES)]
    if recipe.facts.scales:
        return _scene(recipe, mode, size)
    about = f"{recipe.name} {recipe.about}".lower()
    slide = any(word in about for word in _OF_SLIDES)
    return targets_on(recipe, _tissue(size, 0) if slide else _photo(size))


def _scene(recipe: Recipe, mode: Mode, size: tuple[int, int]) -> dict[str, Any]:
    """A scene at each scale whose files the recipe reads."""
    wanted = {name: int(recipe.scales[name]) for name in recipe.compile(mode).targets}
    unit = max(recipe.scales.values())
    rows, columns = size[0] // unit, size[1] // unit
    whole = _photo(size)[: rows * unit, : columns * unit]
    return {name: imresize(whole, rows * scale, columns * scale) for name, scale in wanted.items()}


@lru_cache(maxsize=4)
def _photo(size: tuple[int, int]) -> NDArray[np.uint8]:
    return render_photo(CLASSES[1], size, np.random.default_rng(3))


@lru_cache(maxsize=16)
def _tissue(size: tuple[int, int], number: int) -> NDArray[np.uint8]:
    tissue = TISSUES[(number + 2) % len(TISSUES)]
    return render_tile(tissue, size, LABORATORIES[0], np.random.default_rng(number)).image
