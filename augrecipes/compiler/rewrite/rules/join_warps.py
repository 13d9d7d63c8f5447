"""Windows, turns and warps in a row are one map between grids: resample once instead of at every step.

Colours between a warp and what scales or cuts come behind both, where they change fewer pixels. Where levels saturate
that gives others; but on noise, edges and photographs that is little beside what one resampling differs from two."""

from collections.abc import Iterator
from itertools import dropwhile, islice

from augrecipes.compiler.rewrite.contracts import STILL, obstacles_from
from augrecipes.compiler.rewrite.nodes import Steps, action_of, fuse, is_single, singles
from augrecipes.compiler.rewrite.rule import Edit, rule
from augrecipes.flow import Flow
from augrecipes.ops import groups
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective, record_of
from augrecipes.recipe.model import Step


def joins(step: Step) -> bool:
    """Whether a step, or every step of a group, maps grids: images linearly, masks by nearest, or neither."""
    if step.is_group:
        return all(joins(child) for child in step.steps)
    action = action_of(step)
    if action in STILL:
        return True
    if action != "warp":
        return False
    return not effective(step).get("area_for_downscale") and _is_linear(step)


def _is_linear(step: Step) -> bool:
    arguments = effective(step)
    interpolations = arguments.get("interpolation", "linear"), arguments.get("mask_interpolation", "nearest")
    return interpolations == ("linear", "nearest")


def _pays(run: Steps, flow: Flow) -> bool:
    """Whether one resampling takes less time than the steps one by one.

    A job samples images in less time than OpenCV warps them. OpenCV's resize is so much quicker that where images are
    only scaled, and then cut, that pays where the decoder is spared what is cut off.
    """
    leaves = [leaf for step in run for leaf in singles(step)]
    if not all(map(_only_scales, leaves)):
        return flow.dtype == "uint8"
    behind = dropwhile(lambda leaf: action_of(leaf) != "warp", leaves)
    return flow.encoded and any(map(_leaves_less, islice(behind, 1, None)))


def _bends(step: Step, behind: Steps) -> bool:
    """Whether it is a field that jobs sample with what is behind it: a lens, where that leaves fewer pixels."""
    if not is_single(step):
        return False
    record = record_of(step)
    if record.joins_warps is None or not _is_linear(step):
        return False
    return record.joins_warps == "always" or any(map(_leaves_less, behind[:1]))


def _samplings(step: Step) -> int:
    """How many times a step, or the steps of a group, resample at most."""
    if not step.is_group:
        return int(action_of(step) not in STILL)
    counts = map(_samplings, step.steps)
    return max(counts) if step.name == groups.ONE_OF else sum(counts)


def recolours(step: Step) -> bool:
    """Whether a step, or every step of a group, changes colours by little more than a matrix."""
    if step.is_group:
        return all(map(recolours, step.steps))
    return record_of(step).recolours


def _leaves_less(step: Step) -> bool:
    """Whether a step cuts, or scales what it is given or a window of it."""
    return action_of(step) == "window" or op_record(step.name).resizes is not None


def _only_scales(step: Step) -> bool:
    return action_of(step) in STILL or _leaves_less(step)


def _goes_by_pixels(step: Step) -> bool:
    """Whether each pixel's colours come of its own, without a jump, or of these and a mean of the image."""
    if step.is_group:
        return all(map(_goes_by_pixels, step.steps))
    alone = action_of(step) in ("identity", "lookup", "matrix", "pointwise")
    return (recolours(step) or alone) and not op_record(step.name).jumps


def _sees_mean(step: Step) -> bool:
    return any(record_of(leaf).statistics for leaf in singles(step))


def _shows_fewer(step: Step, *, all_of_it: bool) -> bool:
    """Whether a step only turns, cuts or scales an image; `all_of_it`: it cuts nothing off."""
    if step.is_group or effective(step).get("pad_if_needed"):
        return False
    cuts = action_of(step) == "window" or op_record(step.name).resizes == "window"
    return _only_scales(step) and not (all_of_it and cuts)


def _stretches(steps: Steps, flow: Flow) -> Iterator[tuple[int, int, Steps, Steps]]:
    """Where steps begin and end that one resampling may do, these steps, and the colours among them, which come behind.

    Boxes are filtered at the size that they have behind each step, so there no colours are passed. In front of what
    reacts to the difference each resampling is its own.
    """
    behind, samplings = obstacles_from(steps, flow, "RESAMPLES"), 0
    start, stop, warps, colours = 0, 0, Steps(), Steps()
    passes = sees = False  # a warp is among them; and a step that sees the mean is among the colours
    for place, step in enumerate(steps):
        if not joins(step) and not (flow.dtype == "uint8" and _bends(step, steps[place + 1 :])):
            continue
        between = steps[stop:place]
        sees = sees or any(map(_sees_mean, between))
        passes = passes and all(map(_goes_by_pixels, between))
        beside, again = warps and not between and not colours, _samplings(step)
        merges = beside or (passes and _shows_fewer(step, all_of_it=sees))
        if not merges or (samplings and again and behind[place + 1] is not None):
            yield start, stop, warps, colours
            start, warps, colours, between = place, (), (), ()
            passes = sees = False
            samplings = 0
        samplings += again
        stop, warps, colours = place + 1, (*warps, step), (*colours, *between)
        passes = passes or (not flow.boxes and "warp" in map(action_of, singles(step)))
    yield start, stop, warps, colours


def _scales(step: Step) -> bool:
    """Whether a step only scales a window: other warps seldom shrink."""
    return is_single(step) and action_of(step) == "warp" and joins(step) and "area_for_downscale" in effective(step)


@rule(
    "GEOMETRY",
    fires="[{Rotate: {limit: 20, p: 1.0}}, {RandomResizedCrop: {size: [20, 20]}}, HorizontalFlip]",
    leaves="[{RandomSizedCrop: {min_max_height: [9, 12], size: [20, 20], interpolation: area}}, HorizontalFlip, Blur]",
)
def join_warps(steps: Steps, flow: Flow) -> list[Edit]:
    """Warp(A) · Colour · Warp(B) = Warp(A·B) · Colour   one resampling; at 1/k where a sample shrinks by 1.5 k"""
    one, several = obstacles_from(steps, flow, "GEOMETRY"), obstacles_from(steps, flow, "RESAMPLES")
    edits = []
    for start, stop, warps, colours in _stretches(steps, flow):
        behind = several if sum(map(_samplings, warps)) > 1 else one
        if behind[stop] is None and warps and _pays(warps, flow):
            levels = 2 * (not all(map(joins, warps)))
            edits.append(Edit(start, stop, (fuse("JoinedWarps", warps), *colours), levels=levels))
    is_first = not edits or edits[0].start > 0
    if flow.encoded and steps and is_first and _scales(steps[0]) and one[1] is None:  # by the decoder
        edits.insert(0, Edit(0, 1, (fuse("JoinedWarps", steps[:1]),)))
    return edits
