"""Imports, functions and classes of Python source, and what calling them gives."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.bring.source.evaluate import Evaluator
from augrecipes.bring.source.expressions import Spent
from augrecipes.bring.source.known import NotKnown, constant
from augrecipes.bring.source.text import SourceText
from augrecipes.bring.source.values import (
    MISSING,
    Class,
    Conditions,
    Function,
    Instance,
    KeptValue,
    Mapped,
    NameScope,
    OutsideName,
    UnknownValue,
    instead,
)  # fmt: skip

_DEEPEST_CALL = 12


class Definitions(Evaluator):
    """Functions and classes of a file, by their names; those that nothing calls are gone through last."""

    def __init__(self, source: SourceText, given: Mapping[str, Any], interesting: Sequence[ast.Call]) -> None:
        super().__init__(source, given)
        self.interesting = sorted((call.lineno, call.col_offset, id(call)) for call in interesting)
        self.exhausted = False
        self.alone: set[int] = set()  # functions and classes that were gone through by themselves
        self.lists: list[KeptValue] = []
        self.functions: list[tuple[tuple[str, ...], Function]] = []
        self.classes: list[tuple[tuple[str, ...], Class]] = []
        self.returned: list[list[tuple[Conditions, Any]]] = []
        self.calls = 0

    def block(self, statements: Sequence[ast.stmt]) -> str:
        """Go through statements, see `execute`."""
        raise NotImplementedError

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
                self.scope.names[top] = OutsideName(top)

    def _define(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in statement.decorator_list:
            self.of(decorator)
        made = self.function(statement, statement.name)
        self.assign(ast.Name(statement.name, ast.Store()), made)
        self.functions.append(((*self.path, statement.name), made))

    def _class(self, statement: ast.ClassDef) -> None:
        bases = [self.of(base) for base in statement.bases]
        before = self.scope
        scope = NameScope(before, born=len(self.conditions))
        fields = [each.target.id for each in statement.body
                  if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]  # fmt: skip
        made = Class(statement.name, scope, bases, fields, statement)
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
        made = Instance(cls, NameScope(born=len(self.conditions)))
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
            return UnknownValue(f"{function.name}(...)", self.source.at(function.node))
        scope = NameScope(function.scope, self._bound(function, args, named), len(self.conditions))
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
        return UnknownValue(each.arg, self.source.place(each.lineno, each.col_offset + 1), (each.arg,))

    # A whole file.

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

    def hold_name(self, value: Any) -> None:
        """Keep a list that has a name here."""
        if isinstance(value, list | tuple) and value:
            self.lists.append(KeptValue(tuple(self.path), value, self.conditions))

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


def _known(path: str) -> Any:
    """What an import brings: the name, or what it is known to stand for."""
    try:
        return constant(path)
    except NotKnown:
        return OutsideName(path)
