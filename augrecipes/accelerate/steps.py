"""Objects of albumentations as steps: those that a recipe could say as such, all others as the objects they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.compat.albumentations import A
from augrecipes.compiler.lowering.lower import parts_of
from augrecipes.compiler.rewrite.nodes import ObjectStep
from augrecipes.interop.albumentations import saved_of, written_by
from augrecipes.interop.objects import argument_of, is_known
from augrecipes.ops import groups, registry
from augrecipes.ops.constants import to_name
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.records import op_record
from augrecipes.ops.step import Step
from augrecipes.recipe.model import UINT8_HWC, Normalize, Output

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
    return type(made).__call__ in _SEQUENCES or getattr(made, "why_not", None) == ""  # accelerated, step by step


def sites_of(transforms: Sequence[Any], group: str = "") -> list[str]:
    """The labels that key the draws of some transforms, by their classes' names: of what runs natively or not."""
    names = [type(made).__name__ for made in transforms]
    return [f"{group}{name}#{names[: place + 1].count(name)}" for place, name in enumerate(names)]


def part_sites(made: Any, site: str) -> Iterator[str]:
    """The labels of the transforms in a group that bears a label, and of those in them, as `parts_of` has these."""
    inside = [] if next(parts_of(made), None) is None else made.transforms
    for part, label in zip(inside, sites_of(inside, f"{site}/"), strict=True):
        yield label
        yield from part_sites(part, label)


def step_of(made: Any, site: str) -> Step:
    """An object as a step with a label."""
    name = groups.SEQUENTIAL if is_sequence(made) else _GROUPS.get(type(made))
    if name is not None and not made.transforms:
        return Step(groups.NO_OP, p=0.0, site=site)
    if name is None or getattr(made, "replace", False):
        return (_known_step(made, site) if name is None else None) or object_step(made, site)
    inside = tuple(map(step_of, made.transforms, sites_of(made.transforms, f"{site}/")))
    if name == groups.ONE_OF:
        inside = tuple(_once(step) for step in inside)
    args = {"n": min(made.n, len(inside))} if name in _GATED else {}
    return Step(name, Arguments(args), float(made.p), steps=inside, site=site)


def _once(step: Step) -> Step:
    """A step of OneOf; one that acts less often than it is picked has a group around it with its weight."""
    gated = step.name in _GATED and step.p != 1
    return Step(groups.SEQUENTIAL, p=step.p, steps=(step,), site=f"{step.site}/once") if gated else step


def _known_step(made: Any, site: str) -> Step | None:
    """A step that makes an object with the very arguments of this one; None: none is known to."""
    name = type(made).__name__
    if not is_known(type(made)) or name in OUTPUTS or _is_altered(made):
        return None
    saved, takes = saved_of(made), registry.takes(name)
    given = {key: argument_of(name, key, value, saved) for key, value in saved.items() if key in takes}
    if written_by(registry.construct, name, given) != {key: to_name(key, value) for key, value in saved.items()}:
        return None
    args = Arguments({key: value for key, value in given.items() if key != "p"})
    return Step(name, args, float(made.p), site=site)


def _is_altered(made: Any) -> bool:
    """Whether somebody has put functions of their own into an object."""
    return any(callable(value) and hasattr(type(made), key) for key, value in vars(made).items())


def object_step(made: Any, site: str) -> ObjectStep:
    """An object as a step that runs as it is."""
    name = f"{type(made).__module__}.{type(made).__name__}"  # no name that rules know
    p = float(getattr(made, "p", 1.0))
    return ObjectStep(name, p=p, site=site, source=made, parts=tuple(part_sites(made, site)))


def converts(made: Any) -> bool:
    """Whether an object, or one inside it, changes what the dtype or the layout of an image is."""
    name = type(made).__name__
    own = name in OUTPUTS or op_record(name).changes_dtype
    return own or any(map(converts, getattr(made, "transforms", ())))


def output_and_last(transforms: Sequence[Any]) -> tuple[Output, tuple[Any, ...]]:
    """What the first objects behind all steps make of a uint8 image at once, and these."""
    output, count = UINT8_HWC, 0
    for made in transforms:
        if made.p < 1 or _is_altered(made) or (more := _output_behind(output, made)) is None:
            break
        output, count = more, count + 1
    return output, tuple(transforms[:count])


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
        unit = made.max_pixel_value / 255.0
        mean, std = (tuple(unit * level for level in _numbers(each)) for each in (made.mean, made.std))
        return replace(output, dtype="float32", normalize=Normalize(mean, std))
    return None


def _numbers(value: Any) -> list[float]:
    return [float(each) for each in value] if hasattr(value, "__iter__") else [float(value)]
