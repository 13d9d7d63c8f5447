"""Views of a large file: `fast` decodes it once, as small as all of them allow, and sees the same places."""

from typing import Any

import numpy as np
import pytest
from random_recipes import Picture, build
from support.checks import planted_faults

from augrecipes.kinds.views import pipeline as of_views
from augrecipes.kinds.views.reduced_file import ReducedFile, scale_for
from augrecipes.recipe.parse import parse_text

VIEWS = """
version: 1
recipe: large
kind: views
views:
  global: {count: 2, steps: [RandomResizedCrop: {size: [%s, %s], scale: [0.6, 1.0]}, HorizontalFlip]}
  local: {count: 3, steps: [RandomResizedCrop: {size: [64, 64], scale: [0.3, 0.5]}, D4: {p: 1.0}]}
eval: []
output: {dtype: uint8, layout: hwc}
"""
ROWS, COLUMNS = 1100, 1201


def waves() -> np.ndarray:
    """An image so smooth that a pixel that is off by some shows it, and averages do not."""
    y, x = np.mgrid[:ROWS, :COLUMNS].astype(np.float32)
    planes = [127 + 120 * np.sin(x / 60 + k) * np.cos(y / 70 - k) for k in range(3)]
    return np.round(np.stack(planes, axis=-1)).astype(np.uint8)


WAVES = waves()


def check(_: Any = None, side: int = 128) -> list[tuple[int, ...]]:
    """All views are those of the whole image, but for less than two levels; what was read of the file."""
    recipe, picture = parse_text(VIEWS % (side, side)), Picture(WAVES, (2, 4, 8))
    pipeline, plain = build(recipe, "fast", 2), build(recipe, "none", 2)
    assert pipeline.reads
    for index in range(3):
        made, expected = pipeline.at(index)(image=picture), plain.at(index)(image=WAVES)
        for name in ("global", "local"):
            assert np.abs(made[name].astype(int) - expected[name]).max() <= 3
    return picture.read


@pytest.mark.parametrize(("side", "scales"), [(100, {4}), (220, {2}), (700, {1})])
def test_it_is_decoded_once_at_the_scale_that_is_fine_enough(side: int, scales: set[int]) -> None:
    read = check(side=side)
    assert len(read) == 3  # once a sample
    assert {reduce for *_, reduce in read} == scales


def test_other_settings_and_smaller_files_are_read_whole() -> None:
    recipe = parse_text(VIEWS % (128, 128))
    for optimize in ("none", "exact"):
        assert not build(recipe, optimize).reads
    small = Picture(WAVES[:600, :800], (2, 4, 8))
    made = build(recipe, "fast", 2).at(1)(image=small)
    np.testing.assert_array_equal(made["local"], build(recipe, "fast", 2).at(1)(image=WAVES[:600, :800])["local"])
    assert small.read == [(0, 0, 600, 800, 1)]
    bends = parse_text((VIEWS % (128, 128)).replace("HorizontalFlip", "ElasticTransform"))
    assert not build(bends, "fast").reads


def test_windows_are_those_of_the_file() -> None:
    picture, once = Picture(WAVES, (2, 4, 8)), ReducedFile(Picture(WAVES, (2, 4, 8)), 2)
    for reduce, most in ((1, 0), (2, 0), (4, 1), (8, 1)):
        for window in ((0, 0, ROWS, COLUMNS), (16, 8, 80, 96), (8, 1192, 1100, 1201)):
            found, expected = once.view(*window, reduce), picture.view(*window, reduce)
            assert np.abs(found.astype(int) - expected).max() <= most, (reduce, window)
    assert scale_for(picture, np.eye(3)[None] / 4) == 2
    assert scale_for(picture, [np.eye(3) / 20, np.eye(3)]) == 1


def too_small(image: Any, matrices: Any) -> int:
    return 4


def shifted(self: Any, reduce: int) -> np.ndarray:
    return np.roll(WHOLE(self, reduce), 2, axis=1)


def once_at(side: int) -> Any:
    return lambda _: test_it_is_decoded_once_at_the_scale_that_is_fine_enough(side, {2})


WHOLE = ReducedFile._whole
test_planted_faults_are_found = planted_faults(
    {
        "a scale that is too small": (once_at(220), (of_views, "scale_for", too_small)),
        "a column off": (check, (ReducedFile, "_whole", shifted)),
    }
)
