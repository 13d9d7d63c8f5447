"""The page of the command line: usage, arguments and options of every command, from the table of commands."""

from __future__ import annotations

import re
from argparse import BooleanOptionalAction
from collections.abc import Iterator
from inspect import cleandoc
from textwrap import dedent

import pages

from augrecipes import cli
from augrecipes.cli.commands import COMMANDS
from augrecipes.cli.parsing import Argument, Command

PAGE = "reference/commands.md"
_DEFAULT = re.compile(r" \[default: (.*)\]$")
_TYPED = re.compile(
    r"(?<!\S)(?:--[a-z][a-z-]*(?:=\w+| [A-Z]+(?:[=.]\w+)*| \d+)?|\w+=[\w=,./:{}-]*\w|\w+(?:\.py)?(?::[A-Z]+)+)"
)
_HEAD = """# Commands

Every command of `augrecipes`, with its usage, arguments and options, as `augrecipes COMMAND -h` prints them.

"""


def texts() -> dict[str, str]:
    """Return the page by its path in the site."""
    rows = "\n".join(f"| [`{each.name}`](#{each.name}) | {_prose(each.about)} |" for each in COMMANDS)
    program = [
        "## The program",
        "These options come before the command: `augrecipes --plugin steps.py check my.yaml`.",
        _definitions(cli.OPTIONS),
        *_paragraph(cli.STATUSES.partition("  Start with")[0]),
    ]
    parts = [f"{_HEAD}| command | what it does |\n|---|---|\n{rows}", *program, *map(entry, COMMANDS)]
    return {PAGE: "\n\n".join(parts) + "\n"}


def entry(command: Command) -> str:
    """Return the text of a command.

    >>> entry(COMMANDS[0]).splitlines()[:1]
    ['## `augrecipes list` {#list}']
    """
    places = [each for each in command.arguments if not each.names[0].startswith("-")]
    options = [each for each in command.arguments if each.names[0].startswith("-")]
    about, *rest = (part.strip("\n") for part in cleandoc(command.function.__doc__ or "").split("\n\n"))
    usage = f"augrecipes {command.name} [OPTIONS] {command.usage}".rstrip()
    parts = [f"## `augrecipes {command.name}` {{#{command.name}}}", _prose(about), f"```text\n{usage}\n```"]
    parts += [text for part in rest for text in _paragraph(part)]
    for title, listed in (("Arguments", places), ("Options", options)):
        parts += [f"**{title}**", _definitions(listed)] if listed else []
    return "\n\n".join(parts)


def _definitions(arguments: list[Argument] | tuple[Argument, ...]) -> str:
    return "\n\n".join(f"{_term(each)}\n:   {_about(each)}" for each in arguments)


def _term(argument: Argument) -> str:
    """Return an argument as users write it.

    >>> _term(Argument(("--out", "-o"), {"metavar": "FILE"})), _term(Argument(("words",), {"metavar": "DATA"}))
    ('`--out FILE`, `-o FILE`', '`DATA`')
    """
    names, details = argument
    value = details.get("metavar") or ""
    if not names[0].startswith("-"):
        return f"`{value}`"
    if details.get("action") is BooleanOptionalAction:
        names = (*names, *(f"--no-{name.removeprefix('--')}" for name in names))
    return ", ".join(f"`{name} {value}`" if value else f"`{name}`" for name in names)


def _about(argument: Argument) -> str:
    text = argument.details["help"].replace("%%", "%")
    default = _DEFAULT.search(text)
    text = _prose(_DEFAULT.sub("", text))
    if default:
        return f"{text} Default: `{default[1]}`."
    return f"{text} Default: `{argument.names[0]}`." if argument.details.get("default") is True else text


def _paragraph(text: str) -> Iterator[str]:
    """Yield a paragraph of a docstring as Markdown: examples and code as blocks, exit statuses as a list."""
    by_lines = text.startswith("\b")  # help prints these lines as they are
    text = text.removeprefix("\b\n")
    head, _, body = text.partition("\n")
    before, found, statuses = text.partition("Exit status:")
    if found:
        if before:
            yield _prose(before)
        pairs = (each.split(maxsplit=1) for each in re.split(r"\n(?=  \d)|(?:,| ·) (?=\d+ )", statuses.strip()))
        yield "**Exit status**"
        yield "\n".join(f"- `{status}`: {_prose(about).rstrip('.')}" for status, about in pairs)
    elif head in ("Example:", "Examples:"):
        yield f"**{head.rstrip(':')}**"
        yield f"```sh\n{cleandoc(body)}\n```"
    else:
        yield f"```python\n{dedent(text)}\n```" if by_lines else _prose(text)


def _prose(text: str) -> str:
    """Return help text as Markdown, with options and argument values as code.

    >>> _prose("Pass --set, or --set A\\nfor <a>, hr=HR or FILE.py:NAME; `-` is stdin.")
    'Pass `--set`, or `--set A` for &lt;a>, `hr=HR` or `FILE.py:NAME`; `-` is stdin.'
    """

    def change(part: str) -> str:
        return _TYPED.sub(r"`\g<0>`", part).replace("<", "&lt;")

    return pages.outside_code(" ".join(text.split()), change)
