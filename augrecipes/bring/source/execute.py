"""Statements of Python source, gone through without running them: names, ways, loops, functions and classes.

Where a test cannot be told both ways are gone, each under the condition that it holds, or does not. Functions that the
file never calls are gone through with their defaults.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from augrecipes.bring.source.evaluate import _MOST_ROUNDS, Evaluator, Spent, dotted
from augrecipes.bring.source.operators import Unheld, binary, items_of
from augrecipes.bring.source.text import Source
from augrecipes.bring.source.values import (
    MISSING,
    Class,
    Conditions,
    Function,
    Instance,
    Listed,
    Made,
    Mapped,
    Maybe,
    Named,
    Scope,
    Test,
    Unknown,
    either,
    instead,
    under,
)  # fmt: skip

_DEEPEST_CALL = 12
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}
_ENDS = ("return", "raise", "break", "continue")


class Kept:
    """What was made, or given a name, with the names that lead there and the conditions that held."""

    __slots__ = ("conditions", "path", "value")

    def __init__(self, path: tuple[str, ...], value: Any, conditions: Conditions) -> None:
        self.path, self.value, self.conditions = path, value, conditions


class Reader(Evaluator):
    """Goes through a file, and keeps every object that is made and every list that has a name."""

    def __init__(self, source: Source, given: Mapping[str, Any], interesting: Sequence[ast.Call]) -> None:
        super().__init__(source, given)
        self.path: list[str] = []
        self.kept: list[Kept] = []
        self.lists: list[Kept] = []
        self.seen: set[int] = set()  # calls that were gone through
        self.interesting = sorted((call.lineno, call.col_offset, id(call)) for call in interesting)
        self.functions: list[tuple[tuple[str, ...], Function]] = []
        self.classes: list[tuple[tuple[str, ...], Class]] = []
        self.returned: list[list[tuple[Conditions, Any]]] = []
        self.calls = 0
        self.exhausted = False

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
                self._alone_class(path, cls, wanted)
            for path, function in functions:
                if self._is_new(function.node) or (wanted and ".".join(path) == wanted):
                    self._alone(path, function)
                if self._is_new(function.node):  # behind tests that the defaults decide
                    self._alone(path, Function(function.node, function.scope, function.name, {}))

    def _alone(self, path: tuple[str, ...], function: Function) -> None:
        """Go through a function that nothing calls."""
        before, self.path = self.path, list(path)
        try:
            self.hold_name(self.run(function, [], {}))
        except Unheld:
            pass
        finally:
            self.path = before

    def _alone_class(self, path: tuple[str, ...], cls: Class, wanted: str) -> None:
        """Go through the methods of a class of which nothing makes an object, on one object."""
        methods = [each for each in cls.scope.names.values() if isinstance(each, Function)]
        if not any(self._is_new(each.node) for each in methods) and wanted.split(".", maxsplit=1)[0] != path[-1]:
            return
        made = Instance(cls, Scope(born=len(self.conditions)))
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
        self.kept.append(Kept(tuple(self.path), made, self.conditions))

    def hold_name(self, value: Any) -> None:
        """Keep a list that has a name here."""
        if isinstance(value, list | tuple) and value:
            self.lists.append(Kept(tuple(self.path), value, self.conditions))

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a value a name; where conditions hold only there."""
        match target:
            case ast.Name(id="_base_") if isinstance(self.module.names.get("_base_"), Mapped):
                return  # the names of the files that it lists, which were read before
            case ast.Name(id=name):
                scope = self.module if name in self.scope.shared else self.scope
                now = self.conditions[scope.born :]
                scope.names[name] = instead(value, now, scope.names.get(name, MISSING)) if now else value
            case ast.Attribute(value=held, attr=name):
                self._put_at(self.of(held), name, value)
            case ast.Subscript(value=held, slice=key) if not isinstance(key, ast.Slice):
                self._put_at(self.of(held), self.of(key), value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value)
            case ast.Starred(value=inner):
                self.assign(inner, value)

    def _put_at(self, held: Any, name: Any, value: Any) -> None:
        """Set an attribute or an item."""
        if isinstance(held, Instance | Class):
            scope = held.scope
            now = self.conditions[scope.born :]
            scope.names[name] = instead(value, now, scope.names.get(name, MISSING)) if now else value
        elif isinstance(held, dict) and isinstance(name, str | int | float | None):
            now = self.conditions[getattr(held, "born", 0) :]
            held[name] = instead(value, now, held.get(name, MISSING)) if now else value
        elif isinstance(held, list) and isinstance(name, int) and -len(held) <= name < len(held):
            held[name] = value

    def _unpack(self, targets: list[ast.expr], value: Any) -> None:
        listed = list(value) if isinstance(value, list | tuple) else []
        fits = len(listed) == len(targets) and not any(isinstance(each, ast.Starred) for each in targets)
        for index, target in enumerate(targets):
            self.assign(target, listed[index] if fits else self.unknown(target))

    # Statements.

    def block(self, statements: Sequence[ast.stmt]) -> str:
        """Go through statements; how they end: empty, where the last one is passed."""
        before, path = self.conditions, len(self.path)
        try:
            for statement in statements:
                self.spend()
                if end := self.statement(statement):
                    return end
        finally:
            self.conditions = before
            del self.path[path:]
        return ""

    def statement(self, statement: ast.stmt) -> str:
        """Go through one statement."""
        self.depth += 1
        try:
            return self._statement(statement)
        except Unheld:
            return ""
        finally:
            self.depth -= 1

    def _statement(self, statement: ast.stmt) -> str:
        match statement:
            case ast.Assign(targets=targets, value=value):
                self._give(targets, value)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self._give([target], value)
            case ast.AugAssign(target=target, op=op, value=value):
                self._augment(target, op, value)
            case ast.Expr(value=value):
                with self.named("" if self.path else _called(value)):
                    self.of(value)
            case ast.Return(value=value):
                found = self.of(value) if value is not None else None
                if self.returned:
                    self.returned[-1].append((self.conditions, found))
                return "return"
            case ast.If():
                return self._if(statement.test, statement.body, statement.orelse)
            case ast.For() | ast.AsyncFor():
                self._for(statement)
            case ast.While():
                if self.known(statement.test) is not False:
                    self._unsure(statement.body)
            case ast.With() | ast.AsyncWith():
                for item in statement.items:
                    value = self.of(item.context_expr)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, self.unknown(item.context_expr, value))
                return self.block(statement.body)
            case ast.Try():
                return self._try(statement)
            case ast.Match():
                return self._match(statement)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(statement)
            case ast.ClassDef():
                self._class(statement)
            case ast.Import() | ast.ImportFrom():
                self._import(statement)
            case ast.Global() | ast.Nonlocal():
                self.scope.shared.update(statement.names)
            case ast.Raise():
                return "raise"
            case ast.Break():
                return "break"
            case ast.Continue():
                return "continue"
        return ""

    def _give(self, targets: list[ast.expr], value: ast.expr) -> None:
        target = targets[0]
        same = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
        if same and not any(isinstance(each, ast.Starred) for each in (*target.elts, *value.elts)):  # type: ignore[attr-defined]
            made: list[Any] = []
            for name, part in zip(target.elts, value.elts, strict=True):  # type: ignore[attr-defined]
                with self.named(_target(name)):
                    made.append(self.of(part))
                    self.hold_name(made[-1])
            self._unpack(target.elts, tuple(made))  # type: ignore[attr-defined]
            return
        with self.named(_target(target)):
            found = self.of(value)
            self.hold_name(found)
        if isinstance(found, Function) and found.name == "lambda":
            self.functions.append(((*self.path, _target(target)), found))
        for each in targets:
            self.assign(each, found)

    def _augment(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        with self.named(_target(target)):
            new = self.of(value)
        old = self.of(target)
        if isinstance(old, list) and isinstance(op, ast.Add):
            self._put(old, "extend", [new])
            return
        self.assign(target, self.spread(target, lambda a, b: self._sum(op, a, b), old, new))

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> str:
        known = self.known(test)
        if known is not None:
            return self.block(body if known else orelse)
        with self.holding(test, holds=True):
            first = self.block(body)
        with self.holding(test, holds=False):
            second = self.block(orelse)
        return self._go_on(test, first, second)

    def _go_on(self, test: ast.expr, first: str, second: str) -> str:
        """Behind two ways: where one of them ended, what follows stands under the other's condition."""
        if first in _ENDS and second in _ENDS:
            return "return" if "return" in (first, second) else first
        if first in ("return", "raise") or second in ("return", "raise"):
            holding = self.holding(test, holds=first == "" or first in ("break", "continue"))
            with holding:
                conditions, path = self.conditions, list(self.path)
            if "raise" not in (first, second):  # of an error nothing is made
                self.path[:] = path
            self.conditions = conditions
        return ""

    def _for(self, statement: ast.For | ast.AsyncFor) -> None:
        value = self.of(statement.iter)
        try:
            items = items_of(value)
        except Unheld:
            items = None
        if items is None or len(items) > _MOST_ROUNDS:
            self._unsure([ast.Assign([statement.target], statement.iter), *statement.body], statement.target)
            self.block(statement.orelse)
            return
        for item in items:
            self.assign(statement.target, item)
            if self.block(statement.body) in ("break", "return", "raise"):
                break
        else:
            self.block(statement.orelse)

    def _unsure(self, body: list[ast.stmt], target: ast.expr | None = None) -> None:
        """Go through what runs nobody knows how often: what it changes is not known."""
        names = [name for statement in body for name in _changed(statement)]
        self.spend(len(names))
        for name in names:
            self.assign(name, self.unknown(name))
        if target is not None:
            self.assign(target, self.unknown(target))
        self.block(body[1:] if target is not None else body)

    def _try(self, statement: ast.Try) -> str:
        end = self.block([*statement.body, *statement.orelse])
        for handler in statement.handlers:
            before, self.scope = self.scope, Scope(self.scope, born=len(self.conditions))
            try:
                self.block(handler.body)
            finally:
                self.scope = before
        return self.block(statement.finalbody) or end

    def _match(self, statement: ast.Match) -> str:
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
            made = ast.If(ast.copy_location(test, case.pattern), case.body, orelse)
            orelse = [ast.copy_location(made, case.pattern)]
        return self.block(orelse)

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for alias in statement.names:
            if isinstance(statement, ast.ImportFrom):
                module = "." * statement.level + (statement.module or "")
                if alias.name != "*":
                    self.scope.names[alias.asname or alias.name] = _known(f"{module}.{alias.name}")
            elif alias.asname:
                self.scope.names[alias.asname] = _known(alias.name)
            else:
                top = alias.name.partition(".")[0]
                self.scope.names[top] = Named(top)

    # Functions and classes.

    def _define(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in statement.decorator_list:
            self.of(decorator)
        made = self.function(statement, statement.name)
        self.assign(ast.Name(statement.name, ast.Store()), made)
        self.functions.append(((*self.path, statement.name), made))

    def _class(self, statement: ast.ClassDef) -> None:
        bases = [self.of(base) for base in statement.bases]
        before = self.scope
        scope = Scope(before, born=len(self.conditions))
        fields = [each.target.id for each in statement.body
                  if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]  # fmt: skip
        made = Class(statement.name, scope, bases, fields)
        functions, self.functions = self.functions, []
        self.scope = scope
        try:
            with self.named(statement.name):
                self.block(statement.body)
                path = tuple(self.path)
        finally:
            self.scope, self.functions = before, functions
        scope.outer = None
        for each in scope.names.values():
            if isinstance(each, Function):
                each.scope = before  # methods do not see the names of their class
        self.assign(ast.Name(statement.name, ast.Store()), made)
        self.classes.append((path, made))

    def instance(self, cls: Class, args: list[Any], named: dict[str, Any]) -> Any:
        """An object of a class of the file: its `__init__` is gone through, or its fields are set."""
        made = Instance(cls, Scope(born=len(self.conditions)))
        begin = cls.get("__init__")
        if isinstance(begin, Function):
            self.run(Function(begin.node, begin.scope, begin.name, begin.defaults, made), args, named)
            return made
        made.scope.names.update(zip(cls.fields, args, strict=False))
        made.scope.names.update({key: value for key, value in named.items() if key is not None})
        return made

    def run(self, function: Function, args: list[Any], named: dict[str, Any]) -> Any:
        """What a function of the file gives, in each of its ways."""
        if self.calls >= _DEEPEST_CALL:
            return Unknown(f"{function.name}(...)", self.source.at(function.node))
        scope = Scope(function.scope, self._bound(function, args, named), len(self.conditions))
        before, self.scope = self.scope, scope
        born = len(self.conditions)
        self.returned.append([])
        self.calls += 1
        self.depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.of(function.node.body)
            self.block(function.node.body)
            ways = [(conditions[born:], value) for conditions, value in self.returned[-1]]
        finally:
            self.scope = before
            self.returned.pop()
            self.calls -= 1
            self.depth -= 1
        found: Any = MISSING
        for conditions, value in reversed(ways):
            found = instead(value, conditions, found) if conditions else value
        return None if found is MISSING else found

    def _bound(self, function: Function, args: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Names of a function's arguments and what they are."""
        node = function.node.args
        names = [each.arg for each in (*node.posonlyargs, *node.args)]
        decorated = [getattr(each, "id", "") for each in getattr(function.node, "decorator_list", [])]
        given = list(args)
        if isinstance(function.owner, Instance) and names and "staticmethod" not in decorated:
            given.insert(0, function.owner.cls if "classmethod" in decorated else function.owner)
        elif isinstance(function.owner, Class) and names and "classmethod" in decorated:
            given.insert(0, function.owner)
        found: dict[str, Any] = {}
        for each in (*node.posonlyargs, *node.args, *node.kwonlyargs):
            found[each.arg] = self._parameter(each, function)
        found.update(zip(names, given, strict=False))
        found.update({key: value for key, value in named.items() if key in found})
        if node.vararg is not None:
            found[node.vararg.arg] = tuple(given[len(names) :])
        if node.kwarg is not None:
            found[node.kwarg.arg] = Mapped({key: value for key, value in named.items() if key not in found})
        return found

    def _parameter(self, each: ast.arg, function: Function) -> Any:
        """What an argument is where nothing gives it."""
        if each.arg in self.given:
            self.used.add(each.arg)
            return self._given(ast.Name(each.arg, ast.Load()))
        if each.arg in function.defaults:
            return function.defaults[each.arg]
        return Unknown(each.arg, self.source.place(each.lineno, each.col_offset + 1), (each.arg,))


def _known(path: str) -> Any:
    """What an import brings: the name, or what it is known to stand for."""
    from augrecipes.bring.source.known import constant

    try:
        return constant(path)
    except Unheld:
        return Named(path)


def _target(node: ast.expr) -> str:
    """What an assignment gives a name to, in names; `self` goes without saying."""
    return dotted(node).removeprefix("self.") if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else ""


def _called(node: ast.expr) -> str:
    """The name of what is called, for what is made in its arguments."""
    return dotted(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _changed(statement: ast.stmt) -> Iterator[ast.expr]:
    """What a statement of a loop gives another value in each round."""
    for node in ast.walk(statement):
        match node:
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from (each for each in ast.walk(target) if isinstance(each, ast.Name)
                                and isinstance(each.ctx, ast.Store))  # fmt: skip
            case ast.AugAssign(target=ast.Name() as target) | ast.AnnAssign(target=ast.Name() as target):
                yield target
            case ast.Call(func=ast.Attribute(value=ast.Name() as held, attr="append" | "extend" | "insert" | "pop")):
                yield held


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


__all__ = ["Kept", "Listed", "Maybe", "Reader", "binary", "either", "under"]
