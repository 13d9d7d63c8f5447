"""`import`: what a source is, and the draft of a recipe that its dialect makes of it."""

from __future__ import annotations

from augrecipes.bring.dialects import DIALECTS
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.reading import Document, read
from augrecipes.errors import Diagnostic, RecipeError


def draft_of(path: str) -> RecipeDraft:
    """The draft of a recipe that a file holds in another form.

    Raises:
        RecipeError: the file cannot be read, or no dialect knows it.
    """
    return of_document(read(path))


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
