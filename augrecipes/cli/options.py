"""Options that several commands share: variants on the command line, sections, seeds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from augrecipes.errors import RecipeError

if TYPE_CHECKING:
    from augrecipes.recipe.model import Recipe as Loaded


def option(names: str, metavar: str | None, about: str, **more: Any) -> Any:
    """Returns an option of a command, such as `--out -o`, with a word for its value and its help."""
    return typer.Option(*names.split(), metavar=metavar, help=about, **more)


def choice(names: str, words: str, about: str, allowed: str = "") -> Any:
    """Returns an option whose value is one of some words, `a|b`; `allowed`: where help does not name all of them."""
    return option(names, words, about, parser=one_of(*(allowed or words).split("|")))


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


Set = Annotated[
    list[str] | None,
    option(
        "--set", "KEY=VALUE", "Change an argument, as `set:` in a variant does: 'RandomCrop.height=64'. Repeatable."
    ),
]
Without = Annotated[
    list[str] | None, option("--without", "NAME", "Leave a step out, as `without:` in a variant does. Repeatable.")
]
Recipe = Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe file, or a name of the gallery.")]
Section = Literal["train", "eval"]
Level = Literal["none", "exact", "fast"]
Mode = Annotated[Section, choice("--mode", "train|eval", "Which section of the recipe.")]
Optimize = Annotated[Level | None, choice("--optimize", "none|exact|fast", "Instead of the recipe's own choice.")]
Masks = Annotated[Path | None, option("--masks", "FOLDER", "Masks, matched by name.")]
Seed = Annotated[int, option("--seed", "INTEGER", "Seed of the random parameters.")]


def here(given: str) -> Path:
    """Where a command writes: a path of this machine. DataError for an address."""
    from augrecipes.paths import local

    return local(given)


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
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE, such as RandomCrop.height=64", param_hint="--set")
        try:
            found[key.strip()] = parse_value(value)
        except RecipeError as error:
            raise typer.BadParameter(f"{text!r}: {error.problems[0].message}", param_hint="--set") from None
    return found


def loaded(recipe: str, changes: list[str] | None, without: list[str] | None) -> Loaded:
    """The recipe with what --set and --without change. RecipeError where it is not valid."""
    from augrecipes.recipe import load

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
            said = (
                f"{word!r} is no whole number from {least:,} to {most:,}; numbers with commas between them, such as 1,4"
            )
            raise typer.BadParameter(said, param_hint=option)
    if len(set(found)) < len(found):
        raise typer.BadParameter(f"{text!r} names a number twice", param_hint=option)
    return found
