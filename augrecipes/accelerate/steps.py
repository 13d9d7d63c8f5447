"""Objects of albumentations as steps: those that a recipe could say as such, all others as the objects they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.compat.albumentations import A
from augrecipes.compiler.lowering.lower import parts_of
from augrecipes.compiler.rewrite.nodes import ObjectStep
from augrecipes.interop.albumentations import resolved_arguments, saved_arguments
from augrecipes.interop.objects import argument_of, is_known
from augrecipes.ops import groups, native_op, registry
from augrecipes.ops.constants import to_name
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.records import op_record
from augrecipes.ops.step import Step
from augrecipes.recipe.model import UINT8_HWC, Normalize, Output

_GROUPS = {A.OneOf: groups.ONE_OF, A.SomeOf: groups.SOME_OF, A.RandomOrder: groups.RANDOM_ORDER}
_SEQUENCES = (A.Sequential.__call__, A.Compose.__call__)


def flat(transforms: Sequence[Any]) -> list[Any]:
    """The transforms of a pipeline, with those of sequences that always act in the place of these."""
    transforms_in_turn = []
    for each in transforms:
        transforms_in_turn += flat(each.transforms) if is_sequence(each) and each.p >= 1 else [each]
    return transforms_in_turn


def is_sequence(transform: Any) -> bool:
    """Whether an object runs its transforms in turn, as albumentations' own sequences do."""
    is_accelerated = getattr(transform, "why_not", None) == ""
    return type(transform).__call__ in _SEQUENCES or is_accelerated  # step by step


def sites_of(transforms: Sequence[Any], group: str = "") -> list[str]:
    """The labels that key the draws of some transforms, by their classes' names: of what runs natively or not."""
    names = [type(transform).__name__ for transform in transforms]
    return [f"{group}{name}#{names[: place + 1].count(name)}" for place, name in enumerate(names)]


def part_sites(transform: Any, site: str) -> Iterator[str]:
    """The labels of the transforms in a group that bears a label, and of those in them, as `parts_of` has these."""
    inside = [] if next(parts_of(transform), None) is None else transform.transforms
    for part, label in zip(inside, sites_of(inside, f"{site}/"), strict=True):
        yield label
        yield from part_sites(part, label)


def step_of(transform: Any, site: str) -> Step:
    """An object as a step with a label."""
    name = groups.SEQUENTIAL if is_sequence(transform) else _GROUPS.get(type(transform))
    if name is not None and not transform.transforms:
        return Step(groups.NO_OP, p=0.0, site=site)
    if name is None or getattr(transform, "replace", False):
        return (_known_step(transform, site) if name is None else None) or object_step(transform, site)
    inside = tuple(map(step_of, transform.transforms, sites_of(transform.transforms, f"{site}/")))
    if name == groups.ONE_OF:
        inside = tuple(_once(step) for step in inside)
    args = {"n": min(transform.n, len(inside))} if name in groups.GATED else {}
    return Step(name, Arguments(args), float(transform.p), steps=inside, site=site)


def _once(step: Step) -> Step:
    """A step of OneOf; one that acts less often than it is picked has a group around it with its weight."""
    gated = step.name in groups.GATED and step.p != 1
    return Step(groups.SEQUENTIAL, p=step.p, steps=(step,), site=f"{step.site}/once") if gated else step


def _known_step(transform: Any, site: str) -> Step | None:
    """A step that makes an object with the very arguments of this one; None: none is known to."""
    name = type(transform).__name__
    if not is_known(type(transform)) or name in OUTPUTS or _is_altered(transform):
        return None
    saved, takes = saved_arguments(transform), registry.takes(name)
    arguments = {key: argument_of(name, key, value, saved) for key, value in saved.items() if key in takes}
    if resolved_arguments(registry.construct, name, arguments) != {
        key: to_name(key, value) for key, value in saved.items()
    }:
        return None
    args = Arguments({key: value for key, value in arguments.items() if key != "p"})
    return Step(name, args, float(transform.p), site=site)


def _is_altered(transform: Any) -> bool:
    """Whether somebody has put functions of their own into an object."""
    return any(callable(value) and hasattr(type(transform), key) for key, value in vars(transform).items())


def object_step(transform: Any, site: str) -> ObjectStep:
    """An object as a step that runs as it is."""
    name = f"{type(transform).__module__}.{type(transform).__name__}"  # no name that rules know
    p = float(getattr(transform, "p", 1.0))
    return ObjectStep(name, p=p, site=site, source=transform, parts=tuple(part_sites(transform, site)))


def converts(transform: Any) -> bool:
    """Whether an object, or one inside it, changes what the dtype or the layout of an image is."""
    name = type(transform).__name__
    own = name in OUTPUTS or op_record(name).changes_dtype
    return own or any(map(converts, getattr(transform, "transforms", ())))


def output_and_last(transforms: Sequence[Any]) -> tuple[Output, tuple[Any, ...]]:
    """What the first objects behind all steps make of a uint8 image at once, and these."""
    output, count = UINT8_HWC, 0
    for transform in transforms:
        if transform.p < 1 or _is_altered(transform) or (more := _output_behind(output, transform)) is None:
            break
        output, count = more, count + 1
    return output, tuple(transforms[:count])


def _output_behind(output: Output, transform: Any) -> Output | None:
    """What an image is once an object has acted on such an output; None: no output does that."""
    if output.layout == "chw":
        return None
    if type(transform) is A.ToTensorV2:
        return replace(output, layout="chw")
    if output.dtype != "uint8":
        return None
    if type(transform) is A.ToFloat:
        return replace(output, dtype="float32", range=(0.0, 255.0 / (transform.max_value or 255.0)))
    if type(transform) is A.Normalize and transform.normalization == "standard":
        unit = transform.max_pixel_value / 255.0
        mean, std = (tuple(unit * level for level in native_op.flat(each)) for each in (transform.mean, transform.std))
        return replace(output, dtype="float32", normalize=Normalize(mean, std))
    return None
