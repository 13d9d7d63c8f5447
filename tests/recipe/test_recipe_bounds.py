"""Numbers that no step can work with, and pictures that no machine can hold, are told by check, with the line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from recipe_strategies import CLASSES

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.ops import bounds, catalog
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.write import flow

# Beyond OpenCV's integers, beyond any memory, and beyond what floats can be squared to.
EXTREME = (2**31, 2**32 + 1, -(2**31) - 1, 10**9, 1e300, -1e300)
NEEDED: dict[str, Any] = {
    "height": 8,
    "width": 8,
    "size": [8, 8],
    "min_max_height": [100, 101],
    "num_grid_xy": [4, 4],
    "magnitude": 5,
}


def placed(schema: Mapping[str, Any], number: float) -> Iterator[Any]:
    """Values of a schema's shapes with a number in every numeric place."""
    for part in schema.get("anyOf", ()):
        yield from placed(part, number)
    kind = schema.get("type")
    if kind == "number" or (kind == "integer" and isinstance(number, int)):
        yield number
    elif kind == "array":
        parts = schema.get("prefixItems") or [schema.get("items", {})] * 3
        for values in zip(*(list(placed(part, number)) for part in parts), strict=False):
            yield list(values)
    elif kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        for value in placed(schema["additionalProperties"], number):
            yield {"x": value}


def found(name: str, given: Mapping[str, Any]) -> list[Diagnostic]:
    schema = catalog.shipped()[name]
    needed = {key: NEEDED[key] for key in schema.get("required", ()) if key in NEEDED}
    try:
        parse_text(f"version: 1\nrecipe: t\nsteps:\n- {name}: {flow({**needed, **given})}\n")
    except RecipeError as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize("name", CLASSES)
def test_numbers_beyond_all_bounds_are_told_with_their_argument(name: str) -> None:
    for argument, schema in catalog.shipped()[name]["properties"].items():
        for number in EXTREME:
            for value in placed(schema, number):
                told = found(name, {argument: value})
                assert (f"{name}.{argument}", 4) in {(problem.name, problem.line) for problem in told}, (value, told)


@pytest.mark.parametrize(
    ("step", "fine"),
    [
        ("Resize: {height: 18000, width: 18000}", True),
        ("Resize: {height: 20000, width: 20000}", False),
        ("RandomResizedCrop: {size: [1000000, 400]}", False),
        ("RandomCrop: {height: 900000, width: 900000}", True),  # no picture is as large; its window is refused
        ("RandomCrop: {height: 900000, width: 900000, pad_if_needed: true}", False),
        ("Crop: {x_max: 1000000}", True),
        ("Crop: {x_max: 1000000, pad_if_needed: true}", False),
        ("Crop: {x_max: 1000000, x_min: 999000, pad_if_needed: true}", True),
        ("PadIfNeeded: {min_height: 4294967297, min_width: 8}", False),
        ("PadIfNeeded: {min_height: 100000, min_width: 100000}", False),
        ("PadIfNeeded: {min_height: null, min_width: null, pad_height_divisor: 32, pad_width_divisor: 32}", True),
        ("SmallestMaxSize: {max_size: 30000}", False),
        ("SmallestMaxSize: {max_size: [500, 30000]}", True),
        ("LongestMaxSize: {max_size: 30000}", True),
    ],
)
def test_pictures_that_are_too_large_are_told(step: str, fine: bool) -> None:
    name, _, body = step.partition(": ")
    try:
        parse_text(f"version: 1\nrecipe: t\nsteps: [{{{name}: {body}}}]")
    except RecipeError as error:
        assert not fine, error
        assert {problem.code for problem in error.problems} == {"E308"}
    else:
        assert fine


# (class, argument, what is still allowed, what is not), at both ends of each of the bounds.
EDGES = [
    (name, argument, inside, outside)
    for of, (low, high) in bounds.LIMITS.items()
    for name in ([of[0]] if isinstance(of, tuple) else [n for n in CLASSES if of in catalog.shipped()[n]["properties"]])
    for argument in [of[1] if isinstance(of, tuple) else of]
    for inside, outside in ((low, low / 2 if 0 < low < 1 else low - 1), (high, 2 * high + 1))
    if inside != -bounds.LARGEST
]


def edges(*, beyond: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every argument with bounds of its own at each of them, or outside."""
    for name, argument, inside, outside in EDGES:
        for value in placed(catalog.shipped()[name]["properties"][argument], outside if beyond else inside):
            yield name, {argument: value}


def test_arguments_with_bounds_of_their_own_end_there() -> None:
    assert {name for name, *_ in EDGES} <= set(CLASSES)
    for name, given in edges(beyond=True):
        (argument,) = given
        assert f"{name}.{argument}" in {problem.name for problem in found(name, given)}, given


RUN = """
import resource, warnings
import numpy as np
from augrecipes.recipe.parse import parse_text
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
picture = np.random.default_rng(0).integers(0, 256, (256, 320, 3), dtype=np.uint8)
recipe = parse_text({text!r})
for index in range(2):
    recipe.compile().at(index)(image=picture)
"""


@pytest.mark.soak
@pytest.mark.parametrize(("name", "given"), list(edges(beyond=False)), ids=str)
def test_what_check_lets_pass_runs_in_a_bounded_memory(name: str, given: dict[str, Any]) -> None:
    if found(name, given):
        return  # the class refuses it, or a size of zero
    schema = catalog.shipped()[name]
    needed = {key: NEEDED[key] for key in schema.get("required", ()) if key in NEEDED}
    text = f"version: 1\nrecipe: t\nsteps: [{{{name}: {flow({**needed, **given, 'p': 1.0})}}}]\neval: []"
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(text=text)], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr[-300:]


def test_without_the_bounds_the_law_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault, and why the bounds are there: the process ends."""
    monkeypatch.setattr(bounds, "fault", lambda *_: None)
    given = {"min_height": 2**32 + 1, "min_width": 8}
    assert found("PadIfNeeded", given) == []
    program = (
        "import numpy as np\nfrom augrecipes.ops import bounds\nbounds.fault = lambda *_: None\n"
        "from augrecipes.recipe.parse import parse_text\n"
        f"recipe = parse_text('version: 1\\nrecipe: t\\nsteps: [{{PadIfNeeded: {flow(given)}}}]')\n"
        "recipe.compile().at(0)(image=np.zeros((9, 9, 3), np.uint8))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=120)
    assert done.returncode != 0
