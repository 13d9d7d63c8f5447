"""Draws the picture of docs/PAIRS.md: steps of degradations on one crop, `python benchmarks/degradation_images.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from images import DOCS, write_cells

import augrecipes as ar
from augrecipes.demo.dataset import SCENES, render_photo

_OUTPUT = {"dtype": "uint8", "layout": "hwc"}
_QUALITY = "quality_range"
_SAMPLINGS = ("4:4:4", "4:2:0")
# Captions and steps, the weaker one first.
ROWS: list[list[tuple[str, dict[str, Any]]]] = [
    [
        (f"{caption}, σ {sigma}", {"KernelBlur": {"shapes": {shape: 1}, "sigma_limit": [sigma / 2, sigma]}})
        for caption, shape in (("aniso", "aniso"), ("plateau", "plateau_iso"))
        for sigma in (1, 3)
    ],
    [
        *((f"sinc, cutoff {c}", {"KernelBlur": {"shapes": {"sinc": 1}, "cutoff": [c, c]}}) for c in (2.0, 0.8)),
        *((f"photons, ×{k}", {"PoissonNoise": {"scale_range": [k, k]}}) for k in (0.5, 2)),
    ],
    [
        *((f"JPEG, {how}", {"ImageCompression": {_QUALITY: [15, 15], "subsampling": how}}) for how in _SAMPLINGS),
        *((f"WebP, {k}", {"ImageCompression": {_QUALITY: [k, k], "compression_type": "webp"}}) for k in (50, 5)),
    ],
]


def main() -> None:
    image = render_photo(SCENES[0], (375, 500), np.random.default_rng(4))[150:270, 180:340]
    rows = [[(caption, _degraded(image, step)) for caption, step in row] for row in ROWS]
    wide = [("HR, 256×256", _square()), *((name, _low(name)) for name in ("real-esrgan-x4", "bsrgan-x4"))]
    write_cells(DOCS / "degradations.jpg", "Degradations", [*rows, wide])


def _degraded(image: np.ndarray, step: dict[str, Any]) -> np.ndarray:
    ((name, args),) = step.items()
    recipe = {"version": 1, "recipe": "one", "steps": [{name: {**args, "p": 1}}], "eval": [], "output": _OUTPUT}
    return ar.load(recipe).compile(seed=3).at(0)(image=image)["image"]


def _square() -> np.ndarray:
    return np.ascontiguousarray(render_photo(SCENES[0], (375, 500), np.random.default_rng(4))[90:346, 130:386])


def _low(name: str) -> np.ndarray:
    """The low resolution that a recipe makes, its pixels as large as those of four by four."""
    pipeline = ar.load(name, overrides={"output": _OUTPUT}).compile(seed=9)
    samples = (pipeline.at(index)(hr=_square()) for index in range(9))
    low = next(sample["lr"] for sample in samples if np.array_equal(sample["hr"], _square()))  # not mirrored
    return low.repeat(4, axis=0).repeat(4, axis=1)


if __name__ == "__main__":
    main()
