"""The exceptions that augrecipes raises on purpose.

    AugrecipesError
    ├── RecipeError        a file is not a valid recipe; carries every problem found in it
    │   └── LintError      a valid recipe that must not be compiled as it stands
    ├── DataError          a sample cannot be read or transformed; names the file
    │   └── CollateError   samples of a batch do not fit together; names both sizes
    ├── StoreError         a packed store cannot be written or opened; names the file
    ├── BenchError         a comparison cannot be made (a baseline that is none, no stock form, a model that fails)
    └── LoaderError        the loader itself cannot go on (a dead worker, a state of another loader)

and warns with UnprovenWarning where a library is of a version that was never tried.

Errors carry data; `str()` is one line per problem. All of them survive pickling and can be built from a
message alone, because a DataLoader worker's error is rebuilt that way in the parent process.

Files may be named by anyone, and recipes may say anything: what is shown of them holds no control characters, neither
in errors nor in the log nor in what the command line prints; and addresses no passwords. All of these go by `harmless`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

if TYPE_CHECKING:
    from augrecipes.recipe.problems import Fix

Severity = Literal["error", "warning"]

# Addresses as they may be shown: passwords, keys and signatures are three stars. The time that this takes grows as the
# text does: patterns look at pieces in which what they end with is known to be.
_TRIES = 9  # of what Python parses in several threads at a time
_STARS = "***"
_SHORTEST = 3  # characters of a secret that is looked for by itself: shorter ones are in every word
_WORD, _PIECE = re.compile(r"\S+"), re.compile(r"[^\s?#]+")
# A user and a password: up to the last @ before a slash, or before the path where the secret has slashes in it, as keys
# of S3 do. What looks like a port is none. A user alone is a name, but for the web, where it is a token.
_USER = re.compile(r"(?<=[A-Za-z0-9+.\-]{2})(:/{1,2})([^/@:]*:(?:[^/]*|(?!\d+/)[^@]*))@")
_KEYS = re.compile(r"(\bs3[an]?:/{1,2})([^/@:]+:[^@]+)@")  # whose secret may begin as a port and a path do
_TOKEN = re.compile(r"(\bhttps?:/{1,2})([^/:]+)@", re.IGNORECASE)
_OF_USERS = _USER, _KEYS, _TOKEN
_QUERY = re.compile(r"[^?#]*[?#].")
_NAME, _VALUE, _BEHIND = re.compile(r"([?&#]?)([^=&?#]*)(=?)"), re.compile(r"[^&'\"<>]*"), ".,:;)]}"
# Of a query what speaks for who asks: sig=, X-Amz-Signature=, access_token=, AWSAccessKeyId=, ...
_SPEAKS = re.compile("sig|token|key|secret|pass|pwd|auth|cred|policy|jwt|session|access", re.IGNORECASE)


def harmless(text: str, keep: str = "", *, secrets: bool = False) -> str:
    """`text` with line ends and control characters spelt out, but for those in `keep`, and without (or with) `secrets`.

    Bytes of file names that are no text travel as surrogates, which no stream can write; these are spelt out, too.

    >>> print(harmless("red\\033[31m\\nnext.png"))
    red\\x1b[31m\\nnext.png
    """
    text = text if secrets else redact(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


_LISTED = 200  # problems that one message lists


class Lines(str):
    """Text of several lines, of which each is harmless already: the log leaves it as it is."""

    __slots__ = ()


def listed(problems: Iterable[str]) -> Lines:
    """Problems for the end of a message, each on a line of its own; the first 200 of them.

    >>> listed(["no label", "no bag"])
    '\\n  no label\\n  no bag'
    """
    lines = [f"\n  {harmless(problem)}" for problem in problems]
    more = [f"\n  and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return Lines("".join([*lines[:_LISTED], *more]))


def harmless_record(record: logging.LogRecord) -> bool:
    """Spell out control characters in what a log record is about. A filter that lets everything pass."""
    if isinstance(record.args, tuple):
        record.args = tuple(harmless(value) if type(value) is str else value for value in record.args)
    return True


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem at one place of one recipe.

    Attributes:
        message: what is wrong, what is allowed, and how to mend it.
        line: 1-based line, 0 when the problem has no place.
        col: 1-based column, 0 when the problem has no place.
        code: a stable code such as ``E101`` (not a recipe) or ``L203`` (a lint).
        name: the step, key or lint that the message speaks of.
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
    """So many of something, in words.

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
        """The reason, behind the step that failed.

        >>> DataError("too small", "a.png", "RandomCrop#1").reason_in_step
        'step RandomCrop#1: too small'
        """
        return f"step {self.step}: {self.reason}" if self.step else self.reason

    def with_path(self, path: str) -> DataError:
        """The same error, naming the file that the sample came from."""
        return type(self)(self.reason, path, self.step)


class CollateError(DataError):
    """Samples of one batch do not fit together."""


class StoreError(AugrecipesError):
    """A packed store cannot be written, opened or trusted.

    Args:
        message: what is wrong, and how to mend it.
        path: the store, or the file in it, that is meant.
    """

    def __init__(self, message: str = "", path: str | None = None) -> None:
        self.reason, self.path = redact(message), path
        super().__init__(f"{harmless(path)}: {message}" if path else message)

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, str | None]]:
        return type(self), (self.reason, self.path)


class LoaderError(AugrecipesError):
    """The loader cannot go on: a worker died, or a saved state belongs to another loader."""


class UnprovenWarning(UserWarning):
    """A library is installed in a version that nobody has tried augrecipes with."""


class BenchError(AugrecipesError):
    """A comparison cannot be made: recipes of different kinds, no stock form, a model that fails."""


def parsed(parse: Callable[[], Any]) -> Any:
    """What a function gives that reads the header of an array, tried again where Python's parser fails.

    numpy reads headers by it, and CPython counts the depth of what it parses for all threads together: where two parse
    at a time one may get a SystemError, "AST constructor recursion depth mismatch", for a text that is fine (3.11.7).
    """
    for _ in range(_TRIES):
        with suppress(SystemError):
            return parse()
    return parse()


def redact(text: str) -> str:
    """`text` without the secrets of the addresses in it; what names a file stays.

    >>> redact("https://me:hush@host/a.jpg?id=7&sig=a%2Fb: no such file"), redact("s3://key:sec/ret@bucket/b@2.jpg")
    ('https://***@host/a.jpg?id=7&sig=***: no such file', 's3://***@bucket/b@2.jpg')
    >>> redact("sftp://me@host/a.jpg"), redact("http://host:80/a@2.jpg"), redact("photos/a@2.jpg?key=1")
    ('sftp://me@host/a.jpg', 'http://host:80/a@2.jpg', 'photos/a@2.jpg?key=1')
    """
    if ":/" not in text:
        return text
    text = _PIECE.sub(lambda found: _without_users(found[0]), text)
    return _WORD.sub(lambda found: _without_signatures(found[0]), text)


def redact_from(address: str, text: str) -> str:
    """`text` without secrets, and without those of an address wherever they stand: drivers cut addresses up.

    >>> redact_from("sftp://me:hush@host/a", "hush is no password of me at host/a")
    '*** is no password of me at host/a'
    """
    text = redact(text)
    fronts = [piece[: piece.rfind("@") + 1] for piece in _PIECE.findall(address)]
    pairs = [found[2] for front in fronts for pattern in _OF_USERS for found in pattern.finditer(front)]
    said = [word[slice(*span)] for word in _WORD.findall(address) for span in _signatures(word)]
    words = [*pairs, *(pair.partition(":")[2] for pair in pairs), *said]
    for word in sorted({*words, *map(unquote, words)}, key=len, reverse=True):
        text = text.replace(word, _STARS) if len(word) >= _SHORTEST else text
    return text


def _without_users(piece: str) -> str:
    end = piece.rfind("@") + 1  # users and passwords are in front
    front, rest = piece[:end], piece[end:]
    for pattern in _OF_USERS if front else ():
        front = pattern.sub(rf"\1{_STARS}@", front)
    return front + rest


def _without_signatures(word: str) -> str:
    start = word.find(":/")
    if start < 0 or _QUERY.match(word, start) is None:
        return word
    parts, at = [], 0
    for begin, end in _signatures(word, start):
        parts += [word[at:begin], _STARS]
        at = end
    return "".join([*parts, word[at:]])


def _signatures(word: str, at: int = 0) -> Iterator[tuple[int, int]]:
    """Where values begin and end, from a place on, whose names say that they speak for who asks."""
    while at < len(word):
        starter, name, equals = _NAME.match(word, at).groups()  # type: ignore[union-attr]  # matches anything
        at += len(starter + name + equals)
        # Names begin behind one of ?&# or, within what is none, behind a semicolon.
        if equals and _SPEAKS.search(name if starter else name.partition(";")[2]):
            end = at + len(_VALUE.match(word, at)[0].rstrip(_BEHIND))  # type: ignore[index]  # so does this
            yield at, end
            at = end


def redact_all(found: Any) -> Any:
    """What JSON may hold, with all texts redacted.

    >>> redact_all({"files": ["https://me:hush@host/a.jpg", 1]})
    {'files': ['https://***@host/a.jpg', 1]}
    """
    if isinstance(found, str):
        return redact(found)
    if isinstance(found, dict):
        return {redact_all(key): redact_all(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [redact_all(value) for value in found]
    return found
