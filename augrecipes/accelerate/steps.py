"""Objects of albumentations as steps: those that a recipe could say as such, all others as the objects they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from augrecipes.compat.albumentations import A
from augrecipes.compiler.rewrite.nodes import ObjectStep
from augrecipes.interop.albumentations import saved_of, written_by
from augrecipes.interop.objects import argument_of, is_known
from augrecipes.ops import groups, registry
from augrecipes.ops.capabilities import capability, claims
from augrecipes.ops.constants import to_name
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.step import Step
from augrecipes.recipe.model import Normalize, Output

_GROUPS = {A.OneOf: groups.ONE_OF, A.SomeOf: groups.SOME_OF, A.RandomOrder: groups.RANDOM_ORDER}
_SEQUENCES = (A.Sequential.__call__, A.Compose.__call__)
_GATED = (groups.SOME_OF, groups.RANDOM_ORDER)  # look at their p once more where OneOf has picked them by it


def flat(transforms: Sequence[Any]) -> list[Any]:
    """The transforms of a pipeline, with those of sequences that always act in the place of these."""
    found = []
    for each in transforms:
        found += flat(each.transforms) if is_sequence(each) and each.p >= 1 else [each]
    return found


def is_sequence(made: Any) -> bool:
    """Whether an object runs its transforms in turn, as albumentations' own sequences do."""
    return type(made).__call__ in _SEQUENCES or getattr(made, "is_open", False)


def step_of(made: Any) -> Step:
    """An object as a step; without a label."""
    name = groups.SEQUENTIAL if is_sequence(made) else _GROUPS.get(type(made))
    if name is not None and made.transforms and not (name == groups.SOME_OF and made.replace):
        return _group(name, made)
    if type(made) is A.OneOrOther:
        weighted = zip(made.transforms, (made.p, 1 - made.p), strict=True)
        return Step(groups.ONE_OF, p=1.0, steps=tuple(_weighted(step_of(each), p) for each, p in weighted))
    return _known_step(made) or object_step(made)


def _group(name: str, made: Any) -> Step:
    inside = tuple(map(step_of, made.transforms))
    if name == groups.ONE_OF:
        inside = tuple(_once(step) for step in inside)
    args = {"n": min(made.n, len(inside))} if name in _GATED else {}
    return Step(name, Arguments(args), float(made.p), steps=inside)


def _once(step: Step) -> Step:
    """A step of OneOf; one that acts less often than it is picked has a group around it with its weight."""
    return Step(groups.SEQUENTIAL, p=step.p, steps=(step,)) if step.name in _GATED and step.p != 1 else step


def _weighted(step: Step, p: float) -> Step:
    if isinstance(step, ObjectStep):
        return Step(groups.SEQUENTIAL, p=p, steps=(step,))
    return Step(step.name, step.args, p, steps=step.steps)


def _known_step(made: Any) -> Step | None:
    """A step that makes an object with the very arguments of this one; None: none is known to."""
    name = type(made).__name__
    if not is_known(type(made)) or name in OUTPUTS or _is_altered(made):
        return None
    saved, takes = saved_of(made), registry.takes(name)
    given = {key: argument_of(name, key, value, saved) for key, value in saved.items() if key in takes}
    if written_by(registry.construct, name, given) != {key: to_name(key, value) for key, value in saved.items()}:
        return None
    return Step(name, Arguments({key: value for key, value in given.items() if key != "p"}), float(made.p))


def _is_altered(made: Any) -> bool:
    """Whether somebody has put functions of their own into an object, or has it note what it draws."""
    return made.deterministic or any(callable(value) and hasattr(type(made), key) for key, value in vars(made).items())


def object_step(made: Any) -> ObjectStep:
    """An object as a step that runs as it is; without a label."""
    name = type(made).__name__
    if capability(name) is not None:
        name = f"{type(made).__module__}.{name}"  # a class of one's own that is called like one of albumentations'
    return ObjectStep(name, p=float(getattr(made, "p", 1.0)), source=made)


def converts(made: Any) -> bool:
    """Whether an object, or one inside it, changes what the dtype or the layout of an image is."""
    name = type(made).__name__
    own = name in OUTPUTS or claims(name).changes_dtype
    return own or any(map(converts, getattr(made, "transforms", ())))


def output_and_rest(transforms: Sequence[Any]) -> tuple[Output, list[Any], list[Any]]:
    """What the first objects behind all steps make of a uint8 image at once, which these are, and the others."""
    output, count = Output(dtype="uint8", layout="hwc"), 0
    for made in transforms:
        if made.p < 1 or _is_altered(made) or (more := _output_behind(output, made)) is None:
            break
        output, count = more, count + 1
    return output, [*transforms[:count]], [*transforms[count:]]


def _output_behind(output: Output, made: Any) -> Output | None:
    """What an image is once an object has acted on such an output; None: no output does that."""
    if output.layout == "chw":
        return None
    if type(made) is A.ToTensorV2:
        return replace(output, layout="chw")
    if output.dtype != "uint8":
        return None
    if type(made) is A.ToFloat:
        return replace(output, dtype="float32", range=(0.0, 255.0 / (made.max_value or 255.0)))
    if type(made) is A.Normalize and made.normalization == "standard":
        mean, std = (tuple(made.max_pixel_value / 255.0 * level for level in _numbers(each))
                     for each in (made.mean, made.std))  # fmt: skip
        return replace(output, dtype="float32", normalize=Normalize(mean, std))
    return None


def _numbers(value: Any) -> list[float]:
    return [float(each) for each in value] if hasattr(value, "__iter__") else [float(value)]
