"""Tests that cannot be told: what they are called, what is assumed of them, and what names say of training."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from augrecipes.interop.source.text import SourceText, dotted
from augrecipes.recipe.nodes import Place

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}


@dataclass(frozen=True, slots=True)
class Test:
    """A condition that cannot be told: its text, a name for the branch where it holds, and its place."""

    text: str
    label: str
    at: Place

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
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.In()], comparators=[right]):
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


def _text(node: ast.expr) -> str:
    """A comparison of a name with a constant, always written alike; empty for others."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=value)]) if dotted(left):
            return f"{dotted(left)} == {value!r}"
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=value)]) if dotted(left):
            return f"{dotted(left)} is {value!r}"
    return dotted(node)


def returns(statements: Sequence[ast.stmt]) -> bool:
    """Whether statements end by leaving the function, as far as they show it."""
    match statements:
        case [*_, ast.Return()]:
            return True
        case [*_, ast.If(body=body, orelse=orelse)]:
            return returns(body) and returns(orelse)
    return False


def tests_of(statement: ast.Match) -> list[ast.stmt]:
    """A match as the chain of tests that it is, for values and names of classes alone."""
    orelse: list[ast.stmt] = []
    for case in reversed(statement.cases):
        match case.pattern:
            case ast.MatchValue(value=value):
                test: ast.expr = ast.Compare(statement.subject, [ast.Eq()], [value])
            case ast.MatchOr(patterns=patterns) if all(isinstance(each, ast.MatchValue) for each in patterns):
                values = ast.Tuple([each.value for each in patterns], ast.Load())  # type: ignore[attr-defined]
                test = ast.Compare(statement.subject, [ast.In()], [ast.copy_location(values, patterns[0])])
            case _:
                orelse = case.body
                continue
        orelse = [ast.copy_location(ast.If(ast.copy_location(test, case.pattern), case.body, orelse), case.pattern)]
    return orelse


def test_of(node: ast.expr, source: SourceText) -> tuple[Test, bool]:
    """A test, without what negates it, and whether nothing did."""
    same = True
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, same = node.operand, not same
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPPOSITE:
        opposite = ast.Compare(node.left, [_OPPOSITE[type(node.ops[0])]()], node.comparators)
        node, same = ast.copy_location(opposite, node), not same
    text = _text(node) or source.text(node)
    return Test(text, _label(node) or f"line_{node.lineno}", source.at(node)), same


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text)[:40]


# Words of names that speak of training or of evaluation.
_EVAL = frozenset({
    "val", "valid", "validation", "validate", "test", "testing", "eval", "evaluation", "predict", "pred", "inference",
    "infer", "tta", "dev",
})  # fmt: skip
_TRAIN = frozenset({"train", "training", "trn", "fit"})
_AUGMENT = frozenset({"augment", "augmentation", "augmentations", "augmented", "aug", "augs"})
_NOT = {"train": "eval", "augment": "eval", "eval": "train", "": ""}


def role(name: str) -> str:
    """`train`, `augment` (training, less surely), `eval` or nothing; the last part of the name that tells decides.

    >>> role("get_transforms.not_is_test"), role("valid_dataset.transform"), role("weak"), role("testTransform")
    ('train', 'eval', '', 'eval')
    """
    found = ""
    for part in name.split("."):
        words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", part).lower())
        here = next((said for said, known in _KNOWN if known.intersection(words)), "")
        here = _NOT[here] if words[:1] == ["not"] else here
        if here and not (here == "augment" and found):
            found = here
    return found


_KNOWN = (("eval", _EVAL), ("train", _TRAIN), ("augment", _AUGMENT))
