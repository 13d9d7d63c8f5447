"""What the evaluator knows at a point of a file: names, facts, and both ways of each test that cannot be told.

Nothing is run twice for a test: what a branch changes is taken back, the other branch changes it from there, and each
changed name, item or list then has one value where both agree, and else a `Either` of two.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from augrecipes.interop import budget
from augrecipes.interop.source import functions, text, values

_MOST_OPEN = 5  # tests that the operands of one operation may depend on
Changes = dict[tuple[int, Any], tuple[Any, Any, Any]]  # by id and key: the holder, the key, and its value


class BudgetExceeded(Exception):  # noqa: N818 - the evaluator stops, and says so
    """More was to be evaluated than a file may ask for."""


class Frame(values.Names):
    """A call that is under way, and at `value` what it returns so far."""


@dataclass(eq=False)
class State(ABC):
    """Names and facts at the point that is evaluated."""

    source: text.SourceText
    settings: Mapping[str, Any]  # values that the user gave
    used: set[str] = field(default_factory=set)  # of these
    scope: values.Scope = field(default_factory=lambda: values.Scope(values.Names({"__name__": "__main__"})))
    path: list[str] = field(default_factory=list)  # names that lead to this point
    facts: dict[str, bool] = field(default_factory=dict)  # tests by their text, as they are on this way
    frames: list[Frame] = field(default_factory=list)
    changes: Changes | None = None  # values as they were before the branch under way; None: it is under none
    since: int = 0  # the birth of the first that this branch created
    has_choices: bool = False
    depth: int = 0
    open: int = 0

    def __post_init__(self) -> None:
        self.module = self.scope

    @abstractmethod
    def value(self, node: ast.expr) -> Any:
        """What an expression is, see `expressions`."""

    @contextmanager
    def named(self, name: Any) -> Iterator[None]:
        """Append a name to those that lead here."""
        path = len(self.path)
        self.path += [name] if name and isinstance(name, str) else []
        try:
            yield
        finally:
            del self.path[path:]

    def spend(self, steps: int = 1) -> None:
        """Count work."""
        if budget.spend(steps) < budget.FOR_MATCHES:
            raise BudgetExceeded

    def setting(self, path: str) -> Any:
        """The value that the user gave for an expression."""
        self.used.add(path)
        return deepcopy(self.settings[path])

    def unknown(self, node: ast.expr, *parts: Any) -> values.UnknownValue:
        """An expression that cannot be told, and the names that it needs."""
        budget.spend(12)  # what it costs to find the names
        path = text.dotted(node)
        known = [root for part in parts if isinstance(part, values.UnknownValue) for root in part.roots]
        roots = tuple(dict.fromkeys([path] if path else known + text.names_in(node, self.lookup)))[:4]
        return values.UnknownValue(path or self.source.text(node), self.source.at(node), roots)

    def lookup(self, name: str) -> Any:
        """What a name stands for; None where the file does not say."""
        return self.resolve(self.scope.get(name))

    # What changes.

    def write(self, holder: Any, key: Any, value: Any) -> None:
        """Set an item of a mapping, or with the key None all items of a list, so that a branch can take it back."""
        self.record(holder, key)
        if key is None and isinstance(holder, list):
            holder[:] = value
        elif value is values.MISSING:
            holder.pop(key, None)
        else:
            holder[key] = value

    def record(self, holder: Any, key: Any = None) -> None:
        """Note an item of a mapping, or all of a list, that is about to change."""
        if self.changes is not None and getattr(holder, "born", 0) < self.since:
            self.changes.setdefault((id(holder), key), (holder, key, self._content(holder, key)))

    def _content(self, holder: Any, key: Any) -> Any:
        if isinstance(holder, list):
            self.spend(len(holder) // 8)
            return holder[:]
        return holder.get(key, values.MISSING)

    def bind(self, name: str, value: Any) -> None:
        """Give a name of the scope a value."""
        self.write(self.scope.maps[0], name, value)

    # Both ways.

    def fork(self, test: values.Test, act: Callable[[bool], Any]) -> tuple[Any, Any]:
        """Act both ways of a test; what changes is as it is on each way from then on. The results of both."""
        self.has_choices = True
        ways: list[tuple[Any, Changes]] = []
        for holds in (True, False):
            outer, self.changes = (self.changes, self.since), {}
            self.since = next(values.BIRTHS)
            self.spend(4)
            try:
                with self.returning():
                    self.facts[test.text] = holds
                    result = act(holds)
            finally:
                inner, self.changes = self.changes, None
                after = {where: (holder, key, self._content(holder, key)) for where, (holder, key, _) in inner.items()}
                for holder, key, before in inner.values():
                    self.write(holder, key, before)
                self.changes, self.since = outer
            ways.append((result, after))
        (first, one), (second, other) = ways
        for where in {**one, **other}:
            holder, key, _ = one.get(where) or other[where]
            before = None, None, self._content(holder, key)
            self.write(holder, key, _joined(test, one.get(where, before)[2], other.get(where, before)[2], holder))
        return first, second

    @contextmanager
    def returning(self) -> Iterator[None]:
        """Forget at the end which facts were learnt in here."""
        known = len(self.facts)
        try:
            yield
        finally:
            while len(self.facts) > known:
                self.facts.popitem()

    def resolve(self, value: Any) -> Any:
        """A value on this way: of a choice whose test is told its side."""
        while type(value) is values.Either:
            holds = self.facts.get(value.test.text)
            if holds is None and values.MISSING not in (value.holds, value.fails):
                break
            value = value.side(value.fails is values.MISSING if holds is None else holds)
        return value

    def each_way(self, node: ast.expr, act: Callable[..., Any], *operands: Any, flat: bool = True) -> Any:
        """What an act makes of values, both ways of each that is a choice.

        Args:
            node: what is evaluated.
            act: takes the values.
            operands: the values.
            flat: of lists with the items that are spliced into them, in lists of their own.
        """
        known = [self.flat(each) if flat else self.resolve(each) for each in operands]
        choice = next((part for each in known if (part := _open_choice(each, flat=flat)) is not None), None)
        if choice is None:
            return act(*known)
        if self.open >= _MOST_OPEN:
            raise values.NotKnown(*operands)

        def side(_: bool) -> Any:
            try:
                return self.each_way(node, act, *known, flat=flat)
            except values.NotKnown as lacking:
                return self.unknown(node, *lacking.args)

        self.open += 1
        try:
            return values.merged(choice.test, *self.fork(choice.test, side))
        finally:
            self.open -= 1

    def branch(self, node: ast.expr, act: Callable[[bool], Any], join: Callable[[values.Test, Any, Any], Any]) -> Any:
        """Act as a test says: once where it can be told, else both ways, each in a branch of its name.

        Args:
            node: the test.
            act: takes whether it holds.
            join: takes a test that cannot be told, and what came of it where it holds and where it fails.
        """
        decision, value = None, self.value(node)
        with suppress(values.NotKnown):
            decision = self.each_way(node, functions.truth, value)
        if isinstance(decision, bool):
            return act(decision)
        if isinstance(decision, values.Either):

            def known_way(_: bool) -> Any:
                with self.named(""):
                    return self.branch(node, act, join)

            return join(decision.test, *self.fork(decision.test, known_way))
        test = text.test_of(self._undecided(node), self.source, self.lookup)

        def way(holds: bool) -> Any:
            with self.named(test.branch(holds)):
                return act(holds != test.negated)

        known = self.facts.get(test.text)
        return join(test, *self.fork(test, way)) if known is None else way(known)

    def _undecided(self, node: ast.expr) -> ast.expr:
        """The part of a test on which it depends, where only one of its parts cannot be told."""
        while isinstance(node, ast.BoolOp):
            unsure = [part for part in node.values if not self.is_known(part)]
            if len(unsure) != 1:
                break
            node = unsure[0]
        return node

    def is_known(self, node: ast.expr) -> bool:
        """Whether a test holds, or not, whatever cannot be told."""
        try:
            return isinstance(self.each_way(node, functions.truth, self.value(node)), bool)
        except values.NotKnown:
            return False

    def flat(self, value: Any) -> Any:
        """A value on this way, with the items of lists that are spliced into it."""
        value = self.resolve(value)
        if not isinstance(value, list | tuple):
            return value
        self.spend(len(value) // 16)
        if not any(type(each) is values.Either for each in value):
            return value
        items: list[Any] = []
        for each in value:
            known = self.resolve(each)
            items += known if type(each) is values.Either and each.spliced and known is not each else [known]
        return items


def _open_choice(value: Any, *, flat: bool) -> values.Either | None:
    """The choice that a value is, or the first that is spliced into it."""
    if type(value) is values.Either:
        return value
    if flat and isinstance(value, list | tuple):
        return next((each for each in value if type(each) is values.Either and each.spliced), None)
    return None


def _joined(test: values.Test, one: Any, other: Any, holder: Any) -> Any:
    """What a changed item is from then on: of lists what differs is spliced in."""
    if isinstance(holder, list):
        start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a is not b), None)
        start = min(len(one), len(other)) if start is None else start
        same = zip(reversed(one[start:]), reversed(other[start:]), strict=False)
        end = next((at for at, (a, b) in enumerate(same) if a is not b), min(len(one), len(other)) - start)
        middle = one[start : len(one) - end], other[start : len(other) - end]
        return [
            *one[:start],
            *([values.Either(test, *middle, spliced=True)] if any(middle) else []),
            *one[len(one) - end :],
        ]
    if values.MISSING in (one, other) and not isinstance(
        holder, values.Mapped | Frame
    ):  # a name that one way alone has
        return other if one is values.MISSING else one
    return values.merged(test, one, other)
