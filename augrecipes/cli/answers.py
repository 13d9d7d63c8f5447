"""What a command found: text for people, and JSON for programs, on standard output or in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from augrecipes.cli.terminal import put, say_line
from augrecipes.paths import write_file
from augrecipes.redaction import redact_all
from augrecipes.report import to_plain

STDOUT = "-"
_JSON = "--json"
# What JSON leaves as it is and a terminal might obey: control characters behind ASCII, and half characters.
_UNSHOWN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


class Command(TyperCommand):
    """A command whose `--json` may stand alone, or with the file to write.

    The word behind it is the file where it ends in .json. Other names are given as --json=FILE, so that
    `--json my.yaml` never writes over a recipe.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command's words."""
        return super().parse_args(ctx, _joined(args))


def _joined(words: list[str]) -> list[str]:
    """`--json` and its file as one word.

    >>> _joined(["a.yaml", "--json", "out.json"]), _joined(["--json", "a.yaml"])
    (['a.yaml', '--json=out.json'], ['--json=-', 'a.yaml'])
    """
    end = words.index("--") if "--" in words else len(words)
    joined: list[str] = []
    for before, word in pairwise(["", *words[:end]]):
        if before == _JSON and word.lower().endswith(".json"):
            joined[-1] = f"{_JSON}={word}"
        else:
            joined.append(f"{_JSON}={STDOUT}" if word == _JSON else word)
    return [*joined, *words[end:]]


def _writable(given: str | None) -> str | None:
    """The file of `--json`, or BadParameter before any work is done for it."""
    if given is not None and given != STDOUT:
        path = Path(given)
        if not given or path.is_dir():
            raise typer.BadParameter(f"{given or 'nothing'} is no file to write", param_hint=_JSON)
        if not path.parent.is_dir():
            raise typer.BadParameter(f"there is no folder {path.parent}", param_hint=_JSON)
    return given


Json = Annotated[
    str | None,
    typer.Option(
        _JSON,
        metavar="[FILE]",
        callback=_writable,
        help="Print JSON for programs, or write it to this file: NAME.json, or --json=ANY.",
    ),
]


def answer(
    found: Any,
    json_: str | None,
    text: Callable[[], object],
    write: Callable[[Path], None] | None = None,
    *,
    status: int = 0,
) -> None:
    """Show what was found, and end with a status.

    Args:
        found: what becomes JSON, as `to_plain` makes it.
        json_: what `--json` says: None: text alone; a file: text, and JSON into it; `-`: JSON alone.
        text: prints it for people.
        write: writes the file, where it has a layout of its own.
        status: of the command; 0 goes on.
    """
    if json_ == STDOUT:
        put(as_json(found))
    else:
        text()
        if json_ is not None:
            (write or (lambda path: write_file(path, f"{as_json(found)}\n".encode())))(Path(json_))
            say_line(json_)
    if status:
        raise typer.Exit(status)


def as_json(found: Any) -> str:
    r"""JSON that is safe to look at.

    >>> print(as_json({"file": "é\x9b.png"}))
    {
      "file": "é\u009b.png"
    }
    """
    text = json.dumps(redact_all(to_plain(found)), indent=2, ensure_ascii=False)
    return _UNSHOWN.sub(lambda c: f"\\u{ord(c[0]):04x}", text)
