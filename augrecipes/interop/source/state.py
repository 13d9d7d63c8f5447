"""State: names and facts that the evaluator knows at a point of a file, and its decisions on unknown tests.

A reading decides each unknown test one way; other readings of the file decide otherwise.
"""

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
    """The budget for evaluating a file is used up."""


@dataclass(eq=False)
class State(ABC):
    """Names and facts at a point of a file.

    Attributes:
        source: the file.
        settings: the user's values, by expression.
        decide: decides an unknown test.
        calls: calls of transforms: line, column and id, in order.
        used: the settings that were read.
        path: names that lead to this point.
        facts: decided tests by their text.
        relevant: names that the transforms of the file depend on.
        tests: decided tests that may matter to transforms, by their text.
        phase: the last decided test that separates training from evaluation.
        open: ids of the decided tests' nodes.
        reached: ids of calls that were evaluated, or are in the other branch of a test in `tests`.
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
        """The value of an expression, see `expressions`."""

    @contextmanager
    def named(self, name: Any) -> Iterator[None]:
        """Append a name to `path` inside the block."""
        path = len(self.path)
        self.path += [name] if name and isinstance(name, str) else []
        try:
            yield
        finally:
            del self.path[path:]

    def spend(self, steps: int = 1) -> None:
        """Count work; BudgetExceeded beyond the evaluator's part of the budget."""
        if budget.spend(steps) < budget.FOR_MATCHES:
            raise BudgetExceeded

    def setting(self, path: str) -> Any:
        """The user's value for an expression."""
        self.used.add(path)
        return deepcopy(self.settings[path])

    def unknown(self, node: ast.expr, *parts: Any) -> values.UnknownValue:
        """The UnknownValue of an expression, with the names that it depends on."""
        budget.spend(12)  # the cost of finding the names
        path = text.dotted(node)
        known = [root for part in parts if isinstance(part, values.UnknownValue) for root in part.roots]
        roots = tuple(dict.fromkeys([path] if path else known + text.names_in(node, self.scope.get)))[:4]
        return values.UnknownValue(path or self.source.text(node), self.source.at(node), roots)

    # Tests.

    def branch(self, node: ast.expr, ways: Sequence[Any], act: Callable[[bool], Any]) -> Any:
        """Evaluate the branch of a test; for an unknown test inside a path named after it.

        Args:
            node: the test.
            ways: the nodes of the true and the false branch.
            act: called with the test's value.
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
        """Whether transforms may depend on the choice between two branches."""
        names = self.relevant()
        if not isinstance(ways[0], list):
            return not names.isdisjoint(self.path) or any(map(self.transforms_in, ways))
        nodes = [*ways[0], *ways[1]]
        self.spend(8 * len(nodes))
        leaves = ast.Return | ast.Continue | ast.Break
        return any(isinstance(node, leaves) or names & text.words_of(node, self.source)[0] for node in nodes)

    def _undecided(self, node: ast.expr) -> ast.expr:
        """The only unknown part of a test; the test itself if several parts are unknown."""
        while isinstance(node, ast.BoolOp):
            unsure = [part for part in node.values if not self.is_known(part)]
            if len(unsure) != 1:
                break
            node = unsure[0]
        return node

    def is_known(self, node: ast.expr) -> bool:
        """Whether the value of a test is known."""
        with suppress(values.NotKnown):
            truth(self.value(node))
            return True
        return False

    def pass_over(self, nodes: Any) -> None:
        """Count the transforms in some nodes as reached, since another reading reaches them."""
        for node in nodes if isinstance(nodes, list) else [nodes]:
            self.reached.update(self.transforms_in(node))

    def transforms_in(self, node: Any) -> list[int]:
        """Ids of the calls of transforms in a node."""
        first = bisect_left(self.calls, (node.lineno, node.col_offset))
        last = bisect_right(self.calls, (node.end_lineno, node.end_col_offset, 1 << 62))
        self.spend(last - first)
        return [each for _, _, each in self.calls[first:last]]
