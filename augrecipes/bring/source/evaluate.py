"""Expressions of Python source as values: what is known is worked out, the rest stays `Unknown` under its own text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from augrecipes.bring.source.known import FUNCTIONS, MAPPINGS, USUAL, constant, method
from augrecipes.bring.source.operators import COMPARE, UNARY, Unheld, binary, is_plain, items_of, plain
from augrecipes.bring.source.text import Source
from augrecipes.bring.source.values import (
    MISSING,
    Class,
    Conditions,
    Either,
    Function,
    Instance,
    Listed,
    Made,
    Mapped,
    Maybe,
    Named,
    Parser,
    Partial,
    Scope,
    Unknown,
    either,
    instead,
    under,
)  # fmt: skip
from augrecipes.recipe.nodes import NOWHERE

_DEEPEST = 90  # expressions, statements and calls inside of each other
_FEW = 40  # parts of an expression that are looked at for names
_MOST_ROUNDS = 256  # of a comprehension or a loop
_SPEC = re.compile(r"[.,\d]{0,4}[a-z%]?")


class Spent(Exception):  # noqa: N818 - the reader stops, and says so
    """More was to be worked out than a file may ask for."""


class Evaluator:
    """What expressions are, in the scope at hand and under the conditions that hold there."""

    def __init__(self, source: Source, given: Mapping[str, Any]) -> None:
        self.source, self.given = source, given
        self.used: set[str] = set()  # of `given`
        self.module = Scope(names={"__name__": "__main__"})
        self.scope = self.module
        self.conditions: Conditions = ()
        self.made: dict[int, list[Made]] = {}
        self.depth, self.steps = 0, 0
        self.most = 40_000 + 4 * sum(map(len, source.lines))
        self.forms: dict[type[ast.expr], Callable[[Any], Any]] = {
            ast.Constant: self._constant, ast.Name: self._name, ast.Attribute: self._attribute,
            ast.Subscript: self._subscript, ast.Call: self._call, ast.List: self._list, ast.Tuple: self._tuple,
            ast.Set: self._set, ast.Dict: self._dict, ast.BinOp: self._binary, ast.UnaryOp: self._unary,
            ast.BoolOp: self._logic, ast.Compare: self._compare, ast.IfExp: self._choice, ast.JoinedStr: self._joined,
            ast.ListComp: self._comprehension, ast.GeneratorExp: self._comprehension, ast.SetComp: self._comprehension,
            ast.DictComp: self._comprehension, ast.Lambda: self._lambda, ast.NamedExpr: self._walrus,
        }  # fmt: skip

    # What statements do, see `execute`.

    def named(self, name: str) -> AbstractContextManager[None]:
        """Put a name behind those that lead to where the reader is."""
        raise NotImplementedError

    def holding(self, node: ast.expr, *, holds: bool) -> AbstractContextManager[None]:
        """Go on where a test that cannot be told holds, or where it does not."""
        raise NotImplementedError

    def run(self, function: Function, args: list[Any], named: dict[str, Any]) -> Any:
        """What a function of the file gives."""
        raise NotImplementedError

    def instance(self, cls: Class, args: list[Any], named: dict[str, Any]) -> Any:
        """An object of a class of the file."""
        raise NotImplementedError

    def note(self, made: Made) -> None:
        """Keep what was made, with the name it has here."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a value a name."""
        raise NotImplementedError

    # Values.

    def of(self, node: ast.expr) -> Any:
        """What an expression is."""
        self.spend()
        form = self.forms.get(type(node))
        if form is None or self.depth > _DEEPEST:
            return self.unknown(node)
        self.depth += 1
        try:
            return form(node)
        except Unheld:
            return self.unknown(node)
        finally:
            self.depth -= 1

    def spend(self, steps: int = 1) -> None:
        """Count work."""
        self.steps += steps
        if self.steps > self.most:
            raise Spent

    def unknown(self, node: ast.expr, *parts: Any) -> Unknown:
        """An expression that cannot be told, and the names that it needs."""
        path = dotted(node)
        known = [root for part in parts if isinstance(part, Unknown) for root in part.roots]
        roots = [path] if path else known + self._names(node)
        return Unknown(path or self.source.text(node), self.source.at(node), tuple(dict.fromkeys(roots))[:4])

    def _names(self, node: ast.expr) -> list[str]:
        """Names in an expression that stand for nothing that is known; those that are called are not among them."""
        found: list[str] = []
        left: list[ast.AST] = [node]
        for each in left:
            if isinstance(each, ast.Name | ast.Attribute | ast.Subscript) and (path := dotted(each)):
                first = path.partition(".")[0]
                value = next((scope.names[first] for scope in self.scope.chain() if first in scope.names), None)
                if path == first and isinstance(value, Unknown):
                    found += value.roots
                elif value is None or isinstance(value, Unknown | Named):
                    found.append(path)
                continue
            inner = ast.iter_child_nodes(each)
            left += [part for part in inner if part is not getattr(each, "func", None)] if len(left) < _FEW else []
        return found

    def spread(self, node: ast.expr, function: Callable[..., Any], *values: Any) -> Any:
        """A function of values, each way of those that have several."""
        for value in values:
            if isinstance(value, Either):
                ways = [
                    self.spread(node, function, *(under(each, ((value.test, holds),)) for each in values))
                    for holds in (True, False)
                ]
                self.spend()
                return either(value.test, *ways)
        if any(isinstance(value, Unknown) for value in values):
            return self.unknown(node, *values)
        try:
            return function(*values)
        except Unheld:
            return self.unknown(node, *values)

    def _constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, bool | int | float | str):
            return node.value
        raise Unheld

    def _given(self, node: ast.expr) -> Any:
        """What the user gave for an expression; MISSING where nothing."""
        path = dotted(node) if self.given else ""
        if path not in self.given:
            return MISSING
        self.used.add(path)
        return _kept(self.given[path])

    def _name(self, node: ast.Name) -> Any:
        if (value := self._given(node)) is not MISSING:
            return value
        return self.lookup(node)

    def lookup(self, node: ast.Name) -> Any:
        """What a name is in the scope at hand."""
        for scope in self.scope.chain():
            if (value := scope.names.get(node.id, MISSING)) is not MISSING:
                return under(value, self.conditions)
        return Named(USUAL.get(node.id, node.id), bound=node.id in USUAL)

    def _attribute(self, node: ast.Attribute) -> Any:
        if (value := self._given(node)) is not MISSING:
            return value
        held = self.of(node.value)
        return self.spread(node, lambda value: self.attribute(value, node), held)

    def attribute(self, held: Any, node: ast.Attribute) -> Any:
        """An attribute of what is known."""
        name = node.attr
        match held:
            case Named():
                path = f"{held.path}.{name}"
                try:
                    return constant(path)
                except Unheld:
                    return Named(path, held.bound)
            case Instance():
                value = held.scope.names.get(name, MISSING)
                value = held.cls.get(name) if value is MISSING else value
                return self._taken(under(value, self.conditions), held, node)
            case Class():
                return self._taken(under(held.get(name), self.conditions), held, node)
            case Mapping() if name in held:
                return under(held[name], self.conditions)
            case Made() if name == "transforms" and held.args:
                return held.args[0]
            case tuple() if name == "shape":
                raise Unheld
        raise Unheld

    def _taken(self, value: Any, owner: Any, node: ast.Attribute) -> Any:
        if value is MISSING:
            return self.unknown(node)
        if isinstance(value, Function):
            bound = Function(value.node, value.scope, value.name, value.defaults, owner)
            return self.run(bound, [], {}) if value.is_property else bound
        return value

    def _subscript(self, node: ast.Subscript) -> Any:
        if (value := self._given(node)) is not MISSING:
            return value
        held = self.of(node.value)
        if isinstance(node.slice, ast.Slice):
            parts = [self.of(each) if each else None for each in (node.slice.lower, node.slice.upper, node.slice.step)]
            return self.spread(node, lambda value, *ends: self._slice(value, ends), held, *parts)
        return self.spread(node, self._item, held, self.of(node.slice))

    def _item(self, held: Any, key: Any) -> Any:
        if isinstance(held, Mapping) and isinstance(key, str | int | float | None) and key in held:
            return under(held[key], self.conditions)
        if isinstance(held, str | list | tuple) and isinstance(key, int) and -len(held) <= key < len(held):
            before = held[: key + 1] if key >= 0 else held[key:]
            if not isinstance(held, Listed) or not any(isinstance(item, Maybe) for item in before):
                return held[key]
        raise Unheld

    def _slice(self, held: Any, ends: Sequence[Any]) -> Any:
        if not isinstance(held, str | list | tuple) or not all(isinstance(end, int | None) for end in ends):
            raise Unheld
        if isinstance(held, list):
            items_of(held)
            self.spend(len(held))
            return Listed(held[slice(*ends)], getattr(held, "at", NOWHERE), len(self.conditions))
        return plain(held.__getitem__, slice(*ends)) if isinstance(held, str) else held[slice(*ends)]

    def _list(self, node: ast.List) -> Any:
        return Listed(self.items(node.elts), self.source.at(node), len(self.conditions))

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.items(node.elts))

    def _set(self, node: ast.Set) -> Any:
        if len(node.elts) == 1 and isinstance(node.elts[0], ast.Set) and len(node.elts[0].elts) == 1:
            return self.of(node.elts[0].elts[0])  # {{_base_.name}} of MM's configs
        return tuple(self.items(node.elts))

    def items(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Items of a list or arguments, with those of other lists spread in."""
        found: list[Any] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(self.of(node))
                continue
            inner = self.of(node.value)
            if isinstance(inner, Either):
                found += self._each_way(inner, node.value, ())
            elif isinstance(inner, list | tuple):
                self.spend(len(inner))
                found += inner
            else:
                found.append(self.unknown(node.value, inner))
        return found

    def _each_way(self, value: Any, node: ast.expr, conditions: Conditions) -> list[Any]:
        """The items of a list of each way, each under its conditions."""
        if isinstance(value, Either):
            yes = self._each_way(value.yes, node, (*conditions, (value.test, True)))
            return yes + self._each_way(value.no, node, (*conditions, (value.test, False)))
        listed = list(value) if isinstance(value, list | tuple) else [self.unknown(node, value)]
        self.spend(len(listed))
        return [Maybe(conditions, item) for item in listed]

    def _dict(self, node: ast.Dict) -> Any:
        found = Mapped({}, self.source.at(node), len(self.conditions))
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.merge(found, self.of(value), value)
                continue
            name = self.of(key)
            with self.named(name if isinstance(name, str) else ""):
                made = self.of(value)
            if not isinstance(name, str | int | float | None):
                raise Unheld
            found[name] = made
        return found

    def merge(self, found: dict[Any, Any], other: Any, node: ast.expr) -> None:
        """Put another mapping into one."""
        other = under(other, self.conditions)
        if isinstance(other, Either):
            other = other.yes
        if isinstance(other, Instance):
            other = other.scope.names
        if not isinstance(other, Mapping):
            found[None] = self.unknown(node, other)
            return
        self.spend(len(other))
        found.update(other)

    def _binary(self, node: ast.BinOp) -> Any:
        # From the left, without going deeper for each sign: sums may be long.
        chain: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            chain.append(left)
            left = left.left
        value = self.of(left)
        for each in reversed(chain):
            right = self.of(each.right)
            self.spend()
            value = self.spread(each, lambda a, b, op=each.op: self._sum(op, a, b), value, right)
        return value

    def _sum(self, op: ast.operator, left: Any, right: Any) -> Any:
        found = binary(op, left, right)
        if isinstance(found, list):
            self.spend(len(found))
            return Listed(found, getattr(left, "at", NOWHERE), len(self.conditions))
        return found

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.of(node.operand)
        if isinstance(node.op, ast.Not):
            return self.spread(node, lambda each: not self.truth(each), value)
        return self.spread(node, lambda each: plain(UNARY[type(node.op)], _number(each)), value)

    def truth(self, value: Any) -> bool:
        """Whether a value that is known counts as true.

        Raises:
            Unheld: it is not known.
        """
        match value:
            case None | bool() | int() | float() | str() | tuple() | Mapping():
                return bool(value)
            case list() if not any(isinstance(item, Maybe) for item in value):
                return bool(value)
            case Made() | Function() | Class() | Instance() | Partial():
                return True
        raise Unheld

    def _logic(self, node: ast.BoolOp) -> Any:
        stops = isinstance(node.op, ast.Or)
        unsure: list[Any] = []
        value: Any = None
        for each in node.values:
            value = self.of(each)
            try:
                if self.truth(value) == stops:
                    break
            except Unheld:
                unsure.append(value)
        else:
            return self.unknown(node, *unsure) if unsure else value
        known = isinstance(value, bool) and value == stops  # `x or True` is true, whatever x
        return self.unknown(node, *unsure) if unsure and not known else value

    def _compare(self, node: ast.Compare) -> Any:
        left = self.of(node.left)
        for op, each in zip(node.ops, node.comparators, strict=True):
            right = self.of(each)
            found = self.spread(node, lambda a, b, op=op: self._compared(op, a, b), left, right)
            if found is not True:
                return found
            left = right
        return True

    def _compared(self, op: ast.cmpop, left: Any, right: Any) -> bool:
        if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and (left is None or right is None):
            if isinstance(left, Named) or isinstance(right, Named):
                raise Unheld
            return (left is right) == isinstance(op, ast.Is | ast.Eq)
        return bool(plain(COMPARE[type(op)], left, right))

    def _choice(self, node: ast.IfExp) -> Any:
        known = self.known(node.test)
        if known is not None:
            return self.of(node.body if known else node.orelse)
        with self.holding(node.test, holds=True):
            yes, condition = self.of(node.body), self.conditions[-1]
        with self.holding(node.test, holds=False):
            no = self.of(node.orelse)
        return either(condition[0], yes, no) if condition[1] else either(condition[0], no, yes)

    def known(self, test: ast.expr) -> bool | None:
        """Whether a test holds; None where it cannot be told."""
        value = self.of(test)
        try:
            return self.truth(value)
        except Unheld:
            return None

    def _joined(self, node: ast.JoinedStr) -> Any:
        parts: list[str] = []
        for each in node.values:
            if isinstance(each, ast.Constant):
                parts.append(str(each.value))
                continue
            value, spec = self.of(each.value), self.of(each.format_spec) if each.format_spec else ""  # type: ignore[attr-defined]
            if not isinstance(value, bool | int | float | str) or not isinstance(spec, str):
                return self.unknown(node, value)
            if not _SPEC.fullmatch(spec) or len(str(value)) > 200:
                raise Unheld
            parts.append(plain(format, value, spec))
        return "".join(parts)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp) -> Any:
        (each, *more) = node.generators
        try:
            items = items_of(self.of(each.iter))
        except Unheld:
            items = None
        if more or items is None or len(items) > _MOST_ROUNDS:
            self._once(node)
            return self.unknown(node)
        outer, self.scope = self.scope, Scope(self.scope, born=len(self.conditions))
        found: list[Any] = []
        try:
            for item in items:
                self.assign(each.target, item)
                kept = [self.known(test) for test in each.ifs]
                if None in kept:
                    raise Unheld
                if not all(kept):
                    continue
                if isinstance(node, ast.DictComp):
                    key = self.of(node.key)
                    if not isinstance(key, str | int | float | None):
                        raise Unheld
                    with self.named(str(key)):
                        found.append((key, self.of(node.value)))
                else:
                    found.append(self.of(node.elt))
        finally:
            self.scope = outer
        if isinstance(node, ast.DictComp):
            return Mapped(found, self.source.at(node), len(self.conditions))
        return Listed(found, self.source.at(node), len(self.conditions))

    def _once(self, node: Any) -> None:
        """Go through a comprehension of what is not known once, for what is made in it."""
        outer, self.scope = self.scope, Scope(self.scope, born=len(self.conditions))
        try:
            for each in node.generators:
                self.assign(each.target, self.unknown(each.target))
            for part in (getattr(node, name, None) for name in ("elt", "key", "value")):
                if part is not None:
                    self.of(part)
        finally:
            self.scope = outer

    def _lambda(self, node: ast.Lambda) -> Any:
        return self.function(node, "lambda")

    def function(self, node: Any, name: str) -> Function:
        """A function as a value, with what its arguments are where nothing is given."""
        args = node.args
        usual: dict[str, Any] = {}
        named = [*args.posonlyargs, *args.args]
        for each, default in zip(named[len(named) - len(args.defaults) :], args.defaults, strict=True):
            usual[each.arg] = self.of(default)
        for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if default is not None:
                usual[each.arg] = self.of(default)
        return Function(node, self.scope, name, usual)

    def _walrus(self, node: ast.NamedExpr) -> Any:
        value = self.of(node.value)
        self.assign(node.target, value)
        return value

    # Calls.

    def _call(self, node: ast.Call) -> Any:
        if (value := self._given(node)) is not MISSING:
            return value
        func = node.func
        held: Any = None
        if isinstance(func, ast.Attribute) and self._given(func) is MISSING:
            held = self.of(func.value)
            if isinstance(held, Either | list | tuple | Mapping | str | int | float | Parser | Unknown):
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
            case Named():
                return self._outside(called, args, named, node)
        return self.unknown(node, *args, *named.values())

    def _outside(self, called: Named, args: list[Any], named: dict[Any, Any], node: ast.Call) -> Any:
        """What a class or a function of another module gives."""
        path, last = called.path, called.last
        if last == "partial" and args:
            return Partial(args[0], args[1:], named)
        if last == "ArgumentParser":
            return Parser()
        if path == "dict" or last in MAPPINGS or path.endswith("OmegaConf.create"):
            if last == "defaultdict":
                args = args[1:]
            if any(isinstance(each, Unknown) for each in args):
                return self.unknown(node, *args)
            return self._mapping(args, named, node)
        if path in FUNCTIONS:
            if None in named or len(args) > 8:
                raise Unheld
            keys = list(named)
            function = FUNCTIONS[path]

            def worked_out(*each: Any) -> Any:
                try:
                    return function(*each[: len(args)], **dict(zip(keys, each[len(args) :], strict=True)))
                except TypeError:  # other arguments than it takes
                    raise Unheld from None

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
        if isinstance(held, Unknown) and name == "get" and args and isinstance(args[0], str):
            path = f"{held.text}.{args[0]}" if re.fullmatch(r"[\w.]+", held.text) else ""
            if path in self.given:
                self.used.add(path)
                return _kept(self.given[path])
            return Unknown(path or self.source.text(node), self.source.at(node), (path,) if path else held.roots)
        return self.spread(node, lambda value, *each: method(value, name, list(each), named), held, *args)

    def _put(self, held: list[Any], name: str, args: list[Any]) -> Any:
        """Items put into a list; under conditions that it was not made under, they are there by chance."""
        if not args or len(args) != (2 if name == "insert" else 1):
            raise Unheld
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
                raise Unheld
            self.spend(len(held))
            held[args[0] : args[0]] = items
        else:
            held += items
        return None

    def _update(self, held: dict[Any, Any], name: str, args: list[Any], named: dict[Any, Any], node: ast.Call) -> Any:
        new: dict[Any, Any] = {}
        if name == "setdefault":
            if not args or not isinstance(args[0], str | int):
                raise Unheld
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
                raise Unheld
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
        raise Unheld


def callable_value(value: Any) -> bool:
    """Whether a value can be called."""
    return isinstance(value, Function | Class | Partial | Named)


def dotted(node: ast.expr) -> str:
    """An expression as names joined by dots, keys of mappings among them; empty where it is more than that.

    >>> dotted(ast.parse("cfg['data'].size").body[0].value), dotted(ast.parse("f(x).y").body[0].value)
    ('cfg.data.size', '')
    """
    parts: list[str] = []
    while True:
        match node:
            case ast.Name():
                return ".".join([node.id, *reversed(parts)])
            case ast.Attribute():
                parts.append(node.attr)
                node = node.value
            case ast.Subscript(slice=ast.Constant(value=str() | int() as key)):
                parts.append(str(key))
                node = node.value
            case ast.Call(func=ast.Attribute(value=held, attr="get"), args=[ast.Constant(value=str() as key), *_]):
                parts.append(key)
                node = held
            case _:
                return ""
        if len(parts) > 32:
            return ""


def _kept(value: Any) -> Any:
    """A value that the user gave, as one of the source."""
    if isinstance(value, list):
        return Listed([_kept(item) for item in value])
    return Mapped({key: _kept(item) for key, item in value.items()}) if isinstance(value, dict) else value


def _number(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise Unheld
    return value


__all__ = ["Evaluator", "Spent", "callable_value", "dotted", "is_plain"]
