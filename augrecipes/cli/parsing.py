"""Declare commands, with their arguments and functions; parse their words, and print their help."""

import math
import re
import textwrap
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from augrecipes.cli.terminal import STDOUT, put, width
from augrecipes.paths import local

_JSON = "--json"
_HELP = frozenset({"-h", "--help"})
_WIDEST_HELP = 110
# Patterns of argparse's messages, and the words that replace them.
_ERRORS = (
    (r"^argument (\S+): expected one argument$", r"Option \1 requires an argument"),
    (r"^argument ", "Invalid value for "),
    (r"^the following arguments are required: (.*?)(, DATA)?$", r"Missing argument \1"),
    (r"^unrecognized arguments: (\S+).*$", r"No such option: \1"),
)


class UsageError(Exception):
    """The words of the command line are not valid."""


def refusal(message: str, where: str | None = "DATA") -> UsageError:
    """Return the error for an invalid value of an argument or an option."""
    return UsageError(f"Invalid value{f' for {where}' if where else ''}: {message}")


class Argument(NamedTuple):
    """An argument or an option of a command: its names, and keywords for argparse."""

    names: tuple[str, ...]
    details: dict[str, Any]


def argument(name: str, metavar: str, about: str, **details: Any) -> Argument:
    """Declare a positional argument."""
    return Argument((name,), {"metavar": metavar, "help": about, **details})


def option(names: str, metavar: str | None, about: str, default: Any = None, **details: Any) -> Argument:
    """Declare an option such as `--out -o`; without a metavar it is a switch."""
    shown = f"{about} [default: {default}]" if (default or type(default) is int) and default is not True else about
    switch = {"action": "store_true"} if default is None else {"action": BooleanOptionalAction, "default": default}
    value = {"metavar": metavar, "default": default}
    how = switch if metavar is None else value
    return Argument(tuple(names.split()), {"help": shown.replace("%", "%%"), **how, **details})


def repeated(names: str, metavar: str, about: str) -> Argument:
    """Declare an option that may be repeated; its value is a list."""
    return option(names, metavar, about, [], action="append")


def choice(names: str, words: str, about: str, default: str | None = None, allowed: str = "") -> Argument:
    """Declare an option whose value is one of some words, `a|b`; `allowed` also permits words that help omits."""
    valid = (allowed or words).split("|")

    def read(word: str) -> str:
        if word not in valid:
            raise ArgumentTypeError(f"{word!r} is not one of {', '.join(valid)}")
        return word

    return option(names, words, about, default, type=read)


def number(
    names: str,
    metavar: str,
    about: str,
    default: float | None = None,
    least: float | None = None,
    most: float = math.inf,
) -> Argument:
    """Declare an option whose value is a number; a whole number unless `least` is a float."""
    whole = not isinstance(least, float)
    what = f"a {'whole ' if whole else ''}number"
    if least is not None:
        what += f" of at least {least}" if most == math.inf else f" from {least} to {most}"

    def read(text: str) -> float:
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            value = math.nan
        if not (-math.inf if least is None else least) <= value <= most:
            raise ArgumentTypeError(f"{text!r} is not {what}")
        return value

    return option(names, metavar, about, default, type=read)


def destination(metavar: str, about: str, default: str | None = None) -> Argument:
    """Declare --out, the local path that a command writes to. DataError for an address."""
    return option("--out -o", metavar, about, default and Path(default), type=local)


def _writable(text: str) -> str:
    """Check the file of `--json`, before any work is done for it."""
    path = Path(text)
    if text != STDOUT and (not text or path.is_dir()):
        raise ArgumentTypeError(f"{text or 'nothing'} is not a file to write")
    if not path.parent.is_dir():
        raise ArgumentTypeError(f"there is no folder {path.parent}")
    return text


_ABOUT_JSON = "Print JSON, or write it to this file: --json NAME.json, or --json=NAME."
JSON = option(_JSON, "[FILE]", _ABOUT_JSON, type=_writable)


def _join_json_file(words: Sequence[str]) -> list[str]:
    """Join `--json` and its file into one word, if the next word ends in .json; `--json` may also stand alone.

    Other names are given as --json=FILE, so that `--json my.yaml` never writes over a recipe.

    >>> _join_json_file(["a.yaml", "--json", "out.json"]), _join_json_file(["--json", "a.yaml"])
    (['a.yaml', '--json=out.json'], ['--json=-', 'a.yaml'])
    """
    joined: list[str] = []
    for before, word in pairwise(["", *words]):
        if before == _JSON and word.lower().endswith(".json"):
            joined[-1] = f"{_JSON}={word}"
        else:
            joined.append(f"{_JSON}={STDOUT}" if word == _JSON else word)
    return joined


class _Formatter(RawDescriptionHelpFormatter):
    """Formats help with a capitalised `Usage:`."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        """Begin with the usage."""
        super().add_usage(usage, actions, groups, "Usage: ")


class CommandParser(ArgumentParser):
    """Parses the words of a command; raises UsageError instead of exiting."""

    def __init__(self, name: str, usage: str, about: str, arguments: Iterable[Argument], **more: Any) -> None:
        columns = min(width(), _WIDEST_HELP)
        how: dict[str, Any] = {"add_help": False, "allow_abbrev": False}
        how |= {"formatter_class": partial(_Formatter, width=columns, max_help_position=28)}
        about = about and paragraphs(about, columns)
        super().__init__(name, f"{name} [OPTIONS] {usage}".rstrip(), about, **how, **more)
        places, options = self.add_argument_group("Arguments"), self.add_argument_group("Options")
        for names, details in arguments:
            (options if names[0].startswith("-") else places).add_argument(*names, **details)
        options.add_argument("-h", "--help", action="store_true", help="Show this message and exit.")

    def error(self, message: str) -> NoReturn:
        """Raise argparse's error as a UsageError, in the words of the program's other errors."""
        for pattern, words in _ERRORS:
            message = re.sub(pattern, words, message)
        raise UsageError(message)


def paragraphs(text: str, columns: int) -> str:
    """A docstring as help: paragraphs filled, but for those that a line with a backspace begins."""
    from inspect import cleandoc  # late: only help needs it

    parts = [part.strip("\n") for part in cleandoc(text).split("\n\n")]
    shown = (part.removeprefix("\b\n") if part.startswith("\b") else textwrap.fill(part, columns - 2) for part in parts)
    return textwrap.indent("\n\n".join(shown), "  ")


class Command(NamedTuple):
    """A command of the program.

    Attributes:
        name: its first word.
        about: one line for the list of commands.
        home: its function, `module:function` in `augrecipes.cli`, whose docstring is the help.
        arguments: its arguments; the function gets all of them as one namespace.
    """

    name: str
    about: str
    home: str
    arguments: tuple[Argument, ...]

    @property
    def function(self) -> Callable[[Namespace], None]:
        """The function that runs the command; imported late."""
        module, _, name = self.home.partition(":")
        return getattr(import_module(f"augrecipes.cli.{module}"), name)

    @property
    def usage(self) -> str:
        """The positional arguments, as the usage line shows them."""
        forms = {"*": "[{}]...", "?": "[{}]"}
        places = (how for names, how in self.arguments if not names[0].startswith("-"))
        return " ".join(forms.get(how.get("nargs", ""), "{}").format(how["metavar"]) for how in places)

    def parser(self, about: str = "") -> CommandParser:
        """Make the parser of the command's words."""
        return CommandParser(f"augrecipes {self.name}", self.usage, about, self.arguments)

    def read(self, words: Sequence[str]) -> Namespace:
        """Parse the command's words; where they ask for help, print it and exit.

        Raises:
            UsageError: the words are not valid.
        """
        end = words.index("--") if "--" in words else len(words)
        if _HELP.intersection(words[:end]):
            put(self.parser(self.function.__doc__ or "").format_help().rstrip("\n"))
            raise SystemExit(0)
        # After `--`, argparse would still take these for options.
        files = [f"./{word}" if word[:1] == "-" != word else word for word in words[end + 1 :]]
        args, surplus = self.parser().parse_known_intermixed_args([*_join_json_file(words[:end]), *files])
        if surplus and surplus[0][:1] != "-":
            raise UsageError(f"Got unexpected extra argument {surplus[0]}")
        if surplus:
            from augrecipes.recipe.problems import near

            word = surplus[0].partition("=")[0]
            hint = near(word, [name for names, _ in self.arguments for name in names])
            raise UsageError(f"No such option: {word}{hint.text}")
        return args


def command(name: str, about: str, home: str, *arguments: Argument) -> Command:
    """Declare a command: a line of the table of commands."""
    return Command(name, about, home, arguments)
