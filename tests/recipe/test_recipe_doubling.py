"""Twice the recipe is twice the work, in every part of the language; counted, not timed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

import pytest
from support.checks import growth

from augrecipes.errors import RecipeError
from augrecipes.lint import lint, lints
from augrecipes.recipe import context
from augrecipes.recipe.nodes import Place
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.problems import Problems

HEAD = "version: 1\nrecipe: t\n"
# Quadratic work would be 4; linear work is 2, and sorting or a longer path to a name a little more.
MOST = 2.4

SHAPES: dict[str, Callable[[int], str]] = {
    "steps": lambda n: "steps:\n" + "- HorizontalFlip\n" * n,
    "steps on a line": lambda n: "steps: [" + "HorizontalFlip, " * n + "]",
    "ids": lambda n: "steps:\n" + "".join(f"- VerticalFlip: {{id: a{k}}}\n" for k in range(n)),
    "turns and crops": lambda n: "steps:\n" + "- Rotate: {limit: 5}\n- RandomCrop: {height: 9, width: 9}\n" * (n // 2),
    "blocked": lambda n: "optimize: fast\nsteps:\n" + "- Rotate: {limit: 5}\n- Blur\n" * (n // 2),
    "blocked by one": lambda n: "optimize: fast\nsteps:\n- Rotate\n" + "- NoOp\n" * n + "- Blur\n" + "- NoOp\n" * n,
    "tables and windows": lambda n: (
        "optimize: fast\nsteps:\n" + "- RandomGamma\n- RandomCrop: {height: 9, width: 9}\n" * (n // 2)
    ),
    "no-ops": lambda n: "optimize: exact\nsteps:\n" + "- NoOp\n- Blur\n" * (n // 2),
    "warps, windows and barriers": lambda n: (
        "optimize: fast\nsteps:\n" + "- Rotate\n- RandomCrop: {height: 9, width: 9}\n- CLAHE\n" * (n // 3)
    ),
    "groups": lambda n: "steps:\n" + "- OneOf: {steps: [Blur, ISONoise, Rotate]}\n" * (n // 4),
    "a wide group": lambda n: "steps:\n- OneOf: {steps: [" + "Blur, " * n + "]}",
    "eval": lambda n: "steps: []\neval:\n" + "- CenterCrop: {height: 9, width: 9}\n" * n,
    "pairs": lambda n: (
        "kind: pair\nscales: {lr: 1, hr: 2}\nsteps:\n"
        + "- RandomCrop: {height: 8, width: 8, at: hr}\n- D4\n" * (n // 2)
    ),
    "long lists": lambda n: "steps:\n- AdditiveNoise: {noise_params: {ranges: [" + "[0, 0.1], " * n + "]}}",
    "comments": lambda n: "steps:\n- HorizontalFlip  # " + "augrecipes: ignore[] # " * n + "\n",
    "ignored steps on a line": lambda n: "steps: [" + "NoOp, " * n + "]  # augrecipes: ignore[L103]",
    "long names": lambda n: "steps: [" + "A" * n + ", " + "_" * n + "]",
    "unknown keys": lambda n: "".join(f"a{k}: 1\n" for k in range(n)) + "steps: []",
    "unknown arguments": lambda n: "steps:\n- Blur: {" + ", ".join(f"a{k}: 1" for k in range(n)) + "}",
}
ADDRESSES = {
    "by ordinal": lambda k: f"HorizontalFlip#{k + 1}",
    "by id": lambda k: f"a{k}",
}


def check(text: str) -> Callable[[], object]:
    def work() -> None:
        with contextlib.suppress(RecipeError):
            lint(parse_text(HEAD + text))

    lints()
    return work


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_twice_the_recipe_is_twice_the_work(shape: Callable[[int], str]) -> None:
    check(shape(4))()  # what is read once
    assert growth(lambda n: check(shape(n)), 60) < MOST


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
@pytest.mark.parametrize("way", ["overrides", "without"])
def test_twice_the_changes_are_twice_the_work(address: Callable[[int], str], way: str) -> None:
    def make(n: int) -> Callable[[], object]:
        named = [
            f"- HorizontalFlip: {{id: a{k}}}\n" if address(k) == f"a{k}" else "- HorizontalFlip\n" for k in range(n)
        ]
        text = HEAD + "steps:\n- Rotate\n- Blur\n" + "".join(named)
        places = [address(k) for k in range(n)]
        change = {"overrides": {f"{place}.p": 0.25 for place in places}} if way == "overrides" else {"without": places}
        return lambda: parse_text(text, **change)

    make(4)()
    assert growth(make, 60) < MOST


def test_no_comment_makes_the_search_for_another_long() -> None:
    """Each bracket that opens is looked at up to the next, so the whole line is looked at twice at most."""
    body = re.fullmatch(r".*\((.*)\)\\\]", context._IGNORE.pattern)
    assert body is not None
    assert body[1] == r"[^\[\]]*"
    for noise in ("# augrecipes: ignore[", "#", "# ", "# augrecipes:", "#\t", "augrecipes: ignore[L1,"):
        line = noise * 40_000
        found = context.Context(Problems(), {"f": [line + "# augrecipes: ignore[L301, L102]"]}).ignored(
            Place("f", 1, 1)
        )
        assert found == {"L301", "L102"}
        assert context.Context(Problems(), {"f": [line]}).ignored(Place("f", 1, 1)) == frozenset()


def test_a_planted_fault_is_found() -> None:
    """A lint that looks at all that follows each step, as one did."""

    def make(n: int) -> Callable[[], object]:
        steps = parse_text(HEAD + "steps:\n" + "- HorizontalFlip\n" * n).steps
        return lambda: [later.name for k in range(n) for later in steps[k + 1 :]]

    assert growth(make, 60) > 3.5
