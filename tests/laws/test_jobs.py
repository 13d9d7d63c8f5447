"""Jobs, which warp, colour and write an image in one native pass, equal their definition on every instruction set."""

import ctypes
import struct
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_in_numpy import CONSTANT, CONTRAST, HSV, HUE, LINEAR, TABLES, WRAP, Job, made, pixels
from kernel_sets import EACH_SET, NEEDS_KERNELS, SETS, guarded, spoil_first, spoil_last

from augrecipes.native.kernels import VALUES, Library
from augrecipes.native.op_numbers import LIMITS

pytestmark = NEEDS_KERNELS
SIDES = st.integers(1, 70)
TYPES = ("uint8", "float32", "float16")


# The fields of `Job` in order: image; matrix; border, fill, reduction; size; target; scales and shifts; the rest.
HEAD = struct.Struct("=5q9d3q2q5q6d7qdq")
OPERATION = struct.Struct("=q12dq")


class Kernel:
    """The kernel, with no more memory to work in than it asks for, and behind it what nobody may touch."""

    begins: tuple[int, int] = (0, 0)
    grid: tuple[int, int] = (0, 0)
    lens: tuple[int, float] = (0, 0.0)

    def __init__(self, carry_out: Any) -> None:
        self._carry_out = carry_out
        self._job = (ctypes.c_char * (HEAD.size + LIMITS.MOST_OPERATIONS * OPERATION.size))()

    def __call__(self, head: tuple[Any, ...], operations: list[tuple[Any, ...]]) -> bool:
        at = HEAD.size
        for one in operations:
            OPERATION.pack_into(self._job, at, *one)
            at += OPERATION.size
        answer = 64
        for _ in range(2):
            room = guarded(np.zeros(answer, np.uint8), at_end=True)
            HEAD.pack_into(
                self._job, 0, *head, room.ctypes.data, room.size, *self.begins, *self.grid, *self.lens, len(operations)
            )
            if (answer := self._carry_out(ctypes.addressof(self._job))) <= 0:
                break
        return answer == 0


def carried_out(
    kernels: Any,
    job: Job,
    out: np.ndarray,
    begins: tuple[int, int] = (0, 0),
    far: bool = False,
    grid: tuple[int, int] = (0, 0),
    lens: tuple[int, float] = (0, 0.0),
) -> bool:
    """A job by the kernel, into an H×W×C array of any strides; False where it is refused.

    `begins`: the column and row of a larger image, else of the fill alone, at which the job's own begins. `far`: the
    result is not read soon.
    """
    works = Kernel(kernels.kernel("fused", "p"))
    works.begins, works.grid, works.lens = begins, grid, lens
    source, size = job.source, out.itemsize
    fill = sum(v << 8 * c for c, v in enumerate(job.fill[: source.shape[2]]))
    head = (
        source.ctypes.data, *source.shape[:2], source.strides[0], source.shape[2], *job.matrix, job.border, fill,
        job.reduction, *job.size, out.ctypes.data, 4 if far else VALUES[out.dtype], *(s // size for s in out.strides),
        *job.scale, *job.shift,
    )  # fmt: skip
    operations, held = [], []
    for kind, numbers in job.operations:
        if kind == TABLES:
            held.append(np.ascontiguousarray(numbers))
            operations.append((kind, *[0.0] * 12, held[-1].ctypes.data))
        else:
            operations.append((kind, *numbers, *[0.0] * (12 - len(numbers)), 0))
    return works(head, operations)


def image_of(seed: int, height: int, width: int, channels: int, lies: str = "whole") -> np.ndarray:
    random = np.random.default_rng(seed)
    image = random.integers(0, 256, (height, width, channels), np.uint8)
    if seed % 3 == 0:
        image = (image // 4 + 90).astype(np.uint8)
    if lies == "rows apart":
        return np.pad(image, ((1, 1), (2, 3), (0, 0)))[1:-1, 2:-3]
    if lies == "read-only":
        image.setflags(write=False)
    return image


def matrix(seed: int, source: tuple[int, ...], size: tuple[int, int], shrinks: float, tilt: float) -> list[float]:
    """Now and then one that only scales, moves and flips."""
    random = np.random.default_rng(seed)
    angle, c = random.uniform(-4, 4), shrinks * random.uniform(0.6, 1.4)
    a, b, stretch = c * np.cos(angle), c * np.sin(angle), random.uniform(0.7, 1.4)
    if seed % 2 and not tilt:
        a, b, stretch = c * random.choice([-1, 1]), 0.0, stretch * random.choice([-1, 1])
    m = np.array([[a, -b, 0], [b * stretch, a * stretch, 0], [*(random.uniform(-tilt, tilt, 2) / max(size)), 1]])
    middle = np.array([(size[1] - 1) / 2, (size[0] - 1) / 2, 1])
    seen = np.array([source[1], source[0]]) * random.uniform(-0.2, 1.2, 2)
    m[:2, 2] = seen * (m[2] @ middle) - m[:2, :2] @ middle[:2]
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


def room(seed: int, size: tuple[int, int], channels: int, dtype: str) -> np.ndarray:
    """Memory for a result, H×W×C: chw, hwc, the same in turned order, or strided and turned."""
    height, width = size
    if seed % 4 == 0:
        return np.zeros((channels, height, width), dtype).transpose(1, 2, 0)
    if seed % 4 == 1:
        return np.zeros((height, width, channels), dtype)
    if seed % 4 == 2:
        return np.zeros((height, width, channels), dtype)[:, :, ::-1]
    return np.zeros((channels, height + 2, 2 * width + 1), dtype)[:, 1:-1, 1::2].transpose(1, 2, 0)[:, :, ::-1]


def check(kernels: Any, job: Job, seed: int = 0) -> bool:
    """Holds the kernel to the definition; says whether it did the work."""
    out = room(seed, job.size, job.source.shape[2], job.dtype)
    before = job.source.copy()
    if not carried_out(kernels, job, out):
        return False
    np.testing.assert_array_equal(out, made(job))
    np.testing.assert_array_equal(job.source, before)
    return True


@given(
    st.sampled_from(SETS or [None]), st.tuples(SIDES, SIDES), st.tuples(SIDES, SIDES), st.sampled_from([1, 3]),
    st.integers(0, 4), st.sampled_from([1, 1, 2, 4, 8]), st.sampled_from([0.0, 0.0, 0.5]), st.integers(0, 4),
    st.sampled_from(TYPES), st.sampled_from(["whole", "rows apart", "read-only"]), st.integers(0, 2**32),
)  # fmt: skip
def test_the_kernel_equals_its_definition(
    kernels: Library, source: tuple[int, int], size: tuple[int, int], channels: int, border: int, reduction: int,
    tilt: float, count: int, dtype: str, lies: str, seed: int,
) -> None:  # fmt: skip
    random = np.random.default_rng(seed)
    job = Job(
        image_of(seed, *source, channels, lies),
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
    check(kernels, job, seed)


@EACH_SET
def test_the_kernel_does_the_work(kernels: Library) -> None:
    for channels, border, k in product((1, 3), range(5), (1, 2, 4, 8)):
        image = image_of(border, 200, 170, channels)
        for tilt, dtype in ((0.0, "float32"), (0.3, "uint8")):
            job = Job(image, matrix(k, (200, 170), (66, 81), 0.8 * k, tilt), (66, 81), border, (9, 8, 7), k)
            job.dtype, job.operations = dtype, [(HUE, [3.0, 1.0]), (CONTRAST, [0.9])] if channels == 3 else []
            assert check(kernels, job, border)


@EACH_SET
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30, -1e30])
def test_what_is_no_number_or_too_large_is_refused(kernels: Library, bad: float) -> None:
    for k, place in product((1, 2), range(9)):
        m = [1.0, 0.1, 0.0, 0.1, 1.0, 0.0, 1e-5, 1e-5, 1.0]
        m[place] = bad
        if (place, bad) != (8, 1e30):  # everything is one place
            assert not check(kernels, Job(image_of(0, 20, 30, 3), m, (20, 20), reduction=k))
    for place in range(12):
        rows = np.eye(3, 4).ravel().tolist()
        rows[place] = bad
        assert not check(kernels, Job(image_of(0, 9, 9, 3), np.eye(3).ravel().tolist(), (9, 9), operations=[(0, rows)]))
    for kind in (CONTRAST, HUE, HSV):
        job = Job(image_of(0, 9, 9, 3), np.eye(3).ravel().tolist(), (9, 9), operations=[(kind, [bad, bad, bad])])
        assert not check(kernels, job)


@EACH_SET
def test_a_border_of_the_fill_need_not_be_made(kernels: Library) -> None:
    for seed, channels, tilt in product(range(6), (1, 3), (0.0, 0.3)):
        random = np.random.default_rng([seed, channels])
        height, width = (int(n) for n in random.integers(1, 60, 2))
        inner = guarded(image_of(seed, height, width, channels), at_end=bool(seed % 2))
        above, below, before, behind = (int(n) for n in random.integers(0, 40, 4))
        whole = np.zeros((above + inner.shape[0] + below, before + inner.shape[1] + behind, channels), np.uint8)
        whole[:], whole[above : above + inner.shape[0], before : before + inner.shape[1]] = (
            (7, 200, 90)[:channels],
            inner,
        )
        m = matrix(seed, whole.shape, (41, 53), 1.2, tilt)
        job = Job(whole, m, (41, 53), CONSTANT, (7, 200, 90))
        small = Job(inner, m, (41, 53), CONSTANT, (7, 200, 90))
        out = np.zeros((41, 53, channels), np.uint8)
        assert carried_out(kernels, small, out, (before, above))
        np.testing.assert_array_equal(out, made(job))
        if channels == 3:  # a planted fault
            assert carried_out(kernels, small, out, (before + 1, above))
            assert not np.array_equal(out, made(job))
        small.border = WRAP
        assert not carried_out(kernels, small, out, (1, 0))
        small.border = CONSTANT
        assert not carried_out(kernels, small, out, (-1, 0))
        assert not carried_out(kernels, small, out, (0, 2001))


def spoilt(kernels: Library, spoil: Any) -> Any:
    """Kernels that carry out a job, and then change what they have written."""

    class Wrong:
        def kernel(self, name: str, arguments: str) -> Any:
            works = kernels.kernel(name, arguments)

            def wrong(at: int) -> int:
                answer = works(at)
                if answer == 0:
                    spoil(int((ctypes.c_int64 * 20).from_address(at)[19]))
                return answer

            return wrong

    return Wrong()


@EACH_SET
@pytest.mark.parametrize("channels", [1, 3])
def test_a_grid_is_looked_up_by_columns_and_rows(kernels: Library, channels: int) -> None:
    """As images of two pixels' distance each way are between four: by its definition in float64, within a level."""
    for seed, border in product(range(4), (CONSTANT, WRAP)):
        random = np.random.default_rng([seed, border])
        image = random.integers(0, 256, (40, 50, channels), np.uint8)
        places = [np.sort(random.uniform(-6, n + 6, n)) for n in (50, 40)]
        held = [np.pad((at * 65536).astype(np.int32), (0, 16), "edge") for at in places]
        out = np.zeros_like(image)
        job = Job(image, np.eye(3).ravel().tolist(), (40, 50), border, (7, 200, 90))

        def worked(held: Any = held, job: Job = job, out: np.ndarray = out) -> bool:
            return carried_out(kernels, job, out, grid=(held[0].ctypes.data, held[1].ctypes.data))

        assert worked()
        x, y = np.meshgrid(*(np.round(at * 128) / 128 for at in places))
        left, top = np.floor(x).astype(int), np.floor(y).astype(int)
        across, down = (x - left)[..., None], (y - top)[..., None]
        four = [pixels(job, left + k % 2, top + k // 2, border) for k in range(4)]
        wanted = (four[0] * (1 - across) + four[1] * across) * (1 - down)
        wanted += (four[2] * (1 - across) + four[3] * across) * down
        assert np.abs(out - wanted).max() < 3
        held[0][:50] += 1 << 15  # a planted fault: half a pixel
        assert worked()
        assert np.abs(out - wanted).max() > 20


@EACH_SET
@pytest.mark.parametrize("lens", [1.5, -1.9])
def test_a_lens_takes_pixels_from_where_it_says(kernels: Library, lens: float) -> None:
    """Of slopes within a level, by its definition in float64."""
    y, x = np.mgrid[:40, :50].astype(np.float64)
    image = np.stack([4 * x, 5 * y, 2 * (x + y)], -1).astype(np.uint8)
    out = np.zeros_like(image)
    job = Job(image, np.eye(3).ravel().tolist(), (40, 50), 1, (0, 0, 0))
    assert carried_out(kernels, job, out, lens=(1, lens))
    a, b = (x - 24.5) / 50, (y - 19.5) / 40
    far = a * a + b * b
    u, v = (np.clip(n * (at * (1 + lens * (far + far * far)) + 0.5), 0, n - 1) for n, at in ((50, a), (40, b)))
    wanted = np.stack([4 * u, 5 * v, 2 * (u + v)], -1)
    assert np.abs(out - wanted).max() < 1.5
    assert carried_out(kernels, job, out, lens=(1, 1.2 * lens))  # a planted fault
    assert np.abs(out - wanted).max() > 5


@EACH_SET
def test_the_law_sees_a_kernel_that_is_one_bit_off(kernels: Library) -> None:
    for seed in (1, 2):  # upright, and turned
        job = Job(image_of(1, 40, 40, 3), matrix(seed, (40, 40), (30, 30), 1.0, 0.0), (30, 30))
        assert check(kernels, job, 1)
        for spoil in (spoil_first, spoil_last):
            with pytest.raises(AssertionError):
                check(spoilt(kernels, spoil), job, 1)
