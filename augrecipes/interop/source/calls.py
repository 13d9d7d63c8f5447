"""Calls in Python source: functions and classes of the file, and those of other modules that are known."""

from __future__ import annotations

import ast
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.interop.source import functions, rfdetr, values
from augrecipes.interop.source.expressions import Expressions
from augrecipes.interop.torchvision import PARAMETERS
from augrecipes.recipe.history import PLACES
from augrecipes.recipe.nodes import NOWHERE

_PARAMS = ("BboxParams", "KeypointParams")
_DEEPEST_CALL = 12
_SWITCHES = {"store_true": False, "store_false": True}  # of argparse, and what they are where nothing is said


@dataclass(eq=False)
class Calls(Expressions):
    """Functions and classes of a file, and what calls return."""

    # Objects with the names that lead there.
    created: list[tuple[tuple[str, ...], values.Created]] = field(default_factory=list)
    containers: list[tuple[tuple[str, ...], Any]] = field(default_factory=list)  # lists and mappings, by names alike
    reached: set[int] = field(default_factory=set)  # calls that were evaluated
    functions: list[tuple[list[str], values.Function]] = field(default_factory=list)  # to be run by themselves
    classes: list[tuple[list[str], values.Class]] = field(default_factory=list)
    returned: list[Any] = field(default_factory=list)  # what functions that run return so far

    def call(self, node: ast.Call) -> Any:
        """What a call returns."""
        func = node.func
        if not isinstance(func, ast.Attribute):
            called = self.of(func)
            return self.called(called, *self.arguments(node), node)
        held = self.of(func.value)
        args, named = self.arguments(node)
        match held:
            case values.Parser():
                return self._parser(held, func.attr, args, named, node)
            case dict() if isinstance(
                held.get(func.attr), values.Function | values.Class | values.Partial | values.OutsideName
            ):
                return self.called(held[func.attr], args, named, node)
            case list() | tuple() | dict() | str() | int() | float() | values.UnknownValue():
                return self._method(held, func, args, named, node)
        try:
            called = self.attribute(held, func.attr)
        except values.NotKnown:
            called = self.unknown(func)
        return self.called(called, args, named, node)

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[Any, Any]]:
        """Arguments of a call; those that are spread in from what is not known stand under the name None."""
        args = self.items(node.args)
        named: dict[Any, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.merge(named, self.of(keyword.value), keyword.value)
                continue
            with self.named(keyword.arg):
                named[keyword.arg] = self.of(keyword.value)
                self.keep(named[keyword.arg], keyword.value)
            self.reached |= {id(node)} if keyword.arg == rfdetr.KEY else set()
        return args, named

    def keep(self, value: Any, node: ast.expr | None = None) -> None:
        """Keep a list, or a mapping, that has a name here; one of another module stands where it is asked for."""
        if isinstance(value, dict) and node is not None and not getattr(value, "at", NOWHERE).line:
            value = values.Mapped(value, self.source.at(node))
        if isinstance(value, list | tuple | dict) and value:
            self.containers.append((tuple(self.path), value))

    def called(self, called: Any, args: list[Any], named: dict[Any, Any], node: ast.Call) -> Any:
        """What calling something returns."""
        match called:
            case values.Function():
                return self.run(called, args, named)
            case values.Class():
                return self.instance(called, args, named)
            case values.Partial():
                self.spend(len(called.args) + len(called.named))
                return self.called(called.function, [*called.args, *args], {**called.named, **named}, node)
            case values.OutsideName():
                return self._outside(called, args, named, node)
        raise values.NotKnown(*args, *named.values())

    def _outside(self, called: values.OutsideName, args: list[Any], named: dict[Any, Any], node: ast.Call) -> Any:
        """What a class or a function of another module returns."""
        path, last = called.path, called.last
        if last == "partial" and args:
            return values.Partial(args[0], args[1:], named)
        if path == "getattr" and len(args) > 1 and isinstance(args[1], str):
            return self.attribute(args[0], args[1])
        if path == "torch.nn.ModuleList" and args:  # as torchvision's scripts hold lists
            return args[0]
        if last == "ArgumentParser":
            return values.Parser()
        if path == "dict" or last in functions.MAPPINGS or path.endswith("OmegaConf.create"):
            mapping = values.Mapped({}, self.source.at(node))
            for value in args[last == "defaultdict" :][:1]:
                if isinstance(value, values.UnknownValue):
                    raise values.NotKnown(value)
                self.merge(mapping, functions.pairs_of(value) if isinstance(value, list | tuple) else value, node)
            mapping.update(named)
            return mapping
        if path in functions.FUNCTIONS and None not in named:
            try:
                return functions.FUNCTIONS[path](*args, **named)
            except functions.FAILURES:  # other arguments than it takes
                raise values.NotKnown(*args) from None
        is_timm = last in PARAMETERS and (path == last or path.startswith("timm."))  # whose functions make transforms
        if not last[:1].isupper() and not is_timm:
            raise values.NotKnown(*args, *named.values())
        extra = named.pop(None, None)
        if last in _PARAMS:
            return values.Mapped(zip(PLACES[last].split(), args, strict=False)) | named
        created = values.Created(path, args, named, node, self.source.at(node), extra)
        self.reached.add(id(node))
        self.created.append((tuple(self.path), created))
        return created

    def _method(self, held: Any, func: ast.Attribute, args: list[Any], named: dict[Any, Any], node: ast.Call) -> Any:
        """A method of what is known, or of what is not."""
        match held, func.attr, args:
            case list(), "remove" | "sort", _:
                held[:] = [self.unknown(func.value)]
            case dict(), "update", _:
                for value in args:
                    self.merge(held, value, node)
                held.update(named)
                return None
            case values.UnknownValue(text=text, roots=roots), "get", [str() as key, *_]:
                path = f"{text}.{key}" if re.fullmatch(r"[\w.]+", text) else ""
                if path in self.given:
                    return self.given_at(path)
                at = self.source.at(node)
                return values.UnknownValue(path or self.source.text(node), at, (path,) if path else roots)
        self.spend(len(held) if func.attr == "insert" and isinstance(held, list) else 1)
        return functions.method(held, func.attr, args, named)

    def _parser(self, parser: values.Parser, name: str, args: list[Any], named: dict[Any, Any], node: ast.Call) -> Any:
        """Arguments of a program, which are what they are where the command line says nothing."""
        match name:
            case "add_argument":
                flags = [flag for flag in args if isinstance(flag, str)]
                long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
                key = str(named.get("dest") or long.lstrip("-").replace("-", "_"))
                usual = named.get("default", _SWITCHES.get(str(named.get("action")), values.MISSING))
                parser.update({} if usual is values.MISSING else {key: usual})
                return None
            case "add_argument_group" | "add_mutually_exclusive_group":
                return parser
            case "set_defaults":
                parser.update(named)
                return None
            case "parse_args" | "parse_known_args":
                self.spend(len(parser))
                known = values.Mapped(parser, self.source.at(node))
                return known if name == "parse_args" else (known, self.unknown(node))
        raise values.NotKnown

    def instance(self, cls: values.Class, args: list[Any], named: dict[Any, Any]) -> Any:
        """An object of a class of the file: its `__init__` is run, or its fields are set."""
        made = values.Class(cls.name, {}, [cls], cls.node, is_object=True)
        begin = cls.get("__init__")
        if isinstance(begin, values.Function):
            self.run(replace(begin, owner=made), args, named)
        else:
            self.spend(len(cls.node.body))
            lines = (each.target for each in cls.node.body if isinstance(each, ast.AnnAssign))
            fields = [each.id for each in lines if isinstance(each, ast.Name)]  # what a data class takes
            made.names |= dict(zip(fields, args, strict=False)) | {key: named[key] for key in named if key is not None}
        return made

    def run(self, function: values.Function, args: list[Any], named: dict[Any, Any]) -> Any:
        """What a function of the file returns."""
        if len(self.returned) > _DEEPEST_CALL:
            return values.UnknownValue(f"{function.name}(...)", self.source.at(function.node))
        outer, self.scope = self.scope, function.scope.new_child(self._bound(function, args, named))
        self.returned.append(values.MISSING)
        try:
            if isinstance(function.node, ast.Lambda):
                return self.of(function.node.body)
            self.block(function.node.body)
        finally:
            self.scope, value = outer, self.returned.pop()
        return None if value is values.MISSING else value

    def _bound(self, function: values.Function, args: list[Any], named: dict[Any, Any]) -> dict[str, Any]:
        """Names of a function's arguments and what they are."""
        node, owner, decorators = function.node.args, function.owner, function.decorators
        if owner is not None and (owner.is_object or "classmethod" in decorators) and "staticmethod" not in decorators:
            args = [owner, *args]
        by_place = [*node.posonlyargs, *node.args]
        self.spend(len(args) + len(named) + len(by_place) + len(node.kwonlyargs))
        bound = {each.arg: self._parameter(each, function) for each in (*by_place, *node.kwonlyargs)}
        more = values.Mapped({key: value for key, value in named.items() if key not in bound})
        bound |= dict(zip((each.arg for each in by_place), args, strict=False))
        bound |= {key: value for key, value in named.items() if key in bound}
        if node.vararg is not None:
            bound[node.vararg.arg] = tuple(args[len(by_place) :])
        if node.kwarg is not None:
            bound[node.kwarg.arg] = more
        return bound

    def _parameter(self, each: ast.arg, function: values.Function) -> Any:
        """What an argument is where nothing gives it."""
        if each.arg in self.given:
            return self.given_at(each.arg)
        if each.arg in function.defaults:
            return function.defaults[each.arg]
        return values.UnknownValue(each.arg, self.source.place(each.lineno, each.col_offset + 1), (each.arg,))

    def define(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Give a function its name."""
        for decorator in statement.decorator_list:
            self.of(decorator)
        function = self.function(statement, statement.name)
        self.assign(ast.Name(statement.name, ast.Store()), function)
        self.functions.append(([*self.path, statement.name], function))

    def define_class(self, statement: ast.ClassDef) -> None:
        """Give a class its name."""
        names: dict[str, Any] = {}
        made = values.Class(statement.name, names, [self.of(base) for base in statement.bases], statement)
        outer, before = self.scope, self.functions
        self.scope, self.functions = outer.new_child(names), []
        try:
            with self.named(statement.name):
                self.block(statement.body)
                self.classes.append(([*self.path], made))
        finally:
            self.scope, self.functions = outer, before
        for each in names.values():
            if isinstance(each, values.Function):
                each.scope = outer  # methods do not see the names of their class
        self.assign(ast.Name(statement.name, ast.Store()), made)

    @abstractmethod
    def block(self, statements: Sequence[ast.stmt]) -> str:
        """Run statements, see `execute`."""
