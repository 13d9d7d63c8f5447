"""The pipelines of a config, wherever they stand, and which of them a recipe is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.interop.draft import Call
from augrecipes.interop.forms import Unread, call_of, names_class, place_of, read
from augrecipes.interop.mm.steps import NAMES as OF_MM
from augrecipes.interop.source.branches import role
from augrecipes.interop.source.read import Match
from augrecipes.interop.source.values import walk
from augrecipes.interop.torchvision.signatures import PARAMETERS as OF_TORCHVISION
from augrecipes.interop.torchvision.signatures import TELLING
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


# What a Compose is given beside its transforms.
_SETTINGS = ("bbox_params", "keypoint_params", "additional_targets")


def family(calls: Sequence[Call]) -> str | None:
    """Whose transforms these are; None: of nobody that is known."""
    each = [call for one in calls for call in _own(one)]
    for call in each:
        for package, whose in _PACKAGES.items():
            if f"{call.package}.".startswith(f"{package}."):
                return whose
    bare = {call.name for call in each if not call.package}
    if bare & OF_MM:
        return MM
    if bare & TELLING:
        return TORCHVISION
    if any(_of_albumentations(name) for name in bare):
        return ALBUMENTATIONS
    return TORCHVISION if bare & OF_TORCHVISION.keys() else None


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
        keys = (
            order if isinstance(order, list) and all(isinstance(key, str) and key in value for key in order) else value
        )
        items = [value[key] for key in keys if key != _ORDER]
    return items if all(map(names_class, items)) else []


def chosen(found: list[Match], key: str, file: str) -> tuple[Match, Match | None]:
    """The pipeline for training, and the one for validation where there is one.

    Args:
        found: all of them.
        key: the path that the user named, or the beginning or the end of it; empty: none.
        file: for messages.

    Raises:
        RecipeError: several could be meant, or none has the name.
    """
    if key:
        named = _named(found, key)
        if not named:
            raise _error(f"no pipeline at {key!r}; there {_listed(found)}", file)
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
        raise _error(f"{what}; name one, as in `--key {training[0].path}`: there {_listed(training)}", file)
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


def _error(message: str, file: str) -> RecipeError:
    return RecipeError(problems=[Diagnostic(message, 1, 1, "E601", "import", file)])
