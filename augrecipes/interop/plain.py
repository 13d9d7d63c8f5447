"""A recipe as albumentations alone would carry it out: its own groups and defaults, Normalize and ToTensorV2.

`to_albumentations` builds it, `code` writes it down; both take the steps from `equivalent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from augrecipes.compat.albumentations import A
from augrecipes.errors import RecipeError
from augrecipes.interop.last_step import ToOutput
from augrecipes.ops import groups
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.outputs import NORMALIZE, TO_FLOAT, TO_TENSOR
from augrecipes.ops.registry import chance, plain
from augrecipes.recipe.model import Inputs, Mode, Output, Recipe, Step

# Groups of albumentations that look at their own p once more where OneOf has picked them by it.
_GATED = (groups.SOME_OF, groups.RANDOM_ORDER)
# What BboxParams and KeypointParams are given beside the format and the labels.
_OF_BOXES = ("min_area", "min_visibility", "min_width", "min_height", "clip")
_OF_POINTS = ("remove_invisible",)


def equivalent(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with what albumentations' groups need to do the same: p and n written out, weights that are no gates.

    >>> some = Step("SomeOf", p=0.4, steps=(Step("Blur"),))
    >>> equivalent([Step("OneOf", steps=(some,))])[0].steps[0].name
    'Sequential'
    """
    return tuple(_equivalent(step) for step in steps)


def _equivalent(step: Step) -> Step:
    if not step.is_group:
        return step
    inside = equivalent(step.steps)
    args: dict[str, Any] = {}
    if step.name in _GATED:
        args = {"n": int(step.args.get("n", len(inside) if step.name == groups.RANDOM_ORDER else 1))}
        if step.args.get("replace"):
            args["replace"] = True
    if step.name == groups.ONE_OF:
        inside = tuple(_picked(child) for child in inside)
    return replace(step, args=Arguments(args), p=chance(step), steps=inside)


def _picked(child: Step) -> Step:
    """A step of OneOf, whose p is its weight and nothing else."""
    if child.name in _GATED and child.p != 1:
        inner = replace(child, p=1.0)
        return replace(child, name=groups.SEQUENTIAL, args=Arguments(), steps=(inner,))
    only = child.steps[0] if child.name == groups.SEQUENTIAL and len(child.steps) == 1 else None
    return only if only is not None and only.name in _GATED and only.p == child.p else child


def transform(step: Step) -> Any:
    """One step of `equivalent` as albumentations' object, with everything inside it."""
    if not step.is_group:
        return plain(step)
    return getattr(A, step.name)([transform(child) for child in step.steps], **step.args.plain(), p=step.p)


def last_steps(output: Output) -> list[tuple[str, dict[str, Any]]]:
    """What stands for the output: names of classes and their arguments.

    >>> last_steps(Output())
    [('ToFloat', {}), ('ToTensorV2', {})]
    """
    found: list[tuple[str, dict[str, Any]]] = []
    scaled = output.dtype != "uint8" and output.where == "host"
    if output.where == "host" and (output.color != "rgb" or output.dtype == "float16"):
        found.append((ToOutput.__name__, ToOutput.arguments_of(output)))
    elif scaled and output.normalize is not None:
        mean, std = output.normalize.mean, output.normalize.std
        found.append((NORMALIZE, {"mean": mean, "std": std}))
    elif scaled and output.range == (0.0, 1.0):
        found.append((TO_FLOAT, {}))
    elif scaled:
        low, high = output.range
        span = high - low
        found.append(
            (NORMALIZE, {"mean": (-low / span,) * 3, "std": (1 / span,) * 3}) if low else (TO_FLOAT, {"max_value": 1.0})
        )
    if output.layout == "chw":
        found.append((TO_TENSOR, {}))
    return found


def last_of(output: Output) -> list[Any]:
    """The objects that stand for the output."""
    return [output_class(name)(**args) for name, args in last_steps(output)]


def output_class(name: str) -> Any:
    """A class of `last_steps`, ours or albumentations'."""
    return ToOutput if name == ToOutput.__name__ else getattr(A, name)


def params_of(inputs: Inputs) -> dict[str, dict[str, Any]]:
    """What albumentations' BboxParams and KeypointParams take, by the argument of Compose."""
    params: dict[str, dict[str, Any]] = {}
    for name, each, others in (
        ("bbox_params", inputs.boxes, _OF_BOXES),
        ("keypoint_params", inputs.keypoints, _OF_POINTS),
    ):
        if each is not None:
            labels = [each.labels] if each.labels else None
            rest = {key: getattr(each, key) for key in others}
            params[name] = {"format": each.format, "label_fields": labels, **rest}
    return params


PARAMS = {"bbox_params": A.BboxParams, "keypoint_params": A.KeypointParams}


def processors_of(inputs: Inputs) -> dict[str, Any]:
    """Albumentations' own parameters for boxes and points."""
    return {key: PARAMS[key](**given) for key, given in params_of(inputs).items()}


def to_albumentations(recipe: Recipe, mode: Mode = "train") -> Any:
    """A recipe as an `A.Compose`: see `Recipe.to_albumentations`."""
    steps = recipe.section(mode)
    if steps is None:
        raise RecipeError(f"{recipe.file}: the recipe has no `eval:` section; write `eval: derived`, or `eval: []`")
    refuse_several(recipe)
    made = [transform(step) for step in equivalent(steps)]
    return A.Compose([*made, *last_of(recipe.output)], **processors_of(recipe.inputs))


def refuse_several(recipe: Recipe) -> None:
    """RecipeError where a sample is more than one Compose can carry out."""
    if recipe.facts.scales or any(step.share == "bag" for step in recipe.walk()):
        what = "several images of one scene" if recipe.facts.scales else "tiles that share draws"
        raise RecipeError(
            f"{recipe.name}: one Compose of albumentations cannot carry out {what}: run the recipe as it is, by "
            "`recipe.compile()` or a dataset, or write one without what the images share"
        )
