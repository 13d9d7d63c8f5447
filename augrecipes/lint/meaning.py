"""Lints L1xx: steps that cannot mean what they say; L5xx: unclear style; L6xx: masks, boxes and keypoints."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from augrecipes.errors import Fix
from augrecipes.lint.record import REMOVE, Finding, Findings, acting, along, on_one_grid, rule, sections
from augrecipes.ops import constants, groups, ranges, sizes
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance, effective
from augrecipes.recipe.checks import other_default
from augrecipes.recipe.inputs import MaskLabels
from augrecipes.recipe.model import Recipe, Step

_ALWAYS = (Fix("set", "p: 1.0"),)
_IGNORED = 255  # the label that segmentation losses ignore by convention


@rule("L101", "random-in-eval", "error")
def random_in_eval(recipe: Recipe) -> Findings:
    """Find the innermost steps and groups of `eval` that draw at random."""
    for step in recipe.eval or ():
        yield from _random(step, weighted=False)


def _random(step: Step, weighted: bool) -> Findings:
    p = chance(step)
    if p <= 0:
        return
    # In OneOf `p` is a weight, not a gate.
    if p < 1 and not weighted:
        default = "" if step.p is not None or step.is_group else " by default"
        message = f"{step.name} acts with p = {p:g}{default}; in eval write `p: 1.0` or leave it out"
        yield Finding(message, step, "p", _ALWAYS)
    elif step.is_group:
        able = [child for child in step.steps if chance(child) > 0]
        if step.name == groups.ONE_OF and len(able) > 1:
            yield Finding(f"OneOf picks one of {len(able)} steps at random; in eval name the one step", step)
        elif step.name == groups.RANDOM_ORDER and len(able) > 1:
            yield Finding("RandomOrder shuffles its steps; in eval use Sequential", step)
        elif step.name == groups.SOME_OF and (step.args.get("replace") or step.args.get("n") != len(step.steps)):
            yield Finding("SomeOf picks its steps at random; in eval use Sequential", step)
        else:
            for child in able:
                yield from _random(child, weighted=step.name == groups.ONE_OF)
    elif step.name == groups.DEGRADE:
        for child in step.steps:
            yield from _random(child, weighted=False)
    elif ranges.makes_draws(step):
        fixed = op_record(step.name).instead
        hint = f"; use {fixed}" if fixed else "; give each range one value, or leave the step out"
        fixes = (Fix("word", fixed), *REMOVE) if fixed else REMOVE
        yield Finding(f"{step.name} is random, so two evaluations differ{hint}", step, fixes=fixes)


@rule("L102", "missing-eval")
def missing_eval(recipe: Recipe) -> Findings:
    """Find recipes without `eval:`; reported at the first step."""
    if recipe.eval is None:
        first = recipe.steps[0] if recipe.steps else None
        message = "no `eval:`, so mode='eval' cannot run; `eval: derived` takes the random steps out"
        yield Finding(message, first, fixes=(Fix("key", "eval: derived"),))


@rule("L103", "never-acts")
def never_acts(recipe: Recipe) -> Findings:
    """Find steps whose `p` is 0, and steps whose ranges all have no effect."""
    for step in recipe.walk():
        if chance(step) <= 0:
            yield Finding(f"{step.name} never runs: its p is 0", step, "p", (*_ALWAYS, *REMOVE))
        elif ranges.is_neutral(step):
            first = next(iter(step.args), None)
            why = " with its default arguments; give it a range" if first is None else ": all its ranges are neutral"
            yield Finding(f"{step.name} changes nothing{why}", step, first, REMOVE)


@rule("L104", "unreachable")
def unreachable(recipe: Recipe) -> Findings:
    """Find resizes and pads to a size that all images have already."""
    for steps in on_one_grid(recipe):
        maker = ""
        for step, size, result in along(recipe, steps):
            record = op_record(step.name)
            to_size = record.size in (sizes.to_sides, sizes.pad_to) and record.resizes != "window"
            if to_size and size.exact and acting(step, size) == size:
                reason = f"after {maker} every image is {size.low[0]:g} × {size.low[1]:g}"
                yield Finding(f"{step.name} has nothing to do: {reason}", step, None, REMOVE)
            elif result != size:
                maker = step.name


@rule("L501", "integer-constant", advice=True)
def integer_constant(recipe: Recipe) -> Findings:
    """Find interpolations and border modes that are given as OpenCV's numbers."""
    for step in recipe.walk():
        for argument in constants.TABLES:
            value = step.args.get(argument)
            for number in value.values() if isinstance(value, Mapping) else [value]:
                name = None if isinstance(number, bool) else constants.to_name(argument, number)
                if isinstance(number, int) and isinstance(name, str):
                    message = f"write `{name}` for {step.name}.{argument}, not OpenCV's {number}"
                    fixes = () if isinstance(value, Mapping) else (Fix("set", f"{argument}: {name}"),)
                    yield Finding(message, step, argument, fixes)


@rule("L502", "implicit-weights")
def implicit_weights(recipe: Recipe) -> Findings:
    """Find OneOf groups with unequal weights of which at least one is a class's default."""
    for group in recipe.walk():
        weights = [chance(child) for child in group.steps]
        if group.name != groups.ONE_OF or len(set(weights)) < 2 or all(child.p is not None for child in group.steps):
            continue
        total = sum(weights)
        odds = ", ".join(f"{step.name} {weight / total:.0%}" for step, weight in zip(group.steps, weights, strict=True))
        yield Finding(f"in OneOf a child's p is its weight, and defaults differ ({odds}); give every child a p", group)


@rule("L503", "equal-steps", advice=True)
def equal_steps(recipe: Recipe) -> Findings:
    """Find the second and later steps of one name in a list, without an id."""
    for steps in (*sections(recipe), *(group.steps for group in recipe.walk())):
        seen: dict[str, int] = {}
        for step in steps:
            if step.id is not None or not _draws(step):
                continue
            count = seen[step.name] = seen.get(step.name, 0) + 1
            if count > 1:
                times = {2: "twice", 3: "three times"}.get(count, "several times")
                changes = "adding or removing one changes the random parameters of the others"
                yield Finding(f"{step.name} stands here {times}; give each an `id`, or {changes}", step)


def _draws(step: Step) -> bool:
    return 0 < chance(step) < 1 or step.is_group or ranges.makes_draws(step)


@rule("L504", "group-defaults")
def group_defaults(recipe: Recipe) -> Findings:
    """Find the first group whose default differs from albumentations', where OpenCV's integers show the origin."""
    default = other_default(recipe) if any(integer_constant(recipe)) else None
    if default:
        step, message, fix = default
        yield Finding(message, step, fixes=(fix,))


@rule("L601", "missing-target", "error")
def missing_target(recipe: Recipe) -> Findings:
    """Find steps that read boxes or masks which samples do not have."""
    for step in recipe.walk():
        needs = op_record(step.name).needs if chance(step) > 0 else None
        if needs and not recipe.facts.annotated:
            targets = "boxes" if needs == "boxes" else "a mask"
            yield Finding(f"{step.name} needs {targets}, and recipes of kind {recipe.kind} have images only", step)
        elif needs == "boxes" and recipe.inputs.boxes is None:
            yield Finding(f"{step.name} needs boxes; declare them, such as `inputs: {{boxes: pascal_voc}}`", step)
        elif needs == "mask" and recipe.inputs.mask == "absent":
            yield Finding(f"{step.name} needs a mask, and the recipe says there is none; write `mask: required`", step)


@rule("L602", "mask-interpolation")
def mask_interpolation(recipe: Recipe) -> Findings:
    """Find interpolations that blend the class ids of a mask."""
    if recipe.inputs.mask == "absent" or not recipe.facts.annotated:
        return
    for step in recipe.walk():
        name = constants.to_name("mask_interpolation", step.args.get("mask_interpolation"))
        if name not in (None, "nearest", "nearest_exact"):
            message = f"`{name}` blends the ids of a mask into classes that are not there; leave it at `nearest`"
            yield Finding(message, step, "mask_interpolation", REMOVE)


@rule("L603", "left-behind")
def left_behind(recipe: Recipe) -> Findings:
    """Find steps that move pixels of the image only, where masks, boxes or keypoints are declared."""
    inputs = recipe.inputs
    annotated = inputs.mask == "required" or inputs.boxes is not None or inputs.keypoints is not None
    for step in recipe.walk() if annotated else ():
        if op_record(step.name).displaces and chance(step) > 0:
            message = f"{step.name} moves pixels, and masks, boxes and keypoints stay where they are; leave it out"
            yield Finding(message, step, None, REMOVE)


@rule("L604", "mirrored-points")
def mirrored_points(recipe: Recipe) -> Findings:
    """Find the first flip of keypoints with labels or fixed rows, without `flip_pairs`."""
    points = recipe.inputs.keypoints
    if points is not None and points.flip_pairs is None and (points.labels or not points.remove_invisible):
        turns = (step for step in recipe.walk() if chance(step) > 0 and op_record(step.name).action == "dihedral")
        for step in [step for step in turns if not op_record(step.name).is_rotation][:1]:
            yield Finding(f"{step.name} mirrors points, not their names; write `flip_pairs:` for `keypoints`", step)


@rule("L605", "bent-angles")
def bent_angles(recipe: Recipe) -> Findings:
    """Find the first elastic or grid distortion, where keypoints have angles."""
    points = recipe.inputs.keypoints
    if points is not None and "a" in points.format:
        bends = (step for step in recipe.walk() if chance(step) > 0 and op_record(step.name).effect == "field")
        for step in [*bends][:1]:
            yield Finding(f"{step.name} bends images, but no angles; leave it out, or declare `format: xy`", step)


@rule("L606", "ignored-as-class")
def ignored_as_class(recipe: Recipe) -> Findings:
    """Find borders of masks filled with 0, where another step or the inputs use 255 for ignored pixels."""
    steps = (*recipe.walk(), *(step for top in recipe.batch for step in top.walk()))
    fills = ((step.name, step.args.get("fill_mask"), *step.args.get("background", ())) for step in steps)
    source = next((name for name, *values in fills if _IGNORED in values or (_IGNORED,) in values), "")
    labels = [label for _, label in (recipe.inputs.mask_labels or MaskLabels()).values]
    source = source or ("`values:` of masks" if _IGNORED in labels and len(labels) > 1 else "")
    for step in _zero_borders(recipe) if source else ():
        message = f"{step.name} fills masks with class 0 where the image ends, and {source} calls 255 ignored"
        yield Finding(f"{message}; write `fill_mask: 255`", step, "fill_mask", (Fix("set", "fill_mask: 255"),))


def _zero_borders(recipe: Recipe) -> Iterator[Step]:
    """The steps that show the outside of an image and fill masks there with class 0."""
    for step in recipe.walk() if recipe.inputs.mask != "absent" and recipe.facts.annotated else ():
        values = effective(step)
        shows = values.get("border_mode") == "constant" and values.get("pad_if_needed") is not False
        acts = chance(step) > 0 and not ranges.is_neutral(step) and not values.get("crop_border")
        if shows and acts and values.get("fill_mask") in (0, [0], (0,)):
            yield step


def mask_hint(recipe: Recipe, masks: Iterable[Any]) -> list[str]:
    """Run L606 by the data: a hint, if masks H×W of classes hold 255 and a step fills their borders with 0.

    >>> from augrecipes.recipe.parse import parse_text
    >>> import numpy as np
    >>> recipe = parse_text("{version: 1, recipe: t, steps: [Rotate]}")
    >>> mask_hint(recipe, [np.array([[1, 255]])])
    ['masks hold 255, which losses ignore, and get class 0 from Rotate; write `fill_mask: 255`']
    >>> mask_hint(recipe, [np.array([[0, 255]])])  # 255 is the foreground
    []
    """
    names = list(dict.fromkeys(step.name for step in _zero_borders(recipe) if "L606" not in step.ignored))
    if names and any(mask.max(initial=0) == _IGNORED and ((mask > 0) & (mask < _IGNORED)).any() for mask in masks):
        return [f"masks hold 255, which losses ignore, and get class 0 from {', '.join(names)}; write `fill_mask: 255`"]
    return []
