"""What takes effect in a recipe: its settings, and what each step means, with defaults merged and what it inherits."""

from __future__ import annotations

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
    """One step in effect.

    Attributes:
        step: as it was written.
        placed: where it stands.
        values: arguments that take effect, without `p`; of `target`, `at` and `share` those that say something.
        p: effective. In a OneOf it is a weight.
        weight: its share of the weights of its OneOf; None elsewhere.
        draws: whether it makes draws that a sample can show.
        steps: of a group.
        key: names all of the above that says what the step does; equal keys do the same, with the same draws.
    """

    step: Step
    placed: Placed
    values: Mapping[str, Any]
    p: float
    weight: float | None
    draws: bool
    steps: tuple[Meaning, ...]
    key: str

    def walk(self) -> Iterator[Meaning]:
        """The step and everything inside it, in reading order."""
        yield self
        for child in self.steps:
            yield from child.walk()


def meanings(recipe: Recipe, steps: Sequence[Step]) -> tuple[Meaning, ...]:
    """The steps of a section of `recipe`.

    >>> flip = Step("HorizontalFlip", site="HorizontalFlip#1")
    >>> [(one.p, one.draws, one.placed.place) for one in meanings(Recipe("tiny"), (flip,))]
    [(0.5, True, (1,))]
    """
    return tuple(_meanings(recipe, steps, (), tuple(sorted(recipe.scales)), "tile", in_degrade=False))


def _meanings(
    recipe: Recipe, steps: Sequence[Step], inside: tuple[int, ...], targets: tuple[str, ...], share: str, *,
    in_degrade: bool, weights: float = 0.0,
) -> Iterator[Meaning]:  # fmt: skip
    """Steps of one list, which inherit targets and share from where they stand."""
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
    """The target whose pixels the numbers count; of those of one scale the first by name, as they count alike."""
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
    # Nothing is known of a class of the user's own, so it may draw.
    return not op_record(step.name).is_known or makes_draws(step)


def settings(a: Recipe, b: Recipe, modes: Sequence[Mode]) -> tuple[Change, ...]:
    """The settings that differ, by their place in the file.

    >>> [change.key for change in settings(Recipe("a"), Recipe("b", output=Output(layout="hwc")), ("train",))]
    ['output.layout']
    """
    mine, other = (_settings(recipe, modes) for recipe in (a, b))
    if a.facts.scales and b.facts.scales:
        outputs = [list(each["output"].values()) for each in (mine, other)]
        if all(equal(output, each[0]) for each in outputs for output in each):  # all targets of a pair leave alike
            mine["output"], other["output"] = (each[0] for each in outputs)
    return tuple(compared(mine, other))


def _settings(recipe: Recipe, modes: Sequence[Mode]) -> dict[str, Any]:
    """Every setting with its default, nested as the file has it; steps are compared one by one."""
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
    """An output without what says nothing: normalised values have no range, and uint8 has one only."""
    values = asdict(output)
    if output.normalize is not None:
        values["range"] = None
    elif output.dtype == "uint8":
        values["range"] = (0, 255)
    return values


def compared(a: Mapping[str, Any], b: Mapping[str, Any], prefix: str = "") -> list[Change]:
    """The values that differ; mappings on both sides are looked into."""
    changes = []
    for key in dict.fromkeys([*a, *b]):
        mine, other = a.get(key), b.get(key)
        if isinstance(mine, Mapping) and isinstance(other, Mapping) and key != "normalize":
            changes += compared(mine, other, f"{prefix}{key}.")
        elif not equal(mine, other):
            changes.append(Change(f"{prefix}{key}", canonical(mine), canonical(other)))
    return changes


def word(value: Any) -> str:
    """A value as text that equal values share, and no others."""
    return json.dumps(canonical(value), sort_keys=True)


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same to a step: 25 is 25.0, a list is a tuple, true is not 1.

    >>> equal((1, 2.0), [1.0, 2]), equal(True, 1), equal({"x": 1}, {"x": 1.0})
    (True, False, True)
    """
    return word(a) == word(b)


def equivalent(a: Step, b: Step, changes: Sequence[Change]) -> set[str]:
    """The keys of the changes from `a` to `b`, two steps of one class, that change nothing of what the class makes.

    Only the class itself knows, as of a limit of 25 and of [-25, 25]. What a change does depends on the arguments next
    to it, so it is tried among those of both steps.

    >>> one, other = Arguments({"limit": 25}), Arguments({"limit": [-25, 25], "crop_border": True})
    >>> changes = [Change("limit", 25, [-25, 25]), Change("crop_border", False, True)]
    >>> equivalent(Step("Rotate", one), Step("Rotate", other), changes)
    {'limit'}
    """
    written = {*a.args, *b.args} if a.name == b.name else set()
    names = {change.key: change.key.partition(".")[0] for change in changes}
    tried = [name for name in dict.fromkeys(names.values()) if name in written]
    b = replace(b, p=a.p)

    def changes_nothing(some: Sequence[str]) -> bool:
        return equal(before, _written(_with(a, b, some))) and equal(after, _written(_with(b, a, some)))

    before, after = (_written(step) for step in (a, b)) if tried else (None, None)
    if before is None or after is None:
        return set()
    if not equal(before, after):
        tried = [name for name in tried if changes_nothing([name])]
        if not changes_nothing(tried):
            return set()
    return {key for key, name in names.items() if name in tried}


def _with(step: Step, other: Step, names: Sequence[str]) -> Step:
    """The step with some arguments as they are in another one."""
    args = {name: value for name, value in step.args.plain().items() if name not in names}
    args |= {name: value for name, value in other.args.plain().items() if name in names}
    return replace(step, args=Arguments(args))


def _written(step: Step) -> dict[str, Any] | None:
    """What its class writes down of a step, with one number for equal ones that fill pixels; None: it refuses them."""
    written = resolved_arguments(registry.plain, step.name, {**step.args.plain(), "p": step.p})
    fill = written.get("fill") if written else None
    return {**(written or {}), "fill": fill[0]} if isinstance(fill, list) and len({*fill}) == 1 else written
