"""What jobs refuse, borders of a fill that need not be made, and images bent by grids and lenses."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from job_cases import carry_out, matrix
from job_in_numpy import CONSTANT, CONTRAST, HSV, HUE, REPLICATE, WRAP, Job, made, pixels
from kernel_sets import EACH_SET, NEEDS_KERNELS, guarded

from augrecipes.native.kernels import Library

pytestmark = NEEDS_KERNELS
STILL = np.eye(3).ravel().tolist()


def image_of(seed: int, height: int, width: int, channels: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def is_carried_out(kernels: Library, job: Job) -> bool:
    return carry_out(kernels, job, np.zeros((*job.size, job.source.shape[2]), job.dtype))


@EACH_SET
def test_the_kernel_does_the_work(kernels: Library) -> None:
    for channels, border, k in product((1, 3), range(5), (1, 2, 4, 8)):
        for tilt, dtype in ((0.0, "float32"), (0.3, "uint8")):
            job = Job(image_of(border, 200, 170, channels), matrix(k, (200, 170), (66, 81), 0.8 * k, tilt), (66, 81))
            job = replace(job, border=border, fill=(9, 8, 7), reduction=k, dtype=dtype)
            assert is_carried_out(kernels, job)
            assert channels == 1 or is_carried_out(
                kernels, replace(job, operations=[(HUE, [3.0, 1.0]), (CONTRAST, [0.9])])
            )


@EACH_SET
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30, -1e30])
def test_what_is_no_number_or_too_large_is_refused(kernels: Library, bad: float) -> None:
    still = Job(image_of(0, 9, 9, 3), STILL, (9, 9))
    for k, place in product((1, 2), range(9)):
        m = [1.0, 0.1, 0.0, 0.1, 1.0, 0.0, 1e-5, 1e-5, 1.0]
        m[place] = bad
        if (place, bad) != (8, 1e30):  # everything is one place
            assert not is_carried_out(kernels, Job(image_of(0, 20, 30, 3), m, (20, 20), reduction=k))
    for place in range(12):
        rows = np.eye(3, 4).ravel().tolist()
        rows[place] = bad
        assert not is_carried_out(kernels, replace(still, operations=[(0, rows)]))
    for kind in (CONTRAST, HUE, HSV):
        assert not is_carried_out(kernels, replace(still, operations=[(kind, [bad, bad, bad])]))


@EACH_SET
def test_a_border_of_the_fill_need_not_be_made(kernels: Library) -> None:
    for seed, channels, tilt in product(range(6), (1, 3), (0.0, 0.3)):
        random = np.random.default_rng([seed, channels])
        height, width, above, below, before, behind = (int(n) for n in random.integers(1, 60, 6))
        inner = guarded(image_of(seed, height, width, channels), at_end=bool(seed % 2))
        whole = np.zeros((above + height + below, before + width + behind, channels), np.uint8)
        whole[:] = (7, 200, 90)[:channels]
        whole[above : above + height, before : before + width] = inner
        job = Job(whole, matrix(seed, whole.shape, (41, 53), 1.2, tilt), (41, 53), CONSTANT, (7, 200, 90))
        small, out = replace(job, source=inner), np.zeros((41, 53, channels), np.uint8)
        assert carry_out(kernels, small, out, left=before, top=above)
        np.testing.assert_array_equal(out, made(job))
        if channels == 3:  # a planted fault
            assert carry_out(kernels, small, out, left=before + 1, top=above)
            assert not np.array_equal(out, made(job))
        assert not carry_out(kernels, replace(small, border=WRAP), out, left=1)
        assert not carry_out(kernels, small, out, left=-1)
        assert not carry_out(kernels, small, out, top=2001)


@EACH_SET
@pytest.mark.parametrize("channels", [1, 3])
def test_a_grid_is_looked_up_by_columns_and_rows(kernels: Library, channels: int) -> None:
    """As images of two pixels' distance each way are between four: by its definition in float64, within a level."""
    for seed, border in product(range(4), (CONSTANT, WRAP)):
        random = np.random.default_rng([seed, border])
        places = [np.sort(random.uniform(-6, n + 6, n)) for n in (50, 40)]
        lines = [np.pad((at * 65536).astype(np.int32), (0, 16), "edge") for at in places]
        job = Job(image_of(seed, 40, 50, channels), STILL, (40, 50), border, (7, 200, 90))
        x, y = np.meshgrid(*(np.round(at * 128) / 128 for at in places))
        left, top = np.floor(x).astype(int), np.floor(y).astype(int)
        across, down = (x - left)[..., None], (y - top)[..., None]
        four = [pixels(job, left + k % 2, top + k // 2, border) for k in range(4)]
        expected = (four[0] * (1 - across) + four[1] * across) * (1 - down)
        expected += (four[2] * (1 - across) + four[3] * across) * down
        out, addresses = np.zeros_like(job.source), [line.ctypes.data for line in lines]
        assert carry_out(kernels, job, out, across_grid=addresses[0], down_grid=addresses[1])
        assert np.abs(out - expected).max() < 3
        lines[0][:50] += 1 << 15  # a planted fault: half a pixel
        assert carry_out(kernels, job, out, across_grid=addresses[0], down_grid=addresses[1])
        assert np.abs(out - expected).max() > 20


@EACH_SET
@pytest.mark.parametrize("lens", [1.5, -1.9])
def test_a_lens_takes_pixels_from_where_it_says(kernels: Library, lens: float) -> None:
    """Of slopes within a level, by its definition in float64."""
    y, x = np.mgrid[:40, :50].astype(np.float64)
    image = np.stack([4 * x, 5 * y, 2 * (x + y)], -1).astype(np.uint8)
    job, out = Job(image, STILL, (40, 50), REPLICATE), np.zeros_like(image)
    a, b = (x - 24.5) / 50, (y - 19.5) / 40
    far = a * a + b * b
    u, v = (np.clip(n * (at * (1 + lens * (far + far * far)) + 0.5), 0, n - 1) for n, at in ((50, a), (40, b)))
    expected = np.stack([4 * u, 5 * v, 2 * (u + v)], -1)
    assert carry_out(kernels, job, out, bends=1, lens=lens)
    assert np.abs(out - expected).max() < 1.5
    assert carry_out(kernels, job, out, bends=1, lens=1.2 * lens)  # a planted fault
    assert np.abs(out - expected).max() > 5
