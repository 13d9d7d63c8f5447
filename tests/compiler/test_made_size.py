"""Pictures that would be too large are refused before they are made, however the recipe is carried out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from augrecipes.compiler import made_size
from augrecipes.errors import DataError
from augrecipes.recipe.model import Optimize
from augrecipes.recipe.parse import parse_text

PICTURE = np.zeros((40, 50, 3), np.uint8)
LARGE = [
    "RandomScale: {scale_limit: [9999, 9999], p: 1.0}",
    "Affine: {scale: 2000, fit_output: true, p: 1.0}",
    "CropAndPad: {px: 50000, keep_size: false, p: 1.0}",
    "Pad: {padding: 50000}",
    "PadIfNeeded: {min_height: null, min_width: null, pad_height_divisor: 90000, pad_width_divisor: 90000}",
    "LongestMaxSize: {max_size: 90000}",
]


def run(steps: str, optimize: Optimize) -> None:
    text = f"version: 1\nrecipe: t\nsteps: [{{{steps}}}, {{Resize: {{height: 8, width: 8}}}}]\neval: []"
    parse_text(text).compile(optimize=optimize).at(0)(image=PICTURE)


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("steps", LARGE)
def test_what_would_be_too_large_is_refused_by_name(steps: str, optimize: Optimize) -> None:
    name = steps.partition(":")[0]
    with pytest.raises(DataError, match=f"{name}#1: would make a picture of .* more than 1 GiB"):
        run(steps, optimize)


@pytest.mark.parametrize(
    ("steps", "factor"), [("RandomScale: {scale_limit: [9, 9], p: 1.0}", 100), ("Pad: {padding: 100}", 30)]
)
def test_the_limit_is_the_pictures_own_size(steps: str, factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = PICTURE.nbytes * factor
    monkeypatch.setattr(made_size, "MOST_BYTES", made)
    run(steps, "none")
    monkeypatch.setattr(made_size, "MOST_BYTES", made - 1)
    with pytest.raises(DataError, match="would make"):
        run(steps, "none")


def test_without_the_guard_the_memory_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: what the step itself does with a size like that."""
    asked: list[Callable[..., object]] = []
    monkeypatch.setattr(made_size, "_SIZES", {})
    monkeypatch.setattr("albumentations.RandomScale.apply", lambda self, img, **_: asked.append(img) or img)
    run(LARGE[0], "none")
    assert asked
