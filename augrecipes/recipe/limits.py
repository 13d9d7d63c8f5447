"""Size limits of recipes, and reading and decoding of a file's bytes."""

import codecs
import os
import re
import stat
from pathlib import Path

from augrecipes.paths import address_of
from augrecipes.recipe.nodes import Place
from augrecipes.recipe.problems import Problems

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_NODES = 50_000
MAX_STEPS = 5_000
MAX_VARIANTS = 16

# The complement of what YAML 1.2 calls printable.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_UTF_32, _UTF_16 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_bytes(path: str | os.PathLike[str], shown: str, problems: Problems) -> bytes:
    """Read a recipe file, at most one byte more than allowed.

    Raises:
        Stop: it cannot be read; the problem is noted.
    """
    here = Place(shown)
    if address_of(path) is not None:
        raise problems.stop("E101", here, "is an address, and recipes are read from this machine: copy it here", "file")
    try:
        # Opening a pipe or a device could block forever.
        mode = Path(path).stat().st_mode
        if not stat.S_ISREG(mode):
            what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
            raise problems.stop("E101", here, f"is {what}; give a recipe file", "file")
        with Path(path).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise problems.stop("E101", here, f"cannot be read: {reason}", "file") from None


def decode(data: bytes, file: str, problems: Problems, *, yaml: bool = True) -> str:
    """Decode UTF-8 without its byte order mark; `yaml`: refuse characters that YAML does not allow.

    Raises:
        Stop: the data is too large, in another encoding, or binary; the problem is noted with its place.
    """
    if len(data) > MAX_BYTES:
        raise problems.stop("E102", Place(file), f"a recipe is at most {MAX_BYTES:,} bytes", "file")
    if data.startswith(_UTF_32 + _UTF_16):
        name = "UTF-32" if data.startswith(_UTF_32) else "UTF-16"
        raise problems.stop("E103", Place(file, 1, 1), f"the file is {name}; save it as UTF-8", "encoding")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if b"\x00" in data[:1024]:
            raise problems.stop("E104", Place(file, 1, 1), "the file is binary, not a recipe", "encoding") from None
        before = data[: error.start].decode("utf-8")
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 (Latin-1 or Windows-1252?); save the file as UTF-8"
        raise problems.stop("E103", place_of(before, len(before), file), message, "encoding") from None
    if yaml and (bad := _FORBIDDEN.search(text)):
        message = f"control character U+{ord(bad[0]):04X} is not allowed; is this a recipe file?"
        raise problems.stop("E104", place_of(text, bad.start(), file), message, "encoding")
    return text


def place_of(text: str, offset: int, file: str) -> Place:
    """Line and column of an offset, with YAML's line breaks.

    >>> place_of("a\\nbc", 3, "f")
    Place(file='f', line=2, col=2)
    """
    lines = lines_of(text[:offset])
    return Place(file, len(lines), len(lines[-1]) + 1)


def lines_of(text: str) -> list[str]:
    """The lines of a text, with YAML's line breaks."""
    return _BREAK.split(text)
