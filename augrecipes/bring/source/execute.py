"""Statements of Python source, gone through without running them: names, ways, loops, functions and classes.

Where a test cannot be told both ways are gone, each under the condition that it holds, or does not. Functions that the
file never calls are gone through with their defaults.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from augrecipes.bring.source.define import Definitions
from augrecipes.bring.source.expressions import MOST_ROUNDS
from augrecipes.bring.source.known import NotKnown, items_of
from augrecipes.bring.source.text import dotted
from augrecipes.bring.source.values import (
    MISSING,
    Class,
    Function,
    Instance,
    Mapped,
    NameScope,
    instead,
)  # fmt: skip

_ENDS = ("return", "raise", "break", "continue")


class SourceReader(Definitions):
    """Goes through a file, each way of what cannot be told, and keeps what is made and every list that has a name."""

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
        except NotKnown:
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
        with self.named(self._name_of(target)):
            found = self.of(value)
            self.hold_name(found)
        if isinstance(found, Function) and found.name == "lambda":
            self.functions.append(((*self.path, _target(target)), found))
        for each in targets:
            self.assign(each, found)

    def _name_of(self, target: ast.expr) -> str:
        """The name that an assignment gives, keys that are known among it."""
        name = _target(target)
        if not name and isinstance(target, ast.Subscript) and isinstance(key := self.of(target.slice), str):
            return f"{_target(target.value)}.{key}".strip(".")
        return name

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
        except NotKnown:
            items = None
        if items is None or len(items) > MOST_ROUNDS:
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
            before, self.scope = self.scope, NameScope(self.scope, born=len(self.conditions))
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
