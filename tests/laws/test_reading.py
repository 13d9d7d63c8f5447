"""Images that come undecoded: the same samples as from arrays, of which no more is decoded than is needed."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from augrecipes.compiler.kernels.undecoded import Undecoded, is_encoded
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import EACH_SET, KERNEL_SETS, Spoilt, guarded, spoil_first, spoil_last
from random_recipes import MOVES, Picture, Pool, assert_same, build, outcome, pool, recipes, steps_for, targets
from support.checks import DEAR, SEEDS, holds

from augrecipes.compiler.executor import program
from augrecipes.compiler.kernels import sink as sinks
from augrecipes.compiler.kernels.formulas import scales_and_shifts
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.native.kernels import Library, library, using
from augrecipes.ops.dihedral import IDENTITY, Symmetry
from augrecipes.recipe.model import Normalize, Output, Recipe
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
    right = Undecoded.__getitem__
    # Inside of the image, whose other bytes are nobody's to read.
    wrong = lambda self, cut: right(self, (slice(cut[0].stop - cut[0].start), cut[1]))  # noqa: E731
    monkeypatch.setattr(Undecoded, "__getitem__", wrong)
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
    right = program.reduced_pixels

    def wrong(*what: Any) -> Any:
        pixels, top, left = right(*what)
        return pixels, top, left + 1

    monkeypatch.setattr(program, "reduced_pixels", wrong)
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


# What the sink makes of an image is said by arithmetic alone: however the image, and what it is written to, lie.


OUTPUTS = st.builds(
    Output,
    dtype=st.sampled_from(["uint8", "float32", "float16"]),
    layout=st.sampled_from(["chw", "hwc"]),
    color=st.sampled_from(["rgb", "bgr", "gray", "y"]),
    normalize=st.sampled_from([None, Normalize((0.25,), (0.5,)), Normalize((0.0,), (1.0,))]),
    range=st.sampled_from([(0.0, 1.0), (0.0, 255.0), (-1.0, 1.0)]),
)
# 8×8 and 16×64: planes side by side begin at the same place of a 64-byte line; 7×9: they do not.
SIZES = st.sampled_from([(1, 1), (7, 9), (8, 8), (16, 64), (33, 31)])
SYMMETRIES = [Symmetry(*which) for which in product((False, True), repeat=3)]
Lying = Callable[[np.ndarray], np.ndarray]


def _window(image: np.ndarray) -> np.ndarray:
    padded = np.pad(image, ((2, 3), (5, 1), (0, 0)), constant_values=7)
    return padded[2:-3, 5:-1]


def _every_other(image: np.ndarray) -> np.ndarray:
    return np.repeat(np.repeat(image, 2, axis=0), 2, axis=1)[::2, ::2]


def _channels_of_more(image: np.ndarray) -> np.ndarray:
    return np.concatenate([image, image[..., :1]], axis=2)[..., :-1]


def _columns_first(image: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(image.swapaxes(0, 1)).swapaxes(0, 1)


def _backwards(image: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(image[::-1, ::-1])[::-1, ::-1]


LYING: list[Lying] = [np.array, _window, _every_other, _channels_of_more, _columns_first, _backwards]


def said(output: Output, image: np.ndarray) -> np.ndarray:
    """The sample by the formulas, channel by channel."""
    full = 255.0 if image.dtype == np.uint8 else 1.0
    if output.color in ("gray", "y"):
        # One channel out of three has a law of its own (tests/device): here only where it lies must not matter.
        return Sink(output)(np.ascontiguousarray(image))
    planes = [image[..., c] for c in range(image.shape[2])]
    planes = planes[::-1] if output.color == "bgr" else planes
    if output.dtype == "uint8":
        made = [p if full == 255 else np.rint(np.clip(p * np.float32(255), 0, 255)).astype(np.uint8) for p in planes]
    else:
        made = []
        for plane, (scale, shift) in zip(planes, scales_and_shifts(output, len(planes), full), strict=True):
            made.append((plane.astype(np.float32) * np.float32(scale) + np.float32(shift)).astype(output.dtype))
    return np.stack(made, axis=0 if output.layout == "chw" else -1)


def check_sink(
    output: Output, image: np.ndarray, lying: Lying, symmetry: Symmetry = IDENTITY, kernels: Any = None
) -> None:
    """Holds a sink to `said`, for one image that lies somehow, in memory of the sink's choice and of the caller's."""
    given = lying(image)
    np.testing.assert_array_equal(given, image)
    before, expected = given.copy(), said(output, np.ascontiguousarray(symmetry.view(image)))
    sink = Sink(output)
    with using(kernels):
        made = sink(symmetry.view(given))
    assert made.dtype == expected.dtype
    assert made.flags.c_contiguous
    assert not np.shares_memory(made, given)
    np.testing.assert_array_equal(made, expected)
    for step, start in ((1, 1), (2, 0)):  # a row of a batch that begins anywhere; a row whose values lie apart
        room = np.full(step * expected.size + 9, 99, expected.dtype)
        row = room[start : start + step * expected.size : step].reshape(expected.shape)
        assert sink(symmetry.view(given), lambda shape, dtype, row=row: row) is row
        np.testing.assert_array_equal(row, expected)
        assert (np.delete(room, np.s_[start : start + step * expected.size : step]) == 99).all()
    np.testing.assert_array_equal(made, expected)  # still
    np.testing.assert_array_equal(given, before)


@given(
    output=OUTPUTS,
    size=SIZES,
    channels=st.integers(1, 5),
    floats=st.booleans(),
    lying=st.sampled_from(LYING),
    symmetry=st.builds(Symmetry, st.booleans(), st.booleans(), st.booleans()),
    kernels=st.sampled_from(KERNEL_SETS),
    seed=st.integers(0, 9),
)
def test_a_sample_is_what_the_formulas_say_however_its_image_lies(
    output: Output,
    size: tuple[int, int],
    channels: int,
    floats: bool,
    lying: Lying,
    symmetry: Symmetry,
    kernels: Library | None,
    seed: int,
) -> None:
    channels = channels if output.color == "rgb" else 3
    image: Any = np.random.default_rng(seed).integers(0, 256, (*size, channels), np.uint8)
    check_sink(output, image.astype(np.float32) / np.float32(255) if floats else image, lying, symmetry, kernels)


IMAGE = np.random.default_rng(0).integers(0, 99, (16, 64, 3), np.uint8)


@pytest.mark.parametrize(("output", "fault"), [
    (Output(), lambda planes, image: [planes[0]] * len(planes)),
    (Output(dtype="uint8"), lambda planes, image: [image.base[: len(p), : p.shape[1], 0] for p in planes]),
    (Output(layout="hwc"), lambda planes, image: [p + 1 for p in planes]),
], ids=["planes that are one", "a window taken for the whole", "one level off"])  # fmt: skip
def test_the_law_sees_planes_that_are_others(output: Output, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check_sink(output, IMAGE, _window)
    honest = Sink._planes
    monkeypatch.setattr(sinks.Sink, "_planes", lambda self, image: fault(honest(self, image), image))
    with pytest.raises(AssertionError):
        check_sink(output, IMAGE, _window)


@EACH_SET
def test_the_law_sees_a_native_kernel_that_is_one_bit_off(kernels: Library) -> None:
    check_sink(Output(), IMAGE, _window, kernels=kernels)
    for spoilt in (spoil_first, spoil_last):
        with pytest.raises(AssertionError):
            check_sink(Output(), IMAGE, _window, kernels=Spoilt(kernels, 8, spoilt))


@EACH_SET
@pytest.mark.parametrize("at_end", [False, True])
def test_no_native_kernel_reads_or_writes_beside_its_arrays(kernels: Library, at_end: bool) -> None:
    for size in [(1, 1), (1, 7), (3, 513), (17, 15), (31, 33), (70, 64)]:
        for channels in (1, 2, 3, 4):
            for dtype, layout in (("float32", "chw"), ("float32", "hwc"), ("uint8", "chw")):
                for turn in SYMMETRIES:
                    image = guarded(np.random.default_rng(0).integers(0, 256, (*size, channels), np.uint8), at_end)
                    output = Output(dtype=dtype, layout=layout)  # type: ignore[arg-type]
                    expected = said(output, np.ascontiguousarray(turn.view(image)))
                    room = guarded(np.zeros_like(expected), at_end)
                    with using(kernels):
                        Sink(output)(turn.view(image), lambda shape, dtype, room=room: room)
                    np.testing.assert_array_equal(room, expected)


@EACH_SET
@pytest.mark.parametrize("layout", ["chw", "hwc"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_part_of_a_batch_larger_than_the_cache_has_the_same_values(
    kernels: Library, layout: Any, channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("augrecipes.native.kernels._FAR", 1 << 10)
    image: Any = np.random.default_rng(channels).integers(0, 256, (96, 128, channels), np.uint8)
    output = Output(layout=layout, normalize=Normalize((0.4,), (0.3,)))
    expected = said(output, image)
    for broken in (0, 1):  # whole lines of 64 bytes, then broken ones
        whole = np.full(expected.size + 32, np.nan, np.float32)
        start = -whole.ctypes.data % 64 // 4 + broken
        room = whole[start : start + expected.size].reshape(expected.shape)
        with using(kernels):
            Sink(output)(image, lambda shape, dtype, room=room: room)
        np.testing.assert_array_equal(room, expected)
        assert np.isnan(whole).sum() == 32


@pytest.mark.parametrize("kernels", KERNEL_SETS, ids=lambda kernels: kernels.isa if kernels else "python")
@pytest.mark.parametrize("layout", ["chw", "hwc"])
def test_floats_that_begin_at_odd_bytes_are_written_too(kernels: Library | None, layout: Any) -> None:
    output = Output(layout=layout)
    expected = said(output, IMAGE)
    room = np.zeros(expected.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(expected.shape)
    assert not room.flags.aligned
    with using(kernels):
        Sink(output)(IMAGE, lambda shape, dtype: room)
    np.testing.assert_array_equal(room, expected)
