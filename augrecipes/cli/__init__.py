"""The command line. Heavy modules are imported by the commands that need them, when they run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path


def main(args: Sequence[str] | None = None) -> None:
    """Run `augrecipes`; leaves with the exit status.

    Args:
        args: arguments without the program's name; None takes the process's own.

    Raises:
        SystemExit: always. 0: all is well; 1: a lint error, or a promise that a recipe does not keep; 2: input or
            usage that is not valid; 130: interrupted.

    >>> main(["--version"])
    Traceback (most recent call last):
    SystemExit: 0
    """
    from augrecipes.cli.app import app

    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, and the next file that is opened would take its place
            setattr(sys, name, Path(os.devnull).open("r+", encoding="utf-8"))  # noqa: SIM115  to the end
    for stream in (sys.stdout, sys.stderr):
        # File names need not be UTF-8, and a terminal need not show every character.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    words, program = sys.argv[1:] if args is None else [*args], copy(app)
    # Where the first word is a command, typer need not look at the options of the others.
    named = [command for command in app.registered_commands if words[:1] == [command.name]]
    program.registered_commands = named or app.registered_commands
    try:
        try:
            program(args=words, prog_name="augrecipes")
        finally:
            with suppress(ValueError):  # closed already
                sys.stdout.flush()
    except OSError as error:  # of what was buffered, or is printed without a command, such as help
        from augrecipes.cli.terminal import complain, exit_status, hush

        hush()
        if isinstance(error, BrokenPipeError):  # its reader has gone, which is no error
            raise error.__context__ or SystemExit from None
        complain(OSError(error.errno, error.strerror, "standard output"))
        raise SystemExit(exit_status(error)) from None
