"""Configs that name the classes they build, YAML, JSON or Python, of Hydra, LightningCLI and the MM frameworks.

Nothing is built and nothing run. A list, or a mapping, of what names transforms is a pipeline, wherever in the config
it stands; the keys that lead to it say whether it is for training or for validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.interop import compose
from augrecipes.interop.draft import Call, RecipeDraft, name_of, wrong
from augrecipes.interop.forms import Unread, are_calls, call_of, names_class, place_of, read, values_of
from augrecipes.interop.mm import steps as mm
from augrecipes.interop.reading import Document, is_python
from augrecipes.interop.source.branches import role
from augrecipes.interop.source.configs import config_of
from augrecipes.interop.source.read import Match
from augrecipes.interop.source.values import walk
from augrecipes.interop.torchvision import steps as torchvision
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, GROUPS
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe.history import CLASSES
from augrecipes.recipe.limits import MAX_DEPTH
from augrecipes.recipe.nodes import Place

ALBUMENTATIONS, TORCHVISION, MM = "albumentations", "torchvision", "mm"
_PACKAGES = {"albumentations": ALBUMENTATIONS, "torchvision.transforms": TORCHVISION}
_ORDER = "order"  # a list of the names of those beside it
_USUAL = "train_pipeline"
_ORIGINS = {
    ALBUMENTATIONS: "a config of albumentations' transforms",
    TORCHVISION: "a config of torchvision's transforms",
    MM: "a config of an MM framework",
}
_IN_PYTHON = {ALBUMENTATIONS: "a Compose in Python source", TORCHVISION: "torchvision's transforms in Python source"}
_PREPROCESSOR = "data_preprocessor"
# What a Compose is given beside its transforms.
_SETTINGS = ("bbox_params", "keypoint_params", "additional_targets")


def is_config(document: Document) -> bool:
    """Whether it is Python, or there is a pipeline in the config."""
    return (is_python(document.file) and bool(document.text)) or bool(_matches(document)[0])


def holds(document: Document) -> bool:
    """Whether there is a pipeline in a text of Python."""
    try:
        return bool(_matches(document)[0])
    except RecipeError:
        return False


def _matches(document: Document) -> tuple[list[Match], Any, list[str]]:
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
        raise wrong("it is nested too deeply", document.place, "", "E603") from None
    return found, top, notes


def draft_of_config(document: Document) -> RecipeDraft:
    """The config's pipeline for training, and for validation where it has one, as a recipe.

    Raises:
        RecipeError: it is no Python, holds no pipeline, or several could be meant.
    """
    found, top, notes = _matches(document)
    if not found:
        said = "".join(f" {note}" for note in notes)
        message = f"nothing here that can be imported: no Compose and no list of transforms that is known.{said}"
        raise wrong(message, Place(document.file, 1, 1))
    training, evaluation = chosen(found, document.key, Place(document.file, 1, 1))
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


def family(calls: Sequence[Call]) -> str | None:
    """Whose transforms these are; None: of nobody that is known."""
    each = [call for one in calls for call in _own(one)]
    for call in each:
        for package, whose in _PACKAGES.items():
            if f"{call.package}.".startswith(f"{package}."):
                return whose
    bare = {call.name for call in each if not call.package}
    if bare & mm.NAMES:
        return MM
    if bare & torchvision.TELLING:
        return TORCHVISION
    if any(_of_albumentations(name) for name in bare):
        return ALBUMENTATIONS
    return TORCHVISION if bare & torchvision.PARAMETERS.keys() else None


def _own(call: Call) -> Iterator[Call]:
    """A call, and of a group what is in it."""
    yield call
    for child in (call.children or ()) if call.name in (COMPOSE, *GROUPS) else ():
        yield from _own(child)


def _of_albumentations(name: str) -> bool:
    known = name in CLASSES or name in REFUSED or name in GROUPS or name in OUTPUTS or name == COMPOSE
    return known or registry.arguments(name) is not None


def pipelines(top: Any) -> list[Match]:
    """Every pipeline of a config once, those that are part of another left out."""
    matches = list(_walk(top, (), None, set()))
    inside = {id(part) for value, items, *_ in matches for part in walk([items, value]) if part is not value}
    return [
        Match(".".join(path), _place(value, items), tuple(map(call_of, items)), _settings(holder))
        for value, items, path, holder in matches
        if id(value) not in inside
    ]


def _place(value: Any, items: list[Any]) -> Place:
    """Where a pipeline stands; a list that was computed stands where its first transform does."""
    return place_of(value) if place_of(value).line else place_of(items[0])


_Walked = tuple[Any, list[Any], tuple[str, ...], Any]  # a pipeline, its transforms, keys that lead there, holder


def _walk(value: Any, path: tuple[str, ...], holder: Any, seen: set[int]) -> Iterator[_Walked]:
    if not isinstance(value, Mapping | list | tuple) or len(path) > MAX_DEPTH:
        return
    if id(value) in seen:  # a name that is used again
        return
    seen.add(id(value))
    if isinstance(value, Mapping) and names_class(value):
        # Beside a lone name anything may be meant: only a package tells that it is a transform.
        call = call_of(value)
        if call.package and family((replace(call, children=None),)):
            yield value, [value], path, holder
            return
    elif (items := _items(value)) and family(list(map(call_of, items))) and not _side_by_side(items):
        yield value, items, path, holder
        return
    holder = value if isinstance(value, Mapping) else holder
    for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from _walk(item, (*path, str(key)), holder, seen)


def _settings(holder: Any) -> dict[str, Any]:
    """What stands beside a list of transforms, and is meant for the Compose of it."""
    settings = {}
    for key in _SETTINGS:
        try:
            value = read(holder[key]) if isinstance(holder, Mapping) and key in holder else None
        except Unread:
            continue
        if isinstance(value, Mapping):
            settings[key] = {inner: each for inner, each in value.items() if inner not in ("_target_", "type")}
    return settings


def _side_by_side(items: list[Any]) -> bool:
    """Whether these are several pipelines: views of a sample, or stages of its way."""
    return len(items) > 1 and all(call_of(item).name == COMPOSE for item in items)


def _items(value: Any) -> list[Any]:
    """The transforms of a list, or of a mapping whose values they are."""
    items = list(value)
    if isinstance(value, Mapping):
        order = value.get(_ORDER)
        listed = (
            order if isinstance(order, list) and all(isinstance(key, str) and key in value for key in order) else value
        )
        items = [value[key] for key in listed if key != _ORDER]
        return items if are_calls(tuple(items)) else []
    return items if are_calls(items) else []


def chosen(found: list[Match], key: str, place: Place) -> tuple[Match, Match | None]:
    """The pipeline for training, and the one for validation where there is one.

    Args:
        found: all of them.
        key: the path that the user named, or the beginning or the end of it; empty: none.
        place: for messages.

    Raises:
        RecipeError: several could be meant, or none has the name.
    """
    if key:
        named = _named(found, key)
        if not named:
            raise wrong(f"no pipeline at {key!r}; there {_listed(found)}", place)
        if len(named) == 1:
            return named[0], None
        found = named
    by_role: dict[str, list[Match]] = {}
    for each in found:
        by_role.setdefault(role(each.path), []).append(each)
    evaluation = by_role.get("eval", [])
    training = by_role.get("train") or by_role.get("augment") or by_role.get("") or evaluation
    training = [each for each in training if each.path == _USUAL] or training
    training = _different([each for each in training if not _is_otherwise(each, training)])
    if len(training) > 1:
        what = f"several pipelines{f' at {key!r}' if key else ''}"
        raise wrong(f"{what}; name one, as in `--key {training[0].path}`: there {_listed(training)}", place)
    rest = [each for each in evaluation if each is not training[0]]
    rest = [each for each in rest if "val" in each.path.lower()] or rest
    return training[0], rest[0] if rest else None


def _named(found: list[Match], key: str) -> list[Match]:
    """Those whose path is the key; else begins with it, or ends with it."""
    return (
        [each for each in found if each.path == key]
        or [each for each in found if each.path.startswith(f"{key}.")]
        or [each for each in found if f".{each.path}".endswith(f".{key}")]
    )


def _different(found: list[Match]) -> list[Match]:
    """Without those that say the same as one before them."""
    seen: list[list[Any]] = []
    kept = []
    for each in found:
        said = [(call.name, call.args, call.unread) for one in each.calls for call in one.walk()]
        if said not in seen:
            kept.append(each)
        seen.append(said)
    return kept


def _is_otherwise(found: Match, others: list[Match]) -> bool:
    """Whether it is the other way of a test that cannot be told, beside the one where it holds."""
    *before, last = found.path.split(".")
    first = ".".join([*before, last.removeprefix("not_")])
    return last.startswith("not_") and any(f"{each.path}.".startswith(f"{first}.") for each in others)


def _listed(found: list[Match]) -> str:
    return "are " + ", ".join(f"{each.path or 'the file itself'} (line {each.place.line})" for each in found)
