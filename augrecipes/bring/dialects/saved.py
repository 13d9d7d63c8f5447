"""Pipelines that albumentations wrote down itself: `A.save` as JSON or YAML, and `A.to_dict`."""

from __future__ import annotations

from augrecipes.bring.calls import Call
from augrecipes.bring.compose import fill
from augrecipes.bring.concise import shorten
from augrecipes.bring.dialect import Dialect
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.naming import name_of
from augrecipes.bring.reading import Document
from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Scalar, describe, plain
from augrecipes.recipe.saved import CLASS, pipeline_of

_CHILDREN = "transforms"


def owns(document: Document) -> bool:
    """Whether the document names classes as `A.save` does."""
    return isinstance(document.top, MappingNode) and pipeline_of(document.top) is not None


def draft(document: Document) -> RecipeDraft:
    """What a saved pipeline does, as a recipe."""
    top = document.top
    said = top.entries.get("__version__") if isinstance(top, MappingNode) else None
    release = str(said.value) if isinstance(said, Scalar) and said.value is not None else ""
    origin = f"a pipeline that albumentations{' ' * bool(release)}{release} saved"
    made = RecipeDraft(name_of(document.file), origin, document.place)
    pipeline = pipeline_of(top) if isinstance(top, MappingNode) else None
    fill(made, _call(pipeline or MappingNode({}, document.place)))
    for line in made.lines():
        if line.steps is None:
            shorten(line)
    return made


def _call(node: Node) -> Call:
    """One saved transform."""
    said = node.entries.get(CLASS) if isinstance(node, MappingNode) else None
    if not isinstance(node, MappingNode) or not isinstance(said, Scalar) or not isinstance(said.value, str):
        message = f"must be a saved transform with {CLASS}, got {describe(node)}"
        raise RecipeError(problems=[Diagnostic(message, node.place.line, node.place.col, "E601", "", node.place.file)])
    package, _, name = said.value.rpartition(".")
    inside = node.entries.get(_CHILDREN)
    children = None
    if isinstance(inside, ListNode):
        children = tuple(_call(item) for item in inside.items)
    args = {key: plain(value) for key, value in node.entries.items() if key not in (CLASS, _CHILDREN)}
    return Call(name, args, children, node.place, package)


DIALECT = Dialect("a pipeline that albumentations saved (A.save, A.to_dict)", owns, draft)
