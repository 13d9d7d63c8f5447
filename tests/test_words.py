"""One meaning a word: identifiers that were given up stay away, and no two classes share a name."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from support.syntax import nodes, parsed

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "augrecipes"
# Words that no identifier has as a part any more, and what is said instead.
RETIRED = {
    "told": "report, text or message",
    "gauge": "metric",
    "gauges": "metrics",
    "habit": "naming scheme",
    "habits": "naming schemes",
    "respelt": "equivalent",
    "spelt": "written",
    "tint": "colour operation",
    "tints": "colour operations",
    "tinted": "coloured",
    "owe": "defer",
    "owes": "defers",
    "owed": "pending",
    "surround": "write_frame, or instrument",
    "into": "output buffer",
    "twin": "quick apply, or counterpart",
    "twins": "quick applies, or counterparts",
}
# Whole names that meant two things each; the words have a meaning left.
GONE = {
    "_around": "overhead, or call",
    "around": "overhead, or call",
    "Whole": "AsCompose",
    "heads": "headers, headings or captions",
    "read_head": "read_file_header",
    "draw_mask": "render_mask",
    "draw_text": "render_text",
    "draw_worst": "render_worst",
    "Given": "what it is of",
    "StepKind": "Action",
    "EffectKind": "Effect",
    "kind_for": "action",
    "kind_of": "action_of",
}
# Classes with a `kind`: what a recipe is of, and two whose JSON is public.
OF_A_KIND = {"Recipe", "Context", "RecipeDataset", "ImageFolder", "Views", "PairedImages", "TileBags", "Index", "Bench"}
OF_A_KIND |= {"Stage", "Defect", "_PlanOfPart", "_OldIndex"}
ELSEWHERE = {"pack_into"}  # a name of Python's


def names_of(text: str) -> Iterator[tuple[str, int]]:
    """Every name that a file uses or defines, and its line."""
    for node in nodes(text):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name, line
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, line
            case ast.alias(name=name, asname=other):
                yield from ((part, line) for part in (*name.split("."), other) if part)
            case ast.ImportFrom(module=str(module)):
                yield from ((part, line) for part in module.split("."))
            case _:
                pass


@cache
def parts_of(name: str) -> list[str]:
    """The words that a name is made of.

    >>> parts_of("_TOLD"), parts_of("OwedMoves"), parts_of("tint_error")
    (['told'], ['owed', 'moves'], ['tint', 'error'])
    """
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def retired_in(path: str, text: str) -> list[str]:
    """Names with a word that was given up, and what to say instead."""
    found = []
    for name, line in names_of(text):
        word = next((part for part in parts_of(name) if part in RETIRED), None)
        if word is not None and name not in ELSEWHERE:
            found.append(f"{path}:{line}: {name}: say {RETIRED[word]}")
        elif name in GONE:
            found.append(f"{path}:{line}: {name}: say {GONE[name]}")
    return found


def classes_with(field: str, text: str) -> list[str]:
    """Classes whose body declares a field."""
    return [
        of.name
        for of in nodes(text)
        if isinstance(of, ast.ClassDef)
        and any(isinstance(line, ast.AnnAssign) and getattr(line.target, "id", "") == field for line in of.body)
    ]


def shared_names(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Names that several classes have, leading underscores apart, and the files of each."""
    files = defaultdict(list)
    for path, text in texts.items():
        for node in parsed(text).body:
            if isinstance(node, ast.ClassDef):
                files[node.name.lstrip("_")].append(path)
    return {name: paths for name, paths in files.items() if len(paths) > 1}


def sources() -> dict[str, str]:
    """The text of every module, by its path in the package."""
    return {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def test_words_that_were_given_up_stay_away() -> None:
    assert [fault for path, text in sources().items() for fault in retired_in(path, text)] == []


def test_kind_is_what_a_recipe_is_of() -> None:
    assert {name for text in sources().values() for name in classes_with("kind", text)} - OF_A_KIND == set()


def test_no_two_classes_share_a_name() -> None:
    assert shared_names(sources()) == {}


def test_planted_names_are_found() -> None:
    planted = {"def told_once(into): ...": 2, "from a.tints import b as respelt": 2, "class Whole(_TOLD.Owed): ...": 3}
    planted |= {"hint = printed + 'told'; x.readinto(allowed)  # told": 0}
    assert {text: len(retired_in("bench/a.py", text)) for text in planted} == planted
    assert classes_with("kind", "class Fused:\n    kind: Fusion\nclass Step:\n    action: Action") == ["Fused"]
    texts = {"a.py": "class Side: ...", "b.py": "class _Side: ...", "c.py": "class Sides: ..."}
    assert shared_names(texts) == {"Side": ["a.py", "b.py"]}


def test_the_glossary_is_in_order_and_has_each_word_once() -> None:
    rows = re.findall(r"^\| (\S.*?) \|", (ROOT / "docs" / "GLOSSARY.md").read_text("utf-8"), re.MULTILINE)[1:]
    assert rows == sorted(set(rows), key=str.lower)
