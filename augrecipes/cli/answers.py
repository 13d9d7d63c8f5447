"""What a command found: text for people, and JSON for programs, on standard output or in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from augrecipes.cli.terminal import note, say_line
from augrecipes.errors import redact_all
from augrecipes.report import to_plain

STDOUT = "-"
_JSON = "--json"
_ONCE = ("--format=", "--image=", "--files=")
# What JSON leaves as it is and a terminal might obey: control characters behind ASCII, and half characters.
_UNSHOWN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


# Options that had other names, by command: the words that are still understood, and what they are now.
_RENAMED: dict[tuple[str, ...], str] = {
    **{(name, "--format", "json"): _JSON for name in ("check", "verify", "check-data")},
    **{(name, "--format", "text"): "" for name in ("verify", "check-data")},
    ("explain", "--image"): "--data",
    ("check-data", "--files"): "--data",
}


class Command(TyperCommand):
    """A command whose `--json` may stand alone, or with the file to write.

    The word behind it is the file where it ends in .json. Other names are given as --json=FILE, so that
    `--json my.yaml` never writes over a recipe.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command's words."""
        is_file = _is_old_file if ctx.info_name == "bench" else _is_file
        return super().parse_args(ctx, _joined(_today(ctx.info_name, args), is_file))


def _today(command: str, words: list[str]) -> list[str]:
    """The words with options as they are called today."""
    end = words.index("--") if "--" in words else len(words)
    found: list[str] = []
    rest = [part for word in words[:end] for part in (word.split("=", 1) if word.startswith(_ONCE) else [word])]
    while rest:
        known = next((old for old in ((command, *rest[:2]), (command, rest[0])) if old in _RENAMED), None)
        if known is None:
            found.append(rest.pop(0))
            continue
        del rest[: len(known) - 1]
        if _RENAMED[known]:
            renamed(" ".join(known[1:]), _RENAMED[known])
            found.append(f"{_JSON}={STDOUT}" if _RENAMED[known] == _JSON else _RENAMED[known])
    return [*found, *words[end:]]


def _is_file(word: str) -> bool:
    return word.lower().endswith(".json")


def _is_old_file(word: str) -> bool:
    """Of `bench`, whose --json always had a file: whatever can be no recipe and no data, and a record."""
    from augrecipes.cli.folders import is_data
    from augrecipes.recipe import gallery

    path = Path(word)
    if _is_file(word) or word.startswith("-"):
        return _is_file(word)
    if path.is_file():
        with path.open("rb") as file:
            found = file.read(1) == b"{"
    else:
        found = not (
            word in gallery.gallery_names() or path.suffix in (".yaml", ".yml") or is_data(word) or path.exists()
        )
    if found:
        renamed(f"{_JSON} {word}", f"{_JSON}={word}")
    return found


def _joined(words: list[str], is_file: Callable[[str], bool] = _is_file) -> list[str]:
    """`--json` and its file as one word.

    >>> _joined(["a.yaml", "--json", "out.json"]), _joined(["--json", "a.yaml"])
    (['a.yaml', '--json=out.json'], ['--json=-', 'a.yaml'])
    """
    end = words.index("--") if "--" in words else len(words)
    joined: list[str] = []
    for word in words[:end]:
        if joined and joined[-1] == _JSON:
            joined[-1:] = [f"{_JSON}={word}"] if is_file(word) else [f"{_JSON}={STDOUT}", word]
        else:
            joined.append(word)
    if joined and joined[-1] == _JSON:
        joined[-1] = f"{_JSON}={STDOUT}"
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
    found: Any, json_: str | None, text: Callable[[], object], write: Callable[[Path], None] | None = None
) -> None:
    """Show what was found.

    Args:
        found: what becomes JSON, as `to_plain` makes it.
        json_: what `--json` says: None: text alone; a file: text, and JSON into it; `-`: JSON alone.
        text: prints it for people.
        write: writes the file, where it has a layout of its own.
    """
    if json_ == STDOUT:
        typer.echo(as_json(found))
        return
    text()
    if json_ is not None:
        (write or (lambda path: _write(path, found)))(Path(json_))
        say_line(json_)


def _write(path: Path, found: Any) -> None:
    from augrecipes.paths import write_file

    data = f"{as_json(found)}\n".encode()
    if path.exists() and not path.is_file():
        path.write_bytes(data)  # such as /dev/stderr
    else:
        write_file(path, data)


def as_json(found: Any) -> str:
    r"""JSON that is safe to look at.

    >>> print(as_json({"file": "é\x9b.png"}))
    {
      "file": "é\u009b.png"
    }
    """
    text = json.dumps(redact_all(to_plain(found)), indent=2, ensure_ascii=False)
    return _UNSHOWN.sub(lambda c: f"\\u{ord(c[0]):04x}", text)


def renamed(old: str, new: str) -> None:
    """Say that an option has another name now."""
    note(f"{old} is now {new}; the old name still works")
