"""How options are described and read: choices, paths, numbers, changes of a recipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from augrecipes.errors import RecipeError
from augrecipes.paths import local

if TYPE_CHECKING:
    from augrecipes.recipe.model import Recipe


def option(names: str, metavar: str | None, about: str, **more: Any) -> Any:
    """Returns an option of a command, such as `--out -o`, with a word for its value and its help."""
    return typer.Option(*names.split(), metavar=metavar, help=about, **more)


def destination(metavar: str, about: str) -> Any:
    """Returns the option that says where a command writes: a path of this machine. DataError for an address."""
    return option("--out -o", metavar, about, parser=local)


def choice(names: str, words: str, about: str, allowed: str = "") -> Any:
    """Returns an option whose value is one of some words, `a|b`; `allowed`: where help does not name all of them."""
    return option(names, words, about, parser=one_of(*(allowed or words).split("|")))


def refusal(message: str, where: str | None = "DATA") -> typer.BadParameter:
    """Returns the error of words that make no sense where they were given."""
    return typer.BadParameter(message, param_hint=where)


def one_of(*allowed: str) -> Callable[[str], Any]:
    """Returns what reads an option that must be one of a few words.

    >>> one_of("train", "eval")("eval")
    'eval'
    """

    def read(value: str) -> str:
        if value not in allowed:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(allowed)}")
        return value

    return read


def overrides(given: list[str] | None) -> dict[str, Any]:
    """What `--set` changes, by address; values are read as YAML.

    Raises:
        typer.BadParameter: text without `=`, or a value that is no YAML.

    >>> overrides(["RandomCrop.height=64", "flip.p=0.25"])
    {'RandomCrop.height': 64, 'flip.p': 0.25}
    """
    from augrecipes.recipe.parse import parse_value

    found: dict[str, Any] = {}
    for text in given or []:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise refusal(f"{text!r} is not KEY=VALUE, such as RandomCrop.height=64", "--set")
        try:
            found[key.strip()] = parse_value(value)
        except RecipeError as error:
            raise refusal(f"{text!r}: {error.problems[0].message}", "--set") from None
    return found


def loaded(recipe: str, changes: list[str] | None, without: list[str] | None) -> Recipe:
    """The recipe with what --set and --without change. RecipeError where it is not valid."""
    from augrecipes.recipe.parse import load

    return load(recipe, overrides=overrides(changes), without=tuple(without or ()))


def numbers(text: str, option: str, least: int, most: int) -> list[int]:
    """Different whole numbers with commas between them.

    Raises:
        typer.BadParameter: it is something else.

    >>> numbers("0,1, 4", "--workers", 0, 64)
    [0, 1, 4]
    """
    words = [word.strip() for word in text.split(",")]
    found = [int(word) if word.isdecimal() and len(word) < 10 else -1 for word in words]
    for word, number in zip(words, found, strict=True):
        if not least <= number <= most:
            said = f"{word!r} is no whole number from {least:,} to {most:,}"
            raise refusal(f"{said}; numbers with commas between them, such as 1,4", option)
    if len(set(found)) < len(found):
        raise refusal(f"{text!r} names a number twice", option)
    return found
