"""Conversion of created objects in Python source, and of mappings in configs, to calls, with their unknown parts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.interop import budget, torchvision
from augrecipes.interop.draft import FOREIGN, POSITIONAL, Call, LeftOut, argument_schemas
from augrecipes.interop.source import values
from augrecipes.ops import outputs, refused, registry
from augrecipes.ops.groups import COMPOSE, GROUPS, ONE_OF, SEQUENTIAL, SOME_OF
from augrecipes.recipe import limits
from augrecipes.recipe.history import PLACES
from augrecipes.recipe.nodes import NOWHERE, Place, short
from augrecipes.recipe.write import flow

COMPOSES = (COMPOSE, "ReplayCompose")
CONTAINERS = (*COMPOSES, *GROUPS, "RandomApply", "RandomChoice", "PerChannel", "SelectiveChannelTransform")
_DEEPEST = 24
_FROM_DATASET = ("num_classes", "labels_getter")  # arguments that the dataset supplies
_LONGEST = 400  # characters of a line to fill in
NOT_IN_FILE = "the file does not tell"
_CONFIGS = FOREIGN["configs"]
# For each key that names a class: the keys that hold its arguments; without these, arguments stand beside the name.
_FORMS: dict[str, list[str]] = _CONFIGS["forms"]


def are_calls(items: Any) -> bool:
    """Whether all items are calls; in a list, some may be unresolved `${...}`."""
    each = [item for item in items if not (isinstance(items, list) and isinstance(item, values.UnknownValue))]
    return bool(each) and all(map(form_of, each))


def form_of(value: Any) -> str:
    """The key by which a value names a class; empty if it names none."""
    return next((key for key in _FORMS if _class(value, key)), "") if isinstance(value, Mapping) else ""


def _class(mapping: Mapping[Any, Any], key: str) -> str:
    """The class at a key, from text or a Python name; or empty."""
    name = mapping.get(key)
    name = name.last if isinstance(name, values.OutsideName) and name.bound else name
    return name if isinstance(name, str) else ""


def place_of(value: Any) -> Place:
    """The place of a list or mapping of a config."""
    return getattr(value, "at", NOWHERE)


def call_of(value: Any, missing: list[LeftOut] | None = None) -> Call:
    """The call of a created object, or of a mapping that names a class; `unread` says why arguments are unknown.

    Unknown arguments of a Compose are added to `missing`, and the others kept.
    """
    if isinstance(value, values.UnknownValue):
        return Call(value.text, place=value.at, unread=_unknown_message([value]))
    return _call_of_created(value, missing, 0) if isinstance(value, values.Created) else _call_of_mapping(value)


def _call_of_mapping(value: Mapping[str, Any]) -> Call:
    form = form_of(value)
    full = _class(value, form).removeprefix("$")
    for prefix in _CONFIGS["registries"] if form == "type" else ():
        full = full.removeprefix(prefix)
    package, _, name = full.rpartition(".")
    children, given = None, {}
    for key, item in _arguments(value, form):
        if key in _CONFIGS["children"] and isinstance(item, list | tuple) and are_calls(item):
            children = tuple(map(call_of, item))
        else:
            given["p" if key in _CONFIGS["chances"] and form != "type" else key] = item
    return _call(Call(name, given, children, place_of(value), _CONFIGS["aliases"].get(package, package)), config=True)


def _arguments(value: Mapping[str, Any], form: str) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if key in _FORMS.get(form, ()) and isinstance(item, Mapping):
            yield from item.items()
        elif key != form and key not in _CONFIGS["settings"] and not (key in _FORMS.get(form, ()) and item is None):
            yield str(key), item


def _call_of_created(created: values.Created, missing: list[LeftOut] | None, depth: int) -> Call:
    package, _, name = created.path.rpartition(".")
    package = "albumentations" if package.startswith("albumentations") else package
    args, named, children = list(created.args), dict(created.named), None
    if name in CONTAINERS:
        inner = named.pop("transforms") if "transforms" in named else args.pop(0) if args else ()
        children = children_of(inner, created.at, missing, depth + 1)
    given = ({POSITIONAL: args} if args else {}) | named | ({} if created.extra is None else {"**": created.extra})
    call = Call(name, given, children, created.at, package)
    if name not in COMPOSES:
        return _call(call)
    order = PLACES[COMPOSE].split()
    if package in ("", "albumentations") and len(args) <= len(order):
        call = call.by_name(order)
    if any(child.package == "albumentations" for child in children or ()):
        package = "albumentations"  # of whatever package the Compose is
    known = _known_arguments(call.args, "", created.at, [] if missing is None else missing)
    return replace(call, name=COMPOSE, package=package, args=known)


def _known_arguments(given: Mapping[str, Any], prefix: str, place: Place, missing: list[LeftOut]) -> dict[str, Any]:
    """The known arguments of a Compose; unknown ones are added to `missing`."""
    result: dict[str, Any] = {}
    for key, value in given.items():
        plain = Plain()
        if isinstance(value, dict) and not prefix:
            result[key] = _known_arguments(value, f"{key}.", place, missing)
            continue
        result[key] = plain.of(value)
        if plain.unknown:
            where = plain.unknown[0].at if plain.unknown[0].at.line else place
            missing.append(LeftOut(f"{prefix}{key}", _unknown_message(plain.unknown), where))
            del result[key]
    return result


def _call(call: Call, *, config: bool = False) -> Call:
    """A call with plain arguments; if some are unknown, `unread` names them, for source with a line to fill in."""
    budget.spend(20)
    plain = Plain(config=config)
    known = {key: value for key, value in call.args.items() if key not in _FROM_DATASET or isinstance(value, int | str)}
    args = {key: plain.of(value) for key, value in known.items()}
    if not plain.unknown:
        return replace(call, args=args)
    why = _unknown_message(plain.unknown)
    if not config and not any(each.why for each in plain.unknown):
        if POSITIONAL in args:
            of_torchvision = call.package.startswith("torchvision")
            theirs = torchvision.PARAMETERS.get(call.name, ()) if of_torchvision else argument_schemas(call.name)
            takes = [key for key in theirs if key not in ("p", "transforms")] or PLACES.get(call.name, "").split()
            args = dict(zip(takes, args.pop(POSITIONAL), strict=False)) | args
        ((name, body),) = _step_form(replace(call, args=args)).items()
        line = f"{name}: {flow(body)}".replace('"${', "${").replace('}"', "}").replace('\\"', '"')
        why = f"fill in `{short(line, _LONGEST)}`: {why}"
    return replace(call, args={}, unread=why)


def _step_form(call: Call) -> dict[str, Any]:
    """A call in the form of a recipe's step."""
    steps = {} if call.children is None else {"steps": [_step_form(child) for child in call.children]}
    return {call.name: call.args | steps}


def children_of(inner: Any, place: Place, missing: list[LeftOut] | None = None, depth: int = 0) -> tuple[Call, ...]:
    """The transforms of a group at a place."""
    items = [*inner.values()] if isinstance(inner, dict) else inner if isinstance(inner, list | tuple) else [inner]
    return tuple(child for item in items for child in _child(item, place, missing, depth)) if depth < _DEEPEST else ()


def _child(item: Any, place: Place, missing: list[LeftOut] | None, depth: int) -> Iterator[Call]:
    budget.spend(20)
    why, name = "is no transform", "dict" if isinstance(item, dict) else type(item).__name__
    match item:
        case None:
            return
        case values.Created():
            yield _call_of_created(item, missing, depth)
            return
        case list() | tuple():
            yield from children_of(item, place, missing, depth + 1)
            return
        case values.Class(name=name, is_object=True):
            why = f"is a class of this file: {refused.OWN_CODE}"
        case values.Function(name=name):
            why = f"is code, and a recipe holds none: {refused.OWN_CODE}"
        case values.UnknownValue(text=name):
            why = _unknown_message([item])
        case values.OutsideName():
            name, why = item.last, "is no transform, but a name"
    yield Call(name, {}, None, getattr(item, "at", place), "", why)


class Plain:
    """Converts values to plain data, with lists for tuples and a limit on their number; collects unknown values.

    In configs a Python name becomes its text, and an object built from one value, such as an enum's, that value.
    """

    def __init__(self, *, config: bool = False) -> None:
        self.config, self.left = config, limits.MAX_NODES
        self.unknown: list[values.UnknownValue] = []

    def of(self, value: Any, depth: int = 0) -> Any:
        """A value as plain data; `${...}` stands for unknown parts, which are collected."""
        self.left -= 1
        budget.spend()
        match value:
            case None | bool() | int() | float() | str():
                return value
            case _ if self.left < 0 or depth > limits.MAX_DEPTH:
                lacking = values.UnknownValue("...", why="is too large: write the value")
            case values.OutsideName(bound=True) if self.config:
                return value.last
            case list() | tuple():
                return [self.of(item, depth + 1) for item in value]
            case Mapping():
                inside = value.get(POSITIONAL, [*value.values()][1:]) if self.config and form_of(value) else ()
                if isinstance(inside, list) and len(inside) == 1:
                    return self.of(inside[0], depth + 1)
                return {key: self.of(item, depth + 1) for key, item in value.items()}
            case values.UnknownValue():
                lacking = value
            case values.OutsideName(path=path):
                lacking = values.UnknownValue(path, NOWHERE, (path,))
            case values.Created(path=path, at=at):
                lacking = values.UnknownValue(f"{path}(...)", at)
            case _:
                lacking = values.UnknownValue(getattr(value, "name", "an object"))
        self.unknown += [lacking] if self.left >= 0 or not self.unknown else []
        return lacking.text if lacking.text.startswith("${") else f"${{{lacking.text}}}"


def _unknown_message(unknown: Sequence[values.UnknownValue]) -> str:
    """The message on unknown values, and the cure."""
    texts = ", ".join(f"`{each}`" for each in dict.fromkeys(short(each.text, 80) for each in unknown[:4]))
    roots = list(dict.fromkeys(root for each in unknown for root in each.roots))[:4]
    if why := next((each.why for each in unknown if each.why), ""):
        return f"{texts} {why}"
    return f"{NOT_IN_FILE} {texts}{setting_of(roots) or '; write it'}"


def setting_of(roots: Sequence[str]) -> str:
    """The cure for unknown names: the `--set` options that give them."""
    return f"; give it: {' '.join(f'--set {root}=VALUE' for root in roots)}" if roots else ""


# RF-DETR's `aug_config`: albumentations' classes by name, each with its arguments; groups have nested lists.

AUG_CONFIG, RFDETR = "aug_config", "rfdetr"
RFDETR_NOTE = "RF-DETR resizes in front of this: put `Resize: {height: R, width: R}` of its `resolution` first."
_NESTING, _INSIDE = (ONE_OF, SOME_OF, SEQUENTIAL), "transforms"
_BOXES = {"format": "pascal_voc", "label_fields": ["box_labels"], "clip": True}


def is_aug_config(path: Sequence[str], value: Any) -> bool:
    """Whether a value is an `aug_config`: by its name, or because it only maps known classes to arguments."""
    entries = value if isinstance(value, list) else [value]
    if not entries or not all(isinstance(each, Mapping) and each for each in entries):
        return False
    pairs = [pair for each in entries for pair in each.items()]
    known = (isinstance(name, str) and (name in _NESTING or registry.arguments(name)) for name, _ in pairs)
    is_named = "".join(path[-1:]).lower() == AUG_CONFIG
    return is_named or (all(known) and all(isinstance(args, Mapping | list) for _, args in pairs))


def aug_config_compose(value: Any) -> Call:
    """An `aug_config` as a Compose, with RF-DETR's box parameters and its final normalisation."""
    place = place_of(value)
    after = (Call(name, place=place) for name in (outputs.NORMALIZE, outputs.TO_TENSOR))
    return Call(COMPOSE, {"bbox_params": _BOXES}, (*map(call_of, _mappings(value, place)), *after), place, RFDETR)


def _mappings(value: Any, place: Place) -> Iterator[values.Mapped]:
    """Yield each entry as a mapping that names its class, as in other configs."""
    for entry in [value] if isinstance(value, Mapping) else value:
        for name, args in entry.items() if isinstance(entry, Mapping) else [(entry, {})]:
            at = getattr(entry, "keys_at", {}).get(name, place)
            given = {_INSIDE: args} if isinstance(args, list) else args
            if name in _NESTING and isinstance(given, Mapping):
                given = {"p": 1.0, **given, _INSIDE: [*_mappings(given.get(_INSIDE) or [], at)]}
            yield values.Mapped({"name": str(name), "params": given}, at)
