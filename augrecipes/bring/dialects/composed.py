"""Objects of albumentations: a Compose that the caller has made, or a single transform."""

from __future__ import annotations

from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.compose import fill
from augrecipes.bring.concise import saved_of, shorten
from augrecipes.bring.dialect import Dialect
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.naming import name_of
from augrecipes.bring.reading import Document
from augrecipes.compat.guard import albumentations
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, GROUPS, ONE_OR_OTHER
from augrecipes.ops.outputs import OUTPUTS

# What groups of albumentations keep of their arguments.
_OF_GROUPS = ("p", "n", "replace")
_OF_COMPOSE = ("p", "is_check_shapes", "strict", "seed", "additional_targets")


def owns(document: Document) -> bool:
    """Whether the document is an object of albumentations."""
    if document.value is None:
        return False
    A = albumentations()  # noqa: N806 - as everybody calls it
    given = document.value if isinstance(document.value, list | tuple) else [document.value]
    return bool(given) and all(isinstance(each, A.BaseCompose | A.BasicTransform) for each in given)


def draft(document: Document) -> RecipeDraft:
    """What an object does, as a recipe."""
    value = document.value
    made = RecipeDraft(name_of(document.file), f"a {type(value).__name__} in Python", document.place)
    if isinstance(value, list | tuple):
        fill(made, Call(COMPOSE, {}, tuple(_call(each, document) for each in value), document.place))
    else:
        fill(made, _call(value, document))
    for line in made.lines():
        if line.steps is None:
            shorten(line)
    return made


def _call(made: Any, document: Document) -> Call:
    """One transform or group, and what is in it."""
    cls = type(made)
    name, place = cls.__name__, document.place
    A = albumentations()  # noqa: N806
    if cls is A.Compose:
        args = {key: getattr(made, key) for key in _OF_COMPOSE if getattr(made, key, None) is not None}
        for key, name_of_targets in (("bbox_params", "bboxes"), ("keypoint_params", "keypoints")):
            processor = made.processors.get(name_of_targets)
            if processor is not None:
                args[key] = {key: value for key, value in vars(processor.params).items() if not key.startswith("_")}
        return Call(COMPOSE, args, tuple(_call(each, document) for each in made.transforms), place, "albumentations")
    if name in (*GROUPS, ONE_OR_OTHER) and cls is getattr(A, name):
        args = {key: getattr(made, key) for key in _OF_GROUPS if hasattr(made, key)}
        return Call(name, args, tuple(_call(each, document) for each in made.transforms), place, "albumentations")
    return Call(name, saved_of(made) if _is_known(cls) else {}, None, place, cls.__module__)


def _is_known(cls: type) -> bool:
    """Whether a recipe's step, or output, of the class's name is this class, and no other one."""
    name = cls.__name__
    if name in OUTPUTS:
        return cls is getattr(albumentations(), name, None)
    try:
        return registry.arguments(name) is not None and registry.get_class(name) is cls
    except KeyError:
        return False


DIALECT = Dialect("an A.Compose, given as MODULE:NAME or FILE.py:NAME", owns, draft)
