"""L6 of further targets of a scene (`targets:`): steps that cannot carry them along."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.lint.record import REMOVE, Finding, Findings, rule
from augrecipes.ops.intervals import numbers
from augrecipes.ops.ranges import is_neutral
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance, effective, is_image_only, record_of
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.targets import coarsest_cell


def _acting(recipe: Recipe) -> Iterator[Step]:
    """The steps of a recipe with further targets that may do something."""
    for step in recipe.walk() if recipe.targets else ():
        if not step.is_group and chance(step) > 0 and not is_neutral(step):
            yield step


@rule("L607", "bent-target", "error")
def bent_target(recipe: Recipe) -> Findings:
    """Steps whose geometry is no matrix, with targets whose values turn, or that lie on another grid."""
    turned = [name for name, target in recipe.targets.items() if target.has_directions]
    scaled = [name for name, target in recipe.targets.items() if target.factor != 1]
    names = ", ".join(dict.fromkeys([*turned, *scaled]))
    for step in _acting(recipe) if names else ():
        record = op_record(step.name)
        if record.has_matrix or (record.is_known and not record.moves) or is_image_only(step.name):
            continue
        how = "moves pixels by no 3×3 matrix" if record.is_known else "may move pixels, and nothing is known of how"
        cure = "vectors and normals turn by one" if turned else "another grid needs one"
        message = f"{step.name} {how}, and {names} cannot follow: {cure}; use Affine or Perspective, or leave it out"
        yield Finding(message, step, fixes=REMOVE)


@rule("L608", "off-grid-target", "error")
def off_grid_target(recipe: Recipe) -> Findings:
    """Windows that are no whole pixels of a coarser target; draws in pixels of the image, with one on another grid."""
    cell = coarsest_cell(recipe.targets)
    scaled = [name for name, one in recipe.targets.items() if one.is_image and one.factor != 1]
    shared = [name for name in scaled if recipe.targets[name].share == "all"]
    for step in _acting(recipe):
        record, values = record_of(step), effective(step)
        for name in record.pixels if cell > 1 else ():
            if wrong := [number for number in numbers([values.get(name)]) if number % cell]:
                message = f"{wrong[0]:g} px are no whole pixels of the coarsest target; write multiples of {cell}"
                yield Finding(message, step, name)
        maps = record.grids == "never" and record.is_known and "mask" not in record.targets
        if shared and maps:
            message = f"{step.name} draws places or maps in pixels of the image, which do not fit {', '.join(shared)}"
            yield Finding(f"{message} on another grid; write `share: geometry`, so that each has its own", step)
        elif scaled and record.hides and (record.effect == "noise" or isinstance(values.get("fill"), str)):
            cure = "write a number as its `fill`, or leave it out"
            yield Finding(f"{step.name} cannot hide pixels of {', '.join(scaled)} on another grid; {cure}", step)
