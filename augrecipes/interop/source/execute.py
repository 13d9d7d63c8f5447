"""Statements of Python source, gone through without running them, and the functions that the file never calls.

Where a test cannot be told, the branch that is assumed is taken: `read` reads the file again for the others.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.interop.source import functions
from augrecipes.interop.source.branches import Assumptions, returns, tests_of
from augrecipes.interop.source.calls import Calls
from augrecipes.interop.source.expressions import MOST_ROUNDS, Spent
from augrecipes.interop.source.functions import Key, binary
from augrecipes.interop.source.text import SourceText, dotted
from augrecipes.interop.source.values import (
    MISSING,
    Class,
    Function,
    Instance,
    Named,
    NotKnown,
    OutsideName,
    constant,
)

_BASE = "_base_"
_CHANGING = ("append", "extend", "insert", "pop")  # methods
_GLOBAL = "global"  # the key of names that a scope shares with the module: no name can be called so
_OTHER = "return, or other branches"  # how a block ends that goes on under other assumptions
_ENDING = ("return", "raise", _OTHER)


class SourceReader(Calls):
    """Reads a file under assumptions, and keeps what is created and every list that has a name."""

    def __init__(
        self, source: SourceText, given: Mapping[str, Any], assumed: Assumptions, calls: Sequence[tuple[int, int, int]]
    ) -> None:
        super().__init__(source, given, assumed)
        self.calls = calls  # of transforms: line, column and id, in order
        self.exhausted = False
        self.hiding: set[str] = set()  # tests, by their text, behind which transforms were left
        self.alone: set[int] = set()  # functions and classes that were run by themselves
        self.lists: list[Named] = []

    # Names.

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a value a name."""
        match target:
            case ast.Name(id=name):
                if name != _BASE or _BASE not in self.module:  # the names of the files that it lists were read before
                    scope = self.module if name in self.scope.maps[0].get(_GLOBAL, ()) else self.scope
                    scope[name] = value
            case ast.Attribute(value=inner, attr=name):
                held = self.of(inner)
                names = held.names if isinstance(held, Instance | Class) else held
                if isinstance(names, dict):
                    names[name] = value
            case ast.Subscript(value=inner, slice=key):
                self._put(self.of(inner), self.of(key), value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                items = list(value) if isinstance(value, list | tuple) else []
                fits = len(items) == len(targets) and not any(isinstance(each, ast.Starred) for each in targets)
                for index, each in enumerate(targets):
                    self.assign(each, items[index] if fits else self.unknown(each))
            case ast.Starred(value=inner):
                self.assign(inner, value)

    def _put(self, held: Any, key: Any, value: Any) -> None:
        mapped = isinstance(held, dict) and isinstance(key, Key)
        if mapped or (isinstance(held, list) and isinstance(key, int) and -len(held) <= key < len(held)):
            held[key] = value

    def _name_of(self, target: ast.expr) -> str:
        """The name that an assignment gives, keys that are known among it; `self` goes without saying."""
        if isinstance(target, ast.Name | ast.Attribute | ast.Subscript) and (name := dotted(target)):
            return name.removeprefix("self.")
        if isinstance(target, ast.Subscript) and isinstance(key := self.of(target.slice), str):
            return f"{dotted(target.value).removeprefix('self.')}.{key}".strip(".")
        return ""

    def _give(self, targets: list[ast.expr], value: ast.expr) -> None:
        """Assign a value; of several that are assigned at once, each under its name."""
        target = targets[0]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            result: Any = tuple(self._named_value(*pair) for pair in zip(target.elts, value.elts, strict=True))
        else:
            result = self._named_value(target, value)
        for each in targets:
            self.assign(each, result)

    def _named_value(self, target: ast.expr, value: ast.expr) -> Any:
        with self.named(self._name_of(target)):
            result = self.of(value)
            self.keep_list(result)
            if isinstance(result, Function) and result.name == "lambda":
                self.functions.append(([*self.path], result))
        return result

    def keep_list(self, value: Any) -> None:
        """Keep a list that has a name here."""
        if isinstance(value, list | tuple) and value:
            self.lists.append(Named(self.path, value))

    # Statements.

    def block(self, statements: Sequence[ast.stmt]) -> str:
        """Go through statements; how they end: empty, where the last one is passed."""
        path = len(self.path)
        try:
            for index, statement in enumerate(statements, 1):
                self.spend()
                self.depth += 1
                try:
                    end = self._statement(statement)
                except NotKnown:
                    end = ""
                finally:
                    self.depth -= 1
                if end == _OTHER:
                    self._leave(statements[index:])
                if end:
                    return end
        finally:
            del self.path[path:]
        return ""

    def _statement(self, statement: ast.stmt) -> str:
        match statement:
            case ast.Assign(targets=targets, value=value):
                self._give(targets, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._give([target], value)
            case ast.AugAssign(target=target, op=op, value=value):
                self._augment(target, op, value)
            case ast.Expr(value=value):
                called = dotted(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
                with self.named("" if self.path else called):
                    self.of(value)
            case ast.Return(value=result):
                returned = self.of(result) if result is not None else None
                if self.returned and self.returned[-1] is MISSING:
                    self.returned[-1] = returned
                return "return"
            case ast.If(test=test, body=body, orelse=orelse):
                return self._if(test, body, orelse)
            case ast.For() | ast.AsyncFor():
                return self._for(statement)
            case ast.While(test=test, body=body):
                if self.known(test) is not False:
                    self._unsure(statement, body)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    entered = self.of(item.context_expr)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, self.unknown(item.context_expr, entered))
                return self.block(body)
            case ast.Try():
                return self._try(statement)
            case ast.Match():
                return self.block(tests_of(statement))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.define(statement)
            case ast.ClassDef():
                self.define_class(statement)
            case ast.Import(names=names):
                for alias in names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self.scope[name] = constant(alias.name) if alias.asname else OutsideName(name)
            case ast.ImportFrom(names=names, module=module, level=level):
                for alias in names:
                    if alias.name != "*":
                        self.scope[alias.asname or alias.name] = constant(f"{'.' * level}{module or ''}.{alias.name}")
            case ast.Global(names=shared) | ast.Nonlocal(names=shared):
                self.scope.maps[0].setdefault(_GLOBAL, set()).update(shared)
            case ast.Raise() | ast.Break() | ast.Continue():
                return type(statement).__name__.lower()
        return ""

    def _augment(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        with self.named(self._name_of(target)):
            new = self.of(value)
        old = self.of(target)
        if isinstance(old, list) and isinstance(op, ast.Add):
            functions.change_list(old, "extend", [new])
            return
        try:
            result: Any = binary(op, old, new)
        except NotKnown:
            result = self.unknown(target, old, new)
        self.assign(target, result)

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> str:
        holds, branch, assumed = self.holds(test, body, orelse)
        taken, other = (body, orelse) if holds else (orelse, body)
        if not branch:
            return self.block(taken)
        self._leave(other, assumed)
        with self.named(branch):
            end = self.block(taken)
        if end in _ENDING:
            self.hiding.add(assumed)
            return _OTHER
        if end == "" and returns(other):
            self.path.append(branch)  # what follows is of this branch alone
        return ""

    def _leave(self, statements: Sequence[ast.stmt], assumed: str = "") -> None:
        """Count what is in statements as reached: a reading where the test is otherwise goes through them."""
        for statement in statements:
            if transforms := self._transforms_in(statement):
                self.hiding.add(assumed)
                self.reached.update(transforms)

    def _transforms_in(self, node: Any) -> list[int]:
        """Ids of the calls of transforms in a function, a class or a statement."""
        first = bisect_left(self.calls, (node.lineno, node.col_offset))
        last = bisect_right(self.calls, (node.end_lineno, node.end_col_offset, 1 << 62))
        return [each for _, _, each in self.calls[first:last]]

    def _for(self, statement: ast.For | ast.AsyncFor) -> str:
        items = self.of(statement.iter)
        if not isinstance(items, list | tuple | Mapping | str) or len(items) > MOST_ROUNDS:
            self._unsure(statement, statement.body)
            self.block(statement.orelse)
            return ""
        for item in list(items):
            self.assign(statement.target, item)
            end = self.block(statement.body)
            if end in _ENDING:
                return end
            if end == "break":
                return ""
        return self.block(statement.orelse)

    def _unsure(self, loop: ast.stmt, body: list[ast.stmt]) -> None:
        """Go through what runs nobody knows how often: what it changes is not known."""
        changed: list[ast.Name] = []
        for node in ast.walk(loop):
            match node:
                case ast.Name(ctx=ast.Store()):
                    changed.append(node)
                case ast.Call(func=ast.Attribute(value=ast.Name() as held, attr=name)) if name in _CHANGING:
                    changed.append(held)
        self.spend(len(changed))
        for each in changed:
            self.assign(each, self.unknown(each))
        self.block(body)

    def _try(self, statement: ast.Try) -> str:
        end = self.block([*statement.body, *statement.orelse])
        outer, frames = self.scope, self.returned
        for handler in statement.handlers:  # for what is created in it; the rest is as if nothing failed
            self.scope, self.returned = outer.new_child(), [*frames]
            try:
                self.block(handler.body)
            finally:
                self.scope, self.returned = outer, frames
        return self.block(statement.finalbody) or end

    # A whole file.

    def read(self, wanted: str = "") -> None:
        """Go through the file, then through what it never calls, and what is wanted by name."""
        try:
            for statement in self.source.tree.body:
                self.block([statement])  # one that fails is not the end of a module that is read
            while self.functions or self.classes:
                functions, classes = self.functions, self.classes
                self.functions, self.classes = [], []
                for path, cls in classes:
                    self._class_alone(path, cls, wanted)
                for path, function in functions:
                    if self._first(function.node):
                        self._alone(path, function, ".".join(path) == wanted)
        except Spent:
            self.exhausted = True

    def _first(self, node: ast.AST) -> bool:
        """Whether a function or class was not run by itself yet."""
        new = id(node) not in self.alone
        self.alone.add(id(node))
        return new

    def _is_new(self, node: ast.AST) -> bool:
        """Whether calls in a function have not been reached."""
        return not self.reached.issuperset(self._transforms_in(node))

    def _alone(self, path: list[str], function: Function, wanted: bool) -> None:
        """Run a function that nothing calls with its defaults, then without, for what the defaults hide."""
        for defaults in (function.defaults, {}):
            if not (wanted or self._is_new(function.node)):
                return
            wanted, before, self.path = False, self.path, list(path)
            try:
                self.keep_list(
                    self.run(Function(function.node, function.scope, function.name, defaults, function.owner), [], {})
                )
            finally:
                self.path = before

    def _class_alone(self, path: list[str], cls: Class, wanted: str) -> None:
        """Run the methods of a class of which nothing makes an object, on one object."""
        methods = [each for each in cls.names.values() if isinstance(each, Function)]
        new = any(self._is_new(each.node) for each in methods) or wanted.partition(".")[0] == path[-1]
        if not (self._first(cls.node) and new):
            return
        made = Instance(cls)
        for each in sorted(methods, key=lambda each: each.name != "__init__"):
            begins = each.name == "__init__"
            named = path if begins else [*path, each.name]
            bound = Function(each.node, each.scope, each.name, each.defaults, made)
            self._alone(named, bound, begins or ".".join(named) == wanted)
