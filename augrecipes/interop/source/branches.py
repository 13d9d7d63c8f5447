"""Tests that cannot be told: what they are called, what is assumed of them, and what names say of training."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from augrecipes.interop.draft import FOREIGN
from augrecipes.interop.source.text import SourceText, dotted
from augrecipes.recipe.nodes import Place

# Comparisons by their sign, those that negate another one by that one's.
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "==", ast.Is: "is", ast.IsNot: "is", ast.In: "in", ast.NotIn: "in",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Test:
    """A condition that cannot be told, without what negates it.

    Attributes:
        text: as it is written.
        label: a name for the branch where it holds.
        at: where it stands.
        negated: whether the source asks for the opposite.
    """

    text: str
    label: str
    at: Place
    negated: bool = False

    def branch(self, holds: bool) -> str:
        """The name of one of the two branches.

        >>> Test("phase == 'train'", "train", Place()).branch(False)
        'not_train'
        """
        return self.label if holds else f"not_{self.label}"


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What a reading takes for true of tests that cannot be told.

    Attributes:
        tests: tests by their text.
        evaluating: others that tell training from evaluation are taken as in evaluation.
    """

    tests: Mapping[str, bool] = field(default_factory=dict)
    evaluating: bool = False

    def holds(self, test: Test) -> bool:
        """Whether a test holds; of those that nothing says anything of, that they do."""
        phase = role(test.label)
        return self.tests.get(test.text, not phase or (phase == "eval") == self.evaluating)


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


def test_of(node: ast.expr, source: SourceText) -> Test:
    """A test, without what negates it."""
    negated = False
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, negated = node.operand, not negated
    text = dotted(node) or source.text(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _SIGNS:
        sides = [dotted(side) or source.text(side) for side in (node.left, node.comparators[0])]
        text = f" {_SIGNS[type(node.ops[0])]} ".join(sides)
        negated ^= isinstance(node.ops[0], ast.NotEq | ast.IsNot | ast.NotIn)
    return Test(text, _label(node) or f"line_{node.lineno}", source.at(node), negated)


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text)[:40]


_WORDS: dict[str, list[str]] = FOREIGN["words"]  # of names that speak of training or of evaluation
_NOT = {"train": "eval", "augment": "eval", "eval": "train", "": ""}


def role(name: str) -> str:
    """`train`, `augment` (training, less surely), `eval` or nothing; the last part of the name that tells decides.

    >>> role("get_transforms.not_is_test"), role("valid_dataset.transform"), role("weak"), role("testTransform")
    ('train', 'eval', '', 'eval')
    """
    found = ""
    for part in name.split("."):
        words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", part).lower())
        here = next((said for said, known in _WORDS.items() if not {*known}.isdisjoint(words)), "")
        here = _NOT[here] if words[:1] == ["not"] else here
        if here and not (here == "augment" and found):
            found = here
    return found
