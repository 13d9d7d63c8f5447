"""Images on which kernels could round otherwise than the installed OpenCV: `exact` makes of them what `none` makes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import strategies as st
from kernel_sets import EACH_SET, KERNEL_SETS, NEEDS_KERNELS, SETS, Spoilt, spoil_last, using
from random_recipes import build
from support.programs import one_level_off
from test_native_plan import recipe_of

from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels import opencv_bits
from augrecipes.compiler.kernels.opencv_bits import NativeWarp
from augrecipes.native.kernels import Library
from augrecipes.ops.constants import NEAREST

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call

Case = tuple[str, dict[str, Any], list[np.ndarray]]


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


@cache
def colours(step: int) -> np.ndarray:
    """Colours all over the cube, in rows of 512."""
    some = np.arange(0, 1 << 24, step, dtype=np.uint32)
    some = some[: len(some) // 512 * 512].reshape(-1, 512)
    return np.stack([some >> 16, some >> 8 & 255, some & 255], axis=-1).astype(np.uint8)


@cache
def on_edges() -> np.ndarray:
    """Squares of 16 px, each of a colour one of whose sums, in 65536ths, is just at the edge of rounding."""
    some, every = np.arange(0, 256, 17, dtype=np.int32), np.arange(256, dtype=np.int32)
    blue, green, red = np.meshgrid(some, every, every, indexing="ij")
    weights = ((7471, 38470, 19595), (32768, -21709, -11059), (-5329, -27439, 32768))
    colours = []
    for of_blue, of_green, of_red in weights:
        part = (of_blue * blue + of_green * green + of_red * red) % 65536
        for edge in range(32766, 32771):
            found = np.argwhere(part == edge) * (17, 1, 1)
            colours.append(found[:: max(1, len(found) // 12)][:12])
    flat = np.concatenate(colours).astype(np.uint8)
    flat = flat[: len(flat) // 6 * 6].reshape(6, -1, 3)
    return flat.repeat(16, axis=0).repeat(16, axis=1)


def means() -> Iterator[Case]:
    """Windows of one level, but for some of their pixels: every mean there is, and what is next to it."""
    for side in range(3, 16, 2):
        levels = np.arange(side * side * 255 + 1) // (side * side)
        images = []
        for whole in np.unique(levels)[:: 1 if side < 6 else 17]:
            image = np.full((side + 2, 4 * side, 1), whole, np.uint8)
            image[:, ::2] += np.uint8(whole < 255)
            images.append(image)
        yield "Blur", {"blur_limit": [side, side]}, images


def medians() -> Iterator[Case]:
    """All windows of 3 × 3 in black and white, and some larger ones: what orders two levels orders all."""
    rng = np.random.default_rng(0)
    for side, count in ((3, 512), (5, 2000), (7, 2000)):
        bits = rng.random((count, side * side)) < rng.uniform(0.4, 0.6, (count, 1))
        if side == 3:
            bits = (np.arange(512)[:, None] >> np.arange(9) & 1) > 0
        image = np.where(bits.reshape(count * side, side, 1), np.uint8(255), np.uint8(0))
        yield "MedianBlur", {"blur_limit": [side, side]}, [np.ascontiguousarray(image)]


def halves() -> Iterator[Case]:
    """Reductions whose means, and cubics whose sums, often lie just between two levels."""
    sizes = [(rows, columns, seed) for seed, (rows, columns) in enumerate(((2, 9), (5, 3), (8, 8)))]
    ratios = (((4, 3), "area", 3), ((8, 5), "area", 2), ((16, 7), "area", 5), ((25, 3), "cubic", 255),
              ((5, 6), "cubic", 255), ((3, 1), "cubic", 255))  # fmt: skip
    for (rows, columns, seed), ((before, behind), name, levels) in product(sizes, ratios):
        size = {"height": rows * behind, "width": columns * behind}
        images = [noise(rows * before, columns * before, seed * 50 + k) % levels + np.uint8(k) for k in range(8)]
        yield "Resize", {**size, "interpolation": name}, images


def jpegs() -> Iterator[Case]:
    """Every quality, and colours whose luma and chroma are just at the edge of rounding."""
    for quality in (*range(1, 101, 6), 100):
        yield "ImageCompression", {"quality_range": [quality, quality]}, [noise(23, 37, quality)]
    for quality in (99, 100):
        yield "ImageCompression", {"quality_range": [quality, quality]}, [on_edges()]


def lab(step: int) -> Iterator[Case]:
    """An image so even that L hardly changes under a low limit, and one where it does."""
    for limit in (1.0, 40.0):
        yield "CLAHE", {"clip_limit": [limit, limit], "tile_grid_size": [1, 1]}, [colours(step)]


def large() -> Iterator[Case]:
    """Long sides, and more rows and columns than a kernel takes at a time."""
    for shape in ((3, 16384), (16384, 2), (700, 900)):
        image, smaller = noise(*shape), {"height": max(2, shape[0] // 3), "width": max(2, shape[1] // 2)}
        for name in ("Affine", "Perspective", "OpticalDistortion", "ImageCompression"):
            yield name, {}, [image]
        yield "GridDistortion", {"num_steps": 1}, [image]
        for how in ("linear", "area", "nearest", "cubic"):
            yield "Resize", {**smaller, "interpolation": how}, [image]


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "means": means, "medians": medians, "halves": halves, "jpegs": jpegs, "lab": lambda: lab(37),
    "large": large,
}  # fmt: skip


def check(case: Case, kernels: Library) -> int:
    """Holds a step to albumentations; how many images kernels made."""
    name, arguments, images = case
    recipe = recipe_of((name, {**arguments, "p": 1.0}))
    with using(kernels):
        plain, exact = build(recipe, "none"), build(recipe, "exact")
        native = exact.native
    for image in images:
        expected = plain.at(3)(image=image)["image"]
        np.testing.assert_array_equal(exact.at(3)(image=image)["image"], expected, err_msg=f"{name} {arguments}")
    assert isinstance(native, Program)
    return sum(native.run_one(0, 3, 0, image, np.empty) is not None for image in images)


@NEEDS_KERNELS
@EACH_SET
@pytest.mark.parametrize("name", CASES)
def test_every_kernel_rounds_as_opencv_does(name: str, kernels: Library) -> None:
    assert sum(check(case, kernels) for case in CASES[name]())


@NEEDS_KERNELS
def test_one_level_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    image = noise(9, 11)  # and not the images by which a kernel is tried before
    monkeypatch.setattr(Program, "run_batch", one_level_off(image))
    with pytest.raises(AssertionError):
        check(("Blur", {"blur_limit": [3, 3]}, [image]), SETS[-1])


@NEEDS_KERNELS
@pytest.mark.soak
@EACH_SET
def test_every_colour_goes_to_lab_and_back_as_in_opencv(kernels: Library) -> None:
    assert all(check(case, kernels) for case in lab(1))


@NEEDS_KERNELS
@pytest.mark.soak
@pytest.mark.parametrize("processor", ["avx2", "sse42"])
def test_cubics_are_left_to_opencv_where_it_adds_in_another_order(processor: str) -> None:
    """Its primitives do so on processors without AVX-512: they can be told that this is one."""
    program = """if True:
        import cv2
        import numpy as np
        from augrecipes.recipe.parse import parse_text
        image = np.random.default_rng(5).integers(0, 256, (500, 50, 3), np.uint8)
        for height, width in (500, 6), (60, 30), (100, 60):
            step = f"Resize: {{height: {height}, width: {width}, interpolation: cubic}}"
            output = "output: {dtype: uint8, layout: hwc}"
            made = parse_text(f"version: 1\\nrecipe: test\\nsteps: [{step}]\\neval: []\\n{output}\\n").compile()
            own = cv2.resize(image, (width, height), interpolation=cv2.INTER_CUBIC)
            print(np.array_equal(made.at(0)(image=image)["image"], own))"""
    environment = {**os.environ, "OPENCV_IPP": processor}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert "False" not in done.stdout


# A native warp gives the bits of the installed OpenCV, or leaves it the work: every border, size and place.


KINDS: list[opencv_bits.Kind] = ["affine", "perspective", "maps"]
# Levels whose bits are those of the OpenCV that is installed; on an old processor, none.
NATIVE = [k for k in KERNEL_SETS if k is not None and NativeWarp(k).body("maps", cv2.INTER_LINEAR)]
SIDES = st.integers(1, 70)


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_places_that_are_no_numbers_are_left_to_opencv(kernels: Library, bad: float) -> None:
    native, image, rng = NativeWarp(kernels), noise(20, 30), np.random.default_rng(0)
    for place in range(9):
        matrix = np.eye(3).ravel() * 1.5
        matrix[place] = bad
        assert native.sample("perspective", image, 1, 4, 0, (20, 20), matrix.tolist()) is None
    for place in range(6):
        matrix = np.eye(3).ravel() * 1.5
        matrix[place] = bad
        assert native.sample("affine", image, 1, 4, 0, (20, 20), matrix.tolist()) is None
    for which in (0, 1):
        maps = [rng.uniform(0, side, (9, 9)).astype(np.float32) for side in (30, 20)]
        maps[which][3, 5] = bad
        assert native.sample("maps", image, 1, 4, 0, (9, 9), maps=maps) is None


@pytest.mark.parametrize("kernels", NATIVE, ids=lambda kernels: kernels.isa)
def test_the_probe_sees_a_kernel_that_is_one_bit_off(kernels: Library) -> None:
    for kind, linear in product(KINDS, (False, True)):
        assert opencv_bits.matches_opencv(kind, linear, 16, NativeWarp(kernels))
        assert not opencv_bits.matches_opencv(kind, linear, 16, NativeWarp(Spoilt(kernels, 17, spoil_last)))  # type: ignore[arg-type]
    for kind in KINDS[:2]:  # places of a row's last pixels are found in another order
        assert not opencv_bits.matches_opencv(kind, True, 1, NativeWarp(kernels))


def test_labels_on_an_axis_of_one_are_the_kernels_too() -> None:
    """numpy gives that axis a step of no bytes."""
    labels = np.random.default_rng(0).integers(0, 9, (40, 50), np.uint8)
    turn = (0.9, 0.2, 1.0, -0.2, 0.9, 3.0, 0.0, 0.0, 1.0)
    for kernels in NATIVE:
        made = [
            NativeWarp(kernels).sample("affine", one, NEAREST, cv2.BORDER_CONSTANT, [3], (30, 20), turn, body=1)
            for one in (labels, labels[..., None])
        ]
        assert np.array_equal(made[0], made[1][..., 0])


@NEEDS_KERNELS
@pytest.mark.parametrize("parts", [41, 60, 100])
def test_grids_of_many_parts_are_made_natively(parts: int) -> None:
    """More than the images have rows that steps are first tried on."""
    recipe = recipe_of(("GridDistortion", {"num_steps": parts, "p": 1.0}))
    image = np.random.default_rng(parts).integers(0, 256, (150, 171, 3), np.uint8)
    plain, exact = build(recipe, "none"), build(recipe, "exact")
    assert isinstance(exact.native, Program)
    made = exact.native.run_one(2, 5, 0, image, np.empty)
    np.testing.assert_array_equal(made, plain.at(5, 2)(image=image)["image"])
