"""Calls in Python source: functions and classes of the file, and those of other modules that are known."""

from __future__ import annotations

import ast
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from augrecipes.interop.source import expressions, functions, state, transforms, values
from augrecipes.interop.torchvision import PARAMETERS
from augrecipes.recipe import history, nodes

_PARAMS = ("BboxParams", "KeypointParams")
_DEEPEST_CALL = 12
_CALLABLE = (values.Function, values.Class, values.Partial, values.OutsideName)
_SPLICING = ("list", "tuple", "copy.copy", "copy.deepcopy")  # functions that keep what is spliced into a list
Named = dict[Any, Any]
_SWITCHES = {"store_true": False, "store_false": True}  # of argparse, and what they are where nothing is said


@dataclass(eq=False)
class Calls(expressions.Expressions):
    """Functions and classes of a file, and what calls return."""

    # Objects with the names that lead there.
    created: list[tuple[tuple[str, ...], values.Created]] = field(default_factory=list)
    containers: list[tuple[tuple[str, ...], Any]] = field(default_factory=list)  # lists and mappings, by names alike
    reached: set[int] = field(default_factory=set)  # calls that were evaluated
    functions: list[tuple[list[str], values.Function]] = field(default_factory=list)  # to be run by themselves
    classes: list[tuple[list[str], values.Class]] = field(default_factory=list)

    def call(self, node: ast.Call) -> Any:
        """What a call returns."""
        func = node.func
        owner = self.value(func.value if isinstance(func, ast.Attribute) else func)
        args, named = self.arguments(node)

        def act(known: Any) -> Any:
            if isinstance(func, ast.Attribute):
                return self._call_attribute(known, func, args, named, node)
            return self.called(known, args, named, node)

        return self.each_way(node, act, owner, flat=False)

    def _call_attribute(self, owner: Any, func: ast.Attribute, args: list[Any], named: Named, node: ast.Call) -> Any:
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
        return self.each_way(node, lambda known: self.called(known, args, named, node), called, flat=False)

    def arguments(self, node: ast.Call) -> tuple[list[Any], Named]:
        """Arguments of a call; those that are spread in from what is not known stand under the name None."""
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
        """Keep a list, or a mapping, that has a name here; one of another module stands where it is asked for."""
        if isinstance(value, dict) and node is not None and not getattr(value, "at", nodes.NOWHERE).line:
            value = values.Mapped(value, self.source.at(node))
        if isinstance(value, list | tuple | dict | values.Either) and value:
            self.containers.append((tuple(self.path), value))

    def called(self, called: Any, args: list[Any], named: Named, node: ast.Call) -> Any:
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

    def _outside(self, called: values.OutsideName, args: list[Any], named: Named, node: ast.Call) -> Any:
        """What a class or a function of another module returns."""
        path, last = called.path, called.last
        if last == "partial" and args:
            return values.Partial(args[0], args[1:], named)
        if path == "getattr" and len(args) > 1 and isinstance(args[1], str):
            return self.attribute(args[1], args[0])
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
            known = functions.named_function(functions.FUNCTIONS[path], [*named])
            return known(*args) if path in _SPLICING and args else self.each_way(node, known, *args, *named.values())
        is_timm = last in PARAMETERS and (path == last or path.startswith("timm."))  # whose functions make transforms
        if not last[:1].isupper() and not is_timm:
            raise values.NotKnown(*args, *named.values())
        extra = named.pop(None, None)
        if last in _PARAMS:
            return values.Mapped({**dict(zip(history.PLACES[last].split(), args, strict=False)), **named})
        created = values.Created(path, args, named, node, self.source.at(node), extra)
        self.reached.add(id(node))
        self.created.append((tuple(self.path), created))
        return created

    def _method(self, owner: Any, func: ast.Attribute, args: list[Any], named: Named, node: ast.Call) -> Any:
        """A method of what is known, or of what is not."""
        match owner, func.attr, args:
            case list(), "remove" | "sort", _:
                self.write(owner, None, [self.unknown(func.value)])
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
        known = functions.named_function(partial(functions.method, func.attr), [*named])
        if func.attr in functions.CHANGING and isinstance(owner, list | dict):
            first = None if isinstance(owner, list) else next(iter(args), None)
            self.record(owner, first if isinstance(first, functions.Key) else None)
            return known(owner, *map(self.resolve, args), *named.values())
        return self.each_way(node, known, owner, *args, *named.values())

    def _parser(self, parser: values.Parser, name: str, args: list[Any], named: Named, node: ast.Call) -> Any:
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

    def instance(self, cls: values.Class, args: list[Any], named: Named) -> Any:
        """An object of a class of the file: its `__init__` is run, or its fields are set."""
        instance = values.Class(cls.name, values.Names(), [cls], cls.node, is_object=True)
        begin = cls.get("__init__")
        if isinstance(begin, values.Function):
            self.run(replace(begin, owner=instance), args, named)
        else:
            self.spend(len(cls.node.body))
            lines = (each.target for each in cls.node.body if isinstance(each, ast.AnnAssign))
            fields = [each.id for each in lines if isinstance(each, ast.Name)]  # what a data class takes
            instance.names |= dict(zip(fields, args, strict=False)) | {
                key: named[key] for key in named if key is not None
            }
        return instance

    def run(self, function: values.Function, args: list[Any], named: Named) -> Any:
        """What a function of the file returns."""
        if len(self.frames) > _DEEPEST_CALL:
            return values.UnknownValue(f"{function.name}(...)", self.source.at(function.node))
        outer, self.scope = self.scope, function.scope.new_child(values.Names(self._bound(function, args, named)))
        self.frames.append(state.Frame())
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body)
            with self.returning():
                self.block(function.node.body)
        finally:
            self.scope, frame = outer, self.frames.pop()
        return _returned(frame.get("value", values.MISSING), None, {})

    def leave(self, value: Any) -> None:
        """Return a value from the function under way, on the ways on which it has not returned."""
        if self.frames:
            before = self.frames[-1].get("value", values.MISSING)
            self.write(self.frames[-1], "value", _returned(before, value, self.facts))

    def _bound(self, function: values.Function, args: list[Any], named: Named) -> dict[str, Any]:
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
        if each.arg in self.settings:
            return self.setting(each.arg)
        if each.arg in function.defaults:
            return function.defaults[each.arg]
        return values.UnknownValue(each.arg, self.source.place(each.lineno, each.col_offset + 1), (each.arg,))

    def define(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Give a function its name."""
        for decorator in statement.decorator_list:
            self.value(decorator)
        function = self.function(statement, statement.name)
        self.assign(ast.Name(statement.name, ast.Store()), function)
        self.functions.append(([*self.path, statement.name], function))

    def define_class(self, statement: ast.ClassDef) -> None:
        """Give a class its name."""
        names = values.Names()
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
        """Run statements, see `execute`."""


def _returned(before: Any, value: Any, facts: Mapping[str, bool]) -> Any:
    """What a function returns: a value on the ways on which it has returned nothing before."""
    if before is values.MISSING:
        return value
    if not isinstance(before, values.Either):
        return before
    sides = [
        each if facts.get(before.test.text, holds) is not holds else _returned(each, value, facts)
        for holds, each in ((True, before.holds), (False, before.fails))
    ]
    return values.Either(before.test, *sides)
