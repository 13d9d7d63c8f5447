"""The meaning of error and lint codes: the entries of docs/CODES.md, which the wheel contains."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Code:
    """The explanation of one code.

    Attributes:
        code: such as `E304`.
        title: the problem in a few words; for a lint its name.
        why: why it is an error, or why it matters.
        fix: how to mend it.
        diff: for a lint, a recipe that triggers it as a diff to the mended one; empty for errors.
    """

    code: str
    title: str
    why: str
    fix: str
    diff: str


def _entry(text: str) -> Code:
    heading, _, rest = text.partition("\n")
    code, _, title = heading.partition(" ")
    words, _, diff = rest.partition("```diff\n")
    why, _, fix = words.partition("\n## ")[0].partition("Fix: ")
    return Code(code, title, " ".join(why.split()), " ".join(fix.split()), diff.partition("```")[0])


_PACKAGE = Path(__file__).resolve().parent.parent
_FILES = _PACKAGE / "CODES.md", _PACKAGE.parent / "docs" / "CODES.md"
_TEXT = next(file for file in _FILES if file.is_file()).read_text(encoding="utf-8")
CODES: dict[str, Code] = {entry.code: entry for entry in map(_entry, _TEXT.split("\n### ")[1:])}
