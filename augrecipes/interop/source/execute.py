"""Statements of Python source, gone through without running them, and the functions that the file never calls.

Where a test cannot be told, the branch that is assumed is taken: `read` reads the file again for the others.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.interop.source import functions
from augrecipes.interop.source.calls import Calls
from augrecipes.interop.source.expressions import MOST_ROUNDS, Spent
from augrecipes.interop.source.text import dotted
from augrecipes.interop.source.values import MISSING, Class, Function, NotKnown, OutsideName, constant

_CHANGING = ("append", "extend", "insert", "pop")  # methods
_OTHER = "return, or other branches"  # how a block ends that goes on under other assumptions
_ENDING = ("return", "raise", _OTHER)


@dataclass(eq=False)
class SourceReader(Calls):
    """Reads a file under assumptions, and keeps what is created and every list that has a name."""

    exhausted: bool = False
    hiding: set[str] = field(default_factory=set)  # tests, by their text, behind which transforms were left
    alone: set[int] = field(default_factory=set)  # functions and classes that were run by themselves

    def _name_of(self, target: ast.expr) -> str:
        """The name that an assignment gives, keys that are known among it; `self` goes without saying."""
        name = dotted(target)
        if not name and isinstance(target, ast.Subscript) and isinstance(key := self.of(target.slice), str):
            name = f"{dotted(target.value)}.{key}"
        return name.removeprefix("self.").strip(".")

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
            self.keep(result, value)
            if isinstance(result, Function) and result.name == "lambda":
                self.functions.append(([*self.path], result))
        return result

    def block(self, statements: Sequence[ast.stmt]) -> str:
        """Go through statements; how they end: empty, where the last one is passed."""
        path = len(self.path)
        try:
            for index, statement in enumerate(statements, 1):
                self.spend(8)
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
            case ast.While(body=body):
                self._unsure(statement, body)
            case ast.With(body=body) | ast.AsyncWith(body=body):
                return self.block(body)
            case ast.Try(handlers=handlers):
                end = self.block([*statement.body, *statement.orelse])
                self._aside(handlers)  # the rest is as if nothing failed
                return self.block(statement.finalbody) or end
            case ast.Match(cases=cases):
                self._aside(cases)
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
            case ast.Raise() | ast.Break() | ast.Continue():
                return type(statement).__name__.lower()
        return ""

    def _augment(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        with self.named(self._name_of(target)):
            new = self.of(value)
        old = self.of(target)
        if isinstance(old, list) and isinstance(op, ast.Add):
            functions.method(old, "extend", [new], {})
            return
        try:
            result: Any = functions.binary(op, old, new)
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
        if end == "" and len(self.path) < 64 and _returns(other):
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
        self.spend(last - first)
        return [each for _, _, each in self.calls[first:last]]

    def _for(self, statement: ast.For | ast.AsyncFor) -> str:
        items = self.of(statement.iter)
        if not isinstance(items, list | tuple | Mapping | str) or len(items) > MOST_ROUNDS:
            self._unsure(statement, statement.body)
            items = ()
        for item in [*items]:
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
            self.spend()
            match node:
                case ast.Name(ctx=ast.Store()):
                    changed.append(node)
                case ast.Call(func=ast.Attribute(value=ast.Name() as held, attr=name)) if name in _CHANGING:
                    changed.append(held)
        self.spend(len(changed))
        for each in changed:
            self.assign(each, self.unknown(each))
        self.block(body)

    def _aside(self, blocks: Sequence[ast.ExceptHandler | ast.match_case]) -> None:
        """Go through what may run or not for what is created in it; the names that it gives are its own."""
        outer, frames = self.scope, self.returned
        for each in blocks:
            self.scope, self.returned = outer.new_child(), [*frames]
            try:
                self.block(each.body)
            finally:
                self.scope, self.returned = outer, frames

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
                    if id(function.node) not in self.alone:
                        self.alone.add(id(function.node))
                        self._alone(path, function, ".".join(path) == wanted)
        except Spent:
            self.exhausted = True

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
                self.keep(self.run(replace(function, defaults=defaults), [], {}))
            finally:
                self.path = before

    def _class_alone(self, path: list[str], cls: Class, wanted: str) -> None:
        """Run the methods of a class of which nothing makes an object, on one object."""
        methods = [each for each in cls.names.values() if isinstance(each, Function)]
        new = any(self._is_new(each.node) for each in methods) or wanted.partition(".")[0] == path[-1]
        if not new or id(cls.node) in self.alone:
            return
        self.alone.add(id(cls.node))
        made = Class(cls.name, {}, [cls], cls.node, is_object=True)
        for each in sorted(methods, key=lambda each: each.name != "__init__"):
            begins = each.name == "__init__"
            named = path if begins else [*path, each.name]
            self._alone(named, replace(each, owner=made), begins or ".".join(named) == wanted)


def _returns(statements: Sequence[ast.stmt]) -> bool:
    """Whether statements end by leaving the function, as far as they show it."""
    match statements:
        case [*_, ast.Return()]:
            return True
        case [*_, ast.If(body=body, orelse=orelse)]:
            return _returns(body) and _returns(orelse)
    return False
