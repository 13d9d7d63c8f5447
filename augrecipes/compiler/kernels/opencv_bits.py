"""Whether native kernels resize, and follow lenses, with the bits of the installed OpenCV, which has many ways to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.native.kernels import Library
from augrecipes.ops.constants import AREA, CUBIC, LINEAR, NEAREST, NEAREST_MIDDLE

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
# Images and sizes of results, and the kernels that are tried on them: larger and smaller, halves, and one pixel wide.
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
    # Sums of cubics that are often halves, up to how they are rounded.
    ("resize cubic shrink nearest", (400, 50, 3), (400, 6)),
    ("resize cubic shrink nearest", (50, 400, 3), (6, 400)),
    ("resize cubic shrink nearest", (50, 50, 3), (30, 30)),
    ("resize enlarge cubic nearest", (4, 5, 3), (12, 15)),
)
# Images and amounts at which the bits tell how many columns OpenCV takes at once, and where it fuses; and small ones.
_PROBED_LENSES = (
    (25, 1175, 2.55), (21, 1735, 1.69), (20, 1736, 1.88), (25, 1283, -1.46), (28, 1122, 2.8), (28, 1527, 0.47),
    (33, 1524, 1.99), (300, 7, 0.7), (512, 5, -0.05), (1, 1, 0.3), (61, 83, 0.0),
)  # fmt: skip


def asked_once(trials: Callable[..., Iterator[bool]]) -> Any:
    """Make of a generator of trials a function that answers whether all go well, asked once a process."""

    @cache
    def answer(*arguments: Any) -> bool:
        return all(trials(*arguments))

    return answer


@asked_once
def resizes_as_opencv(kernels: Library, name: str) -> Iterator[bool]:
    """Whether the kernel of a name resizes with the bits of the installed OpenCV."""
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
    """Whether the kernel finds where a lens takes pixels from with the bits of the installed OpenCV."""
    lens: Callable[..., int] = kernels.kernel("lens", "lldllppp")
    for rows, columns, amount in _PROBED_LENSES:
        line, x, y = np.empty(columns), np.empty((rows, columns), np.float32), np.empty((rows, columns), np.float32)
        answer = lens(rows, columns, amount, 0, rows, line.ctypes.data, x.ctypes.data, y.ctypes.data)
        expected = geometric.get_camera_matrix_distortion_maps((rows, columns), amount)
        yield answer == 0 and all(map(np.array_equal, (x, y), expected))
