"""Pipelines of torchvision.transforms: an object that the caller has, or the text that it prints."""

from __future__ import annotations

from typing import Any

from augrecipes.bring.dialect import Dialect
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.naming import name_of
from augrecipes.bring.reading import Document, is_python
from augrecipes.bring.torchvision import objects, printed
from augrecipes.bring.torchvision.steps import fill
from augrecipes.errors import RecipeError
from augrecipes.recipe.model import Recipe


def owns(document: Document) -> bool:
    """Whether the object is torchvision's, or the text what one prints."""
    return objects.is_torchvision(document.value) or (
        not is_python(document.file) and printed.is_printed(document.text)
    )


def draft(document: Document) -> RecipeDraft:
    """What the pipeline does, as a recipe."""
    file = document.file
    call = printed.read(document.text, file) if document.text else objects.read(document.value, file)
    made = RecipeDraft(name_of(file), "a pipeline of torchvision", document.place)
    fill(made, call)
    return made


def from_torchvision(transform: Any, name: str = "imported") -> Recipe:
    """A recipe with the meaning of a torchvision pipeline: the same ranges and chances, draws of its own.

    Args:
        transform: a `Compose` of torchvision.transforms, version 2 or 1, or a single transform; or the text that it
            prints (`repr`).
        name: of the recipe, `[a-z0-9-]`.

    Raises:
        RecipeError: parts of it have no place in a recipe; `problems` names each with the way out.
        TypeError: it is no pipeline of torchvision.

    >>> text = "Compose(RandomHorizontalFlip(p=0.3), RandomRotation(degrees=[-9, 9], interpolation=bilinear))"
    >>> [(step.name, step.p) for step in from_torchvision(text).steps]
    [('HorizontalFlip', 0.3), ('Rotate', 1.0)]
    """
    document = Document(name, text=transform) if isinstance(transform, str) else Document(name, value=transform)
    if not owns(document):
        raise TypeError(f"from_torchvision takes a transform of torchvision, or what it prints, got {transform!r:.200}")
    made = draft(document)
    if left := made.left_out():
        raise RecipeError(problems=left)
    return made.recipe()


DIALECT = Dialect("a pipeline of torchvision.transforms, or what it prints", owns, draft)
