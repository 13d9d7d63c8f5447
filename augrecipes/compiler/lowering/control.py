"""Groups as numbers of a program: a step that draws which of those behind it are carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from augrecipes.compat.steps import choice_of, group_of
from augrecipes.compiler.executor.op import Op
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS, OPTIONS
from augrecipes.ops.groups import SOME_OF
from augrecipes.ops.native_op import NO_DRAWS, NativeOp, params_getter

# A step, None between steps, and its numbers.
Unit = Sequence[tuple[Any, Op]]


def lower_group(group: Any, label: str, children: Sequence[Unit], *, shared: bool) -> Unit | None:
    """A group: the step that chooses, and behind it those of its children; None where that is Python's to do.

    Args:
        group: albumentations' own.
        label: keys its draws.
        children: each with its own numbers.
        shared: whether the tiles of a bag draw as one.
    """
    units = [_as_unit(child) for child in children]
    numbers = _group_op(group, sum(map(len, units)), len(units))
    if numbers is None:
        return None
    return [(group, Op(label, shared, float(group.p), numbers)), *(pair for unit in units for pair in unit)]


def _as_unit(child: Unit) -> Unit:
    """A child as one step, or as one that opens all of it."""
    span = child[0][1].numbers.effect_arguments[0] if child and child[0][1].numbers.effect == EFFECTS.GROUPS else 0
    if len(child) == span + 1:
        return child
    every = NativeOp(DRAWS.NOTHING, EFFECTS.GROUPS, effect_arguments=(len(child), OPTIONS.ALL_STEPS, 0))
    return [(None, Op(child[0][1].label, False, 1.0, every)), *child]


def _group_op(group: Any, span: int, count: int) -> NativeOp | None:
    kind, draw, chooses = group_of(group), DRAWS.NOTHING, (OPTIONS.ALL_STEPS, 0)
    arguments: tuple[float, ...] = ()
    if kind is None or (kind != "all" and count > LIMITS.MOST_CHILDREN):
        return None
    if kind == "one":
        ends = [*accumulate(group.transforms_ps)]
        shares = tuple(end / ends[-1] for end in ends)
        draw, arguments, chooses = DRAWS.BY_WEIGHT, (count, *shares), (OPTIONS.ONE_STEP, 1)
    elif kind == "some":
        keeps_order = type(group).__name__ == SOME_OF
        draw, arguments, chooses = DRAWS.SOME, (count, group.n, keeps_order), (OPTIONS.SOME_STEPS, group.n)
    drawn = params_getter("chosen") if arguments else NO_DRAWS
    return NativeOp(draw, EFFECTS.GROUPS, arguments, drawn, (span, *chooses))


def sampler_of(group: Any) -> Callable[[Any], dict[str, Any]]:
    """What draws which children a group carries out, in order."""
    match group_of(group):
        case "one":
            weights, choice = group.transforms_ps, group.random_generator
            return lambda _: {"chosen": (float(choice.choice(len(weights), p=weights)),)}
        case "some":
            some = choice_of(group)
            return lambda _: {"chosen": tuple(map(float, some()))}
    return lambda _: {}


def acts(step: Any) -> bool:
    """Whether a step or group acts, by its first draw."""
    return bool(
        step.should_apply() if hasattr(step, "should_apply") else step.p >= 1 or step.py_random.random() < step.p
    )
