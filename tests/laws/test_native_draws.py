"""What programs draw is what albumentations' samplers draw, to the last bit: for any arguments, sizes and keys."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from support.checks import FAILURES, PLANTED, holds

from augrecipes.compat.albumentations import A, sampler_of
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.executor.program_buffer import Op
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.kernels.step_draws import stand_in
from augrecipes.compiler.lowering import encodings
from augrecipes.compiler.lowering.walk import encode
from augrecipes.compiler.run.draws import Draws
from augrecipes.errors import RecipeError
from augrecipes.native.kernels import library
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS
from augrecipes.ops.matrices import output_size
from augrecipes.ops.native_op import NativeOp
from augrecipes.ops.places import MatrixPlaces
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Arguments, Output, Step

NATIVE = pytest.mark.skipif(library() is None, reason="no native kernels here")

SIDE = st.integers(1, 90)
PART = st.floats(0, 0.9)
POSITION = st.sampled_from(("center", "top_left", "top_right", "bottom_left", "bottom_right", "random"))
BORDER = st.sampled_from(("constant", "replicate", "reflect", "wrap", "reflect_101"))
LENGTHS = st.one_of(SIDE, st.lists(SIDE, min_size=1, max_size=5))


def pair(numbers: Any) -> Any:
    return st.tuples(numbers, numbers).map(sorted)


def side(name: str) -> dict[str, Any]:
    """A least height, or width, or a divisor of it."""
    least = st.fixed_dictionaries({f"min_{name}": SIDE})
    divided = st.fixed_dictionaries({f"min_{name}": st.none(), f"pad_{name}_divisor": SIDE})
    return {"sides": st.one_of(least, divided)}


def arguments(**named: Any) -> Any:
    return st.fixed_dictionaries(named)


_padded = {"pad_if_needed": st.just(True), "pad_position": POSITION, "border_mode": BORDER}
_sides = st.tuples(side("height")["sides"], side("width")["sides"], POSITION).map(
    lambda made: {**made[0], **made[1], "position": made[2]}
)
_to_side = st.one_of(
    arguments(max_size=LENGTHS), arguments(max_size_hw=st.tuples(SIDE, SIDE)),
    arguments(max_size_hw=st.tuples(SIDE, st.none())), arguments(max_size_hw=st.tuples(st.none(), SIDE)),
)  # fmt: skip
_window = st.one_of(arguments(height=SIDE, width=SIDE), arguments(height=SIDE, width=SIDE, **_padded))
_corner = st.integers(0, 40)
_box = st.tuples(_corner, _corner, SIDE, SIDE).map(
    lambda b: {"x_min": b[0], "y_min": b[1], "x_max": b[0] + b[2], "y_max": b[1] + b[3]}
)
ARGUMENTS: dict[str, Any] = {
    "HorizontalFlip": arguments(),
    "RandomRotate90": arguments(),
    "D4": arguments(),
    "RandomCrop": _window,
    "CenterCrop": _window,
    "Crop": st.one_of(_box, st.builds(lambda a, b: a | b, _box, arguments(**_padded))),
    "RandomResizedCrop": arguments(
        size=st.tuples(SIDE, SIDE), scale=pair(st.floats(0.01, 1)), ratio=pair(st.floats(0.1, 9))
    ),
    "RandomSizedCrop": arguments(min_max_height=pair(SIDE), size=st.tuples(SIDE, SIDE), w2h_ratio=st.floats(0.3, 3)),
    "SmallestMaxSize": _to_side,
    "LongestMaxSize": _to_side,
    "RandomScale": arguments(scale_limit=st.one_of(PART, pair(st.floats(-0.9, 3)))),
    "PadIfNeeded": _sides,
    "Pad": arguments(
        padding=st.one_of(SIDE, st.tuples(SIDE, SIDE), st.tuples(SIDE, SIDE, SIDE, SIDE)), border_mode=BORDER
    ),
}
KEYS = st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), min_size=1, max_size=5)


def check(name: str, found: NativeOp, made: Any, seed: int, keys: list[tuple[int, int]], size: tuple[int, int]) -> None:
    label, epoch = f"{name}#1", 3
    kernels = library()
    assert kernels is not None
    plan = Program(kernels, [Op(label, False, float(made.p), found)], Sink(Output()), seed, 1 << 20)
    draws = Draws(seed)
    made.random_generator, made.py_random = draws.add(label)
    draw = encodings.group_sampler(made) if found.effect == EFFECTS.GROUPS else sampler_of(made)
    for (index, tile), numbers in zip(keys, plan.drawn(epoch, keys, *size), strict=True):
        draws.position(epoch, index, tile)
        assert encodings.acts(made) == (numbers is not None)
        if numbers is None:
            continue
        try:
            wanted = list(found.expected_draws(draw({"image": stand_in((*size, 3), np.dtype(np.uint8))})))
        except Exception:  # the image is too small
            assert not np.isfinite(numbers[0])  # left to Python, which says so
            continue
        assert wanted == numbers[: len(wanted)]
        if isinstance(made, MatrixPlaces):
            draws.position(epoch, index, tile)
            check_move(plan, (epoch, index, tile), made, size)


def check_move(plan: Program, key: tuple[int, int, int], step: Any, size: tuple[int, int]) -> None:
    """Compare what is noted of a step with where it puts places, to the last bit."""
    image, noted = stand_in((*size, 3), np.dtype(np.uint8)), np.zeros((2, LIMITS.MOVE))
    encodings.acts(step)  # which may take the first draw
    params = sampler_of(step)({"image": image})
    if plan.note_moves(key, image, noted) and min(output_size(step, params, size)) > 0:
        matrix, before, after = step.geometry(params)
        assert noted[1].tolist() == [0, *before, *after, *matrix.ravel().tolist()]


def draws_are_those(
    name: str, args: dict[str, Any], seed: int, keys: Any, size: tuple[int, int], p: float, spoil: Any
) -> None:
    """The law; arguments that albumentations refuses, or nothing encodes, are passed over."""
    made = step_of(name, args, p)
    found = None if made is None else encode(made)
    if found is not None:
        check(name, spoil(found), made, seed, keys, size)


def examples_of(name: str, *p: float) -> Any:
    return st.just(name), ARGUMENTS[name], SEEDS, KEYS, st.tuples(SIDE, SIDE), st.sampled_from(p)


SEEDS = st.integers(0, 2**64 - 1)
ALL = settings.default


@NATIVE
@pytest.mark.parametrize("name", ARGUMENTS)
def test_draws_are_those_of_the_samplers(name: str) -> None:
    holds(draws_are_those, *examples_of(name, 1.0, 0.4), st.just(lambda op: op), tried=ALL)


def step_of(name: str, args: dict[str, Any], p: float) -> Any:
    """The step; None where albumentations refuses such arguments."""
    try:
        return construct(Step(name, Arguments(args), p=p))
    except RecipeError:
        return None


def group_of(name: str, weights: list[float], count: int, p: float) -> Any:
    children = [A.NoOp(p=weight) for weight in weights]
    few = min(count, len(children))
    made = {"OneOf": lambda: A.OneOf(children, p=p), "SomeOf": lambda: A.SomeOf(children, n=few, p=p)}
    return made.get(name, lambda: A.RandomOrder(children, n=few, p=p))()


WEIGHTS = st.lists(st.floats(0.001, 1), min_size=1, max_size=15)


@NATIVE
@pytest.mark.parametrize("name", ["OneOf", "SomeOf", "RandomOrder"])
def test_choices_of_groups_are_those_of_the_groups(name: str) -> None:
    def law(weights: list[float], count: int, seed: int, keys: Any, p: float) -> None:
        check_choice(name, group_of(name, weights, count, p), seed, keys)

    holds(law, WEIGHTS, st.integers(1, 15), SEEDS, KEYS, st.sampled_from((1.0, 0.4)), tried=ALL)


def check_choice(name: str, group: Any, seed: int, keys: Any, last: float | None = None) -> None:
    nothing = Op("", False, 1.0, NativeOp(DRAWS.NOTHING, EFFECTS.KEEPS, (), lambda _: ()))
    found = encodings.lower_group(group, name, [[(None, nothing)]] * len(group.transforms), shared=False)
    assert found is not None
    numbers = found[0][1].numbers
    if last is not None:
        numbers = replace(numbers, arguments=(*numbers.arguments[:-1], last))
    check(name, numbers, group, seed, keys, (9, 9))


@NATIVE
@pytest.mark.parametrize("name", ["OneOf", "SomeOf"])
def test_other_choices_are_noticed(name: str) -> None:
    group = group_of(name, [0.3, 0.4, 0.5, 0.6], 3, 1.0)
    with pytest.raises(AssertionError):
        check_choice(name, group, 1, [(k, 0) for k in range(200)], last={"OneOf": 0.9, "SomeOf": 0}[name])


@NATIVE
@pytest.mark.parametrize("name", ARGUMENTS)
def test_usual_arguments_are_known(name: str) -> None:
    """The law would be idle if nothing were encoded."""
    known: list[bool] = []

    def law(args: dict[str, Any]) -> None:
        made = step_of(name, args, 1.0)
        known.append(made is not None and encode(made) is not None)

    holds(law, ARGUMENTS[name], tried=settings(derandomize=True, database=None))
    assert sum(known) > len(known) / 2


def another(draw: int) -> Callable[[NativeOp], NativeOp]:
    return lambda found: replace(found, draw=draw)


def nudged(place: int, by: float) -> Callable[[NativeOp], NativeOp]:
    def made(found: NativeOp) -> NativeOp:
        numbers = list(found.arguments)
        numbers[place] += by
        return replace(found, arguments=tuple(numbers))

    return made


# Steps that draw a little otherwise.
SPOILT: dict[str, Callable[[NativeOp], NativeOp]] = {
    "RandomCrop": another(DRAWS.CENTER_CROP), "SmallestMaxSize": nudged(0, 1), "LongestMaxSize": nudged(0, -1),
    "RandomScale": nudged(0, 1e-9), "PadIfNeeded": nudged(4, 1),
    "CenterCrop": nudged(1, 1),
}  # fmt: skip


@NATIVE
@pytest.mark.parametrize("name", SPOILT)
def test_planted_faults_are_found(name: str) -> None:
    with pytest.raises(FAILURES):
        holds(draws_are_those, *examples_of(name, 1.0), st.just(SPOILT[name]), tried=PLANTED)
