"""What one resampling costs, by OpenCV's resize and by its warp: the constants of `compiler/kernels/cost.py`.

python benchmarks/resampling.py            prints
python benchmarks/resampling.py --write    prints, and writes the section `resampling` of benchmarks/RESULTS.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import thread_time_ns

import cv2
import numpy as np
from options import Part, parser, run
from results import Row

_METHOD = """\
One thread, CPU time, uint8 RGB, the best of many calls, both ways in turns; nanoseconds a pixel, by least squares over
pictures of 128² to 1024² px and scales from 0.5 to 4 pixels to one. The warp is that of the kernel: what is read made
RGBA, `cv2.warpAffine` on four channels, and back."""


def main() -> None:
    options = parser(__doc__).parse_args()
    rounds = 20 if options.quick else 200
    parts: dict[str, Part] = {"a pixel": lambda: _rows(rounds)}
    run(__file__, "Resampling", _METHOD, parts, options)


def _rows(rounds: int) -> Iterator[Row]:
    wanted, resized, warped = [], [], []
    for side in (128, 192, 256, 384, 512, 768, 1024):
        image = np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8)
        for scale in (0.5, 0.8, 1.3, 1.9, 2.6, 4.0):
            out = int(side / scale)
            if out > 1200:
                continue
            first, second = _pair(image, out, scale)
            best = [np.inf, np.inf]
            for _ in range(max(5, rounds * 256**2 // max(side, out) ** 2)):
                for place, call in enumerate((first, second)):
                    start = thread_time_ns()
                    call()
                    best[place] = min(best[place], thread_time_ns() - start)
            wanted.append((out * out, side * side, 1))
            resized.append(best[0])
            warped.append(best[1])
    for name, times in (("`cv2.resize`", resized), ("the warp", warped)):
        a = np.array(wanted, float)
        weight = 1 / np.array(times)  # relative errors
        made, read, once = np.linalg.lstsq(a * weight[:, None], np.array(times) * weight, rcond=None)[0]
        spread = np.median(np.abs(a @ (made, read, once) - times) * weight)
        yield Row(
            name, f"{made:.2f} made, {read:.2f} read", "ns a pixel", f"{once / 1e3:.1f} µs a call, ± {spread:.0%}"
        )


def _pair(image: np.ndarray, out: int, scale: float) -> tuple[Callable[[], object], Callable[[], object]]:
    matrix = np.array(((scale, 0, 0.5 * scale - 0.4), (0, scale, 0.5 * scale - 0.4)))
    near = np.empty((*image.shape[:2], 4), np.uint8)
    four, back, plain = (np.empty((out, out, channels), np.uint8) for channels in (4, 3, 3))

    def warp() -> None:
        cv2.cvtColor(image, cv2.COLOR_RGB2RGBA, dst=near)
        cv2.warpAffine(
            near, matrix, (out, out), dst=four, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
            borderMode=cv2.BORDER_REPLICATE,
        )  # fmt: skip
        cv2.cvtColor(four, cv2.COLOR_RGBA2RGB, dst=back)

    def resize() -> None:
        cv2.resize(image, (out, out), dst=plain, interpolation=cv2.INTER_LINEAR)

    return resize, warp


if __name__ == "__main__":
    main()
