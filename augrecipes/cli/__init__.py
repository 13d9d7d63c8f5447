"""The command line. Commands import heavy modules only when they run."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from augrecipes.cli.commands import BY_NAME, COMMANDS
from augrecipes.cli.parsing import CommandParser, UsageError, option, paragraphs, repeated
from augrecipes.cli.terminal import complain, discard_output, exit_status, put, say, say_line, width
from augrecipes.errors import AugrecipesError

_ABOUT = "Write what should happen to your training images; augrecipes decides how and where it runs."
STATUSES = (
    "Exit status: 0 all is well · 1 a lint error, defective data, or a promise not kept · 2 not a valid recipe, file "
    "or usage · 130 interrupted.  Start with: augrecipes list"
)

OPTIONS = (
    option("--version", None, "Show the version and exit."),
    repeated("--plugin", "FILE.py", "Run this file first; it registers step classes (ar.register). Repeatable."),
)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line, and exit with its status.

    Args:
        args: arguments without the program's name; None: those of the process.

    Raises:
        SystemExit: always. 0: all is well; 1: a lint error, defective data, or a promise not kept; 2: invalid input or
            usage; 130: interrupted.

    >>> main(["--version"])
    Traceback (most recent call last):
    SystemExit: 0
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: the next file to be opened would take its descriptor
            setattr(sys, name, Path(os.devnull).open("r+", encoding="utf-8"))  # noqa: SIM115  open until exit
    for stream in (sys.stdout, sys.stderr):
        # File names need not be UTF-8, and a terminal need not show every character.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            _run(sys.argv[1:] if args is None else args)
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        except (AugrecipesError, OSError) as error:
            if isinstance(error, BrokenPipeError):
                raise SystemExit(141) from None  # like a program that SIGPIPE ended
            complain(error)
            raise SystemExit(exit_status(error)) from None
        finally:
            with suppress(ValueError):  # closed already
                sys.stdout.flush()
    except OSError as error:  # from flushing the buffer
        discard_output()
        if isinstance(error, BrokenPipeError):  # its reader has gone, which is no error
            raise error.__context__ or SystemExit from None
        complain(OSError(error.errno, error.strerror, "standard output"))
        raise SystemExit(exit_status(error)) from None
    raise SystemExit(0)


def _run(words: Sequence[str]) -> None:
    """Run the command that some words name; print a UsageError and exit with status 2."""
    program, usage = "augrecipes", "COMMAND [ARGS]..."
    try:
        first = 0  # the first word that is no option of the program
        while first < len(words) and words[first].startswith("-"):
            first += 2 if words[first] == "--plugin" else 1
        root, (name, *rest) = _root(usage).parse_args(words[:first]), words[first:] or [""]
        if root.version:
            from augrecipes.doctor import version_line

            put(version_line())
            return
        if root.help or not name:
            put(_root(usage).format_help().rstrip("\n"))
            raise SystemExit(0 if root.help else 2)
        if name not in BY_NAME:
            from augrecipes.recipe.problems import near

            raise UsageError(f"No such command {name!r}{near(name, BY_NAME).text}")
        command = BY_NAME[name]
        program, usage = f"augrecipes {command.name}", command.usage
        args = command.read(rest)
        if root.plugin:
            from augrecipes.user_code import run_plugin

            for file in root.plugin:
                run_plugin(file)
        command.function(args)
    except UsageError as error:
        say(f"Usage: {program} [OPTIONS] {usage}".rstrip() + f"\nTry '{program} -h' for help.\n", err=True)
        say_line(f"Error: {error}", err=True)
        raise SystemExit(2) from None


def _root(usage: str) -> CommandParser:
    """Make the parser of the options before a command."""
    widest = max(map(len, BY_NAME))
    listed = "\n".join(f"  {command.name:<{widest}}  {command.about}" for command in COMMANDS)
    epilog = f"Commands:\n{listed}\n\n{paragraphs(STATUSES, width())}"
    return CommandParser("augrecipes", usage, _ABOUT, OPTIONS, epilog=epilog)
