"""The JSON Schema of recipes, made of the installed albumentations: `python tests/recipe_schema.py` writes its file.

A step is one `properties` map of names, not an alternative of over a hundred schemas: editors then complete names and
say exactly which argument is wrong. Of a class the schema says what its InitSchema, its constructor's defaults and its
docstring do. pydantic's own `model_json_schema` knows neither defaults (albumentations keeps them in the constructor)
nor the ranges (they hide in validator functions), so the annotations are read here.

Keywords of our own, ignored by other readers:
    x-nondecreasing: the first item of a pair may not exceed the second.
    x-range: the range that one number stands for, where it is not that number alone (see `ranges`).
    x-python: arguments that take Python objects, which no recipe can write.
"""

import inspect
import json
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from augrecipes.compat.guard import VERSION, albumentations, constructor_of, is_validated
from augrecipes.compat.guard import fields as fields_of
from augrecipes.ops import catalog, groups
from augrecipes.ops.constants import BORDER, INTERPOLATION, TABLES, to_name
from augrecipes.ops.records import op_record, own_names
from augrecipes.ops.refused import REFUSED
from augrecipes.ops.registry import get_class
from augrecipes.recipe import grammar, sections
from augrecipes.recipe.model import TOP

FILE = Path(catalog.__file__).parent.parent / "schema" / catalog.FILE
Schema = dict[str, Any]

_SIMPLE: dict[Any, Schema] = {
    bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": "number"}, str: {"type": "string"},
    None: {"type": "null"}, types.NoneType: {"type": "null"}, Any: {},
}  # fmt: skip
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
# Validators of albumentations.core.pydantic that turn a number into a pair, and what that says of the number.
_PAIR_MAKERS = {
    "create_symmetric_range": "symmetric",
    "convert_to_0plus_range": "from_zero",
    "convert_to_1plus_range": "from_one",
    "process_non_negative_range": "from_zero",
}
# Where a sentence ends: not behind "i.e." and "e.g.", nor between parentheses.
_SENTENCE_END = re.compile(r'(?<=[a-z)\]"])(?<!\bi\.e)(?<!\be\.g)\.\s|\s-\s')


class _NotForRecipes(Exception):  # noqa: N818 - control flow, never seen outside
    """An annotation that no YAML value can satisfy."""


def class_schema(cls: type) -> Schema:
    """The arguments of `cls` as a JSON Schema object; `p` comes first.

    A class without an InitSchema is described by its constructor: names and defaults, types where they are annotated
    with plain types.

    """
    parameters = {
        name: parameter
        for name, parameter in list(inspect.signature(constructor_of(cls)).parameters.items())[1:]
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) and name != "strict"
    }
    validated = is_validated(cls)
    fields = fields_of(cls)
    about, texts = _docstring(cls)
    properties: dict[str, Schema] = {}
    python: list[str] = []
    for name, parameter in parameters.items():
        if validated and name not in fields:
            continue  # dropped by the schema before the constructor sees it: accepting it would be silent
        annotation, metadata = fields.get(name) or (_plain_annotation(parameter), ())
        try:
            schema = _convert(annotation, metadata)
        except _NotForRecipes:
            python.append(name)
            continue
        schema = _named_constants(name, schema)
        if parameter.default is not parameter.empty:
            schema["default"] = to_name(name, _json(parameter.default))
        if name in texts:
            schema["description"] = texts[name]
        properties[name] = schema
    required = [name for name in properties if parameters[name].default is inspect.Parameter.empty]
    if (period := op_record(cls.__name__).draw_period) > 1:
        about_draws = f"alternate: each of {period} outcomes once in {period} epochs, from a drawn one on"
        properties["draws"] = {"enum": ["independent", "alternate"], "description": about_draws}
    properties = {name: properties[name] for name in sorted(properties, key=lambda name: name != "p")}
    schema = {"type": "object", "description": about, "properties": properties, "additionalProperties": False}
    for key, value in (("required", required), ("x-python", python)):
        if value:
            schema[key] = value
    return schema


def _plain_annotation(parameter: inspect.Parameter) -> Any:
    """The annotation of a constructor without InitSchema, as far as it is a plain type; `p` is always a number."""
    if parameter.name == "p":
        return float
    return next((kind for kind in (int, float, bool, str) if parameter.annotation in (kind, kind.__name__)), Any)


def _convert(annotation: Any, metadata: Iterable[Any] = ()) -> Schema:
    """Schema of an annotation with its validators, as far as a schema says what they say: see `checks` for the rest."""
    schema = _type(annotation)
    for item in metadata:
        for part in getattr(item, "metadata", (item,)):  # of pydantic's Field, inside of a union
            _apply(schema, part)
    return schema


def _type(annotation: Any) -> Schema:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _convert(arguments[0], arguments[1:])
    if origin in (Union, types.UnionType):
        return {"anyOf": [_type(part) for part in arguments]}
    if origin is Literal:
        return {"enum": [_json(value) for value in arguments]}
    if (origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis) or origin in (list, Sequence):
        return {"type": "array", "items": _type(arguments[0])}
    if origin is tuple:
        parts = [_type(part) for part in arguments]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    if origin is dict:
        values = _type(arguments[1])
        names = get_args(arguments[0]) if get_origin(arguments[0]) is Literal else ()
        if names:  # pydantic accepts some of the keys, the transforms need all
            properties = {str(name): dict(values) for name in sorted(names)}
            return {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            }
        return {"type": "object", "additionalProperties": values}
    if annotation in _SIMPLE:
        return dict(_SIMPLE[annotation])
    raise _NotForRecipes


def _apply(schema: Schema, validator: Any) -> None:
    """Write what `validator` demands into `schema`, as far as that can be said there."""
    bounds = {keyword: getattr(validator, name) for name, keyword in _BOUNDS.items() if hasattr(validator, name)}
    if bounds:
        _bound(schema, bounds, scalars=True)
        return
    if hasattr(validator, "min_length"):
        if schema.get("type") == "array":
            schema["minItems"] = validator.min_length
        schema.pop("required", None)  # of a mapping: so many keys, whichever
        return
    function: Any = getattr(validator, "func", None)
    name = getattr(function, "__name__", "")
    if getattr(function, "__qualname__", "").startswith("check_range_bounds."):
        _bound(schema, closure_bounds(function), scalars=False)
    elif name == "process_non_negative_range":
        _bound(schema, {"minimum": 0}, scalars=True)
    elif name == "nondecreasing":
        _mark_pairs(schema)
    if name in _PAIR_MAKERS:
        schema["x-range"] = _PAIR_MAKERS[name]


def _bound(schema: Schema, bounds: Mapping[str, Any], *, scalars: bool) -> None:
    """Bound every number inside `schema`; a bare number only with `scalars`."""
    for part in schema.get("anyOf", ()):
        # A bare number that becomes a pair obeys the pair's bounds, on both sides of zero or from 0 or 1 on.
        _bound(part, bounds, scalars=True)
    for part in (*schema.get("prefixItems", ()), *([schema["items"]] if "items" in schema else ())):
        _bound(part, bounds, scalars=True)
    if schema.get("type") in ("integer", "number") and (scalars or "anyOf" not in schema):
        schema.update(bounds)


def _mark_pairs(schema: Schema) -> None:
    for part in schema.get("anyOf", ()):
        _mark_pairs(part)
    if schema.get("type") == "array":
        schema["x-nondecreasing"] = True


def _named_constants(name: str, schema: Schema) -> Schema:
    """Interpolations and borders by name, in our order; integers stay allowed (a lint speaks of them)."""
    table = TABLES.get(name)
    if table is None:
        return schema
    if schema.get("type") == "object":
        parts = {key: _named_constants(name, part) for key, part in schema["properties"].items()}
        return {**schema, "properties": parts}
    numbers = schema.get("enum", [])
    order = BORDER if table is BORDER else INTERPOLATION
    return {"enum": [label for label, number in order.items() if number in numbers] + sorted(numbers)}


def _docstring(cls: type) -> tuple[str, dict[str, str]]:
    """First sentence of the docstring, and one of each argument; of what it leaves out its bases' words, or ours."""
    texts = {"p": ["Probability of applying the transform"], "border_mode": ["What lies outside of the image"]}
    for base in reversed(cls.__mro__):
        match = re.search(r"^Args:\n(.*?)(?=^\S|\Z)", inspect.cleandoc(base.__doc__ or ""), re.MULTILINE | re.DOTALL)
        lines = match[1].splitlines() if match else []
        width = next((len(line) - len(line.lstrip()) for line in lines if line.strip()), 0)
        name = ""
        for line in lines:
            head = re.match(rf"^ {{{width}}}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)$", line)
            if head:
                name = head[1]
                texts[name] = [head[2]]
            elif name:
                texts[name].append(line.strip())
    sentences = {name: _sentence("\n".join(parts)) for name, parts in texts.items()}
    return _sentence(inspect.getdoc(cls) or ""), {name: text for name, text in sentences.items() if text}


def _sentence(text: str) -> str:
    paragraph = " ".join(re.sub("[`*]", "", text).strip().split("\n\n")[0].split())
    ends = [match.start() for match in _SENTENCE_END.finditer(paragraph)]
    whole = (paragraph[:end] for end in ends if paragraph.count("(", 0, end) == paragraph.count(")", 0, end))
    return next(whole, paragraph).strip().rstrip(".:")


def _json(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    return value


def closure_bounds(check_range: Callable[..., Any]) -> dict[str, Any]:
    """The bounds, as keywords of JSON Schema, that a function of albumentations' `check_range_bounds` has kept."""
    closure, bounds = inspect.getclosurevars(check_range).nonlocals, {}
    for end, word in (("min", "Minimum"), ("max", "Maximum")):
        if closure.get(f"{end}_val") is not None:
            keyword = word.lower() if closure.get(f"{end}_inclusive", True) else f"exclusive{word}"
            bounds[keyword] = closure[f"{end}_val"]
    return bounds


_EVERY: Schema = {key: {"$ref": f"#/$defs/{key}"} for key in grammar.STEP_KEYS}  # the keys of every step


def document() -> Schema:
    """The schema as a fresh dict."""
    classes = {name: _step(class_schema(cls)) for name, cls in _classes().items()}
    named = {name: grammar.ramped(schema) for name, schema in (grammar.GROUPS | grammar.POLICIES).items()}
    steps = dict(sorted({**named, groups.DEGRADE: grammar.DEGRADE, **classes}.items()))
    bare = [name for name, schema in steps.items() if not schema.get("required")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "augrecipes recipe, version 1",
        "description": f"Steps are those of albumentations {VERSION} and of augrecipes.",
        **TOP,
        "required": ["version"],
        # A variant has them from what it extends.
        "if": {"required": ["extends"]},
        "else": {
            "required": ["recipe"],
            "properties": {"set": False, "without": False},
            "if": {"properties": {"kind": {"const": "views"}}, "required": ["kind"]},
            "then": {"required": ["views"], "properties": {"steps": False}},
            "else": {"required": ["steps"]},
        },
        "$defs": {
            "step": {"anyOf": [{"enum": bare}, {"$ref": "#/$defs/stepMapping"}, {"$ref": "#/$defs/scheduledStep"}]},
            "stepMapping": grammar.mapping(steps, minProperties=1, maxProperties=1),
            "scheduledStep": {
                "description": "A step with numbers that change from epoch to epoch.",
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "propertyNames": {"enum": [*classes]},
                "additionalProperties": {
                    "allOf": [
                        {"$ref": "#/$defs/scheduled"},
                        {"type": "object", "properties": {**_EVERY, "steps": False}},
                    ]
                },
            },
            "scheduled": grammar.SCHEDULED,
            "ramp": grammar.RAMP,
            "by_epoch": grammar.BY_EPOCH,
            "batchStep": sections.schema(),
            "image": grammar.IMAGE,
            "pairImage": grammar.PAIR_IMAGE,
            "sceneTarget": grammar.TARGET,
            "output": grammar.OUTPUT,
            **grammar.STEP_KEYS,
        },
    }


def text() -> str:
    """The schema as the bytes of the shipped file: UTF-8, two spaces, a final newline."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def _classes() -> dict[str, type]:
    """Every class of albumentations that can be a step, and our own."""
    module = albumentations()
    classes = {name: cls for name, cls in vars(module).items() if inspect.isclass(cls) and name not in REFUSED}
    theirs = {name: cls for name, cls in classes.items() if issubclass(cls, module.BasicTransform)}
    return {**theirs, **{name: get_class(name) for name in own_names()}}


def _step(schema: Schema) -> Schema:
    """A class's arguments with the keys of every step; nothing at all where all arguments have defaults."""
    kinds: Any = "object" if schema.get("required") else ["object", "null"]
    return {**schema, "type": kinds, "properties": {**schema["properties"], **_EVERY}}


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
