"""Evaluation of calls in Python source: functions and classes of the file, and known ones of other modules."""

import ast
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from augrecipes.interop.source import expressions, functions, transforms, values
from augrecipes.interop.torchvision import PARAMETERS
from augrecipes.recipe import history, nodes

_PARAMS = ("BboxParams", "KeypointParams")
_DEEPEST_CALL = 12
_CALLABLE = (values.Function, values.Class, values.Partial, values.OutsideName)
Keywords = dict[Any, Any]
_FLAG_DEFAULTS = {"store_true": False, "store_false": True}  # argparse's actions, and their defaults


class NamedValue(NamedTuple):
    """A value that a file creates, with the names that lead to it.

    Attributes:
        path: the names.
        value: the value.
        phase: the last test before it that separates training from evaluation.
    """

    path: tuple[str, ...]
    value: Any
    phase: values.Test | None


@dataclass(eq=False)
class Calls(expressions.Expressions):
    """The evaluator's part for calls of functions and classes."""

    created: list[NamedValue] = field(default_factory=list)
    containers: list[NamedValue] = field(default_factory=list)  # lists and mappings
    functions: list[tuple[list[str], values.Function]] = field(default_factory=list)  # to be run separately
    classes: list[tuple[list[str], values.Class]] = field(default_factory=list)
    frames: list[Any] = field(default_factory=list)  # the return value of each active call, so far

    def call(self, node: ast.Call) -> Any:
        """The return value of a call."""
        func = node.func
        owner = self.value(func.value if isinstance(func, ast.Attribute) else func)
        args, named = self.arguments(node)
        if isinstance(func, ast.Attribute):
            return self._call_attribute(owner, func, args, named, node)
        return self.called(owner, args, named, node)

    def _call_attribute(self, owner: Any, func: ast.Attribute, args: list[Any], named: Keywords, node: ast.Call) -> Any:
        match owner:
            case values.Parser():
                return self._parser(owner, func.attr, args, named, node)
            case dict() if isinstance(owner.get(func.attr), _CALLABLE):
                return self.called(owner[func.attr], args, named, node)
            case list() | tuple() | dict() | str() | int() | float() | values.UnknownValue():
                return self._method(owner, func, args, named, node)
        try:
            called = self.attribute(func.attr, owner)
        except values.NotKnown:
            called = self.unknown(func)
        return self.called(called, args, named, node)

    def arguments(self, node: ast.Call) -> tuple[list[Any], Keywords]:
        """The arguments of a call; unknown mappings spread with ** have the key None."""
        args, named = self.items(node.args), values.Mapped()
        for keyword in node.keywords:
            if keyword.arg is None:
                self.merge(named, self.value(keyword.value), keyword.value)
                continue
            with self.named(keyword.arg):
                named[keyword.arg] = self.value(keyword.value)
                self.keep(named[keyword.arg], keyword.value)
            self.reached |= {id(node)} if keyword.arg == transforms.AUG_CONFIG else set()
        return args, named

    def keep(self, value: Any, node: ast.expr | None = None) -> None:
        """Record a named list or mapping; one from another module gets the place of its use."""
        if isinstance(value, dict) and node is not None and not getattr(value, "at", nodes.NOWHERE).line:
            value = values.Mapped(value, self.source.at(node))
        if isinstance(value, list | tuple | dict) and value:
            self.containers.append(NamedValue(tuple(self.path), value, self.phase))

    def called(self, called: Any, args: list[Any], named: Keywords, node: ast.Call) -> Any:
        """The return value of calling a value."""
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

    def _outside(self, called: values.OutsideName, args: list[Any], named: Keywords, node: ast.Call) -> Any:
        """The return value of a class or function of another module."""
        path, last = called.path, called.last
        if last == "partial" and args:
            return values.Partial(args[0], args[1:], named)
        if path == "getattr" and len(args) > 1 and isinstance(args[1], str):
            return self.attribute(args[1], args[0])
        if path == "torch.nn.ModuleList" and args:  # torchvision's scripts wrap lists in it
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
            return functions.called(functions.FUNCTIONS[path], args, named)
        is_timm = last in PARAMETERS and (
            path == last or path.startswith("timm.")
        )  # timm's functions create transforms
        if not last[:1].isupper() and not is_timm:
            raise values.NotKnown(*args, *named.values())
        extra = named.pop(None, None)
        if last in _PARAMS:
            return values.Mapped({**dict(zip(history.PLACES[last].split(), args, strict=False)), **named})
        created = values.Created(path, args, named, node, self.source.at(node), extra)
        self.reached.add(id(node))
        self.created.append(NamedValue(tuple(self.path), created, self.phase))
        return created

    def _method(self, owner: Any, func: ast.Attribute, args: list[Any], named: Keywords, node: ast.Call) -> Any:
        """The return value of a method of a known or unknown value."""
        match owner, func.attr, args:
            case list(), "remove" | "sort", _:
                owner[:] = [self.unknown(func.value)]
            case dict(), "update", _:
                for value in (*args, named):
                    self.merge(owner, value, node)
                return None
            case values.UnknownValue(text=text, roots=roots), "get", [str() as key, *_]:
                path = f"{text}.{key}" if re.fullmatch(r"[\w.]+", text) else ""
                if path in self.settings:
                    return self.setting(path)
                at = self.source.at(node)
                return values.UnknownValue(path or self.source.text(node), at, (path,) if path else roots)
        self.spend(len(owner) if func.attr == "insert" and isinstance(owner, list) else 1)
        return functions.called(partial(functions.method, func.attr, owner), args, named)

    def _parser(self, parser: values.Parser, name: str, args: list[Any], named: Keywords, node: ast.Call) -> Any:
        """The return value of a method of an argparse parser; arguments have their defaults."""
        match name:
            case "add_argument":
                flags = [flag for flag in args if isinstance(flag, str)]
                long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
                key = str(named.get("dest") or long.lstrip("-").replace("-", "_"))
                usual = named.get("default", _FLAG_DEFAULTS.get(str(named.get("action")), values.MISSING))
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

    def instance(self, cls: values.Class, args: list[Any], named: Keywords) -> Any:
        """An object of a class of the file: runs its `__init__`, or sets its fields."""
        instance = values.Class(cls.name, {}, [cls], cls.node, is_object=True)
        begin = cls.get("__init__")
        if isinstance(begin, values.Function):
            self.run(replace(begin, owner=instance), args, named)
        else:
            self.spend(len(cls.node.body))
            lines = (each.target for each in cls.node.body if isinstance(each, ast.AnnAssign))
            fields = [each.id for each in lines if isinstance(each, ast.Name)]  # of a dataclass
            instance.names |= dict(zip(fields, args, strict=False)) | {
                key: named[key] for key in named if key is not None
            }
        return instance

    def run(self, function: values.Function, args: list[Any], named: Keywords) -> Any:
        """The return value of a function of the file."""
        if len(self.frames) > _DEEPEST_CALL:
            return values.UnknownValue(f"{function.name}(...)", self.source.at(function.node))
        outer, self.scope = self.scope, function.scope.new_child(self._bindings(function, args, named))
        self.spend(len(self.facts) // 8)
        known, self.facts = self.facts, {**self.facts}
        self.frames.append(values.MISSING)
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body)
            self.block(function.node.body)
        finally:
            self.scope, self.facts, result = outer, known, self.frames.pop()
        return None if result is values.MISSING else result

    def _bindings(self, function: values.Function, args: list[Any], named: Keywords) -> dict[str, Any]:
        """The values of a function's parameters, by name."""
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
        """The default of a parameter."""
        if each.arg in self.settings:
            return self.setting(each.arg)
        if each.arg in function.defaults:
            return function.defaults[each.arg]
        return values.UnknownValue(each.arg, self.source.place(each.lineno, each.col_offset + 1), (each.arg,))

    def define(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Evaluate a function definition."""
        for decorator in statement.decorator_list:
            self.value(decorator)
        function = self.function(statement, statement.name)
        self.assign(ast.Name(statement.name, ast.Store()), function)
        self.functions.append(([*self.path, statement.name], function))

    def define_class(self, statement: ast.ClassDef) -> None:
        """Evaluate a class definition."""
        names: dict[str, Any] = {}
        cls = values.Class(statement.name, names, [self.value(base) for base in statement.bases], statement)
        outer, before = self.scope, self.functions
        self.scope, self.functions = outer.new_child(names), []
        try:
            with self.named(statement.name):
                self.block(statement.body)
                self.classes.append(([*self.path], cls))
        finally:
            self.scope, self.functions = outer, before
        for each in names.values():
            if isinstance(each, values.Function):
                each.scope = outer  # methods do not see the names of their class
        self.assign(ast.Name(statement.name, ast.Store()), cls)

    @abstractmethod
    def block(self, statements: Sequence[ast.stmt]) -> str:
        """Evaluate statements, see `statements`."""
