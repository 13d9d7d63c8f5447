"""What the page knows of steps, data and the gallery before anything is drawn."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from augrecipes.errors import AugrecipesError, harmless
from augrecipes.ops import groups, registry
from augrecipes.recipe import gallery
from augrecipes.recipe.grammar import DEGRADE, GROUPS, STEP_KEYS, TOP
from augrecipes.recipe.model import Recipe
from augrecipes.studio.drawing import name_of
from augrecipes.studio.ranges import range_of
from augrecipes.studio.shelf import NAMES
from augrecipes.studio.studio import Studio

Schema = dict[str, Any]


def schema() -> dict[str, Any]:
    """Every step with its arguments, for completion, hover and sliders; and the keys of a recipe."""
    steps = {name: dict(found) for name, found in GROUPS.items()}
    steps[groups.DEGRADE] = dict(DEGRADE)
    for name in registry.names():
        steps[name] = dict(registry.arguments(name) or {"properties": {}})
    return {
        "steps": {name: _step(name, found) for name, found in sorted(steps.items())},
        "step_keys": {name: _argument(name, dict(found)) for name, found in STEP_KEYS.items()},
        "top": {name: _argument(name, dict(found)) for name, found in TOP["properties"].items()},
    }


def _step(name: str, found: Schema) -> dict[str, Any]:
    properties = {key: part for key, part in found["properties"].items() if key not in STEP_KEYS and key != "steps"}
    return {
        "first_line": str(found.get("description", "")),
        "doc": docstring(name) or str(found.get("description", "")),
        "group": bool(found.get("x-group")) or name == groups.DEGRADE,
        "required": [key for key in found.get("required", ()) if key != "steps"],
        "arguments": {key: _argument(key, part) for key, part in properties.items()},
    }


def _argument(name: str, part: Schema) -> dict[str, Any]:
    shown = range_of(name, part)
    return {
        "type": shown.type, "default": part.get("default"), "min": shown.least, "max": shown.most,
        "step": shown.step, "two_ended": shown.two_ended, "one_number": shown.one_number, "whole": shown.whole,
        "choices": shown.choices, "doc": str(part.get("description", "")),
    }  # fmt: skip


@cache
def docstring(name: str) -> str:
    """What a class says of itself; empty where that is nothing, or it cannot be had."""
    try:
        cls = registry.get_class(name)
    except KeyError:
        return ""
    return inspect.getdoc(cls) or ""


def source(studio: Studio, recipe: Recipe | None = None) -> dict[str, Any]:
    """What data there are, as the recipe reads them; without a recipe, or where it cannot, what is wrong."""
    found: dict[str, Any] = {
        "kind": None, "count": 0, "names": [], "demo": studio.shelf.demo, "problem": None,
        "seed": studio.shelf.seed,
    }  # fmt: skip
    if recipe is None:
        return found
    facts = recipe.facts
    found["kind"] = "bags" if facts.tiles else "pairs" if facts.scales else "images"
    try:
        pipeline = studio.bench.pipeline(studio.shelf.left(recipe, "train", studio.shelf.seed or 0)[0])
        files = studio.shelf.files(pipeline.recipe, pipeline)
    except AugrecipesError as error:
        return {**found, "problem": harmless(str(error))}
    table = files.table
    count = len(table)
    names = [name_of(files, recipe, row) for row in range(min(count, NAMES))]
    classes = list(table.classes) if table.classes else []
    targets = [*pipeline.outputs, *(["mask"] if table.masked else [])]
    targets += [name for name in ("boxes", "keypoints") if getattr(table, name) is not None]
    notes = [*files.notes, *files.left_out[:20]]
    return {**found, "count": count, "names": names, "classes": classes, "targets": targets, "notes": notes}


def recipes() -> list[dict[str, Any]]:
    """The gallery."""
    found = []
    for name in gallery.gallery_names():
        text = gallery.path(name).read_text(encoding="utf-8")
        about = next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("about:")), name)
        found.append({"name": name, "title": about, "text": text})
    return found
