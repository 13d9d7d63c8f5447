"""What the evaluator knows at a point of a file: names, facts, and the tests that the file does not tell.

A reading decides each of these tests one way; other readings of the file decide them otherwise.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from augrecipes.interop import budget
from augrecipes.interop.source import text, values
from augrecipes.interop.source.functions import truth


class BudgetExceeded(Exception):  # noqa: N818 - the evaluator stops, and says so
    """More was to be evaluated than a file may ask for."""


@dataclass(eq=False)
class State(ABC):
    """Names and facts at a point of a file.

    Attributes:
        source: the file.
        settings: values that the user gave, by expression.
        decide: whether a test holds that the file does not tell.
        calls: of transforms: line, column and id, in order.
        used: the settings that were asked for.
        path: names that lead to this point.
        facts: tests by their text, as this reading has them from here on.
        relevant: names that the transforms of the file depend on.
        tests: those that `decide` was asked about and that may matter to transforms, by their text.
        phase: the last of them that tells training from evaluation.
        open: ids of the nodes that these are.
        reached: ids of the calls that were evaluated, or that stand in the other branch of a test of `tests`.
    """

    source: text.SourceText
    settings: Mapping[str, Any]
    decide: Callable[[values.Test], bool]
    calls: Sequence[tuple[int, int, int]] = ()
    relevant: Callable[[], frozenset[str]] = frozenset
    used: set[str] = field(default_factory=set)
    scope: values.Scope = field(default_factory=lambda: values.Scope({"__name__": "__main__"}))
    path: list[str] = field(default_factory=list)
    facts: dict[str, bool] = field(default_factory=dict)
    tests: dict[str, values.Test] = field(default_factory=dict)
    phase: values.Test | None = None
    reached: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    depth: int = 0

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
        roots = tuple(dict.fromkeys([path] if path else known + text.names_in(node, self.scope.get)))[:4]
        return values.UnknownValue(path or self.source.text(node), self.source.at(node), roots)

    # Tests.

    def branch(self, node: ast.expr, ways: Sequence[Any], act: Callable[[bool], Any]) -> Any:
        """Act as a test says, in a branch of its name where the file does not tell.

        Args:
            node: the test.
            ways: nodes of what runs where it holds, and where it fails.
            act: takes whether it holds.
        """
        with suppress(values.NotKnown):
            return act(truth(self.value(node)))
        self.spend(10)
        test = text.test_of(self._undecided(node), self.source, self.scope.get)
        if test.text not in self.facts:
            self.facts[test.text] = self.decide(test)
            if text.role(test.label) or self.matters(ways):
                self.tests[test.text] = test
            self.phase = test if text.role(test.label) else self.phase
        known = self.facts[test.text]
        holds = known != test.negated
        self.open.add(id(node))
        self.pass_over(ways[1] if holds else ways[0])
        with self.named(test.branch(known)):
            return act(holds)

    def matters(self, ways: Sequence[Any]) -> bool:
        """Whether transforms may depend on which of these ways a test takes."""
        names = self.relevant()
        if not isinstance(ways[0], list):
            return not names.isdisjoint(self.path) or any(map(self.transforms_in, ways))
        nodes = [*ways[0], *ways[1]]
        self.spend(8 * len(nodes))
        leaves = ast.Return | ast.Continue | ast.Break
        return any(isinstance(node, leaves) or names & text.words_of(node, self.source)[0] for node in nodes)

    def _undecided(self, node: ast.expr) -> ast.expr:
        """The part of a test on which it depends, where only one of its parts cannot be told."""
        while isinstance(node, ast.BoolOp):
            unsure = [part for part in node.values if not self.is_known(part)]
            if len(unsure) != 1:
                break
            node = unsure[0]
        return node

    def is_known(self, node: ast.expr) -> bool:
        """Whether a test can be told."""
        with suppress(values.NotKnown):
            truth(self.value(node))
            return True
        return False

    def pass_over(self, nodes: Any) -> None:
        """Count the transforms in some nodes as reached: another reading does."""
        for node in nodes if isinstance(nodes, list) else [nodes]:
            self.reached.update(self.transforms_in(node))

    def transforms_in(self, node: Any) -> list[int]:
        """Ids of the calls of transforms in a node."""
        first = bisect_left(self.calls, (node.lineno, node.col_offset))
        last = bisect_right(self.calls, (node.end_lineno, node.end_col_offset, 1 << 62))
        self.spend(last - first)
        return [each for _, _, each in self.calls[first:last]]
