"""What the page knows of steps, data and the gallery before anything is drawn."""

from __future__ import annotations

import inspect
import math
from functools import cache
from typing import Any

from augrecipes.errors import AugrecipesError, RecipeError, harmless
from augrecipes.ops import groups, registry
from augrecipes.recipe import gallery
from augrecipes.recipe.grammar import DEGRADE, GROUPS, STEP_KEYS, TOP
from augrecipes.studio.studio import Studio
from augrecipes.studio.view import name_of

NAMES = 1_000  # samples whose names are listed
Schema = dict[str, Any]


def schema() -> dict[str, Any]:
    """Every step with its arguments, for completion, hover and sliders; and the keys of a recipe."""
    steps = {name: dict(found) for name, found in GROUPS.items()}
    steps[groups.DEGRADE] = dict(DEGRADE)
    for name in registry.names():
        steps[name] = dict(registry.arguments(name) or {"properties": {}})
    return {
        "steps": {name: _step(name, found) for name, found in sorted(steps.items())},
        "step_keys": {name: argument_of(name, dict(found)) for name, found in STEP_KEYS.items()},
        "top": {name: argument_of(name, dict(found)) for name, found in TOP["properties"].items()},
    }


def _step(name: str, found: Schema) -> dict[str, Any]:
    properties = {key: part for key, part in found["properties"].items() if key not in STEP_KEYS and key != "steps"}
    first_line = str(found.get("description", ""))
    return {
        "first_line": first_line,
        "doc": docstring(name) or first_line,
        "group": bool(found.get("x-group")) or name == groups.DEGRADE,
        "arguments": {key: argument_of(key, part) for key, part in properties.items()},
    }


@cache
def docstring(name: str) -> str:
    """A class's docstring; empty where it has none, or cannot be imported."""
    try:
        cls = registry.get_class(name)
    except (KeyError, registry.BrokenPlugin):
        return ""
    return inspect.getdoc(cls) or ""


def argument_of(name: str, part: Schema) -> dict[str, Any]:
    """An argument's control and documentation, from its JSON Schema.

    `type` is `number`, `integer`, `boolean`, `choice`, `range` (two numbers, of which one may be enough), `list`,
    `text` or `any`; `min`, `max` and `step` are of a slider.

    >>> found = argument_of("p", {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5})
    >>> found["type"], found["min"], found["max"], found["step"]
    ('number', 0, 1, 0.01)
    """
    about = {"default": part.get("default"), "doc": str(part.get("description", ""))}
    either = part.get("anyOf", [part])
    pairs = [one for one in either if len(one.get("prefixItems", ())) == 2]
    alone = [one for one in either if one.get("type") in ("number", "integer")]
    if pairs or alone:
        ends = pairs[0]["prefixItems"] if pairs else alone[:1]
        whole = all(one.get("type") == "integer" for one in ends)
        least, most = _bounds(ends, part.get("default"), whole=whole)
        kind = "range" if pairs else "integer" if whole else "number"
        width = most - least
        step = 1.0 if whole else 10.0 ** math.floor(math.log10(width / 50)) if width > 0 else 0.01
        both = {"two_ended": bool(pairs), "one_number": bool(pairs and alone), "whole": whole}
        return {"type": kind, "min": least, "max": most, "step": step, **both, **about}
    if (choices := next((one["enum"] for one in either if "enum" in one), None)) is not None:
        # Constants have names; their numbers are for those who come from OpenCV.
        named = [one for one in choices if not isinstance(one, int) or isinstance(one, bool)]
        return {"type": "choice", "choices": named or list(choices), **about}
    types = [one.get("type") for one in either]
    known = (("boolean", "boolean"), ("array", "list"), ("string", "text"))
    return {"type": next((shown for kind, shown in known if kind in types), "any"), **about}


def _bounds(ends: list[Schema], default: Any, *, whole: bool) -> tuple[float, float]:
    """The schema's bounds; where it has none, a round number around the default."""

    def bound(one: Schema, end: str, inside: int) -> float | None:
        exclusive = one.get(f"exclusive{end.capitalize()}")
        return one.get(end) if exclusive is None else float(exclusive) + inside * whole

    given = default if isinstance(default, list | tuple) else [default]
    usual = [float(one) for one in given if isinstance(one, int | float) and not isinstance(one, bool)]
    reach = _round_up(2 * max(map(abs, usual), default=0.5) or 1.0)
    lows, highs = ([bound(one, *what) for one in ends] for what in (("minimum", 1), ("maximum", -1)))
    least = None if None in lows else min(one for one in lows if one is not None)
    most = None if None in highs else max(one for one in highs if one is not None)
    if least is None:
        least = min(0.0 if any(usual) and min(usual) >= 0 else -reach, *usual, 0.0)
    if most is None:
        most = max(reach, least + 1)
    return (math.floor(least), math.ceil(most)) if whole else (least, most)


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, ..."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(part * power for part in (1, 2, 5, 10) if part * power >= value * (1 - 1e-9))


def source(studio: Studio, text: str) -> dict[str, Any]:
    """The data, as a recipe reads them; without a recipe, or where it cannot, what is wrong."""
    seed = studio.data.seed
    found = {"count": 0, "names": [], "demo": studio.data.data is None, "problem": None, "seed": seed, "kind": None}
    try:
        recipe = studio.bench.recipe(text)
    except RecipeError:
        return found
    found["kind"] = "bags" if recipe.facts.tiles else "pairs" if recipe.facts.scales else "images"
    try:
        pipeline = studio.bench.pipeline(studio.data.left(recipe, "train", seed or 0)[0])
        files = studio.data.listed(pipeline.recipe, pipeline)[1]
    except AugrecipesError as error:
        return {**found, "problem": harmless(str(error))}
    count = len(files.table)
    return {**found, "count": count, "names": [name_of(files, recipe, row) for row in range(min(count, NAMES))]}


def recipes() -> list[dict[str, Any]]:
    """The gallery: name, first line and text of each recipe."""
    found = []
    for name in gallery.gallery_names():
        text = gallery.path(name).read_text(encoding="utf-8")
        about = next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("about:")), name)
        found.append({"name": name, "title": about, "text": text})
    return found
