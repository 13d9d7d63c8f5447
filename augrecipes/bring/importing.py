"""`import`: what a source is, and the draft of a recipe that its dialect makes of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from augrecipes.bring.dialects import DIALECTS, composed, saved
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.reading import Document, read
from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.nodes import Place, from_value
from augrecipes.user_code import is_named, open_module


def draft_of(source: str, key: str = "") -> RecipeDraft:
    """The draft of a recipe that a source holds in another form.

    Args:
        source: a file, which is read; or `FILE.py:NAME` or `package.module:NAME`, which is run: the name is that of a
            pipeline, or of a function without arguments that makes one.
        key: which pipeline of a config, as keys joined by dots; empty: the one for training.

    Raises:
        RecipeError: the file cannot be read, no dialect knows it, or what was run failed.
    """
    if is_named(source) and not Path(source).exists():
        return of_document(_named(source))
    return of_document(replace(read(source), key=key))


def _named(source: str) -> Document:
    """What the user named in a file of Python, or in a module."""
    module = open_module(source, "transform", "config:", RecipeError)
    found = module.found()
    if inspect.isroutine(found) or (inspect.isclass(found) and not issubclass(found, Mapping)):
        try:
            found = found()
        except Exception as error:
            raise module.failed(f"{module.name}(), called without arguments, fails", error) from error
    return of_value(found, source)


def of_value(value: Any, name: str) -> Document:
    """An object as a document; a mapping, such as `A.to_dict` gives, as if it were read."""
    if isinstance(value, Mapping):
        try:
            return Document(name, top=from_value(_plain(value), Place(name, 1, 1)))
        except TypeError as error:
            raise RecipeError(problems=[Diagnostic(str(error), 1, 1, "E601", "import", name)]) from None
    return Document(name, value=value)


def _plain(value: Any) -> Any:
    """Values with those of enumerations in place of their members, as `A.save` writes them."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def from_albumentations(compose: Any, name: str = "imported") -> Recipe:
    """A recipe that does what an albumentations pipeline does.

    Args:
        compose: an `A.Compose`, a single transform, or a list of them; or what `A.to_dict` made of one.
        name: of the recipe, `[a-z0-9-]`.

    Raises:
        RecipeError: parts of it have no place in a recipe; `problems` names each with the way out.
        TypeError: it is no pipeline of albumentations.

    >>> import albumentations as A
    >>> compose = A.Compose([A.RandomCrop(64, 64), A.HorizontalFlip(p=0.3), A.Normalize(), A.ToTensorV2()])
    >>> print(from_albumentations(compose, "mine").to_yaml(), end="")
    version: 1
    recipe: mine
    steps:
      - RandomCrop: {height: 64, width: 64}
      - HorizontalFlip: {p: 0.3}
    output: {normalize: imagenet}
    """
    document = of_value(compose, name)
    dialect = next((each for each in (composed, saved) if each.owns(document)), None)
    if dialect is None:
        raise TypeError(f"from_albumentations takes an A.Compose, a transform or a list of them, got {compose!r:.200}")
    draft = dialect.draft(document)
    if left := draft.left_out():
        raise RecipeError(problems=left)
    return draft.recipe()


def of_document(document: Document) -> RecipeDraft:
    """The draft that the first dialect makes which owns the document.

    Raises:
        RecipeError: no dialect knows it.
    """
    for dialect in DIALECTS:
        if dialect.owns(document):
            return dialect.draft(document)
    known = "; ".join(dialect.name for dialect in DIALECTS)
    message = f"nothing here that can be imported; known are: {known}"
    place = document.place
    raise RecipeError(problems=[Diagnostic(message, place.line or 1, place.col or 1, "E601", "import", document.file)])
