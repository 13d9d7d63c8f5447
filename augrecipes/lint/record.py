"""What a lint is, and what it finds. Why each matters, how to fix it, and an example stand in docs/CODES.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from augrecipes.errors import Fix, Severity
from augrecipes.recipe.model import NOWHERE, Position, Recipe, Step


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
REMOVE = (Fix("remove"),)
Check = Callable[[Recipe], Findings]


@dataclass(frozen=True, slots=True)
class Lint:
    """One rule of taste or sense.

    Attributes:
        code: stable, such as `L101`.
        name: stable, such as `random-in-eval`.
        check: finds it.
        severity: `error` stops `compile`; `warning` is logged.
        advice: a matter of taste or speed, which `check` tells and nothing else logs.
    """

    code: str
    name: str
    check: Check
    severity: Severity = "warning"
    advice: bool = False


registered: dict[str, Lint] = {}


def rule(code: str, name: str, severity: Severity = "warning", *, advice: bool = False) -> Callable[[Check], Check]:
    """A function of a recipe becomes a lint."""

    def register(check: Check) -> Check:
        registered[code] = Lint(code, name, check, severity, advice)
        return check

    return register
