"""A recipe cut in two: leading steps that run once, when a store is packed, and the steps behind them.

Both parts keep the labels that the whole recipe gave its steps, so that cutting changes no draw.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from augrecipes.compiler.compile import build, check, steps_of
from augrecipes.ops import groups
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance, effective, record_of
from augrecipes.recipe.model import UINT8_HWC, Arguments, Mode, Recipe, Step

if TYPE_CHECKING:
    from augrecipes.compiler.run.pipeline import Pipeline

_LIGHT = frozenset({"identity", "window", "dihedral", "lookup", "matrix", "pointwise"})


def draws_nothing(step: Step) -> bool:
    """Whether the step acts on every sample, in every epoch, in the same way; False for classes that are not known.

    >>> draws_nothing(Step("Resize")), draws_nothing(Step("HorizontalFlip")), draws_nothing(Step("HorizontalFlip", p=1))
    (True, False, True)
    """
    if step.schedule:
        return False
    if step.name in (groups.SEQUENTIAL, groups.DEGRADE):
        return step.p in (None, 1) and all(draws_nothing(child) for child in step.steps)
    record = record_of(step)
    return chance(step) == 1 and not record.random and not record.changes_dtype


def is_light(step: Step) -> bool:
    """Whether the step is cheap: it cuts, flips or turns, or changes each pixel by itself."""
    if step.is_group:
        return all(is_light(child) for child in step.steps)
    return record_of(step).action in _LIGHT


def deterministic_prefix(steps: Sequence[Step]) -> int:
    """How many steps at the beginning draw nothing."""
    return next((i for i, step in enumerate(steps) if not draws_nothing(step)), len(steps))


def common_prefix(recipe: Recipe) -> int:
    """How many leading steps draw nothing and agree in `steps` and `eval`; without `eval`, only `steps` counts."""
    count = deterministic_prefix(recipe.steps)
    if recipe.eval is None:
        return count
    pairs = zip(recipe.steps[:count], recipe.eval[: deterministic_prefix(recipe.eval)], strict=False)
    same = [described(a) == described(b) for a, b in pairs]
    return same.index(False) if False in same else len(same)


def described(step: Step) -> dict[str, Any]:
    """All that a step's effect depends on, as plain data: class, effective arguments, targets, key of its draws.

    >>> described(Step("CenterCrop", Arguments({"height": 8, "width": 8})))["height"]
    8
    """
    description: dict[str, Any] = {"step": step.name}
    if step.is_group or step.name == groups.DEGRADE:
        description |= {**step.args.plain(), "p": 1.0 if step.p is None else step.p}
        description["steps"] = [described(child) for child in step.steps]
    else:
        description |= effective(step)
    keys = (("target", list(step.target)), ("at", step.at), ("channels", list(step.channels)))
    description |= {key: value for key, value in keys if value}
    description |= {"schedule": step.schedule.plain()} if step.schedule else {}
    if not draws_nothing(step):
        description["site"] = step.site
        description |= {"share": step.share} if step.share else {}
        description |= {"files": list(step.files)} if step.files else {}
    return json.loads(json.dumps(description, default=str, sort_keys=True))


def digest_of(described_steps: Sequence[dict[str, Any]]) -> str:
    """12 hex digits that identify steps, each as `described` gives it.

    >>> digest_of([]) == digest_of([]), digest_of([]) == digest_of([{"step": "Resize"}])
    (True, False)
    """
    text = json.dumps(list(described_steps), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def compile_prefix(recipe: Recipe, mode: Mode, count: int, seed: int) -> "Pipeline":
    """Compile the first `count` steps of a section.

    The pipeline returns uint8 images H×W×C, deep ones in their own values; boxes and keypoints as `resumes` takes them.
    """
    steps = steps_of(recipe, mode)
    check(recipe)
    later = frozenset(step.args["target"] for step in steps[count:] if step.name == groups.DEGRADE)
    # Masks become labels, channels are taken, missing data is filled before the first step; with no step all is kept.
    inputs = recipe.inputs
    if not count:
        inputs = replace(inputs, mask_labels=None, nodata=None, channels=inputs.stored_channels, bands=None)
    own = replace(UINT8_HWC, where="device") if inputs.deep_dtype else UINT8_HWC
    part = replace(_with_section(recipe, mode, steps[:count]), inputs=inputs, output=own, outputs=Arguments())
    return build(part, mode, "exact", seed, pauses=True, later=later)


def suffix_recipe(recipe: Recipe, mode: Mode, count: int, channels: int | None = None) -> Recipe:
    """The recipe without the first `count` steps of a section; `channels`: those of the images that these steps leave.

    >>> import augrecipes as ar
    >>> [step.site for step in suffix_recipe(ar.load("folder-128"), "train", 1).steps]
    ['RandomCrop#1', 'HorizontalFlip#1']
    """
    part = _with_section(recipe, mode, steps_of(recipe, mode)[count:])
    # The recipe's inputs describe images in front of its first step, not behind those that are cut off.
    leaves = [leaf for step in steps_of(recipe, mode)[:count] for leaf in step.walk()]
    changes = any(op_record(leaf.name).changes_dtype for leaf in leaves)
    dtype, before = None if changes else recipe.inputs.deep_dtype, recipe.inputs.behind_take
    inputs = replace(before, channels=channels, dtype=dtype, min_size=None, mask_labels=None)
    return replace(part, inputs=inputs) if count else part


def _with_section(recipe: Recipe, mode: Mode, steps: tuple[Step, ...]) -> Recipe:
    return replace(recipe, steps=steps) if mode == "train" else replace(recipe, eval=steps)
