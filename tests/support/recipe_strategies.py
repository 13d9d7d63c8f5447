"""Hypothesis strategies: arguments that a class's schema accepts, recipes of them, and documents close to recipes."""

import copy
import pathlib
import string
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from hypothesis import strategies as st

from augrecipes.ops import catalog
from augrecipes.ops.bounds import verdict
from augrecipes.recipe import grammar
from augrecipes.recipe.model import TOP, Arguments, Boxes, Inputs, Keypoints, Normalize, Output, Recipe, Step, label

# Without the classes that only recipes of pairs have.
CLASSES = tuple(name for name in sorted(catalog.shipped()) if name not in ("Degrade", "ResizeToTarget"))


def values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Draw values that a schema accepts."""
    if "anyOf" in schema:
        return st.one_of([values(part) for part in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    kind = kind if isinstance(kind, str) or kind is None else kind[0]
    match kind:
        case "integer":
            return _numbers(schema).map(int).filter(lambda number: accepts(schema, number))
        case "number":
            return _numbers(schema)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "string":
            return st.text(string.ascii_letters + "_- :#'\"\n\té{}", max_size=8)
        case "array" if "prefixItems" in schema:
            pair = st.tuples(*(values(part) for part in schema["prefixItems"])).map(list)
            return pair.map(sorted) if schema.get("x-nondecreasing") else pair
        case "array":
            return st.lists(values(schema.get("items", {})), min_size=schema.get("minItems", 0), max_size=4)
        case "object" if "properties" in schema:
            return st.fixed_dictionaries({key: values(part) for key, part in schema["properties"].items()})
        case "object":
            return st.dictionaries(st.sampled_from(["x", "y", "z"]), values(schema.get("additionalProperties", {})))
    return st.sampled_from([0, 1, 0.5])


def accepts(schema: Mapping[str, Any], number: float) -> bool:
    return (
        number >= schema.get("minimum", number)
        and number <= schema.get("maximum", number)
        and number > schema.get("exclusiveMinimum", number - 1)
        and number < schema.get("exclusiveMaximum", number + 1)
    )


def _numbers(schema: Mapping[str, Any]) -> st.SearchStrategy[float]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is None:
        low = -300 if high is None else high - 300
    high = low + 600 if high is None else high
    spread = st.one_of(
        st.floats(low, high), st.integers(-(-int(low * 1) // 1), int(high)), st.sampled_from([low, high])
    )
    near = st.floats(max(low, -1), min(high, 1)) if low < 1 and high > -1 else spread
    return st.one_of(spread, near).filter(lambda number: low <= number <= high and accepts(schema, number))


def arguments(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Draw the required and some optional arguments of a class, without `p` and `draws`, which depends on `p`."""
    schema = catalog.shipped()[name]
    required = set(schema.get("required", ()))
    own = {key: values(part) for key, part in schema["properties"].items() if key not in ("p", "draws")}
    return st.fixed_dictionaries(
        {key: strategy for key, strategy in own.items() if key in required},
        optional={key: strategy for key, strategy in own.items() if key not in required},
    )


_P = st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0.0, 1.0]))
# Classes whose rules for combined arguments random arguments often meet.
_EASY = (
    "HorizontalFlip",
    "RandomCrop",
    "Rotate",
    "GaussNoise",
    "RandomResizedCrop",
    "CoarseDropout",
    "Downscale",
    "D4",
)


@st.composite
def steps(draw: st.DrawFn, depth: int = 2, names: tuple[str, ...] = _EASY) -> Step:
    """Draw a step of these classes, or a group of them, that the recipe language accepts."""
    if depth and draw(st.integers(0, 4)) == 0:
        children = tuple(draw(st.lists(steps(depth=depth - 1, names=names), min_size=1, max_size=3)))
        name = draw(st.sampled_from(["SomeOf", "Sequential", "RandomOrder"]))
        args = {"n": draw(st.integers(1, len(children)))} if name != "Sequential" and draw(st.booleans()) else {}
        return Step(name, Arguments(args), p=draw(_P), steps=children)
    name = draw(st.sampled_from(names))
    chosen = draw(arguments(name).filter(lambda given: verdict(Step(name, Arguments(given))) is None))
    return Step(name, Arguments(chosen), p=draw(_P))


_NUMBERS = st.floats(0.01, 1).map(lambda number: (number,)) | st.tuples(*[st.floats(0.01, 1)] * 3)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Draw a recipe of kind image that the recipe language accepts."""
    normalize = draw(st.none() | st.builds(Normalize, _NUMBERS, _NUMBERS))
    output = Output(
        layout=draw(st.sampled_from(["chw", "hwc"])),
        normalize=normalize,
        range=(0.0, 1.0) if normalize else draw(st.sampled_from([(0.0, 1.0), (0.0, 255.0), (-1.0, 1.0)])),
        color=draw(st.sampled_from(["rgb", "bgr"])),
        where=draw(st.sampled_from(["host", "device"])),
    )
    sides = st.integers(1, 500)
    labels = st.none() | st.sampled_from(["box_labels", "no", "a b"])
    inputs = Inputs(
        channels=draw(st.none() | st.integers(1, 5)),
        min_size=draw(st.none() | st.tuples(sides, sides)),
        mask=draw(st.sampled_from(["absent", "optional", "required"])),
        boxes=draw(st.none() | st.builds(Boxes, labels=labels, min_area=st.floats(0, 9), clip=st.booleans())),
        keypoints=draw(st.none() | st.builds(Keypoints, format=st.sampled_from(["xy", "yx"]), labels=labels)),
    )
    evaluation = draw(st.none() | st.lists(steps(depth=0), max_size=2).map(tuple))
    return Recipe(
        name=draw(st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=9)),
        about=draw(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]), max_size=30)),
        optimize=draw(st.sampled_from(["none", "exact", "fast"])),
        inputs=inputs,
        steps=label(tuple(draw(st.lists(steps(), max_size=4)))),
        eval=None if evaluation is None else label(evaluation),
        output=output,
    )


Path = tuple[str | int, ...]

# Recipes that together have every key of the language.
WHOLE = list(yaml.safe_load_all(pathlib.Path(__file__).with_name("near_recipes.yaml").read_text(encoding="utf-8")))

VALUES: list[Any] = [
    None, True, False, 0, 1, 2, -1, 3, 0.5, 1.0, 1.5, 64, 70, 1000, "", "x", "1", "no", "lr", "My Name", "derived",
    "imagenet",
    "optional", "none", "D4", [], [0], [0, 1], [0, 255], [3, 9], [64, 64], [64, 64, 64], [0.0, 0.2, 0.5], ["lr", "lr"],
    ["D4"], {}, {"p": 0.5}, {"D4": None}, {"mean": 0.5, "std": 0}, {"mean": [], "std": 1}, {"lr": 1}, {"lr": {}},
]  # fmt: skip
_SECTIONS = (TOP, grammar.INPUTS, grammar.IMAGE, grammar.BOXES, grammar.KEYPOINTS, grammar.OUTPUT, grammar.BAG)
_SECTIONS += (grammar.TTA, grammar.TARGET)
NAMES = sorted(
    {key for section in (*_SECTIONS, *grammar.GROUPS.values(), grammar.DEGRADE) for key in section["properties"]}
    | {"odd", "lr", "hr", "D4", "Crop", "limit", "fill"}
)


def places(value: Any, here: Path = ()) -> Iterator[Path]:
    """Yield the path of every value of a document, from the outside inwards."""
    yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*here, key))


def all_values(document: Any) -> Iterator[Any]:
    """Yield every value of a document, from the outside inwards."""
    return (at(document, path) for path in places(document))


def at(document: Any, path: Path) -> Any:
    """Return the value at a path."""
    for key in path:
        document = document[key]
    return document


def edits(value: Any) -> list[Any]:
    """Return replacements of a value; `...` deletes it."""
    found = [..., *VALUES, [value], str(value), {"odd": value}]
    if isinstance(value, int | float):
        found += [-value, value + 0.5, float(value), value * 1000]
    if isinstance(value, list):
        found += [value[::-1], value[:-1], [*value, *value[:1]]]
    if isinstance(value, dict):
        found += [{key: part for key, part in value.items() if key != gone} for gone in value]
        found += [{**value, name: new} for name in NAMES if name not in value for new in (None, 1, "x", {})]
        found += [{f"{key}s" if key == old else key: part for key, part in value.items()} for old in value]
    return found


def edited(document: Any, path: Path, value: Any) -> Any:
    """Return the document with the value at a path replaced."""
    if not path:
        return {} if value is ... else value
    fresh = copy.deepcopy(document)
    parent = at(fresh, path[:-1])
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return fresh
