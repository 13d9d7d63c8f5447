"""What a lint is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from augrecipes.errors import Severity
from augrecipes.recipe.model import NOWHERE, Position, Recipe, Step
from augrecipes.recipe.spelling import Fix


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a lint has to say.

    Attributes:
        message: what is wrong, and how to mend it.
        step: the step that it speaks of; None where it speaks of the recipe.
        argument: the argument that it speaks of, if it is one.
        fixes: edits of the text that may mend it, the likeliest first.
    """

    message: str
    step: Step | None = None
    argument: str | None = None
    fixes: tuple[Fix, ...] = ()

    @property
    def place(self) -> Position:
        """Where the finding stands in the recipe's file."""
        if self.step is None:
            return NOWHERE
        place = self.step.places.get(self.argument) if self.argument else None
        # What the caller set has no line; its step has.
        return place if isinstance(place, Position) and place.line else self.step.position


Findings = Iterator[Finding]


@dataclass(frozen=True, slots=True)
class Lint:
    """One rule of taste or sense.

    Attributes:
        code: stable, such as `L101`.
        name: stable, such as `random-in-eval`.
        check: finds it.
        why: why it matters.
        fix: how to mend it.
        diff: a recipe that the lint speaks of, and what mends it, as a diff: lines that begin with - go, those that
            begin with + come.
        severity: `error` stops `compile`; `warning` is logged.
    """

    code: str
    name: str
    check: Callable[[Recipe], Findings]
    why: str
    fix: str
    diff: str
    severity: Severity = "warning"

    @property
    def example(self) -> str:
        """A recipe that the lint speaks of."""
        return self._without("+")

    @property
    def good(self) -> str:
        """The recipe mended; no lint speaks of it."""
        return self._without("-")

    def _without(self, mark: str) -> str:
        lines = (line[1:] for line in self.diff.strip("\n").splitlines() if not line.startswith(mark))
        return "\n".join(("version: 1", "recipe: example", *lines))
