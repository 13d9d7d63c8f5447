"""`import`: what a source is, and the draft of a recipe that its dialect makes of it."""

from __future__ import annotations

from typing import Any

from augrecipes.bring.dialects import DIALECTS, composed
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.reading import Document, read
from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.model import Recipe


def draft_of(path: str) -> RecipeDraft:
    """The draft of a recipe that a file holds in another form.

    Raises:
        RecipeError: the file cannot be read, or no dialect knows it.
    """
    return of_document(read(path))


def from_albumentations(compose: Any, name: str = "imported") -> Recipe:
    """A recipe that does what an albumentations pipeline does.

    Args:
        compose: an `A.Compose`, a single transform, or a list of them.
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
    document = Document(name, value=compose)
    if not composed.owns(document):
        raise TypeError(f"from_albumentations takes an A.Compose, a transform or a list of them, got {compose!r:.200}")
    draft = composed.draft(document)
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
