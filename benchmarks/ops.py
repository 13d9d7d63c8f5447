"""Single steps: what a whole call costs in a plain `A.Compose`, in `none`, `exact` and `fast`, and a copy beside them.

python benchmarks/ops.py            prints a row for each class, size and output
python benchmarks/ops.py --write    prints, and writes the section `ops` of benchmarks/RESULTS.md
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import thread_time_ns
from typing import Any

import cv2
import numpy as np
from options import Part, parser, run
from results import Row
from wild import look, measure, subject_of

from augrecipes.recipe.parse import parse_text

_OPS: dict[str, dict[str, Any]] = {
    name: {} for name in ("HorizontalFlip", "VerticalFlip", "Transpose", "RandomRotate90", "D4", "ChannelShuffle")
}
_CV2 = {  # one call of OpenCV's, into a fresh array
    "HorizontalFlip": partial(cv2.flip, flipCode=1),
    "VerticalFlip": partial(cv2.flip, flipCode=0),
    "Transpose": cv2.transpose,
}
_SIDES = ("none", "exact", "fast")
_SIZES = ((224, 224), (512, 512))
_OUTPUTS = {
    "uint8 hwc": "{dtype: uint8, layout: hwc}",
    "float32 chw": "{dtype: float32, layout: chw, normalize: imagenet}",
}
_TURNS = 200
_METHOD = """\
One thread, CPU time of that thread, `pipeline.at(k)(image=…)` of a recipe of one step with p: 1. The plain side is an
`A.Compose` of the same step, and of `A.Normalize` and `ToTensorV2` for floats, whose step draws what ours draws; where
it hands out a view or the caller's own array, making it a contiguous array of its own counts, as ours always is. Last
the time of a bare copy of the picture, and of OpenCV's one call where there is such: what no call can be quicker than
by much. Ratios are the plain side's time by ours: above 1 ours is the quicker."""


def main() -> None:
    options = parser(__doc__).parse_args()
    samples = 4 if options.quick else 40
    parts: dict[str, Part] = {name: partial(_rows, name, samples) for name in _OPS}
    run(__file__, "Single steps", _METHOD, parts, options)


def _rows(name: str, samples: int) -> Iterator[Row]:
    for size in _SIZES:
        for output, wanted in _OUTPUTS.items():
            steps = f"steps:\n  - {name}: {{{_arguments({**_OPS[name], 'p': 1.0})}}}"
            recipe = parse_text(f"version: 1\nrecipe: {name.lower()}\n{steps}\neval: []\noutput: {wanted}\n", root=None)
            subject = subject_of(recipe, size)
            look(subject, min(samples, 8))
            found = measure(subject, samples)
            times = " · ".join(f"{side} {1e3 * found[side]:.0f}" for side in _SIDES)
            beside = f"plain {1e3 * found['owned']:.0f} µs · copy {_least(np.copy, subject.given):.0f} µs"
            if name in _CV2:
                beside += f" · cv2 {_least(_CV2[name], subject.given):.0f} µs"
            ratios = " · ".join(f"{side} ×{found['owned'] / found[side]:.2f}" for side in _SIDES)
            yield Row(f"{name}, {size[1]}×{size[0]}, {output}", f"{times} µs", beside, ratios)


def _arguments(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in arguments.items())


def _least(work: Any, given: list[dict[str, Any]]) -> float:
    """µs of the quickest of many calls."""
    best = 1 << 62
    for turn in range(_TURNS):
        start = thread_time_ns()
        work(given[turn % len(given)]["image"])
        best = min(best, thread_time_ns() - start)
    return best / 1e3


if __name__ == "__main__":
    main()
