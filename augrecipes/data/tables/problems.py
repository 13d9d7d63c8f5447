"""What is wrong with a list of samples, reported all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from augrecipes.errors import DataError, Lines, harmless

_LISTED = 200  # problems that one message lists
Problem = tuple[int, str]  # line of a file, what is wrong with it


def listed(problems: Iterable[str]) -> Lines:
    """Problems for the end of a message, each on a line of its own; the first 200 of them.

    >>> listed(["no label", "no bag"])
    '\\n  no label\\n  no bag'
    """
    lines = [f"\n  {harmless(problem)}" for problem in problems]
    more = [f"\n  and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return Lines("".join([*lines[:_LISTED], *more]))


def refuse(path: str, problems: Sequence[Problem]) -> None:
    """DataError of all `problems` of a file, by line; nothing where there are none.

    >>> refuse("a.csv", [(7, "no label"), (3, "no bag")])
    Traceback (most recent call last):
    augrecipes.errors.DataError: a.csv: 2 problems in its rows:
      line 3: no bag
      line 7: no label
    """
    if len(problems) == 1:
        line, what = problems[0]
        raise DataError(what, f"{path}:{line}")
    if problems:
        text = listed(f"line {line}: {what}" for line, what in sorted(problems))
        raise DataError(f"{len(problems)} problems in its rows:{text}", path)
