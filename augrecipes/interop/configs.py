"""Configs that name the classes they build, YAML, JSON or Python, of Hydra, LightningCLI and the MM frameworks.

Nothing is built and nothing run. A list, or a mapping, of what names transforms is a pipeline, wherever in the config
it stands; the keys that lead to it say whether it is for training or for validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.interop import compose
from augrecipes.interop.draft import Call, RecipeDraft, name_of
from augrecipes.interop.forms import Unread, read, values_of
from augrecipes.interop.mm import steps as mm
from augrecipes.interop.pipelines import ALBUMENTATIONS, MM, TORCHVISION, chosen, family, pipelines
from augrecipes.interop.reading import Document, is_python
from augrecipes.interop.source.configs import config_of
from augrecipes.interop.source.read import Match
from augrecipes.interop.source.text import wrong
from augrecipes.interop.torchvision import steps as torchvision
from augrecipes.ops.groups import COMPOSE

_ORIGINS = {
    ALBUMENTATIONS: "a config of albumentations' transforms",
    TORCHVISION: "a config of torchvision's transforms",
    MM: "a config of an MM framework",
}
_IN_PYTHON = {ALBUMENTATIONS: "a Compose in Python source", TORCHVISION: "torchvision's transforms in Python source"}
_PREPROCESSOR = "data_preprocessor"


def is_config(document: Document) -> bool:
    """Whether it is Python, or there is a pipeline in the config; RecipeError where that stands for too much."""
    if is_python(document.file) and document.text:
        return True
    return document.top is not None and bool(pipelines(values_of(document.top)))


def holds(document: Document) -> bool:
    """Whether there is a pipeline in a text of Python."""
    try:
        return bool(_read(document)[0])
    except RecipeError:
        return False


def _read(document: Document) -> tuple[list[Match], Any, list[str]]:
    """The pipelines of a document, its names, and what is to be told of it."""
    if not is_python(document.file):
        top = {} if document.top is None else values_of(document.top)
        return pipelines(top), top, []
    config = config_of(document.text, document.file, document.given, document.key, document.root)
    top, notes = config.names, list(config.notes)
    if config.exhausted:
        notes.append("The file asks for more work than reading may take: what comes late in it may be missing here.")
    try:
        found = [*(each for each in config.matches if family(each.calls)), *pipelines(top)]
    except RecursionError:  # lists that are put into each other, again and again
        raise wrong("it is nested too deeply", document.place) from None
    return found, top, notes


def draft_of_config(document: Document) -> RecipeDraft:
    """The config's pipeline for training, and for validation where it has one, as a recipe.

    Raises:
        RecipeError: it is no Python, holds no pipeline, or several could be meant.
    """
    found, top, notes = _read(document)
    if not found:
        said = "".join(f" {note}" for note in notes)
        message = f"nothing here that can be imported: no Compose and no list of transforms that is known.{said}"
        raise RecipeError(problems=[Diagnostic(message, 1, 1, "E601", "import", document.file)])
    training, evaluation = chosen(found, document.key, document.file)
    made = _draft(training, top, document)
    for note in notes:
        made.note(note)
    _others(made, found, training, evaluation)
    if evaluation is None:
        return made
    other = _draft(evaluation, top, document)
    if family(evaluation.calls) == MM and (left := other.left_out()):
        made.note(f"{evaluation.path} has no place in a recipe ({left[0].name}): `eval:` is derived from training.")
        return made
    made.eval = other.steps
    made.refused += [problem for problem in other.refused if problem not in made.refused]
    made.note(f"`eval:` is {evaluation.path} (line {evaluation.place.line}).")
    if other.keys.get("output") != made.keys.get("output"):
        made.note(f"{evaluation.path} ends otherwise than {training.path}; `output:` is that of training.")
    return made


def _others(made: RecipeDraft, found: list[Match], *taken: Match | None) -> None:
    """Name the pipelines that the recipe is not made of."""
    others = [f"{each.path} (line {each.place.line})" for each in found if each not in taken]
    if others:
        more = f" and {len(others) - 6} more" if len(others) > 6 else ""
        made.note(f"Also there, each by `--key`: {', '.join(others[:6])}{more}.")


def _draft(found: Match, top: Any, document: Document) -> RecipeDraft:
    whose = family(found.calls) or ALBUMENTATIONS
    where = f", {found.path}" if found.path else ""
    origins = _ORIGINS | _IN_PYTHON if is_python(document.file) else _ORIGINS
    made = RecipeDraft(name_of(document.file), f"{origins[whose]}{where}", found.place)
    for lost in found.lost:
        made.refuse(lost.name, lost.why, lost.place)
    for way in found.assumed:
        made.refuse("if", way, found.place)
    calls = found.calls
    if whose == MM:
        mm.fill(made, calls, _preprocessor(top))
        return made
    if not (len(calls) == 1 and calls[0].name == COMPOSE):
        calls = (Call(COMPOSE, dict(found.settings), calls, found.place),)
    if whose == TORCHVISION:
        torchvision.fill(made, calls[0])
    else:
        compose.fill(made, calls[0])
    return made


def _preprocessor(top: Any) -> Mapping[str, Any] | None:
    """Arguments of the model's preprocessor."""
    names = top if isinstance(top, Mapping) else {}
    model = names.get("model")
    held = model.get(_PREPROCESSOR) if isinstance(model, Mapping) else None
    try:
        arguments = read(held or names.get(_PREPROCESSOR))
    except Unread:
        return None
    return arguments if isinstance(arguments, Mapping) else None
