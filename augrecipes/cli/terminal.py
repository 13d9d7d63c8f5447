"""The only place that prints: text for people, no wider than the terminal, and JSON for programs.

Only terminals get colour, and no text prints control characters.

A problem of a file is one line, however long, for editors and grep. Everything else is wrapped.
"""

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
from augrecipes.errors import AugrecipesError, Diagnostic, LintError, RecipeError, harmless, logger
from augrecipes.paths import write_file
from augrecipes.redaction import redact_all
from augrecipes.report import to_plain

if TYPE_CHECKING:
    from augrecipes.report import Report

STDOUT = "-"  # the file name that means standard output
PIPED = 80  # columns where there is no terminal
WIDEST = 120  # longer lines are hard to read
_NARROWEST = 20
# Until it is printed, a style is marked by a character of Unicode's private use area, so that untrusted text cannot
# inject control sequences: a name with such a character can at most be coloured.
_STYLES = {"error": "31;1", "warning": "33", "strong": "1", "faint": "2", "good": "32"}
_MARKS = {style: chr(0xE000 + number) for number, style in enumerate(_STYLES)}
_END = "\ue0ff"
_CODES = {mark: f"\033[{_STYLES[style]}m" for style, mark in _MARKS.items()} | {_END: "\033[0m"}
_MARKED = re.compile("|".join(_CODES))
# Characters that JSON does not escape but a terminal might obey: C1 and Unicode controls, and surrogates.
_UNSHOWN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def discard_output() -> None:
    """Redirect standard output to the null device, once its reader has gone, or its disk is full."""
    with suppress(OSError, ValueError):
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)


def has_colour(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that wants colour (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Return the width of lines: that of the terminal, or COLUMNS; 80 where output is piped."""
    return max(_NARROWEST, min(shutil.get_terminal_size((PIPED, 24)).columns, WIDEST))


def paint(text: str, style: str, stream: TextIO) -> str:
    """Mark `text` with a style for `say`, where `stream` shows colour."""
    text = harmless(text)
    return f"{_MARKS[style]}{text}{_END}" if text and has_colour(stream) else text


@contextmanager
def report_once() -> Iterator[None]:
    """Log each message of the library only once within a `with`, however often the same data are opened."""
    messages: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        known = message in messages
        messages.add(message)
        return not known

    logger.addFilter(is_new)
    try:
        yield
    finally:
        logger.removeFilter(is_new)


def put(text: str | bytes) -> None:
    """Print a line on standard output as it is; an OSError names standard output."""
    try:
        if isinstance(text, bytes):
            sys.stdout.buffer.write(text + b"\n")
        else:
            sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except OSError as error:
        error.filename = "standard output"
        discard_output()  # else flushing the buffer at exit would fail again
        raise


def say(text: object = "", *, err: bool = False, wrap: bool = True, secrets: bool = False) -> None:
    """Print text of one or more lines.

    Args:
        text: the text; `paint` may have marked parts of it.
        err: print on standard error.
        wrap: wrap long lines between words, with a hanging indent.
        secrets: do not redact the secrets of addresses, which the user needs to open them.
    """
    stream = sys.stderr if err else sys.stdout
    lines = harmless(str(text), keep="\n" + "".join(_CODES), secrets=secrets).split("\n")
    text = styled("\n".join(_wrap(line, width()) if wrap else line for line in lines), stream)
    if err:
        sys.stderr.write(f"{text}\n")
    else:
        put(text)


def say_line(text: object, *, err: bool = False) -> None:
    """Print one line without wrapping it: a path, or a problem of a file."""
    say(harmless(str(text)), err=err, wrap=False)


def styled(text: str, stream: TextIO) -> str:
    """Replace the marks of styles by `stream`'s escape codes, or by nothing."""
    return _MARKED.sub(lambda mark: _CODES[mark[0]] if has_colour(stream) else "", text)


def _wrap(line: str, columns: int) -> str:
    if len(_MARKED.sub("", line)) <= columns:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(
        textwrap.wrap(
            line.strip(), columns, initial_indent=indent, subsequent_indent=indent + "    ", break_long_words=False,
            break_on_hyphens=False,
        )
    )  # fmt: skip


def show(report: "Report") -> None:
    """Print a report on standard output."""
    put(report.text(width(), colour=has_colour(sys.stdout)))


def good(text: str, *, err: bool = False) -> None:
    """Print a success in green."""
    say(paint(text, "good", sys.stderr if err else sys.stdout), err=err)


def note(text: str) -> None:
    """Print a note on standard error, beside the answer."""
    say(f"{paint('note:', 'warning', sys.stderr)} {text}", err=True)


def say_lines(label: str, lines: Sequence[object], most: int, more: str = "more") -> None:
    """Print the first `most` lines, each after the label, and the number of the rest."""
    for line in lines[:most]:
        say_line(f"{label}{line}")
    if len(lines) > most:
        say(f"{label}{len(lines) - most:,} {more}")


def in_bytes(count: int) -> str:
    """Format a number of bytes in decimal units.

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
    """Show progress: see `augrecipes.progress.progress`; where standard error is piped, `say` prints the lines."""
    return shared.progress(what, partial(say, err=True))


def parts() -> AbstractContextManager[shared.Parts]:
    """Show progress in parts: see `augrecipes.progress.parts`."""
    return shared.parts(partial(say, err=True))


def line_of(problem: Diagnostic, stream: TextIO) -> str:
    """Format a problem as one line; without colour it is `str(problem)`."""
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
    """Return 1 for a valid recipe with lint errors, 2 for input that is not valid."""
    return 1 if isinstance(error, LintError) else 2


def answer(
    args: Namespace,
    content: Any,
    text: Callable[[], object],
    write: Callable[[Path], None] | None = None,
    *,
    status: int = 0,
) -> None:
    """Print a command's answer, and exit unless the status is 0.

    Args:
        args: the command's arguments. `--json`: None prints text; a file also gets JSON; `-` prints only JSON.
        content: the answer, which `to_plain` converts for JSON.
        text: prints the answer as text.
        write: writes the JSON file, where it has a layout of its own.
        status: the exit status; 0 returns.
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
    r"""Format JSON, redacted, and with characters escaped that a terminal might obey.

    >>> print(as_json({"file": "é\x9b.png"}))
    {
      "file": "é\u009b.png"
    }
    """
    text = json.dumps(redact_all(to_plain(content)), indent=2, ensure_ascii=False)
    return _UNSHOWN.sub(lambda c: f"\\u{ord(c[0]):04x}", text)
