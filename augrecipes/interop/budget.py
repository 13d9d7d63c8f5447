"""How much reading one source may take, and the memory that its values may fill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from augrecipes.errors import Diagnostic, RecipeError

MOST = 600_000  # parts of source and of values that are gone through or made: some seconds, and some 100 MB
_WHY = "too much to read: leave only the pipeline and what it needs in the file; or give FILE.py:NAME, which runs it"
FOR_MATCHES = 0.4  # the share that reading source leaves for what is found in it


@dataclass(slots=True)
class _ReadingBudget:
    file: str
    between: Callable[[], object]
    left: int = MOST


_here: ContextVar[_ReadingBudget | None] = ContextVar("import budget", default=None)


@contextmanager
def bounded(file: str, between: Callable[[], object] = bool) -> Iterator[None]:
    """Let what is read in here have one budget, that of what is around it where there is one.

    Args:
        file: whose name the error has.
        between: called at every step; what it raises ends the reading.
    """
    token = _here.set(_here.get() or _ReadingBudget(file, between))
    try:
        spend(0)
        yield
    finally:
        _here.reset(token)


def spend(work: int = 1) -> float:
    """Count work, or memory; the share of the budget that is left.

    Raises:
        RecipeError: it is more than one source may take.
    """
    if (budget := _here.get()) is None:
        return 1.0
    budget.between()
    budget.left -= work
    if budget.left < 0:
        raise RecipeError(problems=[Diagnostic(_WHY, 1, 1, "E604", "import", budget.file)])
    return budget.left / MOST
