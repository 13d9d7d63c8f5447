"""The effective settings and steps of a recipe, with defaults merged and what steps inherit from groups."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from augrecipes import mixtures
from augrecipes.diff.differences import Change, Placed
from augrecipes.interop.albumentations import resolved_arguments
from augrecipes.ops import groups, registry
from augrecipes.ops.ranges import makes_draws
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance, effective
from augrecipes.recipe.model import KEYS, Arguments, Bag, Mode, Output, Recipe, Step, canonical


@dataclass(frozen=True, slots=True)
class Meaning:
    """The effect of a step.

    Attributes:
        step: the step as written.
        placed: its place.
        values: effective arguments, without `p`; `target`, `at` and `share` where they have an effect.
        p: effective probability; in a OneOf a weight.
        weight: its share of the weights of its OneOf; None elsewhere.
        draws: whether it draws anything that a sample can show.
        steps: the steps of a group.
        key: a hash of what the step does; steps of equal keys do the same, with the same draws.
    """

    step: Step
    placed: Placed
    values: Mapping[str, Any]
    p: float
    weight: float | None
    draws: bool
    steps: "tuple[Meaning, ...]"
    key: str

    def walk(self) -> "Iterator[Meaning]":
        """The step and everything inside it, in reading order."""
        yield self
        for child in self.steps:
            yield from child.walk()


def meanings(recipe: Recipe, steps: Sequence[Step]) -> tuple[Meaning, ...]:
    """The effects of the steps of a section of `recipe`.

    >>> flip = Step("HorizontalFlip", site="HorizontalFlip#1")
    >>> [(one.p, one.draws, one.placed.place) for one in meanings(Recipe("tiny"), (flip,))]
    [(0.5, True, (1,))]
    """
    return tuple(_meanings(recipe, steps, (), tuple(sorted(recipe.scales)), "tile", in_degrade=False))


def _meanings(
    recipe: Recipe, steps: Sequence[Step], inside: tuple[int, ...], targets: tuple[str, ...], share: str, *,
    in_degrade: bool, weights: float = 0.0,
) -> Iterator[Meaning]:  # fmt: skip
    """The effects of the steps of a list, which inherit `targets` and `share` from their group."""
    before = None
    for number, step in enumerate(steps, 1):
        values = effective(step)
        if step.name == groups.SOME_OF:
            values = {"n": 1, "replace": False, **values}
        elif step.name == groups.RANDOM_ORDER:
            values = {"n": len(step.steps), **values}
        p, place = float(values.pop("p")), (*inside, number)
        weight = p / weights if weights else None
        draws = _draws(step, p, weight)
        its_targets, its_share = tuple(sorted(step.target)) or targets, step.share or share
        if recipe.facts.scales and not step.steps and not in_degrade:  # a group's targets are its children's
            values |= {"target": list(its_targets), **_at(step, recipe, its_targets)}
        if step.channels and not step.steps:  # a group's channels are its children's
            values["channels"] = list(step.channels)
        if recipe.facts.tiles and draws:
            values["share"] = its_share
        children = tuple(_meanings(
            recipe, step.steps, place, its_targets, its_share, in_degrade=in_degrade or step.name == groups.DEGRADE,
            weights=sum(map(chance, step.steps)) if step.name == groups.ONE_OF else 0.0,
        ))  # fmt: skip
        placed = Placed(step.site, step.name, place, before, step.position.line, canonical({**values, "p": p}))
        key = word([step.name, values, p, [child.key for child in children]])
        yield Meaning(step, placed, values, p, weight, draws, children, hashlib.sha256(key.encode()).hexdigest())
        before = step.site


def _at(step: Step, recipe: Recipe, targets: Sequence[str]) -> dict[str, str]:
    """The target in whose pixels sizes are given; of targets of one scale the first by name, as they are equivalent."""
    record, scales = op_record(step.name), recipe.scales
    if not record.pixels:
        return {}
    scale = scales[step.at] if step.at is not None else min(scales[name] for name in targets)
    return {"at": min(name for name in scales if scales[name] == scale)}


def _draws(step: Step, p: float, weight: float | None) -> bool:
    if p == 0:
        return False
    if weight is None and p < 1:
        return True
    if step.steps:
        return step.name not in (groups.SEQUENTIAL, groups.DEGRADE)
    # A user's class may draw.
    return not op_record(step.name).is_known or makes_draws(step)


def settings(a: Recipe, b: Recipe, modes: Sequence[Mode]) -> tuple[Change, ...]:
    """The settings that differ, by their path in the file.

    >>> [change.key for change in settings(Recipe("a"), Recipe("b", output=Output(layout="hwc")), ("train",))]
    ['output.layout']
    """
    of_a, of_b = (_settings(recipe, modes) for recipe in (a, b))
    if a.facts.scales and b.facts.scales:
        outputs = [list(settings["output"].values()) for settings in (of_a, of_b)]
        if all(equal(output, own[0]) for own in outputs for output in own):  # one output for all targets
            of_a["output"], of_b["output"] = (own[0] for own in outputs)
    return tuple(compared(of_a, of_b))


def _settings(recipe: Recipe, modes: Sequence[Mode]) -> dict[str, Any]:
    """All settings with their defaults, nested as in the file, without steps."""
    drawn = {name: getattr(recipe, key.field) for name, key in KEYS.items() if key.field and key.changes == "draws"}
    inputs = asdict(recipe.inputs)
    del inputs["targets"]
    del inputs["bands"]
    if recipe.inputs.bands:
        inputs["channels"] = recipe.inputs.bands.written()
    inputs |= {f"{name}.real": share for name, share in inputs.pop("real").items()}
    image = {key: inputs.pop(key) for key in ("channels", "dtype", "range", "nodata", "icc", "min_size")}
    outputs = {name: _output(recipe.outputs.get(name, recipe.output)) for name in recipe.scales}
    return drawn | {
        "scales": dict(recipe.scales),
        "bag": canonical(recipe.bag or Bag()) if recipe.facts.tiles else {},
        "views": {view.name: {"count": view.count, "of": view.of} for view in recipe.views if "train" in modes},
        "tta": recipe.tta and asdict(recipe.tta),
        "inputs": {"image": image, **inputs},
        "targets": {name: asdict(target) for name, target in recipe.targets.items()},
        "output": outputs if recipe.facts.scales else _output(recipe.output),
        "batch": {
            step.site: {"p": chance(step), **mixtures.effective(step)}
            for top in (recipe.batch if "train" in modes else ())
            for step in top.walk()
        },
        "steps": None,
        "eval": "there" if "eval" in modes and recipe.eval is not None else None,
    }


def _output(output: Output) -> dict[str, Any]:
    """An output without the range where it has no effect: normalised values have none, and uint8 only one."""
    values = asdict(output)
    if output.normalize is not None:
        values["range"] = None
    elif output.dtype == "uint8":
        values["range"] = (0, 255)
    return values


def compared(a: Mapping[str, Any], b: Mapping[str, Any], prefix: str = "") -> list[Change]:
    """The values that differ, compared recursively."""
    changes = []
    for key in dict.fromkeys([*a, *b]):
        before, after = a.get(key), b.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping) and key != "normalize":
            changes += compared(before, after, f"{prefix}{key}.")
        elif not equal(before, after):
            changes.append(Change(f"{prefix}{key}", canonical(before), canonical(after)))
    return changes


def word(value: Any) -> str:
    """A canonical text of a value: equal for equal values only."""
    return json.dumps(canonical(value), sort_keys=True)


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same for a step: 25 equals 25.0, a list equals a tuple, true does not equal 1.

    >>> equal((1, 2.0), [1.0, 2]), equal(True, 1), equal({"x": 1}, {"x": 1.0})
    (True, False, True)
    """
    return word(a) == word(b)


def equivalent(a: Step, b: Step, changes: Sequence[Change]) -> set[str]:
    """The keys of the changes between two steps of one class that do not change the transform.

    The class itself decides, for instance that a limit of 25 equals [-25, 25]: its serialised arguments are compared.
    The effect of a change depends on other arguments, so each is tried among those of both steps.

    >>> one, other = Arguments({"limit": 25}), Arguments({"limit": [-25, 25], "crop_border": True})
    >>> changes = [Change("limit", 25, [-25, 25]), Change("crop_border", False, True)]
    >>> equivalent(Step("Rotate", one), Step("Rotate", other), changes)
    {'limit'}
    """
    written = {*a.args, *b.args} if a.name == b.name else set()
    names = {change.key: change.key.partition(".")[0] for change in changes}
    tried = [name for name in dict.fromkeys(names.values()) if name in written]
    b = replace(b, p=a.p)

    def changes_nothing(names: Sequence[str]) -> bool:
        return equal(before, _plain(_copy(a, b, names))) and equal(after, _plain(_copy(b, a, names)))

    before, after = (_plain(step) for step in (a, b)) if tried else (None, None)
    if before is None or after is None:
        return set()
    if not equal(before, after):
        tried = [name for name in tried if changes_nothing([name])]
        if not changes_nothing(tried):
            return set()
    return {key for key, name in names.items() if name in tried}


def _copy(step: Step, other: Step, names: Sequence[str]) -> Step:
    """The step with the arguments `names` of another step."""
    args = {name: value for name, value in step.args.plain().items() if name not in names}
    args |= {name: value for name, value in other.args.plain().items() if name in names}
    return replace(step, args=Arguments(args))


def _plain(step: Step) -> dict[str, Any] | None:
    """The serialised arguments of a step's class, with equal numbers of `fill` as one; None: the class refuses them."""
    written = resolved_arguments(registry.plain, step.name, {**step.args.plain(), "p": step.p})
    fill = written.get("fill") if written else None
    return {**(written or {}), "fill": fill[0]} if isinstance(fill, list) and len({*fill}) == 1 else written
