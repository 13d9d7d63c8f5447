"""Pipelines of torchvision.transforms: an object that the caller has, or the text that it prints."""

from __future__ import annotations

from augrecipes.bring.dialect import Dialect
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.naming import name_of
from augrecipes.bring.reading import Document
from augrecipes.bring.torchvision import objects, printed
from augrecipes.bring.torchvision.steps import fill


def owns(document: Document) -> bool:
    """Whether the object is torchvision's, or the text what one prints."""
    return objects.is_torchvision(document.value) or printed.is_printed(document.text)


def draft(document: Document) -> RecipeDraft:
    """What the pipeline does, as a recipe."""
    file = document.file
    call = printed.read(document.text, file) if document.text else objects.read(document.value, file)
    made = RecipeDraft(name_of(file), "a pipeline of torchvision", document.place)
    fill(made, call)
    return made


DIALECT = Dialect("a pipeline of torchvision.transforms, or what it prints", owns, draft)
