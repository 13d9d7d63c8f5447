"""Variants of a recipe that show one thing at a time: where pixels go, or what becomes of colours.

A step that is left out becomes a NoOp with the same label and probability, so that groups choose as before and every
other step draws as before. Rules see NoOps, not the steps they stand for: they may join more than in the recipe itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from augrecipes.ops.capabilities import capability
from augrecipes.ops.registry import default_p, get_class
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Keypoints, Mode, Output, Recipe, Step

# These change every target, and move no pixel.
_IN_PLACE = frozenset(
    {
        "Morphological", "CoarseDropout", "ConstrainedCoarseDropout", "Erasing", "GridDropout", "MaskDropout",
        "PixelDropout", "XYMasking", "TimeMasking", "FrequencyMasking",
    }
)  # fmt: skip
_RAW = Output(dtype="float32", layout="hwc")
_BYTES = Output(dtype="uint8", layout="hwc")


def moves_pixels(step: Step) -> bool:
    """Whether a step (no group) puts pixels elsewhere.

    >>> moves_pixels(Step("RandomCrop")), moves_pixels(Step("ColorJitter")), moves_pixels(Step("CoarseDropout"))
    (True, False, False)
    """
    if step.name == "ResizeToTarget":
        return True
    record = capability(step.name)
    if record is not None:
        return "mask" in record.targets and step.name not in _IN_PLACE
    import albumentations as A

    return issubclass(get_class(step.name), A.DualTransform)


def only_moves(recipe: Recipe, mode: Mode, *, bytes_out: bool = False) -> Recipe:
    """The recipe without the steps that leave pixels in their place.

    Args:
        recipe: of any kind.
        mode: the section that is changed.
        bytes_out: give uint8, 0..255; else float32, 0..1. H×W×C either way.
    """
    return _kept(recipe, mode, moves_pixels, _BYTES if bytes_out else _RAW)


def only_colours(recipe: Recipe, mode: Mode) -> Recipe:
    """The recipe without the steps that move pixels; its output stays as it is."""
    kept = _kept(recipe, mode, lambda step: not moves_pixels(step), recipe.output)
    return replace(kept, inputs=replace(recipe.inputs, min_size=None, mask="optional", boxes=None, keypoints=None))


def has_colours(recipe: Recipe, mode: Mode) -> bool:
    """Whether some step leaves pixels in their place."""
    steps = [step for top in recipe.section(mode) or () for step in top.walk()]
    return any(not step.steps and step.name != "NoOp" and not moves_pixels(step) for step in steps)


def with_free_points(recipe: Recipe) -> Recipe:
    """The recipe with boxes and keypoints declared so that none is dropped or cut."""
    inputs: Inputs = recipe.inputs
    boxes = Boxes(labels="box_labels") if inputs.boxes else None
    keypoints = Keypoints(labels="point_labels", remove_invisible=False) if inputs.keypoints else None
    return replace(recipe, inputs=replace(inputs, boxes=boxes, keypoints=keypoints))


def _kept(recipe: Recipe, mode: Mode, keep: Callable[[Step], bool], output: Output) -> Recipe:
    steps = tuple(_without(step, keep) for step in recipe.section(mode) or ())
    outputs = recipe.outputs if output is recipe.output else Arguments()
    changed = replace(recipe, output=output, outputs=outputs)
    return replace(changed, steps=steps) if mode == "train" else replace(changed, eval=steps)


def _without(step: Step, keep: Callable[[Step], bool]) -> Step:
    if step.steps:
        return replace(step, steps=tuple(_without(child, keep) for child in step.steps))
    if keep(step):
        return step
    p = default_p(step.name) if step.p is None else step.p
    return replace(step, name="NoOp", args=Arguments(), places=Arguments(), p=p)
