"""Native resizes, lens distortions and warps that reproduce the bits of the installed OpenCV.

These bits depend on its release, its instruction set and its vector width, so probe images decide what is used."""

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any, Literal

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.native.kernels import Library, library
from augrecipes.ops.constants import AREA, CUBIC, LINEAR, NEAREST, NEAREST_MIDDLE, border_word

ARGUMENTS = "plllill" + "plllll"
_INTERPOLATIONS = {
    "resize": LINEAR,
    "enlarge": AREA,
    "cubic": CUBIC,
    "shrink": AREA,
    "blocks": AREA,
    "nearest": NEAREST,
}
KERNELS: dict[int, tuple[str, ...]] = {
    NEAREST: ("nearest",),
    LINEAR: ("resize", "blocks"),
    CUBIC: ("cubic",),
    AREA: ("shrink", "enlarge", "blocks"),
    NEAREST_MIDDLE: (),  # is not OpenCV's
}
# Kernels, shapes of probe images and sizes of results: larger and smaller, halves, and one pixel wide.
_PROBED_SIZES = (
    ("resize enlarge cubic nearest", (61, 47, 3), (90, 133)),
    ("resize cubic shrink nearest", (61, 97, 3), (23, 41)),
    ("cubic blocks nearest", (90, 80, 3), (45, 40)),
    ("resize enlarge nearest", (33, 50, 4), (64, 31)),
    ("resize nearest", (2, 300, 3), (7, 290)),
    ("resize shrink nearest", (300, 1, 3), (270, 1)),
    ("resize enlarge nearest", (1, 1, 4), (3, 3)),
    ("resize cubic shrink nearest", (64, 64, 3), (64, 50)),
    ("blocks nearest", (66, 42, 1), (33, 21)),
    ("blocks nearest", (99, 33, 2), (33, 11)),
    ("resize cubic blocks nearest", (48, 96, 3), (12, 16)),
    ("blocks nearest", (90, 46, 2), (45, 23)),
    ("resize blocks nearest", (64, 63, 4), (4, 9)),
    ("nearest", (70, 50, 1), (33, 77)),
    ("nearest", (51, 70, 2), (200, 31)),
    ("resize cubic shrink nearest", (98, 98, 3), (2, 2)),
    # Sums of cubic weights that often end in a half, so that rounding shows.
    ("resize cubic shrink nearest", (400, 50, 3), (400, 6)),
    ("resize cubic shrink nearest", (50, 400, 3), (6, 400)),
    ("resize cubic shrink nearest", (50, 50, 3), (30, 30)),
    ("resize enlarge cubic nearest", (4, 5, 3), (12, 15)),
)
# Sizes and amounts at which the bits tell OpenCV's vector width and where it fuses multiply and add; and small ones.
_PROBED_LENSES = (
    (25, 1175, 2.55), (21, 1735, 1.69), (20, 1736, 1.88), (25, 1283, -1.46), (28, 1122, 2.8), (28, 1527, 0.47),
    (33, 1524, 1.99), (300, 7, 0.7), (512, 5, -0.05), (1, 1, 0.3), (61, 83, 0.0),
)  # fmt: skip


def asked_once(trials: Callable[..., Iterator[bool]]) -> Any:
    """Turn a generator of trials into a cached function that returns whether all succeed."""

    @cache
    def answer(*arguments: Any) -> bool:
        return all(trials(*arguments))

    return answer


@asked_once
def resizes_as_opencv(kernels: Library, name: str) -> Iterator[bool]:
    """Whether the named kernel reproduces the bits of the installed OpenCV's resize."""
    random = np.random.default_rng(0)
    for names, shape, (height, width) in _PROBED_SIZES:
        image: Any = random.integers(0, 256, shape, np.uint8)
        if name not in names.split():
            continue
        result = np.empty((height, width, shape[2]), np.uint8)
        answer = kernels.kernel(name, ARGUMENTS)(
            image.ctypes.data, *shape[:2], image.strides[0], image.strides[1], height, width,
            result.ctypes.data, 0, 0, height, width, result.strides[0],
        )  # fmt: skip
        halves = name == "blocks" and shape[:2] == (2 * height, 2 * width)
        for interpolation in (_INTERPOLATIONS[name], LINEAR) if halves else (_INTERPOLATIONS[name],):
            expected = cv2.resize(image, (width, height), interpolation=interpolation)
            yield answer == 0 and np.array_equal(result, expected.reshape(result.shape))


@asked_once
def bends_as_opencv(kernels: Library) -> Iterator[bool]:
    """Whether the kernel reproduces the bits of albumentations' lens maps with the installed OpenCV."""
    lens: Callable[..., int] = kernels.kernel("lens", "lldllppp")
    for rows, columns, amount in _PROBED_LENSES:
        line, x, y = np.empty(columns), np.empty((rows, columns), np.float32), np.empty((rows, columns), np.float32)
        answer = lens(rows, columns, amount, 0, rows, line.ctypes.data, x.ctypes.data, y.ctypes.data)
        expected = geometric.get_camera_matrix_distortion_maps((rows, columns), amount)
        yield answer == 0 and all(map(np.array_equal, (x, y), expected))


Kind = Literal["affine", "perspective", "maps"]
_NUMBERS: dict[Kind, int] = {"affine": 0, "perspective": 1, "maps": 2}  # as warp.c numbers them
_ARGUMENTS = "plllii" + "ip" + "pll" * 2 + "iil" + "plllll"
# Interpolation, dtype and channels of images that the kernel takes.
_SUPPORTED = frozenset([*product((NEAREST, LINEAR), "B", (1, 3, 4)), (NEAREST, "H", 1), (NEAREST, "f", 1)])
_VECTORS = (16, 8, 4)  # pixels that OpenCV's vectors may hold
_NO_MAP = (0, 0, 0)
_EYE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_Nine = ctypes.c_double * 9


class NativeWarp:
    """Warps by a native kernel, where it reproduces OpenCV's bits.

    Args:
        kernels: the native kernels.
    """

    def __init__(self, kernels: Library) -> None:
        self._kernel = kernels.kernel("warp", _ARGUMENTS)
        self._bodies: dict[tuple[Kind, bool], int] = {}

    def body(self, kind: Kind, interpolation: int) -> int:
        """The vector width in pixels at which the kernel reproduces the installed OpenCV's bits; 0: at none."""
        linear = interpolation == LINEAR
        if (kind, linear) not in self._bodies:
            self._bodies[kind, linear] = next((n for n in _VECTORS if matches_opencv(kind, linear, n, self)), 0)
        return self._bodies[kind, linear]

    def sample(
        self,
        kind: Kind,
        image: np.ndarray,
        interpolation: int,
        border: int,
        fill: Any,
        size: tuple[int, int],
        matrix: Any = _EYE,
        maps: Any = (),
        body: int | None = None,
    ) -> np.ndarray | None:
        """Warp an image H×W or H×W×C; None where OpenCV must do it.

        Args:
            kind: `affine` and `perspective` take `matrix`, `maps` takes `maps`.
            image: the image.
            interpolation: as OpenCV numbers it.
            border: the border mode, as OpenCV numbers it.
            fill: the value of a constant border, as OpenCV takes it.
            size: rows and columns of the result.
            matrix: nine numbers, from result to image.
            maps: the maps of x and y, float32.
            body: OpenCV's vector width in pixels; None: find out.
        """
        channels = image.shape[2] if image.ndim == 3 else 1
        pixel_size, word = channels * image.itemsize, 0
        # The stride of an axis of length 1 does not matter.
        packed = image.strides[1] == pixel_size and (channels == 1 or image.strides[2] == image.itemsize)
        if (interpolation, image.dtype.char, channels) not in _SUPPORTED or not packed:
            return None
        if border == cv2.BORDER_CONSTANT and (word := pixel_word(fill, image.dtype)) < 0:
            return None
        if body is None and not (body := self.body(kind, interpolation)):
            return None
        rows, columns = map(int, size)
        out = np.empty((rows, columns, *image.shape[2:]), image.dtype)
        places = [(m.ctypes.data, m.strides[0] // 4, m.strides[1] // 4) for m in maps] or [_NO_MAP, _NO_MAP]
        answer = self._kernel(
            image.ctypes.data, *image.shape[:2], image.strides[0], pixel_size, interpolation == LINEAR,
            _NUMBERS[kind], _Nine(*matrix), *places[0], *places[1], border, word,
            columns // body * body, out.ctypes.data, 0, 0, rows, columns, columns * pixel_size,
        )  # fmt: skip
        return out if answer == 0 else None


def native_warp() -> NativeWarp | None:
    """The native warp of this machine; None where there is none."""
    kernels = library()
    return None if kernels is None else _warp_of(kernels)


_warp_of = cache(NativeWarp)


def remap(
    img: np.ndarray, map_x: np.ndarray, map_y: np.ndarray, interpolation: int, border_mode: int, value: Any = None
) -> np.ndarray:
    """albumentations' `remap`: sample an image at the x and y of two maps H×W."""
    warps, result = native_warp(), None
    if warps is not None and map_x.dtype == map_y.dtype == np.float32:
        result = warps.sample("maps", img, interpolation, border_mode, value, map_x.shape, maps=(map_x, map_y))
    return geometric.remap(img, map_x, map_y, interpolation, border_mode, value) if result is None else result


def pixel_word(fill: Any, dtype: np.dtype[Any]) -> int:
    """The border's value as OpenCV writes it, a pixel's bytes as an integer; −1: only OpenCV knows."""
    values = fill if isinstance(fill, tuple | list) else [fill]
    word = border_word(values)
    if dtype == np.uint8 or word < 0:
        return word
    first: float = values[0]
    return min(max(round(first), 0), 65535) if dtype == np.uint16 else int(np.float32(first).view(np.uint32))


def _inverse(values: list[float]) -> tuple[float, ...]:
    """The inverse of an affine matrix, computed in OpenCV's order."""
    a, b, c, d, e, f, *_ = values
    k = a * e - b * d
    k = 1.0 / k if k else 0.0
    p, q, r, s = e * k, -b * k, -d * k, a * k
    return p, q, -p * c - q * f, r, s, -r * c - s * f, 0.0, 0.0, 1.0


def matches_opencv(kind: Kind, linear: bool, body: int, native: NativeWarp) -> bool:
    """Whether the kernel reproduces OpenCV's bits on black and white noise, rotated, with every border."""
    sampling, fill = LINEAR if linear else NEAREST, (250, 3, 99, 200)
    images = [(image, size) for image, size in _images() if (sampling, image.dtype.char, image.shape[2]) in _SUPPORTED]
    for (number, (image, size)), border in product(enumerate(images), range(5)):
        matrix: Any = _EYE
        maps: Any = ()
        expected: Any
        angle, (h, w) = 0.7 * number + border, image.shape[:2]
        c, s = np.cos(angle) * 0.8, np.sin(angle) * 0.8
        forward = np.array([[c, s, 0.4 * w - c * w / 2], [-s, c, 0.6 * h - s * h / 3], [1e-3, -2e-3, 1.0]])
        how: Any = {"borderMode": border, "borderValue": fill}
        if kind == "affine":
            forward[2] = 0, 0, 1
            expected = cv2.warpAffine(image, forward[:2], size[::-1], flags=sampling, **how)
            matrix = _inverse(forward.ravel().tolist())
        elif kind == "perspective":
            expected = cv2.warpPerspective(image, forward, size[::-1], flags=sampling, **how)
            matrix = cv2.invert(forward)[1].ravel().tolist()
        else:
            y, x = np.mgrid[: size[0], : size[1]].astype(np.float32)
            maps = (np.float32(c) * x + np.float32(s) * y, np.float32(c) * y - np.float32(s) * x)
            expected = cv2.remap(image, maps[0], maps[1], sampling, **how)
        result = native.sample(kind, image, sampling, border, fill, size, matrix, maps, body)
        if result is None or not np.array_equal(result, expected.reshape(result.shape)):
            return False
    return True


@cache
def _images() -> list[tuple[np.ndarray, tuple[int, int]]]:
    """Probe images and sizes of results; few are multiples of OpenCV's vector width."""
    random = np.random.default_rng(0)
    sizes = ((61, 47, 3), (53, 77)), ((40, 90, 1), (90, 31)), ((33, 50, 4), (47, 64)), ((150, 140, 3), (160, 175))
    images: Any = [(random.integers(0, 2, shape, np.uint8) * np.uint8(255), size) for shape, size in sizes]
    image, size = images[1]
    return [*images, (image.astype(np.uint16) * np.uint16(257), size), (image.astype(np.float32), size)]
