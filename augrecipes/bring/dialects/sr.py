"""Option files of BasicSR, Real-ESRGAN and traiNNer-redux."""

from __future__ import annotations

from augrecipes.bring.dialect import Dialect
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.naming import name_of
from augrecipes.bring.reading import Document
from augrecipes.bring.sr.options import OptionFile
from augrecipes.bring.sr.recipes import fill
from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.nodes import MappingNode, Node

_DATA, _TRAIN, _VALIDATION = "datasets", "train", "val"
# One of these beside the data sets tells an option file.
_BESIDE = ("network_g", "scale", "model_type")


def owns(document: Document) -> bool:
    """Whether there are data sets beside a network or a scale."""
    top = _held(document.top)
    data = _held(top.entries.get(_DATA)) if top is not None else None
    return top is not None and data is not None and any(key in top.entries for key in _BESIDE)


def draft(document: Document) -> RecipeDraft:
    """What the training data goes through, as a recipe.

    Raises:
        RecipeError: video, data sets of other kinds, or values that cannot be; names key and line.
    """
    top = _held(document.top)
    data = _held(top.entries.get(_DATA)) if top is not None else None
    train = _held(data.entries.get(_TRAIN)) if data is not None else None
    if top is None or data is None or train is None:
        place = document.place if data is None else data.place
        message = "no `datasets: train:`: an option file for testing has nothing that a recipe is made of"
        raise RecipeError(problems=[Diagnostic(message, place.line, place.col, "E603", _DATA, document.file)])
    validation = _held(data.entries.get(_VALIDATION))
    made = RecipeDraft(name_of(document.file), "an option file of BasicSR's form", train.place)
    fill(
        made,
        OptionFile((top,), document.place),
        OptionFile((train,), train.place),
        None if validation is None else OptionFile((validation,), validation.place),
    )
    return made


def _held(node: Node | None) -> MappingNode | None:
    return node if isinstance(node, MappingNode) else None


DIALECT = Dialect("an option file of BasicSR, Real-ESRGAN or traiNNer-redux", owns, draft)
