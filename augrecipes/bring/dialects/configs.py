"""Configs that name the classes they build, YAML, JSON or Python, of Hydra, LightningCLI and the MM frameworks.

Nothing is built and nothing run. A list, or a mapping, of what names transforms is a pipeline, wherever in the config
it stands; the keys that lead to it say whether it is for training or for validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.bring import compose
from augrecipes.bring.calls import Call
from augrecipes.bring.configs import python
from augrecipes.bring.configs.forms import Unread, call_of, positional, read
from augrecipes.bring.configs.interpolations import resolved
from augrecipes.bring.configs.pipelines import ALBUMENTATIONS, MM, TORCHVISION, Found, chosen, family, pipelines
from augrecipes.bring.dialect import Dialect
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.mm import steps as mm
from augrecipes.bring.naming import name_of
from augrecipes.bring.reading import Document
from augrecipes.bring.torchvision import steps as torchvision
from augrecipes.errors import RecipeError
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE
from augrecipes.recipe.nodes import MappingNode, Node

_ORIGINS = {
    ALBUMENTATIONS: "a config of albumentations' transforms",
    TORCHVISION: "a config of torchvision's transforms",
    MM: "a config of an MM framework",
}
# What a Compose is given beside its transforms.
_SETTINGS = ("bbox_params", "keypoint_params", "additional_targets")
_PREPROCESSOR = "data_preprocessor"


def _tree(document: Document) -> Node | None:
    if document.file.endswith(".py") and document.text:
        return python.read(document.text, document.file)
    return None if document.top is None else resolved(document.top)


def owns(document: Document) -> bool:
    """Whether there is a pipeline in the config.

    Raises:
        RecipeError: it stands for more values than a config may hold.
    """
    try:
        top = _tree(document)
    except RecipeError:
        if document.top is not None:
            raise
        return False
    return top is not None and bool(pipelines(top))


def draft(document: Document) -> RecipeDraft:
    """The config's pipeline for training, and for validation where it has one, as a recipe."""
    top = _tree(document)
    training, evaluation = chosen(pipelines(top) if top is not None else [], document.key, document.file)
    made = _draft(training, top, document)
    if evaluation is not None:
        other = _draft(evaluation, top, document)
        if family(evaluation.items) == MM and (left := other.left_out()):
            made.note(
                f"{evaluation.path} has no place in a recipe ({left[0].name}): write `eval:`, or `eval: derived`."
            )
            return made
        made.eval = other.steps
        made.refused += [problem for problem in other.refused if problem not in made.refused]
        made.note(f"`eval:` is {evaluation.path} (line {evaluation.place.line}).")
        if other.keys.get("output") != made.keys.get("output"):
            made.note(f"{evaluation.path} ends otherwise than {training.path}; `output:` is that of training.")
    return made


def _draft(found: Found, top: Node | None, document: Document) -> RecipeDraft:
    whose = family(found.items) or ALBUMENTATIONS
    where = f", {found.path}" if found.path else ""
    made = RecipeDraft(name_of(document.file), f"{_ORIGINS[whose]}{where}", found.place)
    calls = tuple(call_of(item) for item in found.items)
    if whose == MM:
        mm.fill(made, calls, _preprocessor(top))
        return made
    if not (len(calls) == 1 and calls[0].name == COMPOSE):
        calls = (Call(COMPOSE, _settings(found), calls, found.place),)
    if whose == TORCHVISION:
        torchvision.fill(made, calls[0])
    else:
        compose.fill(made, _named(calls[0]))
    return made


def _named(call: Call) -> Call:
    """The call and those inside with every argument by its name."""
    takes = (registry.arguments(call.name) or {"properties": {}})["properties"]
    found = positional(call, [key for key in takes if key != "p"] + ["p"])
    children = None if found.children is None else tuple(_named(child) for child in found.children)
    return Call(found.name, found.args, children, found.place, found.package, found.unread)


def _settings(found: Found) -> dict[str, Any]:
    """What stands beside a list of transforms, and is meant for the Compose of it."""
    holder = found.holder.entries if isinstance(found.holder, MappingNode) else {}
    settings = {}
    for key in _SETTINGS:
        try:
            value = read(holder[key]) if key in holder else None
        except Unread:
            continue
        if isinstance(value, Mapping):
            settings[key] = {inner: each for inner, each in value.items() if inner not in ("_target_", "type")}
    return settings


def _preprocessor(top: Node | None) -> Mapping[str, Any] | None:
    """Arguments of the model's preprocessor."""
    names = top.entries if isinstance(top, MappingNode) else {}
    model = names.get("model")
    held = model.entries.get(_PREPROCESSOR) if isinstance(model, MappingNode) else None
    try:
        found = read(held or names[_PREPROCESSOR]) if held or _PREPROCESSOR in names else None
    except Unread:
        return None
    return found if isinstance(found, Mapping) else None


DIALECT = Dialect(
    "a config that names transforms (Hydra, LightningCLI, MMDetection, `name:` and `params:`)", owns, draft, keyed=True
)
