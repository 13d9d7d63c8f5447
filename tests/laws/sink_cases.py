"""Outputs, images, and memory for results however it lies: what the sink writes there, and what arithmetic says."""

from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from augrecipes.compiler.kernels.formulas import scales_and_shifts
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.native.kernels import using
from augrecipes.ops.dihedral import Symmetry
from augrecipes.recipe.model import Normalize, Output

MEMORY = ("its own", "between pages", "a row of a batch", "values apart", "part of a large block", "odd bytes")
OUTPUTS = st.builds(
    Output,
    dtype=st.sampled_from(["uint8", "float32", "float16"]),
    layout=st.sampled_from(["chw", "hwc"]),
    color=st.sampled_from(["rgb", "rgb", "bgr", "gray", "y"]),
    normalize=st.sampled_from([None, Normalize((0.25,), (0.5,)), Normalize((0.0,), (1.0,))]),
    range=st.sampled_from([(0.0, 1.0), (0.0, 255.0), (-1.0, 1.0)]),
)
# 8×8 and 16×64: planes side by side begin at the same place of a 64-byte line; 7×9: they do not.
SINK_SIZES = ((1, 1), (1, 7), (7, 9), (8, 8), (16, 64), (33, 31), (3, 513), (70, 64))


def case_of(
    output: Output, size: tuple[int, int], channels: int, symmetry: Symmetry, memory: str, floats: bool, seed: int
) -> dict[str, Any]:
    image: Any = np.random.default_rng(seed).integers(
        0, 256, (*size, channels if output.color == "rgb" else 3), np.uint8
    )
    values = image.astype(np.float32) / np.float32(255) if floats else image
    return {"output": output, "image": values, "symmetry": symmetry, "memory": memory}


def by_kernel(kernels: Any, room: Any, case: Any) -> np.ndarray:
    view, sink, memory = case.symmetry.view(case.image), Sink(case.output), case.memory
    if memory == "its own":
        result = sink(view)
        assert result.flags.c_contiguous
        assert not np.shares_memory(result, case.image)
        return result
    blocks: list[tuple[np.ndarray, slice]] = []

    def placed(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        size, step = prod(shape), 2 if memory == "values apart" else 1
        if memory == "odd bytes":
            return np.zeros(size * np.dtype(dtype).itemsize + 1, np.uint8)[1:].view(dtype).reshape(shape)
        if memory == "between pages":
            return room(shape, dtype)
        block = np.zeros(max(step * size + 80, (1 << 22) * (memory == "part of a large block")), dtype)
        begin = -block.ctypes.data % 64 // block.itemsize + size % 3
        part = slice(begin, begin + step * size, step)
        blocks.append((block, part))
        return block[part].reshape(shape)

    result = sink(view, placed)
    for block, part in blocks:  # nothing is written beside it
        rest = block.copy()
        rest[part] = 0
        assert not rest.any()
    return result


def by_formulas(case: Any) -> np.ndarray:
    """Channel by channel."""
    output, image = case.output, np.ascontiguousarray(case.symmetry.view(case.image))
    full = 255.0 if image.dtype == np.uint8 else 1.0
    if output.color in ("gray", "y"):
        # One channel out of three has a law of its own (tests/device): here only where it lies must not matter.
        with using(None):
            return Sink(output)(image)
    planes = [image[..., c] for c in range(image.shape[2])]
    planes = planes[::-1] if output.color == "bgr" else planes
    if output.dtype == "uint8":
        planes = [p if full == 255 else np.rint(np.clip(p * np.float32(255), 0, 255)).astype(np.uint8) for p in planes]
    else:
        numbers = scales_and_shifts(output, len(planes), full)
        planes = [
            (plane.astype(np.float32) * np.float32(scale) + np.float32(shift)).astype(output.dtype)
            for plane, (scale, shift) in zip(planes, numbers, strict=True)
        ]
    return np.stack(planes, axis=0 if output.layout == "chw" else -1)


CASES = st.builds(
    case_of, OUTPUTS, st.sampled_from(SINK_SIZES), st.integers(1, 5),
    st.builds(Symmetry, st.booleans(), st.booleans(), st.booleans()), st.sampled_from(MEMORY),
    st.sampled_from([False, False, True]), st.integers(0, 99),
)  # fmt: skip
