"""What codes of errors and lints mean: the entries of docs/CODES.md, which travels in the wheel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Code:
    """What one code stands for.

    Attributes:
        code: such as `E304`.
        title: what is wrong, in a few words; of a lint its name.
        why: why it is an error, or matters.
        fix: how to mend it.
        diff: of a lint a recipe that it speaks of, and what mends it: lines that begin with - go, those with + come.
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
