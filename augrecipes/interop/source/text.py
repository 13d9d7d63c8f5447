"""Parsing of Python source, and the tests and names in it."""

import ast
import re
import warnings
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from augrecipes.interop.budget import spend
from augrecipes.interop.draft import FOREIGN, wrong
from augrecipes.interop.source.values import OutsideName, Test, UnknownValue
from augrecipes.recipe.nodes import Place

_NAME = "<source to import>"
_WORD = re.compile(r"[^\W\d]\w*")
_LONGEST = 80  # characters of an expression in messages
_FEW = 40  # parts of an expression inspected for names


@dataclass(frozen=True, slots=True)
class SourceText:
    """A parsed Python file.

    Attributes:
        file: the file as the user named it.
        tree: the syntax tree.
        lines: its lines as bytes, which the tree's columns count.
    """

    file: str
    tree: ast.Module
    lines: list[bytes]

    def place(self, line: int, col: int = 1) -> Place:
        """The Place of a line."""
        return Place(self.file, line, col)

    def at(self, node: ast.expr | ast.stmt) -> Place:
        """The Place of a node."""
        return self.place(node.lineno, node.col_offset + 1)

    def text(self, node: ast.expr) -> str:
        """The source text of a node, on one line."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        result = self.lines[first][node.col_offset : node.end_col_offset if first == last else None][: 8 * _LONGEST]
        if first != last:
            result += b" " + self.lines[first + 1][: 8 * _LONGEST]
        text = " ".join(result.decode("utf-8", "replace").split())
        return text if first == last and len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def parse(text: str, file: str) -> SourceText:
    """Parse a text as Python, without running it.

    Raises:
        RecipeError: it is not Python, or nested too deeply; the error names the line.

    >>> parse("size = 3", "train.py").tree.body[0].lineno
    1
    """
    # As Python's parser counts lines: a form feed is not a line break.
    lines = re.split(b"\r\n|[\r\n]", text.encode("utf-8", "surrogatepass"))
    try:
        tree = _parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        place = Place(file, getattr(error, "lineno", None) or 1, max(getattr(error, "offset", None) or 1, 1))
        message = getattr(error, "msg", None) or str(error) or "nested too deeply"
        raise wrong(f"no Python that can be read: {message}", place, "", "E603") from None
    return SourceText(file, tree, lines)


def _parse(text: str) -> ast.Module:
    """Parse source without warnings about it.

    The parser's time is quadratic in the length of a dotted name, an f-string or a line.
    """
    if any(sum(map(line.count, ".;|{")) > 20_000 for line in text.split("\n")):
        raise ValueError("too much in one line")
    # Filtered by the source's name: warnings of other threads stay.
    warnings.filterwarnings("ignore", module=re.escape(_NAME))
    return ast.parse(text, _NAME)


def dotted(node: ast.expr) -> str:
    """An expression of names and constant keys as names joined by dots; empty for any other expression.

    >>> dotted(ast.parse("cfg['data'].size").body[0].value), dotted(ast.parse("f(x).y").body[0].value)
    ('cfg.data.size', '')
    """
    parts: list[str] = []
    while True:
        match node:
            case ast.Name():
                return ".".join([node.id, *reversed(parts)])
            case ast.Attribute():
                parts.append(node.attr)
                node = node.value
            case ast.Subscript(slice=ast.Constant(value=str() | int() as key)):
                parts.append(str(key))
                node = node.value
            case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant(value=str() as key), *_]):
                parts.append(key)
                node = owner
            case _:
                return ""
        if len(parts) > 32:
            return ""


def names_in(node: ast.expr, value_of: Callable[[str], Any]) -> list[str]:
    """Names of unknown values in an expression, without names of called functions."""
    names: list[str] = []
    left: list[ast.AST] = [node]
    for each in left:
        if isinstance(each, ast.Name | ast.Attribute | ast.Subscript) and (path := dotted(each)):
            first = path.partition(".")[0]
            value = value_of(first)
            if path == first and isinstance(value, UnknownValue):
                names += value.roots
            elif value is None or isinstance(value, UnknownValue | OutsideName):
                names.append(path)
            continue
        inner = islice(ast.iter_child_nodes(each), _FEW)
        left += [part for part in inner if part is not getattr(each, "func", None)] if len(left) < _FEW else []
    return names


# Names that transforms depend on.


@lru_cache(maxsize=64)  # each reading of a file asks
def tested_names(node: ast.AST) -> frozenset[str]:
    """The names in the tests of a function."""
    nodes = [*ast.walk(node)]
    spend(len(nodes) // 2)
    tests = (each.test for each in nodes if isinstance(each, ast.If | ast.IfExp))
    return frozenset(each.id for test in tests for each in ast.walk(test) if isinstance(each, ast.Name))


def words_of(statement: ast.stmt, source: SourceText) -> tuple[set[str], set[str]]:
    """The words on the lines of a statement, and those of them before its first equals sign."""
    lines = b"\n".join(source.lines[statement.lineno - 1 : statement.end_lineno]).decode("utf-8", "replace")
    whole, first = (set(_WORD.findall(part)) for part in (lines, lines.partition("=")[0]))
    return whole, first


def relevant_names(source: SourceText, calls: Sequence[tuple[int, int, int]]) -> frozenset[str]:
    """Names that some calls (line, column, id) depend on, by a scan of the words in statements."""
    ends = [line for line, _, _ in calls]
    statements = [each for each in ast.walk(source.tree) if isinstance(each, ast.stmt) and not hasattr(each, "body")]
    names: set[str] = set()
    for first_pass in (True, False):
        for each in reversed(statements):
            at = bisect_left(ends, each.lineno) if first_pass else 0
            whole, given = words_of(each, source)
            has_call = first_pass and at < len(ends) and ends[at] <= (each.end_lineno or each.lineno)
            names |= whole if has_call or not names.isdisjoint(given) else set()
    return frozenset(names)


# Unknown tests: their names, and what names say of training and evaluation.

# The sign of each comparison; a negated comparison has that of its opposite.
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "==", ast.Is: "is", ast.IsNot: "is", ast.In: "in", ast.NotIn: "in",
}  # fmt: skip


def _label(node: ast.expr) -> str:
    """A name for the true branch of a test: the value that is compared with, or the tested name.

    >>> _label(ast.parse("phase == 'train'").body[0].value), _label(ast.parse("cfg.is_train").body[0].value)
    ('train', 'is_train')
    """
    match node:
        case ast.Compare(left=left, comparators=[right]):
            sides = [side.value for side in (right, left) if isinstance(side, ast.Constant)]
            if sides and isinstance(sides[0], bool):
                return f"{'' if sides[0] else 'not_'}{_label(left)}"
            if sides and isinstance(sides[0], str):
                return _word(sides[0])
            if isinstance(right, ast.Tuple | ast.List) and right.elts and isinstance(right.elts[0], ast.Constant):
                return _word(str(right.elts[0].value))
        case ast.BoolOp(values=[first, *_]):
            return _label(first)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return _word(dotted(node).rpartition(".")[2])
    return ""


def test_of(node: ast.expr, source: SourceText, value_of: Callable[[str], Any]) -> Test:
    """The Test of an expression, with negations removed."""
    negated = False
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, negated = node.operand, not negated
    text = dotted(node) or source.text(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _SIGNS:
        sides = [dotted(side) or source.text(side) for side in (node.left, node.comparators[0])]
        text = f" {_SIGNS[type(node.ops[0])]} ".join(sides)
        negated ^= isinstance(node.ops[0], ast.NotEq | ast.IsNot | ast.NotIn)
    roots = tuple(dict.fromkeys(names_in(node, value_of)))[:4]
    return Test(text, _label(node) or f"line_{node.lineno}", source.at(node), negated, roots)


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text)[:40]


_WORDS: dict[str, list[str]] = FOREIGN["words"]  # words in names that indicate training or evaluation
_NOT = {"train": "eval", "augment": "eval", "eval": "train", "": ""}


def role(name: str) -> str:
    """The role of a name: `train`, `augment` (probably training), `eval` or empty; the last telling part decides.

    >>> role("get_transforms.not_is_test"), role("valid_dataset.transform"), role("weak"), role("testTransform")
    ('train', 'eval', '', 'eval')
    """
    result = ""
    for part in name.split("."):
        words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", part).lower())
        here = next((phase for phase, known in _WORDS.items() if not {*known}.isdisjoint(words)), "")
        here = _NOT[here] if words[:1] == ["not"] else here
        if here and not (here == "augment" and result):
            result = here
    return result
