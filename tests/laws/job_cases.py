"""Random jobs, and the native kernel that carries them out."""

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from job_in_numpy import CONTRAST, HSV, HUE, LINEAR, TABLES, Job, made
from kernel_sets import guarded, spoil_first

from augrecipes.native.kernels import VALUES
from augrecipes.native.layout import JOB

_JOB = JOB.structure
_FAR = 4  # float32 that are not read soon, as kernels.h numbers types


def carry_out(kernels: Any, job: Job, out: np.ndarray, *, far: bool = False, **more: Any) -> bool:
    """Whether the kernel carries out a job, into an H×W×C array of any strides, or refuses it.

    It gets no more memory to work in than it asks for, and behind it lies what nobody may touch.

    Args:
        kernels: of an instruction set.
        job: what to do.
        out: for the result.
        far: the result is not read soon.
        more: further fields.
    """
    source, kernel = job.source, kernels.kernel("fused", "p")
    tables = [np.ascontiguousarray(numbers) if kind == TABLES else None for kind, numbers in job.operations]
    operations = [
        (kind, (0.0,) * 12, table.ctypes.data)
        if table is not None
        else (kind, (*numbers, *[0.0] * (12 - len(numbers))))
        for (kind, numbers), table in zip(job.operations, tables, strict=True)
    ]
    down, across, apart = (stride // out.itemsize for stride in out.strides)
    call = _JOB(
        source.ctypes.data, *source.shape[:2], source.strides[0], source.shape[2], tuple(job.matrix), job.border,
        sum(v << 8 * c for c, v in enumerate(job.fill[: source.shape[2]])), job.reduction, *job.size, out.ctypes.data,
        _FAR if far else VALUES[out.dtype], down, across, apart, tuple(job.scale), tuple(job.shift),
        count=len(operations), operations=tuple(operations), **more,
    )  # fmt: skip
    answer = 64
    for _ in range(2):
        scratch = guarded(np.zeros(answer, np.uint8), at_end=True)
        call.scratch, call.workspace = scratch.ctypes.data, scratch.size
        if (answer := kernel(ctypes.addressof(call))) <= 0:
            break
    return bool(answer == 0)


def spoil_result(address: int) -> None:
    """Change the first bit of what a job at an address has written."""
    spoil_first(_JOB.from_address(address).target)  # type: ignore[attr-defined]


def matrix(seed: int, source: tuple[int, ...], size: tuple[int, int], shrinks: float, tilt: float) -> list[float]:
    """Now and then one that only scales, moves and flips."""
    random = np.random.default_rng(seed)
    angle, c = random.uniform(-4, 4), shrinks * random.uniform(0.6, 1.4)
    a, b, stretch = c * np.cos(angle), c * np.sin(angle), random.uniform(0.7, 1.4)
    if seed % 2 and not tilt:
        a, b, stretch = c * random.choice([-1, 1]), 0.0, stretch * random.choice([-1, 1])
    m = np.array([[a, -b, 0], [b * stretch, a * stretch, 0], [*(random.uniform(-tilt, tilt, 2) / max(size)), 1]])
    middle = np.array([(size[1] - 1) / 2, (size[0] - 1) / 2, 1])
    middle_of_source = np.array([source[1], source[0]]) * random.uniform(-0.2, 1.2, 2)
    m[:2, 2] = middle_of_source * (m[2] @ middle) - m[:2, :2] @ middle[:2]
    return [float(v) for v in m.ravel()]


def operation(random: np.random.Generator) -> tuple[int, Any]:
    kind = int(random.integers(5))
    if kind == LINEAR:
        rows = np.eye(3, 4) * random.uniform(0.7, 1.4) + random.normal(0, 0.1, (3, 4))
        rows[:, 3] = random.uniform(-30, 30, 3)
        return kind, rows.ravel().tolist()
    if kind == CONTRAST:
        return kind, [float(random.uniform(0.6, 1.5))]
    corners = np.sort(random.integers(0, 80, (2, 2)), axis=0).ravel().tolist()
    if kind == HUE:
        steps = float(random.integers(180)) if random.random() < 0.3 else float(random.choice([2, 178]))
        return kind, [steps, 1.0, 0.0, *corners]
    if kind == HSV:
        return kind, [float(random.integers(180)), *map(float, random.integers(-60, 60, 2)), *corners]
    return kind, random.integers(0, 256, (3, 256), np.uint8)


def memory_for(seed: int, size: tuple[int, int], channels: int, dtype: str) -> np.ndarray:
    """Memory for a result, H×W×C: chw, hwc, the same in turned order, or strided and turned."""
    height, width = size
    if seed % 4 == 0:
        return np.zeros((channels, height, width), dtype).transpose(1, 2, 0)
    if seed % 4 == 1:
        return np.zeros((height, width, channels), dtype)
    if seed % 4 == 2:
        return np.zeros((height, width, channels), dtype)[:, :, ::-1]
    return np.zeros((channels, height + 2, 2 * width + 1), dtype)[:, 1:-1, 1::2].transpose(1, 2, 0)[:, :, ::-1]


def case_of(
    source: tuple[int, int], size: tuple[int, int], channels: int, border: int, reduction: int, tilt: float, count: int,
    dtype: str, seed: int,
) -> dict[str, Any]:  # fmt: skip
    """Arguments of `by_kernel` and `by_definition`."""
    random = np.random.default_rng(seed)
    image = random.integers(0, 256, (*source, channels), np.uint8)
    job = Job(
        np.zeros(0),
        matrix(seed, source, size, float(reduction) * 0.8, tilt),
        size,
        border,
        tuple(random.integers(0, 256, 3).tolist()),
        reduction,
        [operation(random) for _ in range(count if channels == 3 else 0)],
        dtype,
        tuple(random.uniform(0.001, 0.1, 3).astype(np.float32).tolist()),
        tuple(random.uniform(-2, 2, 3).astype(np.float32).tolist()),
    )
    return {"image": image if seed % 3 else image // 4 + np.uint8(90), "job": job, "memory": seed}


SIDES = st.tuples(st.integers(1, 70), st.integers(1, 70))
CASES = st.builds(
    case_of, SIDES, SIDES, st.sampled_from([1, 3]), st.integers(0, 4), st.sampled_from([1, 1, 2, 4, 8]),
    st.sampled_from([0.0, 0.0, 0.5]), st.integers(0, 4), st.sampled_from(("uint8", "float32", "float16")),
    st.integers(0, 2**32),
)  # fmt: skip


def by_kernel(kernels: Any, room: Any, case: Any) -> np.ndarray | None:
    job = replace(case.job, source=case.image)
    out = memory_for(case.memory, job.size, case.image.shape[2], job.dtype)
    return out if carry_out(kernels, job, out) else None


def by_definition(case: Any) -> np.ndarray:
    return made(replace(case.job, source=case.image))
