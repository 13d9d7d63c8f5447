"""Numbers of draws and effects stand once, in ops.def: read by both languages, used by both, and nowhere beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import augrecipes
from augrecipes.native import op_numbers

PACKAGE = Path(augrecipes.__file__).parent
SORTS = {
    "DRAW": op_numbers.DRAWS, "EFFECT": op_numbers.EFFECTS, "OPERATION": op_numbers.OPERATIONS,
    "OPTION": op_numbers.OPTIONS, "LIMIT": op_numbers.LIMITS,
}  # fmt: skip
PLURALS = {f"{sort}S": vars(numbers) for sort, numbers in SORTS.items()}
IN_C = {f"DRAWS_{name}" for name in PLURALS["DRAWS"]}.union(*(PLURALS[sort] for sort in PLURALS if sort != "DRAWS"))

# Where modules of Python number what plans hold; elsewhere WIDTH, say, is another one.
TAKE_PART = ("compiler/lowering/", "compiler/run/", "compiler/kernels/jobs.py", "native/")


def texts(*kinds: str) -> dict[str, str]:
    """The text of each file of these kinds, by its path in the package."""
    files = [file for kind in kinds for file in sorted(PACKAGE.rglob(f"*.{kind}"))]
    return {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in files}


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def numbered_in_c(text: str) -> set[str]:
    """Names of ops.def to which a C file gives a number of its own, in an enumeration or a macro."""
    found = set(re.findall(r"^\s*#define (\w+) ", text := without_comments(text), flags=re.MULTILINE))
    for body in re.findall(r"\benum\s*\w*\s*\{([^}]*)\}", text):
        found |= {entry.split("=")[0].strip() for entry in body.split(",")}
    return found & IN_C


def numbered_in_python(text: str) -> set[str]:
    """Names of ops.def to which a module gives numbers of its own, leading underscores apart."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and of_numbers(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id.lstrip("_") for to in targets for name in ast.walk(to) if isinstance(name, ast.Name)}
    return found & set().union(*PLURALS.values())


def of_numbers(value: ast.AST) -> bool:
    """Whether a value is made of written numbers alone, such as `range(4)` or `3, *range(5, 7)`."""
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    numbers = [node for node in ast.walk(value) if isinstance(node, ast.Constant)]
    return names <= {"range"} and bool(numbers) and all(type(node.value) is int for node in numbers)


def named_in_python(text: str) -> Iterator[tuple[str, str]]:
    """The sort and the name of each number that a module asks for."""
    if "op_numbers import" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in PLURALS:
            yield node.value.id, node.attr


def doubled(numbers: Mapping[str, int]) -> list[str]:
    """Names whose number another one has, too."""
    return [name for name, number in numbers.items() if list(numbers.values()).count(number) > 1]


def test_no_number_stands_beside_ops_def() -> None:
    assert {path: found for path, text in texts("c", "h").items() if (found := numbered_in_c(text))} == {}
    modules = {path: text for path, text in texts("py").items() if path.startswith(TAKE_PART)}
    assert {path: found for path, text in modules.items() if (found := numbered_in_python(text))} == {}


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        ("enum { OTHER, CROPS = 0 };", "CROPS"),
        ("enum {\n    DRAWS_CENTER_CROP, /* a window */\n};", "DRAWS_CENTER_CROP"),
        ("#define MOST_HOLES 256\n", "MOST_HOLES"),
    ],
)
def test_a_number_planted_in_c_is_found(planted: str, name: str) -> None:
    assert numbered_in_c(f"/* enum {{ CROPS }}; */\nenum {{ AT_ONCE = 4 }};\n{planted}") == {name}


@pytest.mark.parametrize(
    "planted", ["_CROPS = 0", "CROPS, FLIPS = range(2)", "CROPS, FLIPS = 7, *range(1, 2)", "CROPS: Final = 3"]
)
def test_a_number_planted_in_python_is_found(planted: str) -> None:
    text = f"CENTER_CROP = found()\n_GRAYS = EFFECTS.GRAYS\n_FULL = 255\n{planted}"
    assert "CROPS" in numbered_in_python(text) <= {"CROPS", "FLIPS"}


def test_python_asks_for_names_that_are_there() -> None:
    asked = {one for text in texts("py").values() for one in named_in_python(text)}
    assert {one for one in asked if one[1] not in PLURALS[one[0]]} == set()
    assert len(asked) > 80
    with pytest.raises(AttributeError, match="NO_SUCH_EFFECT"):
        _ = op_numbers.EFFECTS.NO_SUCH_EFFECT


def test_every_number_is_used_by_c() -> None:
    used = set(re.findall(r"\w+", "".join(without_comments(text) for text in texts("c", "h").values())))
    assert IN_C - used <= set(PLURALS["OPTIONS"])  # the last of some options is what the others are not


@pytest.mark.parametrize("sort", ["DRAWS", "EFFECTS", "OPERATIONS"])
def test_no_two_of_a_sort_share_a_number(sort: str) -> None:
    assert doubled(PLURALS[sort]) == []
    assert doubled({"A": 1, "B": 2, "C": 1}) == ["A", "C"]


def test_each_line_of_the_file_is_read() -> None:
    lines = (PACKAGE / "native" / "ops.def").read_text(encoding="utf-8").splitlines()
    written = [line for line in lines if re.match(r"[A-Za-z_]+\(", line)]
    assert len(written) == sum(len(numbers) for numbers in PLURALS.values())
