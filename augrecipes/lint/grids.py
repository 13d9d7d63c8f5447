"""Lints of pairs and further targets: steps after which images no longer show one scene, and steps of high cost."""

from collections.abc import Iterator

from augrecipes.errors import Fix
from augrecipes.lint.record import REMOVE, Finding, Findings, by_target, moves, rule, sections
from augrecipes.ops import groups, intervals, ranges, records, registry
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.targets import coarsest_cell

# Other borders (mirrored about the edge, wrapped, constant) look the same on every grid.
_MISALIGNED = {
    "reflect_101": "mirrors about the middle of the edge pixel, which lies elsewhere on every grid",
    "replicate": "repeats the edge pixel, which is wider on a coarser grid",
}


@rule("L204", "resampled-pair", "error")
def resampled_pair(recipe: Recipe) -> Findings:
    """Find steps that interpolate on two or more targets of a pair; steps inside Degrade may."""
    for step, named, _, _ in () if recipe.allow_resampling else by_target(recipe):
        if len(named) > 1 and records.op_record(step.name).resamples_targets:
            message = f"{step.name} resamples aligned targets; use crops and flips, or write `allow_resampling: true`"
            yield Finding(message, step, fixes=(Fix("key", "allow_resampling: true"),))


@rule("L206", "unaligned-pair", "error")
def unaligned_pair(recipe: Recipe) -> Findings:
    """Find geometric steps that leave out a target, and geometric steps inside Degrade."""
    for step, named, _, _ in by_target(recipe):
        others = [name for name in recipe.scales if name not in named]
        if others and moves(step):
            fixes = REMOVE if step.target else ()
            yield Finding(_unaligned(step, ", ".join(named), ", ".join(others)), step, "target", fixes)
    for degrade in (step for steps in sections(recipe) for step in steps if step.name == groups.DEGRADE):
        for step in (inner for child in degrade.steps for inner in child.walk()):
            if moves(step) and records.op_record(step.name).resizes != "whole":  # on the way to the target's size
                message = _unaligned(step, degrade.args["target"], degrade.args["source"])
                yield Finding(f"{message}; put it before the Degrade", step)


def _unaligned(step: Step, moved: str, left: str) -> str:
    return f"{step.name} moves the pixels of {moved} but not of {left}: they no longer show one scene"


@rule("L207", "misaligned-pad", "error")
def misaligned_pad(recipe: Recipe) -> Findings:
    """Find crops with `pad_if_needed: true` on several targets whose padding differs from grid to grid."""
    for step, named, _, _ in by_target(recipe):
        values = registry.effective(step) if len(named) > 1 and registry.chance(step) > 0 else {}
        border = values.get("border_mode")
        if values.get("pad_if_needed") and border in _MISALIGNED:
            fixes = (Fix("set", "border_mode: reflect"),)
            yield Finding(f"{border} {_MISALIGNED[border]}; write `border_mode: reflect`", step, "border_mode", fixes)


@rule("L208", "unshareable-pair", "error")
def unshareable_pair(recipe: Recipe) -> Findings:
    """Find steps on several targets whose random parameters are places or maps in pixels of one image."""
    for step, named, present, _ in by_target(recipe):
        record = records.op_record(step.name)
        if not record.is_known or registry.chance(step) <= 0:
            continue
        shared = named if record.resamples_targets else present
        if len(shared) < 2 or (record.resamples_targets and not recipe.allow_resampling):  # L204 reports the latter
            continue
        if registry.record_of(step).grids == "never":
            yield Finding(_unshareable(step), step)


def _unshareable(step: Step) -> str:
    if records.op_record(step.name).resamples_targets:
        names = ", ".join(records.rescalable())
        return f"{step.name} cannot be carried from one grid to another; steps that can: {names}"
    if records.op_record(step.name).effect == "padding":
        return f"{step.name} pads images on their own; write `pad_if_needed: true, border_mode: reflect` on the crop"
    fix = "use windows, flips and quarter turns" if moves(step) else "limit it to one target with `target:`"
    return f"{step.name} samples each pixel, or places in pixels, of one image; {fix}"


@rule("L209", "unequal-pair")
def unequal_pair(recipe: Recipe) -> Findings:
    """Find steps on several targets that are sized in pixels, interpolate, or read each target's statistics."""
    for step, _, present, _ in by_target(recipe):
        record = records.op_record(step.name)
        if not record.is_known or len(present) < 2 or registry.chance(step) <= 0 or ranges.is_neutral(step):
            continue
        if registry.record_of(step).grids == "alike":
            has_statistics = registry.record_of(step).statistics
            effect = "reads each target's own statistics" if has_statistics else "works in pixels of each grid"
            message = f"{step.name} {effect}, so {', '.join(present)} change differently; limit it with `target:`"
            yield Finding(message, step)


@rule("L402", "degrade-before-crop")
def degrade_before_crop(recipe: Recipe) -> Findings:
    """Find shared crops after a Degrade, which degrade a whole image to throw most of it away."""
    for step, named, _, degrade in by_target(recipe):
        if degrade and records.op_record(step.name).action == "window" and len(named) > 1 and registry.chance(step) > 0:
            image = f"what the Degrade in line {degrade.position.line} has made of the whole image"
            yield Finding(f"{step.name} cuts {image}; put it before the Degrade", step)


def _acting(recipe: Recipe) -> Iterator[Step]:
    """The steps that may act, of a recipe with further targets."""
    for step in recipe.walk() if recipe.targets else ():
        if not step.is_group and registry.chance(step) > 0 and not ranges.is_neutral(step):
            yield step


@rule("L607", "bent-target", "error")
def bent_target(recipe: Recipe) -> Findings:
    """Find steps whose geometry is no matrix, with targets that hold directions or lie on another grid."""
    turned = [name for name, target in recipe.targets.items() if target.has_directions]
    scaled = [name for name, target in recipe.targets.items() if target.factor != 1]
    names = ", ".join(dict.fromkeys([*turned, *scaled]))
    for step in _acting(recipe) if names else ():
        record = records.op_record(step.name)
        if record.has_matrix or (record.is_known and not record.moves) or registry.is_image_only(step.name):
            continue
        effect = "moves pixels by no 3×3 matrix" if record.is_known else "may move pixels in an unknown way"
        reason = "vectors and normals turn by a matrix" if turned else "another grid needs a matrix"
        remedy = "use Affine or Perspective, or leave it out"
        message = f"{step.name} {effect}, and {names} cannot follow: {reason}; {remedy}"
        yield Finding(message, step, fixes=REMOVE)


@rule("L608", "off-grid-target", "error")
def off_grid_target(recipe: Recipe) -> Findings:
    """Find crops that are no whole pixels of a coarser target, and pixel maps that targets on other grids share."""
    cell = coarsest_cell(recipe.targets)
    scaled = [name for name, target in recipe.targets.items() if target.is_image and target.factor != 1]
    shared = [name for name in scaled if recipe.targets[name].share == "all"]
    for step in _acting(recipe):
        record, values = registry.record_of(step), registry.effective(step)
        for name in record.pixels if cell > 1 else ():
            if wrong := [number for number in intervals.numbers([values.get(name)]) if number % cell]:
                message = f"{wrong[0]:g} px are not whole pixels of the coarsest target; write multiples of {cell}"
                yield Finding(message, step, name)
        maps = record.grids == "never" and record.is_known and "mask" not in record.targets
        if shared and maps:
            message = f"{step.name} draws places or maps in pixels of the image, which do not fit {', '.join(shared)}"
            yield Finding(f"{message} on another grid; write `share: geometry`, so that each has its own", step)
        elif scaled and record.hides and (record.effect == "noise" or isinstance(values.get("fill"), str)):
            remedy = "write a number as its `fill`, or leave it out"
            yield Finding(f"{step.name} cannot hide pixels of {', '.join(scaled)} on another grid; {remedy}", step)
