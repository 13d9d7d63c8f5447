"""Conversion of albumentations' objects, and of files and dicts from `A.save` and `A.to_dict`."""

from collections.abc import Iterator, Mapping
from typing import Any

from augrecipes.compat.guard import albumentations
from augrecipes.interop.albumentations import resolved_arguments, saved_arguments
from augrecipes.interop.compose import convert
from augrecipes.interop.draft import Call, Line, RecipeDraft, argument_schemas, name_of, wrong
from augrecipes.interop.reading import Document
from augrecipes.ops import groups, outputs, registry
from augrecipes.recipe import history, nodes, variants

_CHILDREN = "transforms"
# Arguments that albumentations' groups keep as attributes.
_OF_GROUPS = ("p", "n", "replace")
_OF_COMPOSE = ("p", "is_check_shapes", "strict", "seed", "additional_targets")


def is_object(document: Document) -> bool:
    """Whether the document is an object of albumentations, or a list of them."""
    if document.value is None:
        return False
    A = albumentations()  # noqa: N806 - the usual name
    values = _as_list(document.value)
    return bool(values) and all(isinstance(each, A.BaseCompose | A.BasicTransform) for each in values)


def is_saved(document: Document) -> bool:
    """Whether the document was written by `A.save`."""
    return isinstance(document.top, nodes.MappingNode) and variants.pipeline_of(document.top) is not None


def draft_of_object(document: Document) -> RecipeDraft:
    """The draft of a recipe from an object."""
    value, place = document.value, document.place
    draft = RecipeDraft(name_of(document.file), f"a {type(value).__name__} in Python", place)
    calls = tuple(_call_of_object(each, document) for each in _as_list(value))
    convert(draft, Call(groups.COMPOSE, {}, calls, place) if isinstance(value, list | tuple) else calls[0])
    for name in ignored(value):
        why = "albumentations 2.0.8 has no such argument and leaves it out: import the file by `FILE.py` alone, "
        draft.refuse(name, f"{why}which reads it, or write the step", place)
    return _drop_idle(draft)


def draft_of_saved(document: Document) -> RecipeDraft:
    """The draft of a recipe from a saved pipeline."""
    top = document.top if isinstance(document.top, nodes.MappingNode) else nodes.MappingNode({}, document.place)
    version = top.entries.get("__version__")
    release = f" {version.value}" if isinstance(version, nodes.Scalar) and version.value is not None else ""
    draft = RecipeDraft(name_of(document.file), f"a pipeline that albumentations{release} saved", document.place)
    convert(draft, _call_of_saved(variants.pipeline_of(top) or top))
    return _drop_idle(draft)


def _call_of_saved(node: nodes.Node) -> Call:
    """The call of a saved transform."""
    said = node.entries.get(variants.CLASS) if isinstance(node, nodes.MappingNode) else None
    if not isinstance(node, nodes.MappingNode) or not isinstance(said, nodes.Scalar) or not isinstance(said.value, str):
        raise wrong(f"must be a saved transform with {variants.CLASS}, got {nodes.describe(node)}", node.place, "")
    package, _, name = said.value.rpartition(".")
    inside = node.entries.get(_CHILDREN)
    children = tuple(map(_call_of_saved, inside.items)) if isinstance(inside, nodes.ListNode) else None
    args = {key: nodes.plain(value) for key, value in node.entries.items() if key not in (variants.CLASS, _CHILDREN)}
    return Call(name, args, children, node.place, package)


def _call_of_object(owner: Any, document: Document) -> Call:
    """The call of an object, with its children."""
    cls, A = type(owner), albumentations()  # noqa: N806
    name, args = cls.__name__, dict[str, Any]()
    keys: tuple[str, ...] = _OF_GROUPS
    if cls in (A.Compose, A.ReplayCompose):
        name, keys = groups.COMPOSE, _OF_COMPOSE
        for key, targets in (("bbox_params", "bboxes"), ("keypoint_params", "keypoints")):
            if (processor := owner.processors.get(targets)) is not None:
                args[key] = {key: value for key, value in vars(processor.params).items() if not key.startswith("_")}
    elif name not in groups.GROUPS or cls is not getattr(A, name):
        saved, takes = saved_arguments(owner) if is_known(cls) else {}, argument_schemas(name)
        args = {key: argument_of(name, key, value, saved) if key in takes else value for key, value in saved.items()}
        return Call(name, args, None, document.place, cls.__module__)
    args |= {key: value for key in keys if (value := getattr(owner, key, None)) is not None}
    children = tuple(_call_of_object(each, document) for each in owner.transforms)
    return Call(name, args, children, document.place, "albumentations")


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def ignored(value: Any) -> Iterator[str]:
    """Yield arguments that transforms in an object ignored as unknown: `GaussNoise.var_limit`."""
    for each in _as_list(value):
        # A.save also writes arguments of parent classes; when loaded they are unknown, but nothing is lost.
        if unknown := {*(getattr(each, "invalid_args", None) or ())}:
            yield from (f"{type(each).__name__}.{key}" for key in sorted(unknown - saved_arguments(each).keys()))
        yield from ignored(getattr(each, "transforms", None) or ())


def is_known(cls: type) -> bool:
    """Whether the class is that of the recipe's step or output of this name, and not another of the same name."""
    name = cls.__name__
    if name in outputs.OUTPUTS:
        return cls is getattr(albumentations(), name, None)
    try:
        both = registry.get_class(name), getattr(albumentations(), name, None)  # ours may be more than theirs
        return registry.arguments(name) is not None and cls in both
    except KeyError:
        return False


# A saved pipeline lists every argument, also defaults, and those that a class passes to its parents, in a form that the
# class itself does not always accept.


def _drop_idle(draft: RecipeDraft) -> RecipeDraft:
    """The draft without arguments that have no effect."""
    for line in draft.lines():
        if line.steps is None:
            _shorten(line)
    return draft


def _shorten(line: Line) -> None:
    """Remove arguments that have no effect: a class's own defaults, and those that follow from others."""
    schema = registry.arguments(line.name) or {"properties": {}}
    takes = schema["properties"]
    given = {key: argument_of(line.name, key, value, line.args) for key, value in line.args.items()}
    known = {key: value for key, value in given.items() if key in takes}
    whole = resolved_arguments(registry.plain, line.name, known)
    if whole is None:
        return  # the draft's check reports it

    def same(args: Mapping[str, Any]) -> bool:
        return resolved_arguments(registry.plain, line.name, args) == whole

    for key in [key for key in known if key not in schema.get("required", ())]:
        fewer = {other: value for other, value in known.items() if other != key}
        known = fewer if same(fewer) else known
    for key, value in tuple(known.items()):
        shorter = key[:-2]  # one argument for two axes of equal values
        if shorter in takes and key.endswith("_x") and known.get(f"{shorter}_y") == value:
            fewer = {other: known[other] for other in known if other not in (key, f"{shorter}_y")}
            ways = [{**fewer, shorter: written} for written in (*_as_written(value), value)]
        else:
            ways = [{**known, key: written} for written in _as_written(value)] if key in known else []
        known = next(filter(same, ways), known)
    others = {key: value for key, value in given.items() if key not in takes and whole.get(key, ...) != line.args[key]}
    line.args = history.in_order(line.name, known | others)


def argument_of(name: str, key: str, value: Any, args: Mapping[str, Any]) -> Any:
    """A saved value in a form that the class accepts.

    Ranges of a negative number are saved with the larger end first (as other pairs may be, too), and mappings repeat
    other arguments.
    """
    match value:
        case [int() | float() as low, int() | float() as high] if low == -high > high:
            return value if (resolved_arguments(registry.plain, name, {key: value}) or {}).get(key) == value else high
        case Mapping():
            return {key: item for key, item in value.items() if args.get(key, ...) != item}
    return value


def _as_written(value: Any) -> Iterator[Any]:
    """Yield shorter forms of a value: round numbers, one number for a symmetric range, one value for both axes.

    >>> list(_as_written([-0.050000000000000044, 0.050000000000000044])), list(_as_written([-15.0, 15.0]))
    ([0.05, [-0.05, 0.05]], [15, [-15, 15]])
    """
    match value:
        case {"x": x, "y": y} if x == y and len(value) == 2:
            yield from _as_written(x)
        case [int() | float(), int() | float()]:
            low, high = (float(f"{end:.12g}") if isinstance(end, float) else end for end in value)
            whole = float(low).is_integer() and float(high).is_integer()
            if whole and (max(-low, high) > 1 or isinstance(value[1], int)):
                low, high = int(low), int(high)
            if low in (0, 1, -high, high):
                yield high
            elif low + high == 2:
                yield round(high - 1, 12)
            yield [low, high]
