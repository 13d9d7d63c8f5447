"""What the command line shows: colour and progress on terminals only, errors on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

from augrecipes.errors import AugrecipesError, Diagnostic, LintError, RecipeError

_STYLES = {"error": "31;1", "warning": "33", "strong": "1", "faint": "2", "good": "32"}
Advance = Callable[[int, int], None]


def coloured(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that wants colour (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str, stream: TextIO) -> str:
    """`text` in a style, where `stream` shows styles."""
    return f"\033[{_STYLES[style]}m{text}\033[0m" if text and coloured(stream) else text


def line_of(problem: Diagnostic, stream: TextIO) -> str:
    """One problem as one line; without colour it is `str(problem)`."""
    where = f"{problem.file}:{problem.line}:{problem.col}" if problem.line else problem.file
    name = f" {problem.name}" if problem.name else ""
    code = paint(problem.code, problem.severity, stream)
    where, name, message = (_harmless(part) for part in (where, name, problem.message))
    return f"{paint(where, 'strong', stream)}: {code}{name}: {message}"


def _harmless(text: str) -> str:
    """`text` with line ends and control characters spelt out: files and their names may hold any."""
    return "".join(c if c.isprintable() or "\udc80" <= c <= "\udcff" else repr(c)[1:-1] for c in text)


def complain(error: AugrecipesError | OSError) -> None:
    """Print an error on standard error: a line for each problem, or its message."""
    problems = error.problems if isinstance(error, RecipeError) else ()
    if problems:
        lines = [line_of(problem, sys.stderr) for problem in problems]
    elif isinstance(error, OSError):
        reason = error.strerror or str(error)
        lines = [f"{error.filename}: {reason}" if error.filename else reason]
    else:
        lines = [str(error) or type(error).__name__]
    for line in lines:
        shown = line if problems else f"{paint('error:', 'error', sys.stderr)} {line}"
        typer.echo(shown, err=True)


def exit_status(error: AugrecipesError) -> int:
    """1 for a valid recipe that must not run as it stands, 2 for input that is not valid."""
    return 1 if isinstance(error, LintError) else 2


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """A progress bar on standard error, if that is a terminal: a function of (done, total).

    >>> with progress("reading") as advance:
    ...     advance(1, 2)
    """
    with parts() as advance:
        yield lambda done, total: advance(what, done, total)


@contextmanager
def parts() -> Iterator[Callable[[str, int, int], None]]:
    """As `progress`, for work of several parts: a function of (what, done, total)."""
    if not sys.stderr.isatty():
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


def _ignore(what: str, done: int, total: int) -> None:
    """No terminal, no bar."""
