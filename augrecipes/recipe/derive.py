"""`eval: derived`: the steps of training without what is random.

One rule holds for every class: a step that acts on every sample and draws nothing stays, a step that draws goes. The
exceptions are in the classes' records: windows are cut from the centre, sizes stay, and of a step that always acts with
a strength that is never neutral the middle of its range stays, because training has seen no image without it.
"""

from __future__ import annotations

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
    """A step of training, and what stands for it in evaluation.

    Attributes:
        step: of training.
        becomes: steps of evaluation; of a group, what its children become.
        why: in a few words.
        inner: of a group of which every step runs, and of Degrade: its steps one by one.
        unknown: nothing is known of the class, so nothing can stand for it.
    """

    step: Step
    becomes: tuple[Step, ...]
    why: str
    inner: tuple[DerivedRow, ...] = ()
    unknown: bool = False


def derive(steps: Sequence[Step], scales: Mapping[str, int] | None = None) -> tuple[DerivedRow, ...]:
    """What stands in evaluation for each step of training; `scales`: of a pair, its targets' grids.

    >>> row, = derive([Step("RandomCrop", Arguments({"height": 8, "width": 8}))])
    >>> row.becomes[0].name, row.why
    ('CenterCrop', 'the window in the centre')
    """
    return tuple(_row(step, scales or {}) for step in steps)


def steps_of(rows: Iterable[DerivedRow]) -> tuple[Step, ...]:
    """The steps of evaluation, labelled."""
    return label(_all(rows))


def unknown(rows: Iterable[DerivedRow]) -> list[DerivedRow]:
    """The rows for which nothing can stand, those inside others too."""
    return [inner for row in rows for inner in ([row] if row.unknown else unknown(row.inner))]


def _row(step: Step, scales: Mapping[str, int], *, picked: bool = False, weighted: bool = False) -> DerivedRow:
    """`picked`: the step is one of several that a group picks from; `weighted`: its p is a weight."""
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
        return DerivedRow(step, (), "nothing is known that could stand for it", unknown=True)
    steps, why = counterpart
    return DerivedRow(step, tuple(_eval_step(step, name, arguments) for name, arguments in steps), why)


def _counterpart(step: Step, unit: int) -> tuple[eval_windows.EvalSteps, str] | None:
    """What a class that acts on every sample becomes, and why; None where nothing is known of it.

    `unit`: pixels come in multiples of this.
    """
    arguments, record = step.args.plain(), records.op_record(step.name)
    if registry.is_registered(step.name):
        in_eval = getattr(registry.get_class(step.name), "in_eval", None)
        itself: eval_windows.EvalSteps = [(step.name, arguments)] if in_eval == "keep" else []
        return (itself, f"its class says in_eval = {in_eval!r}") if in_eval in ("keep", "drop") else None
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
        return [], f"{_DRAWS}, no change among it"
    return [(step.name, fixed)], "the middle of what it draws"


def _middle_strength(record: OpRecord, values: Mapping[str, Any]) -> dict[str, Any]:
    """Every range of a step that draws nothing but these: the neutral value where they draw it, or the middle one."""
    # balanced_scale draws on which side of 1.
    fixed: dict[str, Any] = {"balanced_scale": False} if values.get("balanced_scale") else {}
    for name, neutral in record.neutral.items():
        if values.get(name) is not None:
            meaning = ranges.meaning_of(record.name, name)
            fixed[name] = eval_windows.middle(meaning, values[name], neutral, is_whole=name.endswith("_px"))
    return fixed


def _eval_step(step: Step, name: str, arguments: Mapping[str, Any]) -> Step:
    """A step of evaluation in the place of `step`; a name of its own would be given twice, and none is random."""
    p = None if registry.default_p(name) == 1 else 1.0
    args, none = Arguments(arguments), Arguments()
    return replace(step, name=name, args=args, p=p, id=None, share=None, places=none, schedule=none)


def _unit(step: Step, scales: Mapping[str, int]) -> int:
    """Pixels that are whole on every grid come in multiples of this."""
    if not scales:
        return 1
    at = step.at or min(step.target or scales, key=scales.__getitem__)
    return scales[at] // gcd(*scales.values())


def _degrade(step: Step, scales: Mapping[str, int]) -> DerivedRow:
    inner = tuple(_row(child, {}) for child in step.steps)
    steps = _all(inner)
    if not steps:
        return DerivedRow(step, (), "all of its steps draw, and the target would equal its source", inner, unknown=True)
    return DerivedRow(step, (replace(step, steps=steps, id=None, places=Arguments()),), ONE_BY_ONE, inner)


def _group(step: Step, scales: Mapping[str, int]) -> DerivedRow:
    children = [replace(child, target=child.target or step.target) for child in step.steps]  # they leave the group
    size = len(children)
    count = size if step.name == groups.SEQUENTIAL else step.args.get("n", 1 if step.name == groups.SOME_OF else size)
    if step.name != groups.ONE_OF and count == size and not step.args.get("replace"):
        inner = tuple(_row(child, scales) for child in children)
        return DerivedRow(step, _all(inner), ONE_BY_ONE, inner)
    weighted = step.name == groups.ONE_OF
    able = [child for child in children if chance(child) > 0 or not weighted]
    rows = [_row(child, scales, picked=len(able) > 1, weighted=weighted) for child in able]
    acting = [row for row in rows if row.becomes or unknown([row])]
    # Some samples get none of the steps that would stay.
    few = count if not weighted else 1
    spare = len(rows) - len(acting)
    if spare >= few or (spare and step.args.get("replace")):
        return DerivedRow(step, (), f"draws {few} of {len(rows)}; no change among it")
    if weighted:
        acting = sorted(acting, key=lambda row: -chance(row.step))
    chosen = acting[: few - spare]
    which = "the likeliest" if weighted and chance(chosen[0].step) > chance(acting[-1].step) else "the first"
    why = f"draws {few} of {len(rows)}: {which}, {', '.join(row.step.name for row in chosen)}"
    return DerivedRow(step, _all(chosen), why, tuple(row for row in chosen if unknown([row])))


def _all(rows: Iterable[DerivedRow]) -> tuple[Step, ...]:
    return tuple(step for row in rows for step in row.becomes)
