"""Walk through the steps of a pipeline and write each as an op of a program: its key, what it draws and does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.compat.albumentations import group_of, is_gated, is_plain
from augrecipes.compiler.executor.program_buffer import Op
from augrecipes.compiler.kernels.opencv_bits import KERNELS, resizes_as_opencv
from augrecipes.compiler.lowering import encodings
from augrecipes.compiler.lowering.lower import Lowered
from augrecipes.compiler.rewrite.nodes import Fused, ObjectStep
from augrecipes.native.kernels import library
from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops.constants import LINEAR, NEAREST, NEAREST_MIDDLE
from augrecipes.ops.native_op import EXIT, UNKNOWN_OP, NativeOp
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Step

_COLOURS = {
    EFFECTS.JITTERS: EFFECTS.JITTERS,
    EFFECTS.JITTERS_EXACTLY: EFFECTS.JITTERS,
    EFFECTS.SCALES_LEVELS: EFFECTS.ADJUSTS,
    EFFECTS.SHIFTS_HSV: EFFECTS.SHIFTS_HUES,
}  # the effect inside a merged run of colours
_BOXES = frozenset({"bboxes"})  # a step may read these: points are moved in Python, which has them
# (step, interpolation) → its op; None: albumentations must run it.
AsNumbers = Callable[[Any, int], NativeOp | None]


def encode(step: Any, *, joined: bool = False) -> NativeOp | None:
    """Encode a transform, joined with others or by itself; None where kernels lack its class or its arguments."""
    return op_record(type(step).__name__).encode(step, joined=joined)


class OpaqueError(Exception):
    """A pipeline cannot run as a program; the message says why."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Walks through lowered steps and encodes them.

    Attributes:
        sites: by id, each step that draws: its label, and whether the tiles of a bag share its draw.
        files: images arrive encoded.
        labels: encode what happens to a mask.
        unmerged: labels of merged steps that run one by one, because kernels cannot merge all of them.
    """

    sites: Mapping[int, tuple[str, bool]]
    files: bool = False
    labels: bool = False
    unmerged: set[str] = field(default_factory=set)

    def lower(self, plan: Sequence[Lowered]) -> Iterator[tuple[Any, Op]]:
        """Encode the steps of a plan: transforms with their ops, None for ops between steps.

        Raises:
            OpaqueError: albumentations must run a step even to decide whether it acts.
        """
        for place, one in enumerate(plan):
            following = plan[place + 1].node if place + 1 < len(plan) else None
            yield from self._node(one, _is_last(one.node, following), decodes=self.files and not place)

    def _node(self, one: Lowered, last: bool = False, *, decodes: bool = False) -> Iterator[tuple[Any, Op]]:
        """Encode a node; `last`: the output computes what merged steps leave pending."""
        node = one.node
        if not isinstance(node, Fused):
            yield from self._unit(one, encode_alone)
            return
        merged = [] if node.site in self.unmerged else self._merged(one.children, node)
        if not merged:
            for child in one.children:
                yield from self._unit(child, encode_alone)
            return
        yield from merged
        if node.name == "JoinedColours":
            if not last:
                yield None, _between(EFFECTS.MATERIALISES)
            return
        of_image = (*encodings.COSTS, last + 2, encodings.DECODED if decodes else 0.0)
        yield None, _between(EFFECTS.MERGED_ENDS, encodings.mask_run_end() if self.labels else of_image)

    def _merged(self, steps: Sequence[Lowered], node: Fused) -> list[tuple[Any, Op]]:
        """Encode the steps of a node merged; empty where kernels cannot merge one of them: all run one by one."""
        as_numbers = _encode_merged_warp if node.name == "JoinedWarps" else _encode_merged_colour
        merged = [pair for step in steps for pair in self._unit(step, as_numbers)]
        if all(op.numbers not in (UNKNOWN_OP, EXIT) for _, op in merged):
            return merged
        if self.labels:
            raise OpaqueError(f"{node.site} moves masks in another way than the image")
        self.unmerged.add(node.site)
        return []

    def _unit(self, one: Lowered, as_numbers: AsNumbers) -> encodings.Unit:
        """Encode a step, or a group with its children; a group that only albumentations can run is one exit."""
        step = one.transform
        if is_gated(step):
            op = self.op(step, _encode_nothing if isinstance(one.node, ObjectStep) else as_numbers)
            return [(step, replace(op, may_exit=as_numbers is encode_alone))]
        label, shared = self.sites[id(step)]
        if (kind := group_of(step)) is not None:
            children = [
                [*self._node(child)] if as_numbers is encode_alone else self._unit(child, as_numbers)
                for child in one.children
            ]
            if kind == "one":
                # In a child of several steps each keeps its own gate.
                children = [
                    [(first, replace(op, forced=not rest)), *rest] for (first, op), *rest in map(list, children)
                ]
            if (group := encodings.lower_group(step, label, children, shared=shared)) is not None:
                return group
        return [(step, Op(label, shared, 1.0, EXIT, may_exit=True))]  # only albumentations knows when it acts

    def op(self, step: Any, as_numbers: AsNumbers) -> Op:
        """Encode a transform; OpaqueError where albumentations must run it even to decide whether it acts."""
        label, shared = self.sites[id(step)]
        numbers = None
        if is_plain(step, reads=_BOXES):
            numbers = encodings.mask_numbers(step, as_numbers) if self.labels else as_numbers(step, LINEAR)
        if numbers is None and not is_gated(step):
            raise OpaqueError(f"{label} runs in albumentations")
        kernels = library()
        needed = [] if numbers is None else [name for kind in numbers.resizes for name in KERNELS[int(kind)]]
        if needed and (kernels is None or not all(resizes_as_opencv(kernels, name) for name in needed)):
            numbers = None
        return Op(label, shared, float(step.p), numbers or UNKNOWN_OP, turn=getattr(step, "draw_turn", 0))


def _is_last(node: Step, following: Step | None) -> bool:
    """Whether the output, or merged colours that follow, compute what merged steps leave pending."""
    colours = isinstance(following, Fused) and following.name == "JoinedColours"
    return following is None or (colours and isinstance(node, Fused) and node.name == "JoinedWarps")


def _between(effect: int, arguments: tuple[float, ...] = ()) -> Op:
    """An op between two steps."""
    return Op("", False, 1.0, NativeOp(DRAWS.NOTHING, effect, effect_arguments=arguments))


def _encode_nothing(_: Any, __: int) -> None:
    """Encode a user's object, whatever its class is called: nothing is known of it."""


def encode_alone(step: Any, _: int) -> NativeOp | None:
    """Encode a step that runs by itself."""
    numbers = encode(step)
    return encodings.exact_warp(numbers) if numbers is not None and numbers.effect in encodings.RESAMPLES else numbers


def _encode_merged_warp(step: Any, interpolation: int) -> NativeOp | None:
    """Encode a step of a run that is resampled once."""
    numbers = encode(step)
    if numbers is None or numbers.effect == EFFECTS.KEEPS:
        return numbers
    if numbers.effect in encodings.RESAMPLES:
        return encodings.merged_warp(numbers, interpolation)
    # A merged run takes the nearest pixel by pixel centres.
    samplings = {NEAREST, NEAREST_MIDDLE} if interpolation == NEAREST else {interpolation}
    merges = numbers.effect in (EFFECTS.CROPS, EFFECTS.FLIPS) or (
        numbers.resizes and samplings.issuperset(numbers.resizes)
    )
    return replace(numbers, effect=EFFECTS.MERGES + numbers.effect) if merges else None


def _encode_merged_colour(step: Any, _: int) -> NativeOp | None:
    """Encode a step of a merged run of colours."""
    record = op_record(type(step).__name__)
    if record.native_joined is not None:
        return encode(step, joined=True)
    numbers = encode(step)
    effect = None if numbers is None else _COLOURS.get(numbers.effect)
    return None if numbers is None or effect is None else replace(numbers, effect=effect, effect_arguments=())
