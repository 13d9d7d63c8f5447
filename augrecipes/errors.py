"""The exceptions that augrecipes raises on purpose.

    AugrecipesError
    ├── RecipeError        a file is not a valid recipe; carries every problem found in it
    │   └── LintError      a valid recipe that must not be compiled as it stands
    ├── DataError          a sample cannot be read or transformed; names the file
    │   └── CollateError   samples of a batch do not fit together; names both sizes
    ├── StoreError         a packed store cannot be written or opened; names the file
    ├── BenchError         a comparison cannot be made (a baseline that is none, no stock form, a model that fails)
    └── LoaderError        the loader itself cannot go on (a dead worker, a state of another loader)

and the warning UnprovenWarning, for a library in an untested version.

Errors carry data; `str()` is one line per problem. All of them survive pickling and can be built from a
message alone, because a DataLoader worker's error is rebuilt that way in the parent process.

File names and recipes are untrusted text: errors, the log and the command line show them without control characters,
and addresses without passwords. All such text goes through `harmless`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from augrecipes.redaction import redact

Severity = Literal["error", "warning"]

_TRIES = 9  # see `retry_parser`


def harmless(text: str, keep: str = "", *, secrets: bool = False) -> str:
    """Escape control characters and line ends, but for those in `keep`; redact secrets of addresses unless `secrets`.

    Surrogates, which stand for undecodable bytes of file names, are escaped, too: no stream can write them.

    >>> print(harmless("red\\033[31m\\nnext.png"))
    red\\x1b[31m\\nnext.png
    """
    text = text if secrets else redact(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


_LISTED = 200  # problems that one message lists


class Lines(str):
    """Text of several lines that are harmless already: the log leaves it as it is."""

    __slots__ = ()


def as_lines(problems: Iterable[str]) -> Lines:
    """Format problems for the end of a message, one per line; the first 200 of them.

    >>> as_lines(["no label", "no bag"])
    '\\n  no label\\n  no bag'
    """
    lines = [f"\n  {harmless(problem)}" for problem in problems]
    more = [f"\n  and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return Lines("".join([*lines[:_LISTED], *more]))


def harmless_record(record: logging.LogRecord) -> bool:
    """Escape control characters in the arguments of a log record; a logging filter that passes every record."""
    if isinstance(record.args, tuple):
        record.args = tuple(harmless(value) if type(value) is str else value for value in record.args)
    return True


logger = logging.getLogger("augrecipes")
logger.addFilter(harmless_record)


@dataclass(frozen=True, slots=True)
class Fix:
    """An edit that may mend a problem, at the place of the problem.

    Attributes:
        action: `word`, `value`, `entry` or `step`: the word (in its quotes), the value, the key with its value, or the
            step there becomes `text`; `set`: the step there gets the argument `text`; `key`: the recipe gets the key
            `text`; `remove`: the argument or the step there is removed; `silence`: the step there gets a comment that
            silences the lint `text`.
        text: YAML.
    """

    action: Literal["word", "value", "entry", "step", "set", "key", "remove", "silence"]
    text: str = ""


class Hint(NamedTuple):
    """A message's advice on how to mend a problem, and the edits that do it."""

    text: str = ""
    fixes: tuple[Fix, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text or self.fixes)


NO_HINT = Hint()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem at one place of one recipe.

    Attributes:
        message: what is wrong, what is allowed, and how to mend it.
        line: 1-based line, 0 when the problem has no place.
        col: 1-based column, 0 when the problem has no place.
        code: a stable code such as ``E101`` (not a recipe) or ``L203`` (a lint).
        name: the step, key or lint that the message is about.
        file: the path as the user gave it; ``<recipe>`` for text.
        severity: ``error`` or ``warning``.
        fixes: edits of the text that may mend it, the likeliest first; no part of its JSON.
    """

    message: str
    line: int = 0
    col: int = 0
    code: str = "E100"
    name: str = ""
    file: str = "<recipe>"
    severity: Severity = "error"
    fixes: tuple[Fix, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.col}" if self.line else self.file
        name = f" {self.name}" if self.name else ""
        return harmless(f"{where}: {self.code}{name}: {self.message}")


def counted(number: int, what: str) -> str:
    """Format a count and its noun.

    >>> counted(1, "step"), counted(1200, "step"), counted(2, "class"), counted(2, "box")
    ('1 step', '1,200 steps', '2 classes', '2 boxes')
    """
    return f"{number:,} {what}{'' if number == 1 else 'es' if what.endswith(('s', 'ch', 'x')) else 's'}"


class AugrecipesError(Exception):
    """Base of every error that augrecipes raises on purpose."""

    def __init__(self, *about: object) -> None:
        super().__init__(*(redact(text) if type(text) is str else text for text in about))

    def __str__(self) -> str:
        return harmless(super().__str__(), keep="\n")


class RecipeError(AugrecipesError):
    """A recipe is not valid.

    Args:
        message: text, used when there are no problems to list.
        problems: every problem found, in file order.
    """

    def __init__(self, message: str = "", problems: Sequence[Diagnostic] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__(message or "\n".join(str(p) for p in self.problems))

    def __reduce__(self) -> tuple[type[RecipeError], tuple[str, tuple[Diagnostic, ...]]]:
        return type(self), (str(self), self.problems)


class LintError(RecipeError):
    """A recipe is valid, but a lint of severity ``error`` says that it cannot mean what it says."""


class DataError(AugrecipesError):
    """A sample cannot be read or transformed.

    Args:
        message: the reason.
        path: the file that the sample came from, when there is one.
        step: label of the step that failed, when a step did.
    """

    def __init__(self, message: str = "", path: str | None = None, step: str | None = None) -> None:
        self.reason, self.path, self.step = redact(message), path, step
        named = harmless(path) if path else None
        parts = [part for part in (named, f"step {step}" if step else None, message) if part]
        super().__init__(": ".join(parts))

    def __reduce__(self) -> tuple[type[DataError], tuple[str, str | None, str | None]]:
        return type(self), (self.reason, self.path, self.step)

    @property
    def reason_in_step(self) -> str:
        """The reason, after the step that failed.

        >>> DataError("too small", "a.png", "RandomCrop#1").reason_in_step
        'step RandomCrop#1: too small'
        """
        return f"step {self.step}: {self.reason}" if self.step else self.reason

    def with_path(self, path: str) -> DataError:
        """Return the same error, naming the file that the sample came from."""
        return type(self)(self.reason, path, self.step)


class CollateError(DataError):
    """Samples of one batch do not fit together."""


class StoreError(AugrecipesError):
    """A packed store cannot be written, opened or trusted.

    Args:
        message: what is wrong, and how to mend it.
        path: the store, or the file in it, that the message is about.
    """

    def __init__(self, message: str = "", path: str | None = None) -> None:
        self.reason, self.path = redact(message), path
        super().__init__(f"{harmless(path)}: {message}" if path else message)

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, str | None]]:
        return type(self), (self.reason, self.path)


class LoaderError(AugrecipesError):
    """The loader cannot go on: a worker died, or a saved state belongs to another loader."""


class UnprovenWarning(UserWarning):
    """A library is installed in a version that augrecipes was not tested with."""


class BenchError(AugrecipesError):
    """A comparison cannot be made: recipes of different kinds, no stock form, a model that fails."""


def retry_parser(parse: Callable[[], Any]) -> Any:
    """Call `parse`, which reads a .npy header; retry where Python's parser fails with a SystemError.

    numpy parses headers with Python's parser, whose recursion counter all threads share: where two threads parse at a
    time, one may get a SystemError, "AST constructor recursion depth mismatch", for valid text (CPython 3.11.7).
    """
    for _ in range(_TRIES):
        with suppress(SystemError):
            return parse()
    return parse()
