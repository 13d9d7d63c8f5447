"""Quick paths do no more work than they need, counted: decoded pixels, calls of kernels, memory, lines of Python."""

import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_sets import NEEDS_KERNELS, SETS, using
from support.checks import lines, planted_faults
from support.encoded_images import Jpeg

from augrecipes.images.encoded import Encoded, encoded
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.native.kernels import Library, codec
from augrecipes.recipe.model import Optimize
from augrecipes.recipe.parse import parse_text

pytestmark = NEEDS_KERNELS
DECODES = pytest.mark.skipif(codec() is None, reason="built without libjpeg-turbo")
FILE = Jpeg(533, 800)
CROP = "{RandomCrop: {height: 200, width: 120}}"
COLOURS = "{ColorJitter: {brightness: 0.2, contrast: 0.1, saturation: 0.1, hue: 0, p: 1.0}}"
WARPS = (
    "{Rotate: {limit: 25, border_mode: reflect_101, p: 1.0}}, {RandomResizedCrop: {size: [96, 96], scale: [0.5, 1.0]}}"
)
NEVER = "{Spatter: {p: 0.0001}}"  # no kernel knows it


def compiled(steps: str, optimize: Optimize = "exact") -> Any:
    return parse_text(f"version: 1\nrecipe: t\nsteps: [{steps}]\neval: []\n").compile(optimize=optimize)


def images(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (200 + k % 9, 220, 3), np.uint8) for k in range(count)]


# Pixels that are decoded.


def decoded(run: Callable[[Any], object]) -> list[int]:
    """How many pixels are decoded of a file, each time that some are, while `run` works with it."""
    areas: list[int] = []
    busy = False

    def counting(real: Any) -> Any:
        def call(self: Encoded, *window: Any, **how: Any) -> Any:
            nonlocal busy
            if busy:
                return real(self, *window, **how)
            busy = True
            try:
                result = real(self, *window, **how)
            finally:
                busy = False
            if result is not None:
                areas.append(result.shape[0] * result.shape[1])
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("coded", "view", "array"):
            patch.setattr(Encoded, name, counting(getattr(Encoded, name)))
        run(encoded(FILE.data, name="it"))
    return areas


def a_window_is_decoded(steps: str, optimize: Optimize = "exact", most: int = (200 + 32) * (120 + 32)) -> None:
    """And blocks of 16 px around it, for each sample once; `most` pixels."""
    pipeline = compiled(steps, optimize)
    for run in (lambda file: [pipeline.at(k)(image=file) for k in range(3)], lambda file: pipeline.batch([file] * 3)):
        areas = decoded(run)
        assert len(areas) == 3
        assert max(areas) <= most


@DECODES
@pytest.mark.parametrize("behind", ["HorizontalFlip", COLOURS, "{Blur: {p: 1.0}}", "{Rotate: {p: 1.0}}", NEVER])
@pytest.mark.parametrize("optimize", ["exact", "fast"])
def test_no_more_is_decoded_than_a_window_shows(behind: str, optimize: Optimize) -> None:
    a_window_is_decoded(f"{CROP}, {behind}", optimize)


@DECODES
def test_what_becomes_small_is_decoded_small() -> None:
    """Of a quarter of the pixels or fewer, and the blocks around them."""
    steps = "{RandomResizedCrop: {size: [48, 48], scale: [0.4, 0.6]}}"
    pipelines = compiled(steps), compiled(steps, "fast")
    whole, small = (decoded(lambda file, p=pipeline: p.batch([file] * 4)) for pipeline in pipelines)
    assert len(whole) == len(small) == 4
    assert sum(small) < 0.3 * sum(whole)


# Calls of kernels.


class CountedKernels:
    """Kernels that count their calls, by name."""

    def __init__(self, kernels: Library) -> None:
        self.kernels, self.calls = kernels, Counter[str]()

    @property
    def isa(self) -> str:
        return self.kernels.isa

    def kernel(self, name: str, arguments: str) -> Callable[..., int]:
        work = self.kernels.kernel(name, arguments)

        def call(*values: Any) -> int:
            self.calls[name] += 1
            return work(*values)

        return call


def calls(steps: str, count: int, threads: int = 1, optimize: Optimize = "exact") -> int:
    """How often any kernel is called for a batch."""
    kernels: Any = CountedKernels(SETS[-1])
    with using(kernels):
        pipeline = compiled(steps, optimize)
        pipeline.batch(images(2))
        kernels.calls.clear()
        pipeline.batch(images(count), threads=threads)
    return kernels.calls.total()


def a_batch_is_a_call_or_two(steps: str, optimize: Optimize = "exact") -> None:
    """One says how large the results are."""
    assert max(calls(steps, count, optimize=optimize) for count in (4, 24)) <= 2


@pytest.mark.parametrize("optimize", ["exact", "fast"])
@pytest.mark.parametrize("steps", [f"{CROP}, HorizontalFlip, {COLOURS}", WARPS, f"{CROP}, {NEVER}"])
def test_a_batch_is_a_call_or_two(steps: str, optimize: Optimize) -> None:
    """A step that Python runs costs nothing where it does not act."""
    a_batch_is_a_call_or_two(steps, optimize)


def test_a_step_that_python_runs_is_a_few_calls_for_each_image_in_which_it_acts() -> None:
    always = calls(f"{CROP}, {{Spatter: {{p: 1.0}}}}, HorizontalFlip", 8)
    assert 8 <= always <= 2 + 4 * 8


# Memory.


def peak(run: Callable[[], object]) -> int:
    """The bytes that are allocated at most while it runs, and not before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("colour", ["HorizontalFlip", COLOURS])
def test_nothing_large_is_allocated_for_a_sample(colour: str) -> None:
    """The scratch has grown to what these samples need; then bookkeeping is all that is allocated."""
    pipeline, out = compiled(f"{WARPS}, Transpose, {colour}", "fast"), np.empty((3, 96, 96), np.float32)
    (image,) = images(1)
    for _ in range(2):
        for k in range(20):
            pipeline.at(k)(image=image, out=out)
    assert max(peak(lambda k=k: pipeline.at(k)(image=image, out=out)) for k in range(1, 20)) < 10_000


def memory_of_batches(*sides: int) -> list[int]:
    """What batches allocate whose images have these sides."""
    peaks = []
    for side in sides:
        pipeline, out = compiled("HorizontalFlip, {InvertImg: {p: 1.0}}"), np.empty((16, 3, side, side), np.float32)
        batch = [np.zeros((side, side, 3), np.uint8)] * 16
        for _ in range(3):
            pipeline.batch(batch, out=out)
        peaks.append(peak(lambda p=pipeline, b=batch, o=out: p.batch(b, out=o)))
    return peaks


def a_batch_allocates_nothing_that_grows_with_its_images(_: Any = None) -> None:
    small, large = memory_of_batches(32, 160)
    assert large < small + 20_000  # an image of the larger has 76,800 bytes


def test_a_batch_in_memory_that_is_given_allocates_nothing_that_grows_with_its_images() -> None:
    a_batch_allocates_nothing_that_grows_with_its_images()


# Lines of Python.


MOST_LINES, MOST_LINES_AN_IMAGE = 260, 90  # of Python: for a sample, and for each image of a batch


def test_a_sample_is_some_lines_of_python() -> None:
    pipeline, (image,) = compiled("HorizontalFlip"), images(1)
    for k in range(3):
        pipeline.at(k)(image=image)
    assert lines(lambda: pipeline.at(3)(image=image)) < MOST_LINES


def test_an_image_of_a_batch_is_some_lines_of_python() -> None:
    pipeline, counts = compiled(f"{CROP}, HorizontalFlip, {COLOURS}"), []
    for count in (8, 72):
        batch = images(count)
        pipeline.batch(batch)
        counts.append(lines(lambda b=batch: pipeline.batch(b)))
    assert (counts[1] - counts[0]) / 64 < MOST_LINES_AN_IMAGE


def one_by_one(
    self: Any, images: Any, indices: Any = None, epoch: int = 0, *, out: Any = None, threads: int = 1
) -> Any:
    """As if a batch were its samples one after another, copied together."""
    samples = np.stack([self.at(k, epoch)(image=image)["image"] for k, image in enumerate(images)])
    return samples if out is None else np.copyto(out, samples)


test_planted_faults_are_found = planted_faults(
    {
        "whole files": (lambda _: a_window_is_decoded(CROP, "none"),),
        "calls": (lambda _: a_batch_is_a_call_or_two(CROP), (ImagePipeline, "batch", one_by_one)),
        "copies": (a_batch_allocates_nothing_that_grows_with_its_images, (ImagePipeline, "batch", one_by_one)),
    }
)
