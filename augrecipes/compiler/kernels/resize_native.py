"""Whether native kernels resize with the bits of the installed OpenCV, which has many ways to do it."""

from __future__ import annotations

from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.native.kernels import Library
from augrecipes.ops.constants import AREA, CUBIC, LINEAR, NEAREST, NEAREST_MIDDLE

ARGUMENTS = "plllill" + "plllll"
_HOW = {"resize": LINEAR, "enlarge": AREA, "cubic": CUBIC, "shrink": AREA, "blocks": AREA, "nearest": NEAREST}
KERNELS = {
    NEAREST: ("nearest",),
    LINEAR: ("resize", "blocks"),
    CUBIC: ("cubic",),
    AREA: ("shrink", "enlarge", "blocks"),
}
KERNELS[NEAREST_MIDDLE] = ()  # is not OpenCV's
# Images and sizes of results, and the kernels that are tried on them: larger and smaller, halves, and one pixel wide.
_TRIED = (
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


@cache
def same_bits(kernels: Library, name: str) -> bool:
    """Whether a kernel gives the bits of the installed OpenCV: asked once a process."""
    random = np.random.default_rng(0)
    for names, shape, (height, width) in _TRIED:
        image: Any = random.integers(0, 256, shape, np.uint8)
        if name not in names.split():
            continue
        made = np.empty((height, width, shape[2]), np.uint8)
        answer = kernels.kernel(name, ARGUMENTS)(
            image.ctypes.data, *shape[:2], image.strides[0], image.strides[1], height, width,
            made.ctypes.data, 0, 0, height, width, made.strides[0],
        )  # fmt: skip
        halves = name == "blocks" and shape[:2] == (2 * height, 2 * width)
        for how in (_HOW[name], LINEAR) if halves else (_HOW[name],):
            own = cv2.resize(image, (width, height), interpolation=how)
            if answer != 0 or not np.array_equal(made, own.reshape(made.shape)):
                return False
    return True
