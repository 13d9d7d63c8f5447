"""The text of a file of Python, or the code cells of a notebook, as a tree; and the tests and names in it."""

from __future__ import annotations

import ast
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

from augrecipes.interop.draft import FOREIGN, wrong
from augrecipes.interop.source.values import OutsideName, Test, UnknownValue
from augrecipes.recipe.nodes import Place

_NAME = "<source to import>"
_MAGIC = re.compile(r"^\s*[%!?]|^\s*[\w.]+\?{1,2}\s*$")
_LONGEST = 80  # of an expression in messages
_FEW = 40  # parts of an expression that are inspected for names


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file that was read.

    Attributes:
        file: as the user named it.
        tree: what it says.
        lines: its lines, as bytes: columns of the tree count these.
        cells: of a notebook the first line of each code cell, and its number.
    """

    file: str
    tree: ast.Module
    lines: list[bytes]
    cells: tuple[tuple[int, int], ...] = ()

    def place(self, line: int, col: int = 1) -> Place:
        """A line as users count it: in a notebook that of a cell."""
        if not self.cells:
            return Place(self.file, line, col)
        first, cell = self.cells[max(0, bisect_right(self.cells, (line, 1 << 60)) - 1)]
        return Place(f"{self.file}, cell {cell}", line - first + 1, col)

    def at(self, node: ast.expr | ast.stmt) -> Place:
        """Where a node stands."""
        return self.place(node.lineno, node.col_offset + 1)

    def text(self, node: ast.expr) -> str:
        """What a node is written as, on one line."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        result = self.lines[first][node.col_offset : node.end_col_offset if first == last else None][: 8 * _LONGEST]
        if first != last:
            result += b" " + self.lines[first + 1][: 8 * _LONGEST]
        text = " ".join(result.decode("utf-8", "replace").split())
        return text if first == last and len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def parse(text: str, file: str) -> SourceText:
    """Read a text as Python; nothing of it is run.

    Raises:
        RecipeError: it is no Python, or nested too deeply; names the line.

    >>> parse("size = 3", "train.py").tree.body[0].lineno
    1
    """
    cells: tuple[tuple[int, int], ...] = ()
    if file.endswith(".ipynb"):
        text, cells = _cells(text, file)
    # As Python's parser counts them; of a form feed it makes no line.
    lines = re.split(b"\r\n|[\r\n]", text.encode("utf-8", "surrogatepass"))
    empty = SourceText(file, ast.Module([], []), lines, cells)
    try:
        tree = _parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        place = empty.place(getattr(error, "lineno", None) or 1, max(getattr(error, "offset", None) or 1, 1))
        said = getattr(error, "msg", None) or str(error) or "nested too deeply"
        raise wrong(f"no Python that can be read: {said}", place, "", "E603") from None
    return SourceText(file, tree, lines, cells)


def _parsed(text: str) -> ast.Module:
    """Source as Python's parser has it, which warns of nothing that it finds odd in there.

    The time that the parser takes for a name with dots, for an f-string or a line grows with its square.
    """
    if any(sum(map(line.count, ".;|{")) > 20_000 for line in text.split("\n")):
        raise ValueError("too much in one line")
    # By the name of the source: what else threads of the process warn of at the same time is told as ever.
    warnings.filterwarnings("ignore", module=re.escape(_NAME))
    return ast.parse(text, _NAME)


def _cells(text: str, file: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The code of a notebook, without what IPython alone understands, and where each cell begins."""
    try:
        cells = [each for each in enumerate(json.loads(text)["cells"], 1) if each[1]["cell_type"] == "code"]
        codes = [(number, _plain("".join(map(str, cell["source"])))) for number, cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise wrong("no notebook that can be read", Place(file, 1, 1), "", "E603") from None
    starts = accumulate((code.count("\n") + 1 for _, code in codes), initial=1)
    return "\n".join(code for _, code in codes), tuple(zip(starts, (number for number, _ in codes), strict=False))


def _plain(code: str) -> str:
    """The code of a cell; one that is no Python is empty, and so is a line of magic."""
    code = re.sub("\r\n|\r", "\n", code)
    if code.lstrip().startswith("%%") and not code.lstrip().startswith(("%%time", "%%capture")):
        return "\n" * code.count("\n")
    code = "\n".join(re.sub(r"\S.*", "pass", line) if _MAGIC.match(line) else line for line in code.split("\n"))
    try:
        _parsed(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "\n" * code.count("\n")
    return code


def dotted(node: ast.expr) -> str:
    """An expression as names joined by dots, keys of mappings among them; empty where it is more than that.

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
    """Names in an expression that stand for nothing that is known; those that are called are not among them."""
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


# Tests that cannot be told: what they are called, what is assumed of them, and what names say of training.

# Comparisons by their sign, those that negate another one by that one's.
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "==", ast.Is: "is", ast.IsNot: "is", ast.In: "in", ast.NotIn: "in",
}  # fmt: skip


def _label(node: ast.expr) -> str:
    """A name for the branch where a test holds: what a value is compared with, or the name that is tested.

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
    """A test, without what negates it."""
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


_WORDS: dict[str, list[str]] = FOREIGN["words"]  # of names that speak of training or of evaluation
_NOT = {"train": "eval", "augment": "eval", "eval": "train", "": ""}


def role(name: str) -> str:
    """`train`, `augment` (training, less surely), `eval` or nothing; the last part of the name that tells decides.

    >>> role("get_transforms.not_is_test"), role("valid_dataset.transform"), role("weak"), role("testTransform")
    ('train', 'eval', '', 'eval')
    """
    result = ""
    for part in name.split("."):
        words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", part).lower())
        here = next((said for said, known in _WORDS.items() if not {*known}.isdisjoint(words)), "")
        here = _NOT[here] if words[:1] == ["not"] else here
        if here and not (here == "augment" and result):
            result = here
    return result
