"""Converts albumentations' objects to steps of recipes, or to steps that hold the object."""

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
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.records import op_record
from augrecipes.ops.step import Arguments, Step
from augrecipes.recipe.model import UINT8_HWC, Normalize, Output

_GROUPS = {A.OneOf: groups.ONE_OF, A.SomeOf: groups.SOME_OF, A.RandomOrder: groups.RANDOM_ORDER}
_SEQUENCES = (A.Sequential.__call__, A.Compose.__call__)


def flat(transforms: Sequence[Any]) -> list[Any]:
    """The transforms of a pipeline, with sequences that always act replaced by their transforms."""
    flattened = []
    for transform in transforms:
        is_open = is_sequence(transform) and transform.p >= 1
        flattened += flat(transform.transforms) if is_open else [transform]
    return flattened


def is_sequence(transform: Any) -> bool:
    """Whether an object runs its transforms in turn, as albumentations' own sequences do."""
    is_accelerated = getattr(transform, "why_not", None) == ""
    return type(transform).__call__ in _SEQUENCES or is_accelerated


def sites_of(transforms: Sequence[Any], group: str = "") -> list[str]:
    """The labels that key the draws of transforms, by the names of their classes."""
    names = [type(transform).__name__ for transform in transforms]
    return [f"{group}{name}#{names[: place + 1].count(name)}" for place, name in enumerate(names)]


def part_sites(transform: Any, site: str) -> Iterator[str]:
    """The labels of the transforms inside a group, in the order of `parts_of`."""
    inside = [] if next(parts_of(transform), None) is None else transform.transforms
    for part, label in zip(inside, sites_of(inside, f"{site}/"), strict=True):
        yield label
        yield from part_sites(part, label)


def step_of(transform: Any, site: str) -> Step:
    """Convert an object to a step with a label."""
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
    """A step of OneOf; a step with its own gate is put into a group with its weight."""
    gated = step.name in groups.GATED and step.p != 1
    return Step(groups.SEQUENTIAL, p=step.p, steps=(step,), site=f"{step.site}/once") if gated else step


def _known_step(transform: Any, site: str) -> Step | None:
    """The step of a recipe that makes an object with the same arguments; None: there is none."""
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
    """Whether methods of an object were replaced by other functions."""
    return any(callable(value) and hasattr(type(transform), key) for key, value in vars(transform).items())


def object_step(transform: Any, site: str) -> ObjectStep:
    """A step that holds an object and runs it as it is."""
    # With its module, so that no rewrite rule takes it for a known class.
    name = f"{type(transform).__module__}.{type(transform).__name__}"
    p = float(getattr(transform, "p", 1.0))
    return ObjectStep(name, p=p, site=site, source=transform, parts=tuple(part_sites(transform, site)))


def converts(transform: Any) -> bool:
    """Whether an object, or one inside it, changes the dtype or the layout of images."""
    name = type(transform).__name__
    own = name in OUTPUTS or op_record(name).changes_dtype
    return own or any(map(converts, getattr(transform, "transforms", ())))


def output_and_last(transforms: Sequence[Any]) -> tuple[Output, tuple[Any, ...]]:
    """The output that the first of these transforms make of a uint8 image together, and those transforms."""
    output, count = UINT8_HWC, 0
    for transform in transforms:
        if transform.p < 1 or _is_altered(transform) or (more := _output_behind(output, transform)) is None:
            break
        output, count = more, count + 1
    return output, tuple(transforms[:count])


def _output_behind(output: Output, transform: Any) -> Output | None:
    """The output after a transform has acted on an output; None: there is no such output."""
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
        constants = transform.mean, transform.std
        mean, std = (tuple(unit * level for level in native_op.flat(values)) for values in constants)
        return replace(output, dtype="float32", normalize=Normalize(mean, std))
    return None
