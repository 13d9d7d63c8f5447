"""What a pipeline has made before decides nothing: sizes, dtypes, masks and layout may change from call to call."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import planted_faults, read_only
from support.programs import RUN_BATCH

from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.run.batch import SampleOutput
from augrecipes.errors import DataError
from augrecipes.native.kernels import library
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.skipif(library() is None, reason="no native kernels")


class Subclass(np.ndarray):
    """As `np.memmap` is one."""


LAID = {
    "as it is": lambda a: a,
    "read-only": read_only,
    "a subclass": lambda a: a.view(Subclass),
    "transposed": lambda a: a.swapaxes(0, 1).copy().swapaxes(0, 1),
    "a window": lambda a: np.pad(a, [(1, 1), (2, 3), *[(0, 0)] * (a.ndim - 2)])[1:-1, 2:-3],
}
STEPS = [
    "{NoOp: {p: 1.0}}",
    "{HorizontalFlip: {p: 0.5}}",
    "{RandomGamma: {p: 0.5}}",
    "{RandomRotate90: {p: 0.5}}",
    "{SmallestMaxSize: {max_size: 24}}",
    "{RandomCrop: {height: 20, width: 20, p: 1.0}}",
]
OUTPUTS = ["{dtype: uint8, layout: hwc}", "{}"]
MASKS = ["", None, np.uint8, np.uint8, bool, np.int64]
CALL = st.tuples(
    st.sampled_from([(24, 30, 3), (30, 24, 3), (26, 26, 1)]),
    st.sampled_from([np.uint8, np.uint8, np.uint8, np.float32]),
    st.sampled_from(MASKS),
    st.sampled_from([*LAID]),
)
MANY = st.lists(CALL, min_size=4, max_size=10)


def sample(seed: int, shape: tuple[int, ...], dtype: Any, of_mask: Any, lies: str) -> dict[str, Any]:
    """An image, and a mask of some dtype on it, or one that is None, or none."""
    random = np.random.default_rng(seed)
    image, mask = random.integers(0, 256, shape, np.uint8), random.integers(0, 2, shape[:2])
    given: dict[str, Any] = {"image": image if dtype == np.uint8 else image.astype(np.float32) / 255}
    if of_mask != "":
        given["mask"] = None if of_mask is None else mask.astype(of_mask)
    return {name: None if array is None else LAID[lies](array) for name, array in given.items()}


def check(steps: list[str], output: str, calls: list[Any]) -> None:
    """One pipeline makes what `none` makes, call by call; and what it has made stays, in memory of its own."""
    recipe = parse_text(f"version: 1\nrecipe: test\nsteps: [{', '.join(steps)}]\noutput: {output}\n")
    pipeline, plain = (recipe.compile(optimize=level) for level in ("exact", "none"))
    made: list[tuple[np.ndarray, np.ndarray]] = []
    for k, call in enumerate(calls):
        targets = sample(k, *call)
        wanted, done = (one.at(k)(**targets) for one in (plain, pipeline))
        assert done.keys() == wanted.keys()
        for name, array in done.items():
            assert array.dtype == wanted[name].dtype
            others = [*targets.values(), *(before for before, _ in made)]
            assert not any(np.shares_memory(array, other) for other in others if other is not None)
            made.append((array, wanted[name].copy()))
    for array, expected in made:
        np.testing.assert_array_equal(array, expected)


@given(steps=st.lists(st.sampled_from(STEPS), max_size=3, unique=True), output=st.sampled_from(OUTPUTS), calls=MANY)
def test_earlier_samples_decide_nothing(steps: list[str], output: str, calls: list[Any]) -> None:
    check(steps, output, calls)


def test_a_mask_that_is_required_is_asked_for_again() -> None:
    text = "version: 1\nrecipe: test\nsteps: [HorizontalFlip]\ninputs: {mask: required}\n"
    pipeline = parse_text(text).compile()
    targets = sample(0, (24, 30, 3), np.uint8, np.uint8, "as it is")
    pipeline.at(0)(**targets), pipeline.at(1)(**targets)
    with pytest.raises(DataError, match="require 'mask'"):
        pipeline.at(2)(image=targets["image"])


def recycled() -> Any:
    """`SampleOutput.rows`, which gives out the same memory for each result of a shape."""
    kept: dict[Any, np.ndarray] = {}

    def rows(self: SampleOutput, target: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        result = kept.setdefault((target, shape), np.empty(shape, dtype))
        setattr(self, target, result)
        return result[None]

    return rows


def remembered() -> Any:
    """`Program.run_batch`, which takes an image of a shape for the one of that shape before it."""
    kept: dict[Any, np.ndarray] = {}

    def run_batch(self: Program, epoch: int, keys: Any, images: Any, *more: Any, **named: Any) -> Any:
        before = [kept.setdefault((id(self), image.shape), image.copy()) for image in images]
        return RUN_BATCH(self, epoch, keys, before, *more, **named)

    return run_batch


THRICE = [((24, 30, 3), np.uint8, np.uint8, "as it is")] * 4
test_planted_faults_are_caught = planted_faults({
    "memory that was handed out is written to": (
        lambda _: check(STEPS[:2], OUTPUTS[0], THRICE), (SampleOutput, "rows", recycled()),
    ),
    "an image of before": (lambda _: check(STEPS[:2], OUTPUTS[1], THRICE), (Program, "run_batch", remembered())),
})  # fmt: skip
