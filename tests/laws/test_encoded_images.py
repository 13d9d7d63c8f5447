"""Images that come undecoded: the same samples as from arrays, of which no more is decoded than is needed."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import MOVES, Picture, Pool, assert_same, build, outcome, pool, recipes, steps_for, targets
from support.checks import DEAR, SEEDS, holds, planted_faults

from augrecipes.compiler.executor import program
from augrecipes.compiler.kernels.encoded_images import is_encoded
from augrecipes.kinds.views import pipeline as of_views
from augrecipes.kinds.views.pipeline import ReducedFile, scale_for
from augrecipes.native.kernels import library
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call


def parsed(steps: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: law\nsteps: {steps}\n")


FIRST: Pool = (
    *MOVES,
    ("RandomResizedCrop", {"size": [21, 27]}),
    ("RandomSizedCrop", {"min_max_height": [12, 20], "size": [25, 30]}),
)


def check(recipe: Recipe, level: Any, channels: int, seed: int) -> int:
    """Samples from an image are those from its array; how many pixels were not read."""
    sample = targets(recipe, seed, channels, "uint8")
    pipeline = build(recipe, level, seed)
    saved = 0
    for index in range(3):
        image = Picture(sample["image"])
        a, b = outcome(pipeline, index, sample), outcome(pipeline, index, {**sample, "image": image})
        assert_same(a, b)
        read = sum((y1 - y0) * (x1 - x0) for y0, x0, y1, x1, _ in image.read)
        saved += sample["image"][..., 0].size - read
    return saved


NATIVELY = pytest.mark.skipif(library() is None, reason="without kernels files are decoded whole")


@NATIVELY
@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize("level", ["none", "exact"])
def test_the_bits_of_an_array(channels: int, level: str) -> None:
    holds(check, recipes((*FIRST * 8, *steps_for(channels))), st.just(level), st.just(channels), SEEDS)


@NATIVELY
def test_a_forgotten_shift_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = parsed("[HorizontalFlip, {RandomCrop: {height: 9, width: 11}}, Blur]")
    assert check(recipe, "exact", 3, 5) > 0
    right = program.read_pixels

    def wrong(image: Any, window: Any, reduce: int) -> Any:
        """The rows at the top in the place of those that are asked for."""
        top, *_ = window
        read = right(image, (0, window[1], window[2] - top, window[3]), reduce)
        return read if read is None or isinstance(image, np.ndarray) else (read[0], top, read[2])

    monkeypatch.setattr(program, "read_pixels", wrong)
    with pytest.raises(AssertionError):
        check(recipe, "exact", 3, 5)


@NATIVELY
@pytest.mark.parametrize(
    ("steps", "level"),
    [
        ("[{RandomCrop: {height: 20, width: 24}}]", "exact"),
        ("[HorizontalFlip, {RandomResizedCrop: {size: [8, 8], scale: [0.05, 0.1]}}, Blur]", "exact"),
        ("[{SmallestMaxSize: {max_size: 150}}, {RandomCrop: {height: 30, width: 30}}]", "fast"),
        ("[{RandomCrop: {height: 30, width: 30}}, Rotate, {RandomResizedCrop: {size: [8, 8]}}]", "fast"),
    ],
)
def test_reads_a_window_once(steps: str, level: Any) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (123, 157, 3), np.uint8)
    pipeline = build(parsed(steps), level)
    assert is_encoded(Picture(pixels))
    for index in range(5):
        image = Picture(pixels)
        pipeline.at(index)(image=image)
        assert len(image.read) == 1
        y0, x0, y1, x1, reduce = image.read[0]
        assert (y1 - y0) * (x1 - x0) < pixels[..., 0].size / 3
        assert reduce == 1


@NATIVELY
def test_a_mask_and_boxes_follow() -> None:
    recipe = parse_text(
        "version: 1\nrecipe: law\n"
        "inputs: {mask: required, boxes: {format: pascal_voc, labels: box_labels}, keypoints: {format: xy}}\n"
        "steps: [{RandomResizedCrop: {size: [20, 30], scale: [0.2, 0.5]}}, HorizontalFlip]\n"
    )
    assert check(recipe, "exact", 3, 1) > 0


SMALLER: Pool = pool("""
    Resize: {height: 31, width: 42}, SmallestMaxSize: {max_size: 37},
    RandomResizedCrop: {size: [29, 33], scale: [0.6, 1.0]},
    RandomSizedCrop: {min_max_height: [150, 190], size: [23, 27]}
""")


def ramps(height: int, width: int) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    slopes = np.dstack([1.1 * y, 0.93 * x, 0.6 * y + 0.4 * x])
    noise = np.random.default_rng(0).uniform(-1, 1, slopes.shape)  # otherwise all means are rounded alike
    return np.clip(np.rint(slopes + noise), 0, 255).astype(np.uint8)


MOST_OFF = 0.45  # px


def off(steps: str, index: int, scales: tuple[int, ...]) -> tuple[float, int]:
    """How far places are off in the mean, in px, a rim of two output pixels left out; and the reduction that was read.

    A rounded level is 0.3 px here, and of some hundred pixels in the mean 0.03; halves are rounded up, an eighth of a
    level in the mean, and noise of a level is seen at a few places by the one and in means by the other.
    """
    image = Picture(ramps(205, 243), scales)
    a = build(parsed(steps), "none").at(index)(image=image.pixels)["image"]
    b = build(parsed(steps), "fast").at(index)(image=image)["image"]
    inside = (a - b)[:2, 2:-2, 2:-2] * 255
    return float(np.abs(inside.mean(axis=(1, 2))).max()), image.read[0][4]


@NATIVELY
@DEAR
@given(st.sampled_from(SMALLER), st.integers(0, 1000))
def test_smaller_decoding_keeps_places(step: tuple[str, dict[str, Any]], index: int) -> None:
    distance, k = off(f"[{{{step[0]}: {step[1]}}}]", index, (2, 4, 8))
    assert k in (1, 2, 4)
    assert distance < MOST_OFF


@NATIVELY
def test_a_pixel_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = "[{Resize: {height: 31, width: 40}}]"
    assert off(steps, 0, (2, 4, 8))[1] == 4
    right = program.read_pixels

    def wrong(*what: Any) -> Any:
        pixels, top, left = right(*what)
        return pixels, top, left + 1

    monkeypatch.setattr(program, "read_pixels", wrong)
    assert off(steps, 0, (2, 4, 8))[0] > MOST_OFF


CUT = "{CenterCrop: {height: 13, width: 12}}"


@NATIVELY
@pytest.mark.parametrize(("first", "reduce"), [(8, 8), (9, 1), (16, 8)])
def test_blocks_do_not_show_what_is_cut_away(first: int, reduce: int) -> None:
    pixels = np.full((216, 216, 3), 255, np.uint8)
    pixels[first : first + 192, first : first + 192] = 100
    image = Picture(pixels, (2, 4, 8))
    end = first + 192
    cut = f"{{Crop: {{x_min: {first}, y_min: {first}, x_max: {end}, y_max: {end}}}}}"
    made = build(parsed(f"[{cut}, {{Resize: {{height: 15, width: 15}}}}, {CUT}]"), "fast").at(0)(image=image)["image"]
    assert image.read[0][4] == reduce
    np.testing.assert_allclose(made, 100 / 255, atol=1e-6)


@NATIVELY
def test_a_decoder_without_such_a_scale_decodes_all() -> None:
    steps = "[{Resize: {height: 20, width: 24}}]"
    assert off(steps, 0, ())[1] == 1


# Views of a large file: `fast` decodes it once, as small as all of them allow, and sees the same places.


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


def check_views(_: Any = None, side: int = 128) -> list[tuple[int, ...]]:
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
    read = check_views(side=side)
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
        "a column off": (check_views, (ReducedFile, "_whole", shifted)),
    }
)
