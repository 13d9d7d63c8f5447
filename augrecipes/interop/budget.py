"""The budget of reading one source: a limit on work, and on the memory of its values."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from augrecipes.errors import Diagnostic, RecipeError

MOST = 600_000  # parts of source and of values visited or created: some seconds, and some 100 MB
_WHY = "too much to read: leave only the pipeline and what it needs in the file; or give FILE.py:NAME, which runs it"
FOR_MATCHES = 0.4  # the fraction that reading source leaves for the pipelines in it


@dataclass(slots=True)
class _ReadingBudget:
    file: str
    between: Callable[[], object]
    left: int = MOST


_here: ContextVar[_ReadingBudget | None] = ContextVar("import budget", default=None)


@contextmanager
def bounded(file: str, between: Callable[[], object] = bool) -> Iterator[None]:
    """Limit reading inside the block to one budget; a nested block shares the outer one's.

    Args:
        file: the source's name, for the error.
        between: called at every step; an exception of it ends the reading.
    """
    token = _here.set(_here.get() or _ReadingBudget(file, between))
    try:
        spend(0)
        yield
    finally:
        _here.reset(token)


def spend(work: int = 1) -> float:
    """Count work or memory; return the fraction of the budget that is left.

    Raises:
        RecipeError: the budget is used up.
    """
    if (budget := _here.get()) is None:
        return 1.0
    budget.between()
    budget.left -= work
    if budget.left < 0:
        raise RecipeError(problems=[Diagnostic(_WHY, 1, 1, "E604", "import", budget.file)])
    return budget.left / MOST
