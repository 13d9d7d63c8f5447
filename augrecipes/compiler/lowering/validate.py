"""Compare ops with their transforms, draws and effects, on the installed OpenCV and numpy."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from augrecipes.compat.steps import sampler_of
from augrecipes.compiler.executor.inputs import as_bytes, from_bytes
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.executor.program_buffer import Op
from augrecipes.compiler.kernels import fast_apply
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.lowering.encodings import acts, group_sampler
from augrecipes.native.kernels import Library
from augrecipes.native.op_numbers import EFFECTS
from augrecipes.ops.native_op import IN_PYTHON, MATRIX_DRAWS, NativeOp
from augrecipes.recipe.model import UINT8_HWC

_MOST = 1 << 28  # pixels
_EPOCH = 3
Position = Callable[[int, int, int], None]  # (epoch, index, tile): moves the generators there
_TRIED = tuple((index, index * 7) for index in range(4))  # (index, tile) at which draws are compared
_SIZES = ((40, 61), (300, 200))
_LARGE = 1 << 14  # pixels of an image with which one key is tried
_NEARLY = 1 - 2.0**-53  # every draw is below, yet it is no 1: the gate still draws
# Effects that change no image by themselves.
_NOTHING = frozenset({EFFECTS.KEEPS, EFFECTS.GROUPS, EFFECTS.EXITS})
_CLOSE = 1e-9  # px: differences by the order of sums, which no image shows
# Further probe images for some effects.
_MORE: dict[int, Callable[[], tuple[np.ndarray, ...]]] = {
    EFFECTS.COMPRESSES: fast_apply.squares,
    EFFECTS.APPLIES_CLAHE: fast_apply.many_colours,
    EFFECTS.ADDS_ISO_NOISE: fast_apply.many_colours,
}


def same_draws(plan: Program, step: Any, op: Op, position: Position) -> bool:
    """Whether the kernel draws what albumentations' sampler draws at some keys: libm and numpy differ by machine."""
    draw = group_sampler(step) if op.numbers.effect == EFFECTS.GROUPS else sampler_of(step)
    in_python = op.numbers.draw == IN_PYTHON or op.numbers.drawn_in_python
    for rows, columns in _SIZES:
        data = {"image": stand_in((rows, columns, 3), np.dtype(np.uint8))}
        for (index, tile), drawn in zip(_TRIED, plan.drawn(_EPOCH, _TRIED, rows, columns), strict=True):
            position(_EPOCH, index, tile)
            if acts(step) != (drawn is not None):
                return False
            if drawn is not None and not in_python and not _equal(drawn, partial(draw, data), op.numbers):
                return False
    return True


def matches_reference(
    kernels: Library, step: Any, op: Op, seed: int, position: Position, labels: np.dtype[Any] | None = None
) -> bool:
    """Whether the kernel changes some images, or masks of dtype `labels`, as the step does under its draws.

    Compared once per process for each class and its arguments, whatever the label and seed.
    """
    numbers, cls = op.numbers, type(step)
    if (
        op.p <= 0
        or numbers.drawn_in_python
        or numbers.effect in _NOTHING
        or EFFECTS.MERGES <= numbers.effect <= EFFECTS.MERGED_ENDS
    ):
        return True  # it never acts, has no effect by itself, or draws from boxes
    apply: Any = cls.apply if labels is None else cls.apply_to_mask
    key = (
        cls, kernels, apply, repr(step.get_transform_init_args()), numbers.draw, numbers.effect, numbers.arguments,
        numbers.effect_arguments, op.cell, op.forced, op.p < 1, labels,
    )  # fmt: skip

    def trials() -> Iterator[bool]:
        always = replace(op, p=_NEARLY) if op.p < 1 else op
        plan = Program(kernels, [always], Sink(UINT8_HWC), seed, _MOST, labels=labels is not None)
        act = partial(apply, step)
        images = _images(numbers.effect) if labels is None else _masks(labels)
        return _compare_effects(plan, step, act, position, images, labels)

    return fast_apply.probe(key, trials)


def _compare_effects(
    plan: Program,
    step: Any,
    act: Callable[..., Any],
    position: Position,
    images: Sequence[np.ndarray],
    labels: np.dtype[Any] | None,
) -> Iterator[bool]:
    draw = sampler_of(step)
    yield True  # images that the kernels refuse are not compared
    for image in images:
        for index, tile in _TRIED[: 1 if image.size > _LARGE else None]:
            position(_EPOCH, index, tile)
            step.should_apply()  # may take the first draw
            result = plan.run_one(_EPOCH, index, tile, image if labels is None else as_bytes(image), np.empty)
            if isinstance(result, np.ndarray):
                result = result if labels is None else from_bytes(result, labels)
                yield np.array_equal(result, act(image, **draw({"image": image})))


def _images(effect: int) -> tuple[np.ndarray, ...]:
    return fast_apply.images() + _MORE.get(effect, tuple)()


@cache
def _masks(dtype: np.dtype[Any]) -> tuple[np.ndarray, ...]:
    """Scattered labels, and all labels: pixels that are only moved need few images to show where they went."""
    _, _, scatter, levels, *_ = fast_apply.images()
    return tuple(image[..., 0].astype(dtype) * dtype.type(97) for image in (scatter, levels))


def _equal(drawn: Sequence[float], draw: Callable[[], Mapping[str, Any]], op: NativeOp) -> bool:
    try:
        expected = list(op.expected_draws(draw()))
    except Exception:  # the image is too small for it
        return not np.isfinite(drawn[0])
    drawn = list(drawn[: len(expected)])
    if op.draw in MATRIX_DRAWS:
        return np.allclose(expected, drawn, rtol=0, atol=_CLOSE)
    return expected == drawn
