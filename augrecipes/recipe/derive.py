"""`eval: derived`: the training steps without their randomness.

One rule holds for every class: a step that acts on every sample and draws nothing stays, a step that draws goes. The
classes' records hold the exceptions: crops become central crops, sizes stay, and a step that always acts, never with a
neutral strength, keeps the middle of its range, because training has seen no image without it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from augrecipes.ops import eval_windows, groups, ranges, records, registry
from augrecipes.ops.record import OpRecord
from augrecipes.ops.registry import chance
from augrecipes.recipe.model import Arguments, Step, label

ONE_BY_ONE = "its steps one by one"
_DRAWS = "draws anew for every sample"


@dataclass(frozen=True, slots=True)
class DerivedRow:
    """A training step, and the steps that replace it in evaluation.

    Attributes:
        step: the training step.
        becomes: its evaluation steps; for a group, those of its children.
        why: the reason in a few words.
        inner: a row for each child of a Degrade, or of a group that runs all of its steps.
        unknown: nothing is known of the class, so nothing can replace it.
    """

    step: Step
    becomes: tuple[Step, ...]
    why: str
    inner: "tuple[DerivedRow, ...]" = ()
    unknown: bool = False


def derive(steps: Sequence[Step], scales: Mapping[str, int] | None = None) -> tuple[DerivedRow, ...]:
    """Derive the evaluation of each training step; `scales`: the grids of a pair's targets.

    >>> row, = derive([Step("RandomCrop", Arguments({"height": 8, "width": 8}))])
    >>> row.becomes[0].name, row.why
    ('CenterCrop', 'the window in the centre')
    """
    return tuple(_row(step, scales or {}) for step in steps)


def steps_of(rows: Iterable[DerivedRow]) -> tuple[Step, ...]:
    """The evaluation steps, labelled."""
    return label(_all_steps(rows))


def unknown(rows: Iterable[DerivedRow]) -> list[DerivedRow]:
    """The rows that cannot be derived, those inside others too."""
    return [inner for row in rows for inner in ([row] if row.unknown else unknown(row.inner))]


def _row(step: Step, scales: Mapping[str, int], *, picked: bool = False, weighted: bool = False) -> DerivedRow:
    """Derive one step; `picked`: a group picks it from several; `weighted`: its p is a weight."""
    p = chance(step)
    if p < 1 and not weighted:
        return DerivedRow(step, (), f"acts in {100 * p:g}% of the samples" if p else "never acts")
    if step.name == groups.DEGRADE:
        return _degrade(step, scales)
    if step.is_group:
        return _group(step, scales)
    if picked and records.op_record(step.name).action == "dihedral":
        return DerivedRow(step, (), _DRAWS)
    counterpart = _counterpart(step, _unit(step, scales))
    if counterpart is None:
        return DerivedRow(step, (), "no counterpart is known", unknown=True)
    steps, why = counterpart
    return DerivedRow(step, tuple(_eval_step(step, name, arguments) for name, arguments in steps), why)


def _counterpart(step: Step, unit: int) -> tuple[eval_windows.EvalSteps, str] | None:
    """What a step that acts on every sample becomes, and why; None where nothing is known of its class.

    `unit`: window sizes are multiples of this, px.
    """
    arguments, record = step.args.plain(), records.op_record(step.name)
    if registry.is_registered(step.name):
        in_eval = getattr(registry.get_class(step.name), "in_eval", None)
        steps: eval_windows.EvalSteps = [(step.name, arguments)] if in_eval == "keep" else []
        return (steps, f"its class says in_eval = {in_eval!r}") if in_eval in ("keep", "drop") else None
    window, why = record.in_eval or (None, "")
    if not record.is_known or (record.in_eval and window is None):
        return None
    if record.action == "identity" or ranges.is_neutral(step):
        return [], "changes nothing"
    values = registry.effective(step)
    if window is not None:
        return window(arguments, values, unit), why
    if not ranges.makes_draws(step):
        return [(step.name, arguments)], "draws nothing"
    if record.settled is None and not record.draws_strength:
        return [], _DRAWS
    settled = _middle_strength(record, values) if record.settled is None else record.settled(values)
    fixed = {**arguments, **settled}
    if ranges.is_neutral(replace(step, args=Arguments(fixed))):
        return [], f"{_DRAWS}, and may draw no change"
    return [(step.name, fixed)], "the middle of what it draws"


def _middle_strength(record: OpRecord, values: Mapping[str, Any]) -> dict[str, Any]:
    """Fix every range of a step that draws only its strength: at the neutral value if in range, else in the middle."""
    # balanced_scale draws whether the scale is above or below 1.
    fixed: dict[str, Any] = {"balanced_scale": False} if values.get("balanced_scale") else {}
    for name, neutral in record.neutral.items():
        if values.get(name) is not None:
            meaning = ranges.meaning_of(record.name, name)
            fixed[name] = eval_windows.middle(meaning, values[name], neutral, is_whole=name.endswith("_px"))
    return fixed


def _eval_step(step: Step, name: str, arguments: Mapping[str, Any]) -> Step:
    """An evaluation step in place of `step`; without its id, which would occur twice, and without randomness."""
    p = None if registry.default_p(name) == 1 else 1.0
    args, none = Arguments(arguments), Arguments()
    return replace(step, name=name, args=args, p=p, id=None, share=None, places=none, schedule=none)


def _unit(step: Step, scales: Mapping[str, int]) -> int:
    """The multiple of px that is whole on every grid."""
    if not scales:
        return 1
    at = step.at or min(step.target or scales, key=scales.__getitem__)
    return scales[at] // gcd(*scales.values())


def _degrade(step: Step, scales: Mapping[str, int]) -> DerivedRow:
    inner = tuple(_row(child, {}) for child in step.steps)
    steps = _all_steps(inner)
    if not steps:
        why = "all of its steps draw, and the target would equal its source"
        return DerivedRow(step, (), why, inner, unknown=True)
    return DerivedRow(step, (replace(step, steps=steps, id=None, places=Arguments()),), ONE_BY_ONE, inner)


def _group(step: Step, scales: Mapping[str, int]) -> DerivedRow:
    children = [replace(child, target=child.target or step.target) for child in step.steps]  # they leave the group
    size = len(children)
    count = size if step.name == groups.SEQUENTIAL else step.args.get("n", 1 if step.name == groups.SOME_OF else size)
    if step.name != groups.ONE_OF and count == size and not step.args.get("replace"):
        inner = tuple(_row(child, scales) for child in children)
        return DerivedRow(step, _all_steps(inner), ONE_BY_ONE, inner)
    weighted = step.name == groups.ONE_OF
    candidates = [child for child in children if chance(child) > 0 or not weighted]
    rows = [_row(child, scales, picked=len(candidates) > 1, weighted=weighted) for child in candidates]
    acting = [row for row in rows if row.becomes or unknown([row])]
    draws = count if not weighted else 1
    neutral = len(rows) - len(acting)
    if neutral >= draws or (neutral and step.args.get("replace")):  # some samples draw none of the acting steps
        return DerivedRow(step, (), f"draws {draws} of {len(rows)}, which may change nothing")
    if weighted:
        acting = sorted(acting, key=lambda row: -chance(row.step))
    chosen = acting[: draws - neutral]
    which = "the likeliest" if weighted and chance(chosen[0].step) > chance(acting[-1].step) else "the first"
    why = f"draws {draws} of {len(rows)}: {which}, {', '.join(row.step.name for row in chosen)}"
    return DerivedRow(step, _all_steps(chosen), why, tuple(row for row in chosen if unknown([row])))


def _all_steps(rows: Iterable[DerivedRow]) -> tuple[Step, ...]:
    return tuple(step for row in rows for step in row.becomes)
