"""Kernels beside their definitions in numpy, OpenCV or albumentations: rows for tests/laws/test_kernels.py."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import albumentations.augmentations.geometric.functional as geometric
import cv2
import job_cases
import job_in_numpy
import noise_in_numpy
import numpy as np
import sink_cases
from hypothesis import settings
from hypothesis import strategies as st
from kernel_sets import guarded, spoil_first, using
from support.checks import tries

from augrecipes.compat import normals
from augrecipes.compiler.kernels import coarse_fields, counter_noise, opencv_bits
from augrecipes.compiler.kernels.coarse_fields import LazyMap, RowMix
from augrecipes.compiler.kernels.counter_noise import Noise
from augrecipes.compiler.kernels.opencv_bits import NativeWarp
from augrecipes.native.kernels import Library
from augrecipes.ops import opencv_variants, places
from augrecipes.ops.constants import AREA, CUBIC, LINEAR, NEAREST
from augrecipes.ops.dihedral import Symmetry
from augrecipes.ops.opencv_variants import NumpyNormals

Room = Callable[..., Any]
"""Makes an array of a shape and a dtype for a result, between pages that nobody may touch."""
Layout = Callable[[np.ndarray], np.ndarray]
Case: Any = SimpleNamespace


def window(array: np.ndarray) -> np.ndarray:
    padded = np.pad(array, ((2, 3), (5, 1), *[(0, 0)] * (array.ndim - 2)), constant_values=7)
    return padded[2:-3, 5:-1]


# How one array may lie: between guard pages, whose rows follow one another; with rows apart; in any other order.
WHOLE: dict[str, Layout] = {
    "behind a page": lambda array: guarded(array, at_end=False),
    "in front of a page": lambda array: guarded(array, at_end=True),
}
ROWS_APART: dict[str, Layout] = {**WHOLE, "a window": window}
ANY_ORDER: dict[str, Layout] = {
    **ROWS_APART,
    "every other pixel": lambda a: np.repeat(np.repeat(a, 2, axis=0), 2, axis=1)[::2, ::2],
    "some of more channels": lambda a: np.concatenate([a, a[..., :1]], axis=2)[..., :-1],
    "columns first": lambda a: np.ascontiguousarray(a.swapaxes(0, 1)).swapaxes(0, 1),
    "backwards": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
}


OFTEN = tries(200)


@dataclass(frozen=True, eq=False)
class Row:
    """A kernel and what it should do.

    Attributes:
        kernel: its name.
        result: which of its arguments is the address of the result.
        cases: what both functions are called with, by name, arrays among them.
        call: the kernel's result, of kernels, a `Room` and a case; None where it leaves the work to Python.
        definition: the result of a case by its definition.
        layouts: how arrays of a case may lie.
        exists: whether an instruction set has this kernel's bits.
        spoil: plants a fault at the address that argument `result` is.
        python: whether `call` does the work without kernels, too.
        tried: how many cases.
    """

    kernel: str
    result: int
    cases: st.SearchStrategy[dict[str, Any]]
    call: Callable[..., Any]
    definition: Callable[..., Any]
    layouts: dict[str, Layout]
    exists: Callable[[Library], bool] = lambda kernels: True
    spoil: Callable[[int], None] = spoil_first
    python: bool = False
    tried: settings = OFTEN


def law(row: Row, kernels: Any, case: dict[str, Any], layout: Layout) -> bool:
    """Compare a kernel with its definition, bit for bit, inputs with what they were; whether it did the work."""
    at_end = layout is WHOLE["in front of a page"]
    laid = {name: layout(value) if isinstance(value, np.ndarray) else value for name, value in case.items()}
    for value in laid.values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    with using(kernels):
        result = row.call(kernels, lambda shape, dtype: guarded(np.zeros(shape, dtype), at_end), Case(**laid))
    for name, value in laid.items():
        np.testing.assert_array_equal(value, case[name], err_msg=f"{name} was written to")
    if result is None:
        return False
    np.testing.assert_array_equal(result, row.definition(Case(**case)), strict=True)
    return True


def levels(seed: int, *shape: int) -> np.ndarray:
    """Noise of all levels or, in one of three images, of few."""
    rng = np.random.default_rng(seed)
    some: Any = rng.choice(np.array([0, 1, 127, 255], np.uint8), shape)
    return some if seed % 3 == 0 else rng.integers(0, 256, shape, np.uint8)


SIDE, SEED, KEY = st.integers(1, 70), st.integers(0, 99), st.integers(0, 2**64 - 1)
SIZE = st.tuples(SIDE, SIDE)


# Resizes: a window of the result.


def resize_case(size: tuple[int, int], to: tuple[int, int], channels: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    first = [int(rng.integers(side)) for side in to]
    sides = [int(rng.integers(1, side - begin + 1)) for side, begin in zip(to, first, strict=True)]
    return {"image": rng.integers(0, 256, (*size, channels), np.uint8), "to": to, "part": (*first, *sides)}


def resize_row(kernel: str, sizes: Any, channels: tuple[int, ...], definition: Callable[..., np.ndarray]) -> Row:
    """The row of a kernel that resizes images of some (size, size of the result)."""

    def call(kernels: Any, room: Room, case: Any) -> np.ndarray | None:
        image, result = case.image, room((*case.part[2:], case.image.shape[2]), np.uint8)
        answer = kernels.kernel(kernel, opencv_bits.ARGUMENTS)(
            image.ctypes.data, *image.shape[:2], image.strides[0], image.shape[2], *case.to,
            result.ctypes.data, *case.part, result.strides[0],
        )  # fmt: skip
        return None if answer else result

    def defined(case: Any) -> np.ndarray:
        top, left, height, width = case.part
        return definition(case.image, case.to)[top : top + height, left : left + width]

    cases = st.builds(lambda sides, *more: resize_case(*sides, *more), sizes, st.sampled_from(channels), SEED)
    return Row(kernel, 7, cases, call, defined, ROWS_APART, lambda kernels: has_bits(kernels, kernel))


def has_bits(kernels: Library, kernel: str) -> bool:
    return kernel == "nearest_middle" or opencv_bits.resizes_as_opencv(kernels, kernel)


def by_opencv(interpolation: int) -> Callable[..., np.ndarray]:
    return lambda image, to: cv2.resize(image, to[::-1], interpolation=interpolation).reshape(*to, image.shape[2])


# Which sizes a kernel is for stands in native/layers.h: OpenCV resizes others in another way.
SIZES = st.tuples(SIZE, SIZE)
SMALLER = SIZES.map(lambda s: (tuple(map(max, *s)), tuple(map(min, *s))))
FACTORS = st.tuples(st.integers(1, 16), st.integers(1, 16))
WHOLE_FACTORS = st.builds(
    lambda to, by: ((to[0] * by[0], to[1] * by[1]), to), st.tuples(*[st.integers(1, 20)] * 2), FACTORS
)


def is_whole(sizes: Any) -> bool:
    return all(side % to == 0 for side, to in zip(*sizes, strict=True))


def larger_somewhere(sizes: Any) -> bool:
    return any(to > side for side, to in zip(*sizes, strict=True))


def factor_case(size: tuple[int, int], factor: float, channels: int, seed: int) -> dict[str, Any]:
    return {"image": levels(seed, *size, channels), "factor": factor}


def is_resized_by(case: dict[str, Any]) -> bool:
    """Whether OpenCV resizes by the factor itself: it copies what keeps its size, and has other ways for halves."""
    sides = case["image"].shape[:2]
    to = [round(side * case["factor"]) for side in sides]
    return all(to) and to != [*sides] and not (1 / case["factor"]).is_integer()


def factor_row(kernel: str, interpolation: int) -> Row:
    """The row of a kernel that makes images smaller by a factor."""

    def call(kernels: Any, room: Room, case: Any) -> np.ndarray | None:
        image, factor = case.image, case.factor
        height, width, channels = image.shape
        result = room((round(height * factor), round(width * factor), channels), np.uint8)
        answer = kernels.kernel(kernel, "plllidpll")(
            image.ctypes.data, height, width, image.strides[0], channels, factor, result.ctypes.data, *result.shape[:2]
        )
        return None if answer else result

    def defined(case: Any) -> np.ndarray:
        resized = cv2.resize(case.image, None, fx=case.factor, fy=case.factor, interpolation=interpolation)
        return resized.reshape(*resized.shape[:2], case.image.shape[2])

    cases = st.builds(factor_case, SIZE, st.floats(0.05, 0.99), st.sampled_from((1, 3, 4)), SEED).filter(is_resized_by)
    return Row(kernel, 6, cases, call, defined, ROWS_APART, lambda kernels: has_bits(kernels, kernel[:-3]))


RESIZES = (
    resize_row("nearest_middle", SIZES, (1, 2, 4, 8), places.nearest),
    resize_row("nearest", SIZES, (1, 2, 3, 4), by_opencv(NEAREST)),
    resize_row("resize", SIZES.filter(lambda s: s[0] != (2 * s[1][0], 2 * s[1][1])), (1, 3, 4), by_opencv(LINEAR)),
    resize_row("cubic", SIZES.filter(lambda s: min(s[0]) >= 4), (3,), by_opencv(CUBIC)),
    resize_row("shrink", SMALLER.filter(lambda s: not is_whole(s)), (1, 3, 4), by_opencv(AREA)),
    resize_row("enlarge", SIZES.filter(larger_somewhere), (1, 3, 4), by_opencv(AREA)),
    factor_row("resize_by", LINEAR),
    factor_row("shrink_by", AREA),
    resize_row("blocks", WHOLE_FACTORS, (1, 2, 3, 4), by_opencv(AREA)),
)


# Blurs.


def blur_case(size: tuple[int, int], channels: int, side: int, sigma: float, seed: int) -> dict[str, Any]:
    places = np.arange(side) - side // 2
    weights = np.exp(-0.5 * (places / sigma) ** 2)
    return {"image": levels(seed, *size, channels), "weights": (weights / weights.sum()).astype(np.float32)}


def blur(kernels: Any, room: Room, case: Any) -> np.ndarray | None:
    image, weights = case.image, case.weights
    result, workspace = room(image.shape, np.uint8), room(((len(weights) + 3) * 448,), np.float32)
    answer = kernels.kernel("gaussian", "plllplllpp")(
        image.ctypes.data, *image.shape, weights.ctypes.data, len(weights), *opencv_variants.gaussian(),
        workspace.ctypes.data, result.ctypes.data,
    )  # fmt: skip
    return None if answer else result


GAUSSIAN = Row(
    "gaussian", 9,
    st.builds(
        blur_case, st.tuples(SIDE, st.sampled_from((1, 3, 64, 127, 128, 129, 300))), st.integers(1, 4),
        st.integers(1, 31).map(lambda half: 2 * half + 1), st.floats(0.3, 9), SEED,
    ),
    blur, lambda case: cv2.sepFilter2D(case.image, -1, case.weights, case.weights).reshape(case.image.shape), WHOLE,
)  # fmt: skip


# Warps: with the bits of albumentations' own functions.

FILLS = st.one_of(
    st.floats(-20, 300), st.integers(-20, 300), st.lists(st.floats(-20, 300), min_size=1, max_size=4).map(tuple)
)
DTYPES = ("uint8", "uint8", "uint8", "uint16", "int16", "float32")


def warp_case(
    kind: str, dtype: str, channels: int, size: Any, to: Any, border: int, fill: Any, sampling: int, seed: int
) -> dict[str, Any]:
    rng, (height, width) = np.random.default_rng(seed), size
    image: Any = rng.integers(0, 256, (*size, channels), np.uint8)
    image[rng.random(image.shape) < 0.5] = 255
    angle, scale, tilt = rng.uniform(-4, 4), 4.0 ** rng.uniform(-1, 1), 2e-3 * (kind == "perspective")
    c, s, shift = scale * np.cos(angle), scale * np.sin(angle), rng.uniform(-0.5, 0.5, 2) * (width, height)
    forward = [[c, s, shift[0] + width / 2 * (1 - c)], [-s, c * rng.uniform(0.5, 2), shift[1] + height / 3]]
    forward.append([*rng.uniform(-tilt, tilt, 2).tolist(), 1.0])
    reach = seed % 4 * max(size)
    maps = [rng.uniform(-reach, side + reach, to).astype(np.float32) for side in (width, height)]
    return {
        "kind": kind, "image": image.astype(dtype), "forward": np.array(forward), "map_x": maps[0], "map_y": maps[1],
        "to": to, "border": border, "fill": fill, "sampling": sampling,
    }  # fmt: skip


def warp(kernels: Any, room: Room, case: Any) -> np.ndarray | None:
    body = NativeWarp(getattr(kernels, "kernels", kernels)).body(case.kind, case.sampling)
    matrix, fill = opencv_bits._EYE, case.fill
    if case.kind == "affine":
        fill = [fill] * case.image.shape[2] if isinstance(fill, float) else fill
        matrix = opencv_bits._inverse(case.forward.ravel().tolist())
    elif case.kind == "perspective":
        matrix = cv2.invert(np.array(case.forward))[1].ravel().tolist()
    maps = (case.map_x, case.map_y) if case.kind == "maps" else ()
    return NativeWarp(kernels).sample(
        case.kind, case.image, case.sampling, case.border, fill, case.to, matrix, maps, body
    )


def warp_by_albumentations(case: Any) -> Any:
    if case.kind == "maps":
        return geometric.remap(case.image, case.map_x, case.map_y, case.sampling, case.border, case.fill)
    if case.kind == "affine":
        return geometric.warp_affine(case.image, case.forward, case.sampling, case.fill, case.border, case.to)
    height, width = case.to
    return geometric.perspective(case.image, case.forward, width, height, case.fill, case.border, False, case.sampling)


WARP = Row(
    "warp", 17,
    st.builds(
        warp_case, st.sampled_from(("affine", "perspective", "maps")), st.sampled_from(DTYPES),
        st.sampled_from((1, 2, 3, 3, 4, 5)), SIZE, SIZE, st.integers(0, 4), FILLS, st.sampled_from((NEAREST, LINEAR)),
        SEED,
    ),
    warp, warp_by_albumentations, ROWS_APART, lambda kernels: NativeWarp(kernels).body("maps", LINEAR) > 0,
)  # fmt: skip


# Jobs: what warps, colours and writes an image in one pass.

JOB = Row(
    "fused", 0, job_cases.CASES, job_cases.by_kernel, job_cases.by_definition, ROWS_APART,
    spoil=job_cases.spoil_result,
)  # fmt: skip


SINK = Row(
    "sink", 8, sink_cases.CASES, sink_cases.by_kernel, sink_cases.by_formulas, ANY_ORDER, python=True,
    tried=tries(800),
)  # fmt: skip
DEEP_SINK = Row(
    "deep_sink", 14, sink_cases.DEEP_CASES, sink_cases.by_kernel, sink_cases.by_formulas, ANY_ORDER, python=True,
    tried=tries(800),
)  # fmt: skip


# Copies of views: of pixels that lie in any order, and of some of their channels.


def pixels_case(shape: tuple[int, int], channels: int, dtype: str, symmetry: Symmetry, more: int, seed: int) -> Any:
    image: Any = levels(seed, *shape, channels + more)
    return {"image": image.astype(dtype), "channels": channels, "symmetry": symmetry}


def copied_pixels(kernels: Any, room: Room, case: Any) -> np.ndarray | None:
    view = case.symmetry.view(case.image)[..., : case.channels]
    (row, pixel, beside), out = view.strides, room(view.shape, view.dtype)
    if beside != view.itemsize and case.channels > 1:
        return None
    size = case.channels * view.itemsize
    answer = kernels.kernel("copy_pixels", "plllllp")(
        view.ctypes.data, row, pixel, *view.shape[:2], size, out.ctypes.data
    )
    return None if answer else out


COPY_PIXELS = Row(
    "copy_pixels", 6,
    st.builds(
        pixels_case, SIZE, st.sampled_from((1, 2, 3, 4, 5, 32)), st.sampled_from(("uint8", "uint16", "float32")),
        st.builds(Symmetry, st.booleans(), st.booleans(), st.booleans()), st.integers(0, 1), SEED,
    ),
    copied_pixels, lambda case: np.ascontiguousarray(case.symmetry.view(case.image)[..., : case.channels]), ANY_ORDER,
)  # fmt: skip


# Noise of our own.

NOISE_SHAPES = st.one_of(
    st.tuples(SIDE, SIDE, st.integers(1, 6)), SIZE, st.just((33, 512, 3)), st.just((120, 120, 3))
)  # fmt: skip


def noise_case(
    shape: tuple[int, ...], shared: bool, mean: float, deviation: float, key: int, seed: int
) -> dict[str, Any]:
    shared = shared and (len(shape) == 2 or shape[2] <= 4)
    return {"noise": Noise(shape, shared, mean, deviation, key), "image": levels(seed, *shape)}


NOISES = st.builds(
    noise_case, NOISE_SHAPES, st.booleans(), st.floats(-300, 300, width=32), st.floats(0, 1000, width=32), KEY, SEED,
)  # fmt: skip
STILL = 60 * 0.49 / 255 / 4.2  # degrees: kernels leave pixels without photons alone where hues vary by no more


def iso_case(size: Any, shift: float, near: float, intensity: float, key: int, seed: int) -> dict[str, Any]:
    shift = near * STILL / max(intensity, 0.01) if near else shift
    return {"image": levels(seed, *size, 3), "shift": shift, "intensity": intensity, "key": key}


def iso(kernels: Any, room: Room, case: Any) -> np.ndarray | None:
    result = counter_noise.iso_noise(case.image, case.shift, case.intensity, case.key, kernels)
    assert (result is None) == (iso_in_numpy(case) is None)
    return result


def iso_in_numpy(case: Any) -> np.ndarray | None:
    return noise_in_numpy.iso(case.image, case.shift, case.intensity, case.key)


NOISE = (
    Row(
        "counter_numbers", 3, NOISES, lambda kernels, room, case: np.asarray(case.noise),
        lambda case: noise_in_numpy.array(case.noise), WHOLE,
    ),
    Row(
        "own_noise", 4, NOISES, lambda kernels, room, case: case.noise.added_to(case.image),
        lambda case: noise_in_numpy.added(case.noise, case.image), ROWS_APART,
    ),
    Row(
        "iso_noise", 4,
        st.builds(
            iso_case, SIZE, st.floats(0, 1), st.sampled_from([0, 0.5, 0.99, 1.01, 1.5]), st.floats(0, 4), KEY, SEED
        ),
        iso, iso_in_numpy, WHOLE,
    ),
    Row(
        "numpy_normals", 4,
        st.fixed_dictionaries({"seed": st.integers(0, 2**32 - 1), "count": st.sampled_from((1, 2, 3000, 10**5))}),
        lambda kernels, room, case: NumpyNormals(kernels).numbers(case.seed, case.count),
        lambda case: np.random.default_rng(case.seed).normal(size=case.count), WHOLE, lambda kernels: bool(normals()),
    ),
)  # fmt: skip


# Fields that are drawn on a coarse grid, and images bent by them.


def mix_case(columns: int, rows: int, taps: int, more: int, slopes: Any, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "source": rng.standard_normal((taps + more, columns), np.float32), "slopes": slopes,
        "weights": rng.standard_normal((rows, taps), np.float32), "starts": rng.integers(0, more + 1, rows),
    }  # fmt: skip


def mix(kernels: Any, room: Room, case: Any) -> np.ndarray:
    to = room((len(case.weights), case.source.shape[1]), np.float32)
    return RowMix(case.weights, case.starts).apply(kernels, case.source, to, 0, *case.slopes)


def mix_in_numpy(case: Any) -> np.ndarray:
    y, x = np.mgrid[: len(case.weights), : case.source.shape[1]].astype(np.float32)
    total = x * np.float32(case.slopes[0]) + y * np.float32(case.slopes[1])
    for k in range(case.weights.shape[1]):
        total += case.source[case.starts + k] * case.weights[:, k : k + 1]
    return total


def bend_case(
    sides: Any, channels: int, border: int, same: bool, far: float, no_number: bool, seed: int
) -> dict[str, Any]:
    rng, (height, width) = np.random.default_rng(seed), sides
    source, count = np.float32(far) * rng.standard_normal((5, width), np.float32), height if same else 2 * height
    if far and no_number:
        source[2, 3] = np.nan
    return {
        "image": rng.integers(0, 256, (height, width, channels), np.uint8), "source": source, "border": border,
        "weights": rng.random((count, 4), np.float32), "starts": rng.integers(0, 2, count),
    }  # fmt: skip


def fields(case: Any) -> list[LazyMap]:
    sides, mixes = case.image.shape[:2], RowMix(case.weights, case.starts)
    return [LazyMap(sides, case.source, mixes, first) for first in (None, len(case.weights) - sides[0])]


def bend(kernels: Any, room: Room, case: Any) -> Any:
    x, y = fields(case)
    return coarse_fields.warp_by_field(case.image, x, y, case.border, 0x304050)


def bend_in_numpy(case: Any) -> np.ndarray:
    u, v = (
        np.trunc(np.clip(np.nan_to_num(np.asarray(field), nan=-30000), -30000, 30000) * np.float32(65536))
        for field in fields(case)
    )
    job = job_in_numpy.Job(case.image, [], case.image.shape[:2], case.border, (0x50, 0x40, 0x30))
    at = partial(job_in_numpy.pixels, job, border=case.border)
    return job_in_numpy.between(at, u.astype(np.int64), v.astype(np.int64))


FIELDS = (
    Row(
        "mix_rows", 7,
        st.builds(
            mix_case, st.integers(16, 150), st.integers(1, 9), st.integers(1, 5), st.integers(0, 4),
            st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), SEED,
        ),
        mix, mix_in_numpy, WHOLE,
    ),
    Row(
        "bend", 12,
        st.builds(
            bend_case, st.tuples(st.integers(16, 70), st.integers(16, 600)), st.sampled_from([1, 3]), st.integers(0, 4),
            st.booleans(), st.sampled_from([0.0, 2.0, 90.0, 1e5]), st.sampled_from([False] * 4 + [True]), SEED,
        ),
        bend, bend_in_numpy, WHOLE,
    ),
)  # fmt: skip


# Sums of tables' numbers, added in one order: numpy's running sums, of two pixels at a time and of 4096 together.


def moments(kernels: Any, room: Room, case: Any) -> np.ndarray:
    entries, sums = np.zeros((3, 256, 4)), room((3, 4), np.float64)
    for c in range(3):
        entries[c, :, c] = case.numbers[c]
    kernels.kernel("moments", "plpp")(case.pixels.ctypes.data, len(case.pixels), entries.ctypes.data, sums.ctypes.data)
    return np.array(sums[:, :3])


def moments_in_numpy(case: Any) -> np.ndarray:
    count = len(case.pixels)
    values, total = np.zeros((count + count % 2, 3)), np.zeros((3, 3))
    values[:count] = case.numbers[np.arange(3), case.pixels]
    for first in range(0, count, 4096):
        some = values[first : first + 4096]
        for k, each in enumerate((some, some * some, some * np.roll(some, -1, axis=1))):
            total[k] += np.add.accumulate(each[::2] + each[1::2])[-1]
    return total


MOMENTS = Row(
    "moments", 3,
    st.builds(
        lambda count, seed: {
            "pixels": levels(seed, count, 3), "numbers": np.random.default_rng(seed).normal(size=(3, 256)),
        },
        st.sampled_from([1, 2, 63, 4096, 4097, 12_291]), SEED,
    ),
    moments, moments_in_numpy, WHOLE,
)  # fmt: skip

TABLE = (*RESIZES, GAUSSIAN, WARP, JOB, SINK, DEEP_SINK, COPY_PIXELS, *NOISE, *FIELDS, MOMENTS)
