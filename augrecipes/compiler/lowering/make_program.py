"""Make programs of pipelines, or say why one has none.

Ops are compared with their transforms, draws and effects, on the installed OpenCV and numpy.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import is_plain, sampler_of
from augrecipes.compiler.executor.inputs import as_bytes, from_bytes
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.executor.program_buffer import Op
from augrecipes.compiler.kernels import fast_apply
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.lowering.encodings import MaskSink, acts, group_sampler, why_mask_not_native
from augrecipes.compiler.lowering.lower import Lowered
from augrecipes.compiler.lowering.walk import OpaqueError, Walk
from augrecipes.native.kernels import Library, library
from augrecipes.native.op_numbers import EFFECTS
from augrecipes.ops.fills import fill_lengths
from augrecipes.ops.native_op import EXIT, IN_PYTHON, MATRIX_DRAWS, NO_OP, UNKNOWN_OP, NativeOp, params_getter
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import UINT8_HWC

_MOST = 1 << 28  # pixels
_BYTES = 32  # of a pixel, at most: four channels of eight
_SAME_DRAWS = params_getter()  # stands for any getter in a cache key
_BYTE, _WORD = np.dtype(np.uint8), np.dtype(np.uint16)


class ProgramMaker:
    """Makes programs of the steps of one pipeline; OpaqueError where there are no kernels.

    Args:
        pipeline: the pipeline.

    Attributes:
        sites: by id, each step that draws: its label, and whether the tiles of a bag share its draw.
        position: moves the generators of the steps to a sample.
    """

    def __init__(self, pipeline: Any) -> None:
        if (kernels := library()) is None:
            raise OpaqueError("there are no native kernels")
        self._kernels = kernels
        self.sites = {id(step): (label, shared) for step, label, shared in pipeline.sites}
        self.position: Position = pipeline.draws.position
        max_bytes = pipeline.recipe.max_bytes
        self._pixels = _MOST if max_bytes is None else min(_MOST, max_bytes // _BYTES)
        self._seed, self._tried = pipeline.compiled.seed, pipeline.tried

    def images(self, lowered: Sequence[Lowered], sink: Sink, *, files: bool) -> Program:
        """Make a program of lowered steps for images alone; `files`: they arrive encoded."""
        walk = Walk(self.sites, files)
        program = self.steps(walk.lower(lowered), sink)
        program.unmerged = walk.unmerged
        return program

    def steps(self, steps: Iterable[tuple[Any, Op]], sink: Sink) -> Program:
        """Make a program of transforms (None between steps) and their ops.

        Each op draws and acts as its transform does, or becomes an exit.
        """
        writes, steps = _writes(sink), [*steps]
        sink = sink if writes else Sink(UINT8_HWC)
        ops, python_draws, opaque = list[Op](), dict[int, Any](), dict[int, tuple[Any, bool]]()
        stained = dict[int, tuple[Any, NativeOp]]()
        for place, (step, op) in enumerate(steps):
            why = "" if step is None or op.numbers is EXIT else self._difference(step, op, sink)
            if why and not op.may_exit:
                raise OpaqueError(f"{op.label} {why}")
            if op.numbers.effect == EFFECTS.NORMALIZES_STAINS and op.numbers.drawn_in_python:
                stained[place] = step, op.numbers
            exits = op.may_exit and (why or op.numbers in (UNKNOWN_OP, EXIT) or place in stained)
            if exits:
                opaque[place] = step, op.forced
            elif op.numbers.drawn_in_python:
                python_draws[place] = step
            ops.append(replace(op, numbers=EXIT) if exits else op)
        program = Program(self._kernels, ops, sink, self._seed, self._pixels)
        program.python_draws, program.opaque, program.writes = python_draws, opaque, writes
        program.stained = stained
        program.steps = steps
        program.fill_lengths = fill_lengths(step for step, _ in steps if step is not None)
        if program.fill_lengths and any(getattr(step, "num_output_channels", None) for step, _ in steps):
            raise OpaqueError("a fill has a level for each channel, and a step changes their number")
        program.idle = len(opaque) - len(stained) == sum(op.numbers.effect != EFFECTS.GROUPS for op in ops) > 0
        return program

    def _difference(self, step: Any, op: Op, sink: Sink) -> str:
        """How an op differs from its transform on this machine; empty: it does not."""
        known = _comparison_key(step, op)
        if known in self._tried:
            return ""
        if not same_draws(Program(self._kernels, [op], sink, self._seed, self._pixels), step, op, self.position):
            return "draws differently on this machine"
        if op.numbers.changes and not matches_reference(self._kernels, step, op, self._seed, self.position):
            return "changes images differently on this machine"
        self._tried.add(known)
        return ""

    def masks(
        self,
        lowered: Sequence[Lowered],
        images: Program,
        *,
        wide: bool = False,
        dtype: np.dtype[Any] = _BYTE,
        exactly: bool = False,
    ) -> Program:
        """Make the program that runs masks with the draws of the images' program.

        It takes masks as bytes, H×W×B: one byte per pixel for uint8, four for float32.

        Args:
            lowered: the steps.
            images: the program of the images.
            wide: results are int64, not uint8.
            dtype: the masks' dtype.
            exactly: take the pixels that OpenCV takes, which warps int16 by older code than other dtypes; if not, int16
                is sampled like the other dtypes.
        """
        walk = Walk(self.sites, labels=True, unmerged=images.unmerged)
        ops, python_draws = list[Op](), dict[int, Any]()
        like = _WORD if dtype == np.int16 and not exactly else dtype
        for place, (step, op_of_image) in enumerate(walk.lower(lowered)):
            op = op_of_image
            if place in images.opaque:
                op = replace(op, numbers=EXIT if _changes_masks(step) else NO_OP)
            if op.numbers.drawn_in_python:
                python_draws[place] = step
            if dtype != _BYTE and (why := why_mask_not_native(step, op.numbers, dtype, exactly=exactly)):
                raise OpaqueError(f"{op.label} {why}")
            if step is not None and (known := _comparison_key(step, op, like)) not in self._tried:
                if not matches_reference(self._kernels, step, op, self._seed, self.position, like):
                    raise OpaqueError(f"{op.label} changes these masks differently from the kernels")
                self._tried.add(known)
            ops.append(replace(op, p=1.0) if op.numbers is NO_OP else op)
        program = Program(self._kernels, ops, MaskSink(wide=wide), self._seed, self._pixels, labels=True)
        program.python_draws = python_draws
        program.opaque = {place: step for place, step in images.opaque.items() if ops[place].numbers is EXIT}
        return program


def _comparison_key(step: Any, op: Op, *labels: Any) -> tuple[Any, ...]:
    """The key under which a step is compared with its op once: all of it but the ranges that it draws from."""
    numbers = replace(op.numbers, arguments=(), expected_draws=_SAME_DRAWS)
    return type(step), replace(op, p=float(op.p > 0), numbers=numbers), labels


def _writes(sink: Sink) -> bool:
    """Whether kernels can write the sink's output; otherwise the program leaves uint8 H×W×C for the sink."""
    output = sink.output
    writes = sink.dtype == np.float32 or sink.keeps_levels(np.dtype(np.uint8))
    return writes and (output.color in ("rgb", "bgr") or output.where != "host")


def _changes_masks(step: Any) -> bool:
    """Whether a step may change or read a mask; classes of which nothing is known may."""
    record = op_record(type(step).__name__)
    return not record.is_known or not is_plain(step) or "mask" in record.targets


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
