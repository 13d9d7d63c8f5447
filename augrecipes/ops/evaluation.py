"""What a step of training becomes in evaluation: the same without draws.

One rule holds for every class: a step that acts on every sample and draws nothing stays, a step that draws goes. The
exceptions are written here, and only here: windows are cut from the centre, sizes stay, and of a step that always acts
with a strength that is never neutral the middle of its range stays, because training has seen no image without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from augrecipes.ops import registry
from augrecipes.ops.eval_windows import Arguments, middle
from augrecipes.ops.ranges import is_neutral, makes_draws, meaning_of
from augrecipes.ops.record import OpRecord
from augrecipes.ops.records import op_record
from augrecipes.ops.step import Step


@dataclass(frozen=True, slots=True)
class EvalStep:
    """What stands in evaluation for one step that acts on every sample.

    Attributes:
        steps: class and arguments of each; empty: nothing does.
        why: in a few words.
    """

    steps: tuple[tuple[str, dict[str, Any]], ...]
    why: str


GONE = EvalStep((), "draws anew for every sample")


def counterpart(step: Step, unit: int = 1) -> EvalStep | None:
    """What `step`, a class and no group, becomes; None where nothing is known of its class.

    Args:
        step: which acts on every sample.
        unit: pixels come in multiples of this (of a pair: one pixel of the coarsest grid).

    >>> from augrecipes.ops.frozen import Arguments
    >>> from augrecipes.ops.step import Step
    >>> [name for name, _ in counterpart(Step("RandomResizedCrop", Arguments({"size": [224, 224]}))).steps]
    ['SmallestMaxSize', 'CenterCrop']
    >>> counterpart(Step("Rotate", Arguments({"limit": 10}))).steps, counterpart(Step("ClassOfYours"))
    ((), None)
    """
    given = step.args.plain()
    if registry.is_registered(step.name):
        return _registered(step.name, given)
    record = op_record(step.name)
    window, why = record.in_eval or (None, "")
    if not record.is_known or (record.in_eval and window is None):
        return None
    if record.action == "identity" or is_neutral(step):
        return EvalStep((), "changes nothing")
    values = registry.effective(step)
    if window is not None:
        return EvalStep(tuple(window(given, values, unit)), why)
    if not makes_draws(step):
        return EvalStep(((step.name, given),), "draws nothing")
    if record.settled is not None or record.draws_strength:
        settled = _settled_strength(record, values) if record.settled is None else record.settled(values)
        fixed = {**given, **settled}
        if is_neutral(replace(step, args=type(step.args)(fixed))):
            return EvalStep((), "draws anew for every sample, no change among it")
        return EvalStep(((step.name, fixed),), "the middle of what it draws")
    return GONE


def _registered(name: str, given: dict[str, Any]) -> EvalStep | None:
    """What the class says of itself, in an attribute `in_eval`: `keep` or `drop`."""
    said = getattr(registry.get_class(name), "in_eval", None)
    if said == "keep":
        return EvalStep(((name, given),), "its class says in_eval = 'keep'")
    return EvalStep((), "its class says in_eval = 'drop'") if said == "drop" else None


def _settled_strength(record: OpRecord, values: Arguments) -> dict[str, Any]:
    """Every range of a step that draws nothing but these: the neutral value where they draw it, or the middle one."""
    # balanced_scale draws on which side of 1.
    fixed: dict[str, Any] = {"balanced_scale": False} if values.get("balanced_scale") else {}
    for name, neutral in record.neutral.items():
        if values.get(name) is not None:
            meaning = meaning_of(record.name, name)
            fixed[name] = middle(meaning, values[name], neutral, is_whole=name.endswith("_px"))
    return fixed
