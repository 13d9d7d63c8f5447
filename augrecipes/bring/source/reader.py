"""A file of Python source gone through from its first line, and then what it never calls."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from augrecipes.bring.source.define import KeptValue
from augrecipes.bring.source.execute import Executor
from augrecipes.bring.source.expressions import Spent, dotted
from augrecipes.bring.source.known import NotKnown
from augrecipes.bring.source.text import SourceText
from augrecipes.bring.source.values import (
    Class,
    Function,
    Instance,
    Made,
    NameScope,
    Test,
)  # fmt: skip

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}


class SourceReader(Executor):
    """Goes through a file, and keeps every object that is made and every list that has a name."""

    def __init__(self, source: SourceText, given: Mapping[str, Any], interesting: Sequence[ast.Call]) -> None:
        super().__init__(source, given)
        self.interesting = sorted((call.lineno, call.col_offset, id(call)) for call in interesting)
        self.exhausted = False
        self.alone: set[int] = set()  # functions and classes that were gone through by themselves

    def read(self, wanted: str = "") -> None:
        """Go through the file, then through what it never calls, and what is wanted by name."""
        try:
            for statement in self.source.tree.body:
                self.block([statement])
            self._never_called(wanted)
        except Spent:
            self.exhausted = True

    def _never_called(self, wanted: str) -> None:
        while self.functions or self.classes:
            functions, classes = self.functions, self.classes
            self.functions, self.classes = [], []
            for path, cls in classes:
                if self._first(cls.node):
                    self._alone_class(path, cls, wanted)
            for path, function in functions:
                if not self._first(function.node):
                    continue
                if self._is_new(function.node) or (wanted and ".".join(path) == wanted):
                    self._alone(path, function)
                if self._is_new(function.node):  # behind tests that the defaults decide
                    self._alone(path, Function(function.node, function.scope, function.name, {}))

    def _first(self, node: ast.AST) -> bool:
        """Whether a function or class was not gone through by itself yet."""
        new = id(node) not in self.alone
        self.alone.add(id(node))
        return new

    def _alone(self, path: tuple[str, ...], function: Function) -> None:
        """Go through a function that nothing calls."""
        before, self.path = self.path, list(path)
        try:
            self.hold_name(self.run(function, [], {}))
        except NotKnown:
            pass
        finally:
            self.path = before

    def _alone_class(self, path: tuple[str, ...], cls: Class, wanted: str) -> None:
        """Go through the methods of a class of which nothing makes an object, on one object."""
        methods = [each for each in cls.scope.names.values() if isinstance(each, Function)]
        if not any(self._is_new(each.node) for each in methods) and wanted.split(".", maxsplit=1)[0] != path[-1]:
            return
        made = Instance(cls, NameScope(born=len(self.conditions)))
        for each in sorted(methods, key=lambda each: each.name != "__init__"):
            if not (self._is_new(each.node) or each.name == "__init__" or wanted == ".".join((*path, each.name))):
                continue
            own = () if each.name == "__init__" else (each.name,)
            self._alone((*path, *own), Function(each.node, each.scope, each.name, each.defaults, made))
            if self._is_new(each.node):
                self._alone((*path, *own), Function(each.node, each.scope, each.name, {}, made))

    def _is_new(self, node: Any) -> bool:
        """Whether calls in a function have not been gone through."""
        first = bisect_left(self.interesting, (node.lineno, node.col_offset))
        last = bisect_right(self.interesting, (node.end_lineno, node.end_col_offset, 1 << 62))
        return any(each[2] not in self.seen for each in self.interesting[first:last])

    # Names and conditions.

    @contextmanager
    def named(self, name: str) -> Iterator[None]:
        """Put a name behind those that lead here."""
        if name:
            self.path.append(name)
        try:
            yield
        finally:
            if name:
                self.path.pop()

    @contextmanager
    def holding(self, node: ast.expr, *, holds: bool) -> Iterator[None]:
        """Go on where a test holds that cannot be told, or where it does not."""
        while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node, holds = node.operand, not holds
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPPOSITE:
            opposite = ast.Compare(node.left, [_OPPOSITE[type(node.ops[0])]()], node.comparators)
            node, holds = ast.copy_location(opposite, node), not holds
        said = _tested(node) or self.source.text(node)
        test = Test(said, label_of(node) or f"line_{node.lineno}", self.source.at(node))
        before = self.conditions
        self.conditions = (*before, (test, holds))
        try:
            with self.named(test.way(holds)):
                yield
        finally:
            self.conditions = before

    def note(self, made: Made) -> None:
        """Keep what was made, with the name it has here."""
        self.seen.add(id(made.node))
        self.kept.append(KeptValue(tuple(self.path), made, self.conditions))


def label_of(node: ast.expr) -> str:
    """A name for the way where a test holds: what a value is compared with, or the name that is tested.

    >>> label_of(ast.parse("phase == 'train'").body[0].value), label_of(ast.parse("cfg.is_train").body[0].value)
    ('train', 'is_train')
    """
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.In()], comparators=[right]):
            sides = [side.value for side in (right, left) if isinstance(side, ast.Constant)]
            if sides and isinstance(sides[0], bool):
                return f"{'' if sides[0] else 'not_'}{label_of(left)}"
            if sides and isinstance(sides[0], str):
                return _word(sides[0])
            if isinstance(right, ast.Tuple | ast.List) and right.elts and isinstance(right.elts[0], ast.Constant):
                return _word(str(right.elts[0].value))
        case ast.BoolOp(values=[first, *_]):
            return label_of(first)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return _word(dotted(node).rpartition(".")[2])
    return ""


def _tested(node: ast.expr) -> str:
    """A comparison of a name with a constant, always written alike; empty for others."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=value)]) if dotted(left):
            return f"{dotted(left)} == {value!r}"
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=value)]) if dotted(left):
            return f"{dotted(left)} is {value!r}"
    return dotted(node)


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
