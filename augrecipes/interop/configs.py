"""Configs that name the classes they build: YAML, JSON or Python of Hydra, LightningCLI and the MM frameworks.

Nothing is built or run. A list or mapping whose entries name transforms is a pipeline, wherever it stands in the
config; the keys that lead to it say whether it is for training or for validation.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.interop import compose, mm, torchvision
from augrecipes.interop.draft import Call, RecipeDraft, name_of, wrong
from augrecipes.interop.reading import Document, is_python
from augrecipes.interop.source import transforms
from augrecipes.interop.source.pipelines import Match, chosen, name_and_line, several
from augrecipes.interop.source.read import read
from augrecipes.interop.source.values import Created, Function, Listed, Mapped, UnknownValue, walk
from augrecipes.ops import outputs, refused, registry
from augrecipes.ops.groups import COMPOSE, GROUPS
from augrecipes.recipe import history, limits, nodes

ALBUMENTATIONS, TORCHVISION, MM = "albumentations", "torchvision", "mm"
_PACKAGES = {
    ALBUMENTATIONS: ALBUMENTATIONS,
    "torchvision.transforms": TORCHVISION,
    "timm": TORCHVISION,
    transforms.RFDETR: transforms.RFDETR,
}
_ORDER = "order"  # the key of a list that orders its siblings
# The origin of a pipeline in words, in a config and in Python source.
_ORIGINS = {
    ALBUMENTATIONS: ("a config of albumentations' transforms", "a Compose in Python source"),
    TORCHVISION: ("a config of torchvision's transforms", "torchvision's transforms in Python source"),
    MM: ("a config of an MM framework",) * 2,
    transforms.RFDETR: ("an aug_config of RF-DETR",) * 2,
}
_PREPROCESSOR = "data_preprocessor"
# Arguments of a Compose beside its transforms.
_SETTINGS = ("bbox_params", "keypoint_params", "additional_targets")
_INTERPOLATION = re.compile(r"\$\{\s*([\w\[\]-][\w.\[\]-]*)\s*\}")  # OmegaConf's `${a.b}`
_RESOLVERS = ("${as_", "${torch", "${get_")  # resolvers that run code
_MOST = 16  # interpolations in a chain
_ELSEWHERE = (
    "in line {} names no single value of this file: write the value, or import the config as composed "
    "(`python train.py --cfg job --resolve`)"
)


def is_config(document: Document) -> bool:
    """Whether the document is Python, or a config with a pipeline."""
    return (is_python(document.file) and bool(document.text)) or holds(document)


def holds(document: Document) -> bool:
    """Whether a document has a pipeline."""
    try:
        return bool(_matches(document)[0])
    except RecipeError:
        return False


def _matches(document: Document) -> tuple[list[Match], Any, list[str]]:
    """The pipelines of a document, its top-level values by name, and notes for the user."""
    if not is_python(document.file):
        top = {} if document.top is None else values_of(document.top, document.top)
        return pipelines(top), top, []
    config = read(document.text, document.file, document.given, document.key, document.root)
    try:
        found = [*(each for each in config.matches if family(each.calls)), *pipelines(config.names)]
    except RecursionError:  # deeply nested lists
        raise wrong("it is nested too deeply", document.place, "", "E603") from None
    return found, config.names, config.notes


def draft_of_config(document: Document) -> RecipeDraft:
    """The config's pipeline for training, and for validation where it has one, as a recipe.

    Raises:
        RecipeError: it is no Python, holds no pipeline, or several could be meant.
    """
    every, top, notes = _matches(document)
    mixing = [each for each in every if torchvision.mixes(each.calls[0])]
    found = [each for each in every if each not in mixing]
    # A dict that is not named aug_config counts as one only if there is nothing else.
    found = [
        each for each in found if family(each.calls) != transforms.RFDETR or transforms.AUG_CONFIG in each.path.lower()
    ] or found
    place = nodes.Place(document.file, 1, 1)
    if mixing and not found:
        found = [Match("", mixing[0].place, (Call(COMPOSE, place=mixing[0].place),))]
    if not found:
        message = "nothing here that can be imported: no Compose and no list of transforms that is known."
        raise wrong(" ".join([message, *notes]), place)
    training, evaluation = chosen(found, document.key, place)
    draft = _draft(training, top, document)
    torchvision.fill_batch(draft, [each.calls[0] for each in mixing])
    for match, way in ((each, way) for each in mixing for way in each.assumed):
        draft.refuse("if", way, match.place)
    for note in notes:
        draft.note(note)
    if others := [each for each in found if each not in (training, evaluation)]:
        draft.note(f"Also there, each by `--key`: {several(others, 6)}.")
    if evaluation is None:
        return draft
    other = _draft(evaluation, top, document)
    if family(evaluation.calls) == MM and (left := other.left_out()):
        draft.note(f"{evaluation.path} has no place in a recipe ({left[0].name}): `eval:` is derived from training.")
        return draft
    draft.eval = other.steps
    draft.refused += [problem for problem in other.refused if problem not in draft.refused]
    draft.note(f"`eval:` is {name_and_line(evaluation)}.")
    if other.keys.get("output") != draft.keys.get("output"):
        draft.note(f"{evaluation.path} ends otherwise than {training.path}; `output:` is that of training.")
    return draft


def _draft(found: Match, top: Any, document: Document) -> RecipeDraft:
    whose = family(found.calls) or ALBUMENTATIONS
    where = f", {found.path}" if found.path else ""
    origin = _ORIGINS[whose][is_python(document.file)]
    draft = RecipeDraft(name_of(document.file), f"{origin}{where}", found.place)
    for part in found.missing:
        draft.refuse(part.name, part.why, part.place)
    for way in found.assumed:
        draft.refuse("if", way, found.place)
    calls = found.calls
    if whose == MM:
        names = top if isinstance(top, Mapping) else {}
        model = names.get("model")
        preprocessor = model.get(_PREPROCESSOR) if isinstance(model, Mapping) else None
        mm.convert(draft, calls, _plain_mapping(preprocessor or names.get(_PREPROCESSOR)))
        return draft
    if not (len(calls) == 1 and calls[0].name == COMPOSE):
        calls = (Call(COMPOSE, dict(found.settings), calls, found.place),)
    (torchvision if whose == TORCHVISION else compose).convert(draft, calls[0])
    if whose == transforms.RFDETR:
        draft.note(transforms.RFDETR_NOTE)
    if document.root is not None and (name := _object_at(found.path, top)):
        draft.offer(transforms.NOT_IN_FILE, f"; or run it: `augrecipes import {document.file}:{name}`")
    return draft


def _object_at(path: str, names: Any) -> str:
    """The first part of a path if it names an object of a module or a function without arguments; else empty."""
    name = path.partition(".")[0]
    value = names.get(name) if isinstance(names, Mapping) else None
    if isinstance(value, Function):
        return name if not {*value.parameters} - value.defaults.keys() else ""
    return name if isinstance(value, Created | list) else ""


def _plain_mapping(value: Any) -> dict[str, Any] | None:
    """A mapping of plain values; None for anything else, or if a value in it is unknown."""
    plain = transforms.Plain(config=True)
    found = plain.of(value)
    return found if isinstance(found, dict) and not plain.unknown else None


def family(calls: Sequence[Call]) -> str | None:
    """The library of these transforms; None if it is unknown."""
    each = [call for one in calls for call in _calls_in_groups(one)]
    for call in each:
        for package, whose in _PACKAGES.items():
            if f"{call.package}.".startswith(f"{package}."):
                return whose
    bare = {call.name for call in each if not call.package}
    if bare & mm.NAMES:
        return MM
    if bare & torchvision.DISTINCTIVE:
        return TORCHVISION
    known = {*history.CLASSES, *refused.REFUSED, *GROUPS, *outputs.OUTPUTS, COMPOSE}
    if any(name in known or registry.arguments(name) is not None for name in bare):
        return ALBUMENTATIONS
    return TORCHVISION if bare & torchvision.PARAMETERS.keys() else None


def _calls_in_groups(call: Call) -> Iterator[Call]:
    """Yield a call, and the calls inside a group."""
    yield call
    for child in (call.children or ()) if call.name in (COMPOSE, *GROUPS) else ():
        yield from _calls_in_groups(child)


def pipelines(top: Any) -> list[Match]:
    """All pipelines of a config, without those that are part of another."""
    matches = list(_walk(top, (), None, set()))
    inside = {id(part) for value, items, _ in matches for part in walk([items, value]) if part is not value}
    return [match for value, _, match in matches if id(value) not in inside]


def _walk(value: Any, path: tuple[str, ...], holder: Any, seen: set[int]) -> Iterator[tuple[Any, list[Any], Match]]:
    """Yield every pipeline: its value, its transforms as values, and the match."""
    if not isinstance(value, Mapping | list | tuple) or len(path) > limits.MAX_DEPTH or id(value) in seen:
        return
    seen.add(id(value))  # a value may be referenced by several names
    if (not path or path[-1] == transforms.AUG_CONFIG) and transforms.is_aug_config(path, value):
        yield value, [], Match(".".join(path), transforms.place_of(value), (transforms.aug_config_compose(value),))
        return
    lone = bool(transforms.form_of(value))
    items = [value] if lone else _items(value)
    calls = list(map(transforms.call_of, items))
    if lone:
        # A lone name could mean anything: only a package says that it is a transform.
        is_pipeline = bool(calls[0].package and family((replace(calls[0], children=None),)))
    else:  # several Composes are views or stages, not one pipeline; and batch mixing stands beside a pipeline
        separate = len(calls) > 1 and all(call.name == COMPOSE for call in calls)
        separate |= isinstance(value, Mapping) and any(map(torchvision.mixes, calls))
        is_pipeline = bool(family(calls)) and not separate
    if is_pipeline:
        preprocessor = holder if isinstance(holder, Mapping) else {}
        settings = {key: known for key in _SETTINGS if (known := _plain_mapping(preprocessor.get(key)))}
        for each, name in product(settings.values(), ("_target_", "type")):
            each.pop(name, None)
        # A computed list has the place of its first transform.
        place = transforms.place_of(value if transforms.place_of(value).line else items[0])
        yield value, items, Match(".".join(path), place, tuple(calls), settings)
        return
    holder = value if isinstance(value, Mapping) else holder
    for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from _walk(item, (*path, str(key)), holder, seen)


def _items(value: Any) -> list[Any]:
    """The transforms in a list, or in the values of a mapping."""
    if not isinstance(value, Mapping):
        return list(value) if transforms.are_calls([*value]) else []
    order: Any = value.get(_ORDER)
    known = isinstance(order, list) and all(isinstance(key, str) and key in value for key in order)
    items = [value[key] for key in (order if known else value) if key != _ORDER]
    return items if transforms.are_calls(tuple(items)) else []


def values_of(node: nodes.Node, top: nodes.Node) -> Any:
    """A node of the config `top` as values, with `${...}` resolved in the file, and lists of calls as mappings."""
    if isinstance(node, nodes.MappingNode):
        return Mapped(((key, values_of(each, top)) for key, each in node.entries.items()), node.place, node.at)
    if isinstance(node, nodes.ListNode):
        return _as_mapping(Listed([values_of(each, top) for each in node.items], node.place))
    for _ in range(_MOST):
        text = node.value
        match = _INTERPOLATION.fullmatch(text) if isinstance(text, str) else None
        other = top if match else None
        for key in re.findall(r"[\w-]+", match[1]) if match else ():
            listed = {str(index): each for index, each in enumerate(getattr(other, "items", ()))}
            other = (other.entries if isinstance(other, nodes.MappingNode) else listed).get(key)
        if not isinstance(other, nodes.Scalar):
            break
        node = other
    unresolved = isinstance(node.value, str) and "${" in node.value and not node.value.startswith(_RESOLVERS)
    return (
        UnknownValue(str(node.value), node.place, (), _ELSEWHERE.format(node.place.line)) if unresolved else node.value
    )


def _as_mapping(items: Listed) -> Any:
    """A list `[class, arguments, [children]]` as a mapping; any other list unchanged."""
    match items:
        case [str() as name, dict() as args, *rest] if name[:1].isupper() and len(rest) < 2:
            inside = {"transforms": rest[0]} if rest and isinstance(rest[0], list) and rest[0] else {}
            return Mapped({"name": name, "params": Mapped({**args, **inside}, transforms.place_of(args))}, items.at)
    return items
