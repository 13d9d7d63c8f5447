"""The only place that prints: text for people, no wider than the terminal, and JSON for programs.

Colour on terminals alone; no control characters.

What says that something is wrong with a file is one line, however long: editors and grep read it. Everything else is
wrapped.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sys
import textwrap
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from augrecipes import progress as shared
from augrecipes.errors import AugrecipesError, Diagnostic, LintError, RecipeError, harmless
from augrecipes.paths import write_file
from augrecipes.redaction import redact_all
from augrecipes.report import to_plain

if TYPE_CHECKING:
    from augrecipes.report import Report

STDOUT = "-"  # as the name of a file
PIPED = 80  # columns where there is no terminal
WIDEST = 120  # longer lines are hard to read
_NARROWEST = 20
# Until it is printed, a style is a character of Unicode's private use: then no text brings a control sequence along.
# A name that holds such a character can at most be coloured.
_STYLES = {"error": "31;1", "warning": "33", "strong": "1", "faint": "2", "good": "32"}
_MARKS = {style: chr(0xE000 + number) for number, style in enumerate(_STYLES)}
_END = "\ue0ff"
_CODES = {mark: f"\033[{_STYLES[style]}m" for style, mark in _MARKS.items()} | {_END: "\033[0m"}
_MARKED = re.compile("|".join(_CODES))
# What JSON leaves as it is and a terminal might obey: control characters behind ASCII, and half characters.
_UNSHOWN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def hush() -> None:
    """Send the rest of standard output nowhere: its reader has gone, or it is full."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def coloured(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that wants colour (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Columns that lines keep within: those of the terminal, or of COLUMNS; 80 where output goes elsewhere."""
    return max(_NARROWEST, min(shutil.get_terminal_size((PIPED, 24)).columns, WIDEST))


def paint(text: str, style: str, stream: TextIO) -> str:
    """`text` in a style, for `say`, where `stream` shows styles."""
    text = harmless(text)
    return f"{_MARKS[style]}{text}{_END}" if text and coloured(stream) else text


@contextmanager
def report_once() -> Iterator[None]:
    """Log each message of the library once, however often the same data are opened."""
    messages: set[str] = set()

    def fresh(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        known = message in messages
        messages.add(message)
        return not known

    logger = logging.getLogger("augrecipes")
    logger.addFilter(fresh)
    try:
        yield
    finally:
        logger.removeFilter(fresh)


def put(text: str | bytes) -> None:
    """Print a line on standard output as it is; an OSError says where."""
    try:
        if isinstance(text, bytes):
            sys.stdout.buffer.write(text + b"\n")
        else:
            sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except OSError as error:
        error.filename = "standard output"
        hush()  # what is left in its buffer would fail once more
        raise


def say(text: object = "", *, err: bool = False, wrap: bool = True, secrets: bool = False) -> None:
    """Print text of one or more lines.

    Args:
        text: what `paint` made, among other things.
        err: on standard error.
        wrap: break long lines between words, and go on further in.
        secrets: show those of addresses, which are there to be followed.
    """
    stream = sys.stderr if err else sys.stdout
    lines = harmless(str(text), keep="\n" + "".join(_CODES), secrets=secrets).split("\n")
    text = shown("\n".join(_wrapped(line, width()) if wrap else line for line in lines), stream)
    if err:
        sys.stderr.write(f"{text}\n")
    else:
        put(text)


def say_line(text: object, *, err: bool = False) -> None:
    """Print what is one line, however long: a path, or what is wrong with one."""
    say(harmless(str(text)), err=err, wrap=False)


def shown(text: str, stream: TextIO) -> str:
    """`text` with its styles as `stream` shows them."""
    return _MARKED.sub(lambda mark: _CODES[mark[0]] if coloured(stream) else "", text)


def _wrapped(line: str, columns: int) -> str:
    if len(_MARKED.sub("", line)) <= columns:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(
        textwrap.wrap(
            line.strip(), columns, initial_indent=indent, subsequent_indent=indent + "    ", break_long_words=False,
            break_on_hyphens=False,
        )
    )  # fmt: skip


def show(report: Report) -> None:
    """Print a report on standard output."""
    put(report.text(width(), colour=coloured(sys.stdout)))


def good(text: str, *, err: bool = False) -> None:
    """Print that all is well."""
    say(paint(text, "good", sys.stderr if err else sys.stdout), err=err)


def note(text: str) -> None:
    """Say on standard error what should be known besides the answer."""
    say(f"{paint('note:', 'warning', sys.stderr)} {text}", err=True)


def listed(label: str, lines: Sequence[object], most: int, more: str = "more") -> None:
    """Print the first lines, each behind the label, and how many there are beyond."""
    for line in lines[:most]:
        say_line(f"{label}{line}")
    if len(lines) > most:
        say(f"{label}{len(lines) - most:,} {more}")


def in_bytes(count: int) -> str:
    """A number of bytes, in decimal units.

    >>> in_bytes(512), in_bytes(1_536_000), in_bytes(12_300_000_000)
    ('512 B', '1.5 MB', '12 GB')
    """
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"


def progress(what: str) -> AbstractContextManager[shared.Progress]:
    """See `augrecipes.progress.progress`; where standard error is piped, its lines are wrapped like all others."""
    return shared.progress(what, partial(say, err=True))


def parts() -> AbstractContextManager[shared.Parts]:
    """See `augrecipes.progress.parts`."""
    return shared.parts(partial(say, err=True))


def line_of(problem: Diagnostic, stream: TextIO) -> str:
    """One problem as one line; without colour it is `str(problem)`."""
    where = f"{problem.file}:{problem.line}:{problem.col}" if problem.line else problem.file
    name = f" {problem.name}" if problem.name else ""
    code = paint(problem.code, problem.severity, stream)
    return f"{paint(where, 'strong', stream)}: {code}{harmless(name)}: {harmless(problem.message)}"


def complain(error: AugrecipesError | OSError) -> None:
    """Print an error on standard error: a line for each problem, or its message."""
    problems = error.problems if isinstance(error, RecipeError) else ()
    for problem in problems:
        say(line_of(problem, sys.stderr), err=True, wrap=False)
    if problems:
        return
    message = str(error) or type(error).__name__
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        message = f"{harmless(os.fsdecode(error.filename))}: {reason}" if error.filename else reason
    say(f"{paint('error:', 'error', sys.stderr)} {message}", err=True, wrap=False)


def exit_status(error: AugrecipesError | OSError) -> int:
    """1 for a valid recipe that must not run as it stands, 2 for input that is not valid."""
    return 1 if isinstance(error, LintError) else 2


def answer(
    args: Namespace,
    content: Any,
    text: Callable[[], object],
    write: Callable[[Path], None] | None = None,
    *,
    status: int = 0,
) -> None:
    """Show the answer, and end with a status.

    Args:
        args: of the command. `--json`: none: text alone; a file: text, and JSON into it; `-`: JSON alone.
        content: what becomes JSON, as `to_plain` makes it.
        text: prints it for people.
        write: writes the file, where it has a layout of its own.
        status: of the command; 0 goes on.
    """
    if args.json == STDOUT:
        put(as_json(content))
    else:
        text()
        if args.json is not None:
            (write or (lambda path: write_file(path, f"{as_json(content)}\n".encode())))(Path(args.json))
            say_line(args.json)
    if status:
        raise SystemExit(status)


def as_json(content: Any) -> str:
    r"""JSON that is safe to look at.

    >>> print(as_json({"file": "é\x9b.png"}))
    {
      "file": "é\u009b.png"
    }
    """
    text = json.dumps(redact_all(to_plain(content)), indent=2, ensure_ascii=False)
    return _UNSHOWN.sub(lambda c: f"\\u{ord(c[0]):04x}", text)
