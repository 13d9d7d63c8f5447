"""Outputs, images, and memory for results however it lies: what the sink writes there, and what arithmetic says."""

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st
from kernel_sets import using

from augrecipes.compiler.kernels.formulas import scales_and_shifts
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.ops.dihedral import Symmetry
from augrecipes.recipe.model import Normalize, Output

MEMORY = ("its own", "between pages", "a row of a batch", "values apart", "part of a large block", "odd bytes")
OUTPUTS = st.builds(
    Output,
    dtype=st.sampled_from(["uint8", "uint16", "float32", "float16"]),
    layout=st.sampled_from(["chw", "hwc"]),
    color=st.sampled_from(["rgb", "rgb", "bgr", "gray", "y", "ycbcr"]),
    normalize=st.sampled_from([None, Normalize((0.25,), (0.5,)), Normalize((0.0,), (1.0,))]),
    range=st.sampled_from([(0.0, 1.0), (0.0, 255.0), (-1.0, 1.0)]),
)
# 8×8 and 16×64: planes side by side begin at the same place of a 64-byte line; 7×9: they do not.
FULL = {"uint8": 255.0, "uint16": 65535.0, "float32": 1.0}
SINK_SIZES = ((1, 1), (1, 7), (7, 9), (8, 8), (16, 64), (33, 31), (3, 513), (70, 64))


def case_of(
    output: Output, size: tuple[int, int], channels: int, symmetry: Symmetry, memory: str, dtype: str, seed: int,
    span: tuple[float, float] | None = None, nodata: bool = False,
) -> dict[str, Any]:  # fmt: skip
    rng, shape = np.random.default_rng(seed), (*size, channels if output.color == "rgb" else 3)
    image: Any = rng.integers(0, 256 if dtype == "uint8" else 65536, shape).astype(dtype)
    if dtype == "float32":  # some beyond the range
        low, high = span or (0, 1)
        image = (image * np.float32(1.25 / 65535) - np.float32(0.125)) * np.float32(high - low) + np.float32(low)
    valid = rng.integers(0, 2, (*size, 1), np.uint8) if nodata else None
    return {"output": output, "image": image, "symmetry": symmetry, "memory": memory, "span": span, "valid": valid}


def by_kernel(kernels: Any, room: Any, case: Any) -> np.ndarray:
    view, sink, memory = case.symmetry.view(case.image), Sink(case.output, case.span), case.memory
    valid = None if case.valid is None else case.symmetry.view(case.valid.view(bool))[..., 0]
    if memory == "its own":
        result = sink(view, valid=valid)
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

    result = sink(view, placed, None, valid)
    for block, part in blocks:  # nothing is written beside it
        rest = block.copy()
        rest[part] = 0
        assert not rest.any()
    return result


def by_formulas(case: Any) -> np.ndarray:
    """Channel by channel."""
    output, image = case.output, np.ascontiguousarray(case.symmetry.view(case.image))
    valid = None if case.valid is None else case.symmetry.view(case.valid)[..., 0] > 0
    if output.color in ("gray", "y", "ycbcr"):
        # One channel out of three has a law of its own (tests/device): here only where it lies must not matter.
        with using(None):
            return Sink(output, case.span)(image, valid=valid)
    lowest, highest = case.span or (0.0, FULL[str(image.dtype)])
    low = 0.0 if image.dtype == np.uint8 else float(np.float32(lowest))
    as_levels = replace(output, normalize=None, range=(0.0, FULL[output.dtype])) if output.dtype[0] == "u" else output
    numbers = scales_and_shifts(as_levels, image.shape[2], highest - lowest, lowest - low)
    planes = []
    for c, (scale, shift) in zip(range(image.shape[2])[:: -1 if output.color == "bgr" else 1], numbers, strict=True):
        values = (image[..., c].astype(np.float32) - np.float32(low)) * np.float32(scale) + np.float32(shift)
        if output.dtype[0] == "u":
            values = np.rint(np.clip(values, 0, FULL[output.dtype]))
        planes.append(np.where(True if valid is None else valid, values, np.float32(0)).astype(output.dtype))
    return np.stack(planes, axis=0 if output.layout == "chw" else -1)


SYMMETRIES = st.builds(Symmetry, st.booleans(), st.booleans(), st.booleans())
CASES = st.builds(
    case_of, OUTPUTS, st.sampled_from(SINK_SIZES), st.integers(1, 5), SYMMETRIES, st.sampled_from(MEMORY),
    st.sampled_from(["uint8", "uint8", "float32"]), st.integers(0, 99),
)  # fmt: skip
DEEP_CASES = st.builds(
    case_of, OUTPUTS, st.sampled_from(SINK_SIZES), st.sampled_from([1, 2, 3, 4, 5, 8, 32]), SYMMETRIES,
    st.sampled_from(MEMORY), st.sampled_from(["uint8", "uint16", "uint16", "float32"]), st.integers(0, 99),
    st.sampled_from([None, None, (0.0, 65535.0), (10.0, 200.0), (10_000.0, 10_010.0), (-3.1, 5.3)]), st.booleans(),
)  # fmt: skip
