"""Evaluation of statements in Python source without running them, and of functions that the file never calls."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.interop.source import functions, text
from augrecipes.interop.source.calls import Calls
from augrecipes.interop.source.state import BudgetExceeded
from augrecipes.interop.source.values import MISSING, Class, Function, NotKnown, OutsideName, constant

_ENDS = ast.Return | ast.Raise | ast.Break | ast.Continue
_LONGEST_PATH = 64
NO_DEFAULTS = "<no defaults>"  # in the path of values that a function creates without some of its defaults


@dataclass(eq=False)
class Evaluator(Calls):
    """Evaluates a file once, and records created values and named lists."""

    exhausted: bool = False
    alone: set[int] = field(default_factory=set)  # functions and classes that were run separately

    def _name_of(self, target: ast.expr) -> str:
        """The name of an assignment's target, with known keys and without `self`."""
        name = text.dotted(target)
        if not name and isinstance(target, ast.Subscript) and isinstance(key := self.value(target.slice), str):
            name = f"{text.dotted(target.value)}.{key}"
        return name.removeprefix("self.").strip(".")

    def _assign_all(self, targets: list[ast.expr], value: ast.expr) -> None:
        """Assign a value to targets; a tuple item by item, each under its own name."""
        target = targets[0]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            result: Any = tuple(self._named_value(*pair) for pair in zip(target.elts, value.elts, strict=True))
        else:
            result = self._named_value(target, value)
        for each in targets:
            self.assign(each, result)

    def _named_value(self, target: ast.expr, value: ast.expr) -> Any:
        with self.named(self._name_of(target)):
            result = self.value(value)
            self.keep(result, value)
            if isinstance(result, Function) and result.name == "lambda":
                self.functions.append(([*self.path], result))
        return result

    def block(self, statements: Sequence[ast.stmt]) -> str:
        """Evaluate statements; return how they end (`return`, `break`, ...), empty after the last one."""
        path = len(self.path)
        try:
            for number, statement in enumerate(statements):
                self.spend(8)
                self.depth += 1
                try:
                    end = self._statement(statement)
                except NotKnown:
                    end = ""
                finally:
                    self.depth -= 1
                if end:
                    self.pass_over(
                        statements[number + 1 :] if id(getattr(statement, "test", None)) in self.open else []
                    )
                    return end
        finally:
            del self.path[path:]
        return ""

    def _statement(self, statement: ast.stmt) -> str:
        match statement:
            case ast.Assign(targets=targets, value=value):
                self._assign_all(targets, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign_all([target], value)
            case ast.AugAssign(target=target, op=op, value=value):
                self._augment(target, op, value)
            case ast.Expr(value=value):
                called = text.dotted(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
                with self.named("" if self.path else called):
                    self.value(value)
            case ast.Return(value=result):
                returned = self.value(result) if result is not None else None
                if self.frames and self.frames[-1] is MISSING:
                    self.frames[-1] = returned
                return "return"
            case ast.If(test=test, body=body, orelse=orelse):
                return self._if(test, body, orelse)
            case ast.For() | ast.AsyncFor():
                return self._for(statement)
            case ast.While(test=test):
                self._unknown_loop(statement, test)
            case ast.With(body=body) | ast.AsyncWith(body=body):
                return self.block(body)
            case ast.Try():  # as if nothing failed
                end = self.block([*statement.body, *statement.orelse])
                return self.block(statement.finalbody) or end
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.define(statement)
            case ast.ClassDef():
                self.define_class(statement)
            case ast.Import(names=names):
                for alias in names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self.scope.maps[0][name] = constant(alias.name) if alias.asname else OutsideName(name)
            case ast.ImportFrom(names=names, module=module, level=level):
                for alias in names:
                    if alias.name != "*":
                        outside = constant(f"{'.' * level}{module or ''}.{alias.name}")
                        self.scope.maps[0][alias.asname or alias.name] = outside
            case ast.Raise() | ast.Break() | ast.Continue():
                return type(statement).__name__.lower()
        return ""

    def _augment(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        with self.named(self._name_of(target)):
            new = self.value(value)

        old = self.value(target)
        if isinstance(old, list) and isinstance(op, ast.Add):
            functions.method("extend", old, new)
            return
        try:
            result: Any = self.operate(op, old, new)
        except NotKnown:
            result = self.unknown(target, old, new)
        self.assign(target, result)

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> str:
        """Evaluate the branch of a test; for an unknown test never a branch that ends in `raise`."""
        ways, ends = (body, orelse), [bool(each) and isinstance(each[-1], _ENDS) for each in (body, orelse)]
        fails = [each and isinstance(way[-1], ast.Raise) for each, way in zip(ends, ways, strict=True)]
        if fails[0] != fails[1] and not self.is_known(test):
            assumed = text.test_of(test, self.source, self.scope.get)
            self.facts.setdefault(assumed.text, fails[1] != assumed.negated)
        names: list[str] = []

        def act(holds: bool) -> str:
            names.extend(self.path[path:] if ends[holds] and not ends[not holds] else [])
            return self.block(ways[not holds])

        path = len(self.path)
        end: str = self.branch(test, ways, act)
        self.path += names if len(self.path) < _LONGEST_PATH else []  # the rest of the block belongs to this branch
        return end

    def _for(self, statement: ast.For | ast.AsyncFor) -> str:
        ends: list[str] = []

        def take(item: Any) -> bool:
            self.assign(statement.target, item)
            ends.append(self.block(statement.body))
            return ends[-1] not in ("", "continue")

        if not self.loop(self.value(statement.iter), take):
            self._unknown_loop(statement, statement.iter)
        end = ends[-1] if ends else ""
        if end in ("return", "raise"):
            return end
        return "" if end == "break" else self.block(statement.orelse)

    def _unknown_loop(self, loop: ast.For | ast.AsyncFor | ast.While, head: ast.expr) -> None:
        """Evaluate a loop of unknown length: names that it assigns, and items that it appends, become unknown."""
        for node in ast.walk(loop):
            self.spend()
            match node:
                case ast.Name(id=name, ctx=ast.Store()) if not isinstance(self.scope.get(name), list):
                    self.assign(node, self.unknown(node))
        lists = [
            (value, len(value)) for names in self.scope.maps for value in names.values() if isinstance(value, list)
        ]
        self.spend(len(lists))
        self.block(loop.body)
        for value, before in lists:
            if len(value) != before:
                value[before:] = [self.unknown(head)]

    # A whole file.

    def read(self, wanted: str = "") -> None:
        """Evaluate the file, then functions that it never calls, and the wanted one."""
        try:
            for statement in self.source.tree.body:
                self.block([statement])  # a failing statement does not end the module
            while self.functions or self.classes:
                functions, classes = self.functions, self.classes
                self.functions, self.classes = [], []
                for path, cls in classes:
                    self._run_uncalled_class(path, cls, wanted)
                for path, function in functions:
                    if id(function.node) not in self.alone:
                        self.alone.add(id(function.node))
                        self._run_uncalled(path, function, ".".join(path) == wanted)
        except BudgetExceeded:
            self.exhausted = True

    def _is_new(self, node: ast.AST) -> bool:
        """Whether a function has calls that were not reached."""
        return not self.reached.issuperset(self.transforms_in(node))

    def _run_uncalled(self, path: list[str], function: Function, wanted: bool) -> None:
        """Run a function with its defaults; then, to reach other branches, without the defaults that it tests.

        Finally without any default, for tests of a parameter's attribute.
        """
        outer, tested = self.path, text.tested_names(function.node)
        called = not self.reached.isdisjoint(self.transforms_in(function.node))  # with other arguments
        untested = {key: value for key, value in function.defaults.items() if key not in tested}
        several = [function.defaults, untested, {}]
        for number, defaults in enumerate(several):
            if defaults in several[:number]:
                continue
            if not (wanted or self._is_new(function.node)):
                return
            wanted, self.path = False, [*path, *([] if defaults is function.defaults and not called else [NO_DEFAULTS])]
            try:
                self.keep(self.run(replace(function, defaults=defaults), [], {}))
            finally:
                self.path = outer

    def _run_uncalled_class(self, path: list[str], cls: Class, wanted: str) -> None:
        """Run the methods of a class that is never instantiated, on one object."""
        methods = [each for each in cls.names.values() if isinstance(each, Function)]
        new = any(self._is_new(each.node) for each in methods) or wanted.partition(".")[0] == path[-1]
        if not new or id(cls.node) in self.alone:
            return
        self.alone.add(id(cls.node))
        instance = Class(cls.name, {}, [cls], cls.node, is_object=True)
        for each in sorted(methods, key=lambda each: each.name != "__init__"):
            begins = each.name == "__init__"
            named = path if begins else [*path, each.name]
            self._run_uncalled(named, replace(each, owner=instance), begins or ".".join(named) == wanted)
