"""What each step is, in words: its arguments, how it runs, and what becomes of what lies on an image."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from augrecipes.mixtures import mixtures
from augrecipes.ops import registry
from augrecipes.ops.groups import DEGRADE, GROUPS, POLICIES
from augrecipes.ops.ranges import meaning_of
from augrecipes.ops.records import op_record
from augrecipes.recipe import grammar
from augrecipes.recipe.arguments import Schema, bounds, expected
from augrecipes.recipe.batch_steps import step_schemas
from augrecipes.recipe.words import text

_CALLED, _INNER = "in Python, as a call of its class", "as the steps that it is made of"
_RUNS = {"host-drawn": "natively, but Python draws, because boxes decide what", "opaque": _CALLED}
_ALONE = {
    "symmetric": "-s to s", "around_one": "1 - s to 1 + s", "from_zero": "0 to s", "from_one": "1 to s",
    "from_three": "3 to s",
}  # fmt: skip


def step_names() -> list[str]:
    """Returns the names of all steps, groups and policies, those of `batch:` and registered ones, sorted.

    >>> {"RandomCrop", "StainJitter", "OneOf", "RandAugment", "Degrade", "CutMix"} <= set(step_names())
    True
    """
    return sorted({*registry.names(), *GROUPS, *POLICIES, *mixtures()})


def step_facts(name: str) -> dict[str, Any]:
    """Returns what there is to say of a step of this name, which is one of `step_names`.

    >>> facts = step_facts("StainJitter")
    >>> list(facts)
    ['step', 'about', 'runs', 'masks, boxes, keypoints', 'fast may change', 'arguments']
    >>> {key: facts["arguments"][3][key] for key in ("argument", "takes", "default")}
    {'argument': 'white_threshold', 'takes': 'number or null, between 0 and 1', 'default': '0.85'}
    """
    groups = {**step_schemas(), **grammar.GROUPS, **grammar.POLICIES, DEGRADE: grammar.DEGRADE}
    schema: Any = groups.get(name) or registry.arguments(name)
    about = {"step": name, "about": schema["description"].removesuffix(".")}
    facts = dict(_mixture_facts(name) if name in mixtures() else _class_facts(name))
    return about | {key: fact for key, fact in facts.items() if fact} | {"arguments": [*_arguments(name, schema)]}


def _mixture_facts(name: str) -> Iterator[tuple[str, str]]:
    record = mixtures()[name]
    yield "acts on", "batches" + {None: "", True: " of pairs", False: " of images"}[record.scales] + ", under `batch:`"
    yield "p decides", f"for each {'sample' if record.each else 'batch'}"
    yield "needs", " or ".join(record.needs)
    yield "cannot mix", ", ".join(record.bars)


def _class_facts(name: str) -> Iterator[tuple[str, str]]:
    if (record := op_record(name)).is_known:
        runs = _RUNS.get(record.runs, f"natively{record.runs.removeprefix('native')}")
        yield "runs", f"{runs}, with {record.native_when}" if record.native_when else runs
        yield "masks, boxes, keypoints", record.annotation_effect
        yield "fast may change", record.fast_changes
    else:
        yield "runs", _CALLED if registry.is_registered(name) else _INNER


def _arguments(name: str, schema: Schema) -> Iterator[dict[str, str]]:
    for key, part in schema["properties"].items():
        takes = ", ".join(filter(None, (re.sub(r"\ba ", "", expected(part)), _range(part))))
        default = text(part["default"]) if "default" in part else "required" * (key in schema.get("required", ()))
        alone = _ALONE.get(meaning_of(name, key)) if "pair" in takes else None
        about = part.get("description", "").removesuffix(".") + (f"; a number s alone: {alone}" if alone else "")
        if part != grammar.STEP_KEYS.get(key):  # which every step has
            yield {"argument": key, "default": default, "takes": takes, "meaning": about}


def _range(schema: Schema) -> str:
    """Between which bounds its numbers lie; empty without bounds.

    >>> _range({"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}}]})
    'greater than 0'
    """
    parts = [*schema.get("anyOf", ()), *schema.get("prefixItems", ()), schema.get("items", {})] if schema else ()
    return " or ".join(dict.fromkeys(filter(None, (bounds(schema), *map(_range, parts)))))
