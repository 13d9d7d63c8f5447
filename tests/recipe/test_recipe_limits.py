"""What is no recipe at all: other encodings, binary files, bombs, bottomless nesting: only ever a RecipeError. And
twice the recipe is twice the work, counted.
"""

import contextlib
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from support.checks import growth
from support.damage import DAMAGES
from support.files import parse_file

from augrecipes.errors import RecipeError
from augrecipes.lint import lint, lints
from augrecipes.recipe import gallery, keys, limits, parse
from augrecipes.recipe.nodes import MappingNode, Place
from augrecipes.recipe.parse import load, parse_text, parse_value
from augrecipes.recipe.problems import Problems
from augrecipes.recipe.variants import Resolved

GOOD = "version: 1\nrecipe: a\nsteps: [HorizontalFlip]\n"


def first(text: str | bytes) -> tuple[str, int, int]:
    with pytest.raises(RecipeError) as raised:
        parse_text(text)
    problem = raised.value.problems[0]
    return problem.code, problem.line, problem.col


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"
MERGE_BOMB = "a: &a {k: 1}\nb: &b {<<: [*a, *a]}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("E114", 1, 1)),
        ("\n\n# only a comment\n", ("E114", 1, 1)),
        ("- HorizontalFlip\n", ("E201", 1, 1)),
        ("just text", ("E201", 1, 1)),
        ("[" * 200_000, ("E106", 1, 33)),
        ("{a: " * 200_000, ("E106", 1, 129)),
        ("- " * 200_000, ("E106", 1, 65)),
        ("".join(" " * i + "a:\n" for i in range(1000)), ("E106", 33, 33)),
        ("[" + "a," * 60_000 + "]", ("E107", 1, 100_000)),
        ("a" * 1_000_001, ("E102", 1, 1)),
        ("version: 1\nrecipe: a\nsteps: [" + "NoOp," * 5001 + "]", ("E118", 3, 25_009)),
        (GOOD + "eval: [{OneOf: {steps: [" + "NoOp," * 5000 + "]}}]", ("E118", 4, 25_015)),
        (GOOD + "steps: []\n", ("E111", 4, 1)),
        (GOOD + "x: {a: 1, a: 2}\n", ("E202", 4, 1)),
        (GOOD + "---\n" + GOOD, ("E110", 4, 1)),
        (GOOD + "? [a]\n: 3\n", ("E113", 4, 3)),
        (GOOD + "about: !!str x\n", ("E109", 4, 8)),
        (GOOD + "about: !x x\n", ("E109", 4, 8)),
        ("!!python/object/apply:os.system [ls]\n", ("E109", 1, 1)),
        (GOOD + "about: .inf\n", ("E115", 4, 8)),
        (GOOD + "about: -.INF\n", ("E115", 4, 8)),
        (GOOD + "about: .nan\n", ("E115", 4, 8)),
        (GOOD + "about: 1e999\n", ("E115", 4, 8)),
        (GOOD + "about: " + "9" * 5000 + "\n", ("E115", 4, 8)),
        ("version: 1\nrecipe: [a\n", ("E105", 3, 1)),
        ("version: 1\n\trecipe: a\n", ("E105", 2, 1)),
        ("a: 'b\n", ("E105", 2, 1)),
        ("a: b: c\n", ("E105", 1, 5)),
        ("version: 1\x00\n", ("E104", 1, 11)),
        ("version: 1\nabout: \x07\n", ("E104", 2, 8)),
        ("version: 1\nabout: caf\xe9\n".encode("latin-1"), ("E103", 2, 11)),
        (GOOD.encode("utf-16"), ("E103", 1, 1)),
        (GOOD.encode("utf-32"), ("E103", 1, 1)),
        (GOOD.encode("utf-16-le"), ("E104", 1, 2)),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", ("E104", 1, 1)),
        (bytes(range(256)), ("E104", 1, 1)),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_no_recipe(text: str | bytes, expected: tuple[str, int, int]) -> None:
    assert first(text) == expected


@pytest.mark.parametrize("text", [BOMB, MERGE_BOMB])
def test_aliases_and_merge_keys_are_refused_where_they_stand(text: str) -> None:
    with pytest.raises(RecipeError) as raised:
        parse_text(text)
    codes = {(problem.code, problem.line) for problem in raised.value.problems}
    assert {("E108", 1), ("E108", 2)} <= codes
    assert (("E112", 2) in codes) == ("<<" in text)


def test_without_libyaml_all_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        GOOD,
        BOMB,
        "[" * 200_000,
        "{a: " * 200_000,
        "a: 'b\n",
        "version: 1\n\trecipe: a\n",
        GOOD + "about: .inf\n",
    ]

    def outcome(text: str) -> object:
        try:
            return parse_text(text)
        except RecipeError as error:
            return [(problem.code, problem.line) for problem in error.problems]

    expected = [outcome(text) for text in texts]
    monkeypatch.setattr(parse, "_LOADER", yaml.SafeLoader)
    assert [outcome(text) for text in texts] == expected


def test_a_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    text = GOOD.replace("\n", "\r\n")
    assert parse_text(b"\xef\xbb\xbf" + text.encode()) == parse_text(GOOD)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_bytes(b"")
    for name, code in (("missing.yaml", "E101"), (".", "E101"), ("empty.yaml", "E114"), ("a\0b.yaml", "E101")):
        recipe, problems = parse_file(tmp_path / name)
        assert recipe is None
        assert [problem.code for problem in problems] == [code]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    _, problems = parse_file(tmp_path / "pipe.yaml")
    assert problems[0].code == "E101"


def test_load_names_the_likely_recipe() -> None:
    with pytest.raises(RecipeError, match="did you mean 'folder-128'"):
        load("folder128")
    with pytest.raises(RecipeError, match="cannot be read"):
        load("nowhere/folder.yaml")


def test_values_of_the_command_line() -> None:
    assert parse_value("[1e-3, no, 0x10, {a: ~}]") == [0.001, "no", 16, {"a": None}]
    with pytest.raises(RecipeError):
        parse_value("[1")


def only_recipe_errors(data: bytes) -> None:
    try:
        parse_text(data)
    except RecipeError as error:
        assert error.problems
        for problem in error.problems:
            assert "\n" not in problem.message
            assert problem.line >= 0


@given(st.binary(max_size=300))
@example(b"\xff\xfe")
def test_any_bytes(data: bytes) -> None:
    only_recipe_errors(data)


@given(st.text(alphabet="abp{}[]:,-?&*!|>'\"#%@`~<.0123456789 \n\t", max_size=120))
def test_any_yaml_like_text(text: str) -> None:
    only_recipe_errors(text.encode())
    only_recipe_errors((GOOD + text).encode())


SEEDS = [gallery.path(name).read_bytes() for name in gallery.gallery_names()]


WORDS = [b"[", b"{", b": ", b"- ", b"&a ", b"*a", b"null", b"\n", b"'", b"p: 2, "]


@given(st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_damaged_recipes(seed: bytes, rng: random.Random) -> None:
    text = bytearray(seed)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) or 1)
        if text and rng.random() < 0.7:
            rng.choice(DAMAGES)(text, at, rng)
        else:
            text[at:at] = rng.choice(WORDS)
    only_recipe_errors(bytes(text))


def test_limits_are_what_the_language_says() -> None:
    assert (limits.MAX_BYTES, limits.MAX_DEPTH, limits.MAX_NODES) == (1_000_000, 32, 50_000)


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
    assert growth(lambda n: check(shape(n)), 30) < MOST


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
    body = re.fullmatch(r".*\((.*)\)\\\]", keys._IGNORE.pattern)
    assert body[1] == r"[^\[\]]*"
    for noise in ("# augrecipes: ignore[", "#", "# ", "# augrecipes:", "#\t", "augrecipes: ignore[L1,"):
        line = noise * 40_000
        for end, expected in (("# augrecipes: ignore[L301, L102]", {"L301", "L102"}), ("", set())):
            resolved = Resolved(MappingNode({}, Place()), {"f": [line + end]}, "f")
            assert keys.Context(Problems(), resolved).ignored(Place("f", 1, 1)) == expected


def test_a_planted_fault_is_found() -> None:
    """A lint that looks at all that follows each step, as one did."""

    def make(n: int) -> Callable[[], object]:
        steps = parse_text(HEAD + "steps:\n" + "- HorizontalFlip\n" * n).steps
        return lambda: [later.name for k in range(n) for later in steps[k + 1 :]]

    assert growth(make, 60) > 3.5
