"""Expressions of Python source as values: what is called gives what the file says that it gives, or stays unknown."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from augrecipes.bring.source.compound import Compounds
from augrecipes.bring.source.known import FUNCTIONS, MAPPINGS, NotKnown, method
from augrecipes.bring.source.text import SourceText
from augrecipes.bring.source.values import (
    MISSING,
    Class,
    Either,
    Function,
    Made,
    Mapped,
    Maybe,
    OutsideName,
    Parser,
    Partial,
    UnknownValue,
    callable_value,
    either,
    given_value,
    instead,
    under,
)  # fmt: skip


class Evaluator(Compounds):
    """What expressions are, in the scope at hand and under the conditions that hold there; calls among them."""

    def __init__(self, source: SourceText, given: Mapping[str, Any]) -> None:
        super().__init__(source, given)
        self.forms = {
            ast.Constant: self._constant, ast.Name: self._name, ast.Attribute: self._attribute,
            ast.Subscript: self._subscript, ast.Call: self._call, ast.List: self._list, ast.Tuple: self._tuple,
            ast.Set: self._set, ast.Dict: self._dict, ast.BinOp: self._binary, ast.UnaryOp: self._unary,
            ast.BoolOp: self._logic, ast.Compare: self._compare, ast.IfExp: self._choice, ast.JoinedStr: self._joined,
            ast.ListComp: self._comprehension, ast.GeneratorExp: self._comprehension, ast.SetComp: self._comprehension,
            ast.DictComp: self._comprehension, ast.Lambda: self._lambda, ast.NamedExpr: self._walrus,
        }  # fmt: skip

    def _call(self, node: ast.Call) -> Any:
        if (value := self._given(node)) is not MISSING:
            return value
        func = node.func
        held: Any = None
        if isinstance(func, ast.Attribute) and self._given(func) is MISSING:
            held = self.of(func.value)
            if isinstance(held, Either | list | tuple | Mapping | str | int | float | Parser | UnknownValue):
                return self._method(held, func, node)
            called = self.attribute(held, func) if not isinstance(held, Made) else self.unknown(func)
        else:
            called = self.of(func)
        args, named = self.arguments(node)
        return self.called(called, args, named, node)

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Arguments of a call; those that are spread in from what is not known stand under the name None."""
        args = self.items(node.args)
        named: dict[Any, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.merge(named, self.of(keyword.value), keyword.value)
                continue
            with self.named(keyword.arg):
                named[keyword.arg] = self.of(keyword.value)
        return args, named

    def called(self, called: Any, args: list[Any], named: dict[Any, Any], node: ast.Call) -> Any:
        """What calling something gives."""
        match called:
            case Either():
                sides = [self.called(side, args, named, node) for side in (called.yes, called.no)]
                return either(called.test, *sides)
            case Function():
                return self.run(called, args, named)
            case Class():
                return self.instance(called, args, named)
            case Partial():
                return self.called(called.function, [*called.args, *args], {**called.named, **named}, node)
            case OutsideName():
                return self._outside(called, args, named, node)
        return self.unknown(node, *args, *named.values())

    def _outside(self, called: OutsideName, args: list[Any], named: dict[Any, Any], node: ast.Call) -> Any:
        """What a class or a function of another module gives."""
        path, last = called.path, called.last
        if last == "partial" and args:
            return Partial(args[0], args[1:], named)
        if last == "ArgumentParser":
            return Parser()
        if path == "dict" or last in MAPPINGS or path.endswith("OmegaConf.create"):
            if last == "defaultdict":
                args = args[1:]
            if any(isinstance(each, UnknownValue) for each in args):
                return self.unknown(node, *args)
            return self._mapping(args, named, node)
        if path in FUNCTIONS:
            if None in named or len(args) > 8:
                raise NotKnown
            keys = list(named)
            function = FUNCTIONS[path]

            def worked_out(*each: Any) -> Any:
                try:
                    return function(*each[: len(args)], **dict(zip(keys, each[len(args) :], strict=True)))
                except TypeError:  # other arguments than it takes
                    raise NotKnown from None

            return self.spread(node, worked_out, *args, *named.values())
        if last[:1].isupper():
            made = Made(path, args, {key: value for key, value in named.items() if key is not None}, node)
            made.extra = named.get(None)
            self.note(made)
            return made
        return self.unknown(node, *args, *named.values())

    def _mapping(self, args: list[Any], named: dict[Any, Any], node: ast.Call) -> Any:
        found = Mapped({}, self.source.at(node), len(self.conditions))
        for value in args[:1]:
            listed = isinstance(value, list | tuple)
            self.merge(found, FUNCTIONS["dict"](value) if listed else value, node)
        found.update(named)
        return found

    def _method(self, held: Any, func: ast.Attribute, node: ast.Call) -> Any:
        """A method of what is known, or of what is not."""
        args, named = self.arguments(node)
        name = func.attr
        if isinstance(held, Parser):
            return self._parser(held, name, args, named, node)
        if isinstance(held, list) and name in ("append", "extend", "insert"):
            return self._put(held, name, args)
        if isinstance(held, Mapping) and name in held and callable_value(held[name]):
            return self.called(held[name], args, named, node)
        if isinstance(held, dict) and name in ("update", "setdefault"):
            return self._update(held, name, args, named, node)
        if isinstance(held, list) and name in ("pop", "remove", "clear", "reverse", "sort"):
            held[:] = [self.unknown(func.value)]
            return self.unknown(node)
        if isinstance(held, UnknownValue) and name == "get" and args and isinstance(args[0], str):
            path = f"{held.text}.{args[0]}" if re.fullmatch(r"[\w.]+", held.text) else ""
            if path in self.given:
                self.used.add(path)
                return given_value(self.given[path])
            return UnknownValue(path or self.source.text(node), self.source.at(node), (path,) if path else held.roots)
        return self.spread(node, lambda value, *each: method(value, name, list(each), named), held, *args)

    def _put(self, held: list[Any], name: str, args: list[Any]) -> Any:
        """Items put into a list; under conditions that it was not made under, they are there by chance."""
        if not args or len(args) != (2 if name == "insert" else 1):
            raise NotKnown
        items = args[-1:]
        if name == "extend":
            value = under(items[0], self.conditions)
            items = list(value) if isinstance(value, list | tuple) else [value]
        self.spend(len(items))
        held_under = self.conditions[getattr(held, "born", 0) :]
        if held_under:
            items = [Maybe(held_under, item) for item in items]
        if name == "insert":
            if not isinstance(args[0], int):
                raise NotKnown
            self.spend(len(held))
            held[args[0] : args[0]] = items
        else:
            held += items
        return None

    def _update(self, held: dict[Any, Any], name: str, args: list[Any], named: dict[Any, Any], node: ast.Call) -> Any:
        new: dict[Any, Any] = {}
        if name == "setdefault":
            if not args or not isinstance(args[0], str | int):
                raise NotKnown
            held.setdefault(args[0], args[1] if len(args) > 1 else None)
            return held[args[0]]
        for value in args:
            self.merge(new, value, node)
        for key, value in {**new, **named}.items():
            held[key] = instead(value, self.conditions[getattr(held, "born", 0) :], held.get(key, MISSING))
        return None

    def _parser(self, parser: Parser, name: str, args: list[Any], named: dict[str, Any], node: ast.Call) -> Any:
        """Arguments of a program, which are what they are where the command line says nothing."""
        if name == "add_argument":
            flags = [flag for flag in args if isinstance(flag, str)]
            long = [flag for flag in flags if flag.startswith("--")] or flags
            if not long:
                raise NotKnown
            key = named.get("dest") or long[0].lstrip("-").replace("-", "_")
            usual = {"store_true": False, "store_false": True}.get(str(named.get("action")), MISSING)
            parser.defaults[str(key)] = named.get("default", usual)
            return None
        if name in ("add_argument_group", "add_mutually_exclusive_group"):
            return parser
        if name == "set_defaults":
            parser.defaults.update(named)
            return None
        known = Mapped(
            {key: value for key, value in parser.defaults.items() if value is not MISSING}, self.source.at(node)
        )
        if name == "parse_args":
            return known
        if name == "parse_known_args":
            return (known, self.unknown(node))
        raise NotKnown
