"""The whole recipe: from the top mapping to the model."""

from __future__ import annotations

import re
from typing import Any

from augrecipes.ops import registry
from augrecipes.recipe import derive, inputs, outputs, pairs, suggest
from augrecipes.recipe.context import Context
from augrecipes.recipe.groups import other_default
from augrecipes.recipe.model import Arguments, Bag, Recipe, Step
from augrecipes.recipe.nodes import Node, Scalar, Table, describe, plain
from augrecipes.recipe.problems import Problems, noted
from augrecipes.recipe.sites import label
from augrecipes.recipe.steps import build_steps
from augrecipes.recipe.variants import Resolved

KEYS = (
    "version", "recipe", "about", "kind", "optimize", "inputs", "steps", "eval", "output", "scales", "bag",
    "allow_resampling", "extends", "set", "without",
)  # fmt: skip
RESERVED = {
    "views": "multi-crop",
    "tta": "test-time augmentation",
    "test_time": "test-time augmentation",
    "tiles": "overlapping tiles",
    "overlap": "overlapping tiles",
    "mixup": "MixUp",
    "cutmix": "CutMix",
}
_CHOICES = {"kind": ("image", "pair", "bag"), "optimize": ("none", "exact", "fast")}
_KIND_OF = {"scales": "pair", "allow_resampling": "pair", "bag": "bag"}
_NAME = re.compile(r"[a-z0-9-]+")


def build(resolved: Resolved, problems: Problems) -> Recipe:
    """A recipe of everything that is understood; what is not is noted in `problems`."""
    top = resolved.top
    context = Context(problems, resolved.lines, file=resolved.file, extends=resolved.extends)
    _check_keys(context, top)
    _check_version(context, top)
    if "recipe" not in top.entries and not resolved.partial:
        problems.add("E203", top.place, "key 'recipe' is missing; it names the recipe", "recipe")
    kind = _choice(context, top, "kind") or "image"
    context.kind = kind  # type: ignore[assignment]
    for key, owner in _KIND_OF.items():
        if key in top.entries and kind != owner:
            problems.add("E207", top.at[key], f"belongs to recipes of kind {owner}, and this is kind {kind}", key)
    context.scales = pairs.build_scales(context, top)
    steps = _section(context, top, "steps")
    evaluation = _evaluation(context, top, steps or ())
    if "steps" not in top.entries and not resolved.partial:
        problems.add("E203", top.place, "key 'steps' is missing; `steps: []` passes images as they are", "steps")
    output, by_target = outputs.build_output(context, top.entries.get("output"))
    recipe = Recipe(
        name=_name(context, top),
        about=_text(context, top, "about"),
        kind=context.kind,
        optimize=_choice(context, top, "optimize") or "exact",  # type: ignore[arg-type]
        inputs=inputs.build_inputs(context, top.entries.get("inputs")),
        steps=steps or (),
        eval=evaluation,
        output=output,
        outputs=Arguments(by_target),
        scales=Arguments(context.scales),
        bag=_bag(context, top.entries.get("bag")),
        allow_resampling=_flag(context, top, "allow_resampling"),
        file=resolved.file,
        derived=_says_derived(top),
    )
    if kind == "pair":
        pairs.check_steps(context, recipe)
    if context.translated and (other := other_default(recipe)):
        problems.note(noted(recipe.file, other[0].position, other[1], "L504", "group-defaults", "warning"))
    return recipe


def _check_keys(context: Context, top: Table) -> None:
    for key, place, _ in top.pairs():
        if key in RESERVED:
            context.problems.add("E206", place, f"reserved for {RESERVED[key]}, which is not in version 1", key)
        elif key not in KEYS:
            context.problems.add("E202", place, f"unknown key{suggest.top_key(key, KEYS)}", key)


def _check_version(context: Context, top: Table) -> None:
    node = top.entries.get("version")
    if node is None:
        context.problems.add("E203", top.place, "key 'version' is missing; write `version: 1`", "version")
    elif not isinstance(node, Scalar) or isinstance(node.value, bool) or node.value != 1:
        message = f"must be 1, the only version of the language, got {describe(node)}"
        context.problems.add("E205", node.place, message, "version")


def _name(context: Context, top: Table) -> str:
    node = top.entries.get("recipe")
    if node is None:
        return ""
    # A name of digits is a number to YAML.
    value = node.written if isinstance(node, Scalar) and isinstance(node.value, str | int | float) else None
    value = None if isinstance(plain(node), bool) else value
    if not value or not _NAME.fullmatch(value):
        hint = f"; such as {slug!r}" if value and (slug := re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")) else ""
        message = f"a recipe's name holds a-z, 0-9 and -, got {describe(node)}{hint}"
        context.problems.add("E204", node.place, message, "recipe")
        return ""
    return value


def _text(context: Context, top: Table, key: str) -> str:
    node = top.entries.get(key)
    if node is None or not context.value(node, {"type": "string"}, "E204", key):
        return ""
    return str(plain(node))


def _flag(context: Context, top: Table, key: str) -> bool:
    node = top.entries.get(key)
    return node is not None and context.value(node, {"type": "boolean"}, "E204", key) and bool(plain(node))


def _choice(context: Context, top: Table, key: str) -> str | None:
    node = top.entries.get(key)
    if node is None or not context.value(node, {"enum": list(_CHOICES[key])}, "E204", key):
        return None
    return str(plain(node))


def _section(context: Context, top: Table, key: str) -> tuple[Step, ...] | None:
    node: Node | None = top.entries.get(key)
    if node is None:
        return None
    if isinstance(node, Scalar) and node.value is None:
        context.problems.add("E204", node.place, f"has no steps; `{key}: []` passes images as they are", key)
        return None
    return label(build_steps(context, node, key=key))


def _says_derived(top: Table) -> bool:
    node = top.entries.get("eval")
    return isinstance(node, Scalar) and node.value == derive.WORD


def _evaluation(context: Context, top: Table, steps: tuple[Step, ...]) -> tuple[Step, ...] | None:
    node = top.entries.get("eval")
    if isinstance(node, Scalar) and isinstance(node.value, str) and not _says_derived(top):
        message = f"must be a list of steps, or `{derive.WORD}`, got {describe(node)}"
        context.problems.add("E204", node.place, message, "eval")
        return None
    if node is None or not _says_derived(top):
        return _section(context, top, "eval")
    if context.problems:
        return ()  # of steps that are wrong nothing can be derived
    rows = derive.derive(steps, context.scales)
    for row in derive.unknown(rows):
        line = context.place(row.step.position).line
        message = f"{row.step.name} in line {line}: {row.why}; write the steps of `eval:` out"
        if registry.is_registered(row.step.name):
            message += ", or give the class `in_eval = 'keep'` (as it is) or 'drop'"
        context.problems.add("E208", node.place, message, "eval")
    return derive.steps_of(rows)


_BAG: dict[str, Any] = {
    "max_tiles": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
    "min_tiles": {"type": "integer", "minimum": 0},
    "pick": {"enum": ["random", "first", "stride"]},
}


def _bag(context: Context, node: Node | None) -> Bag | None:
    if node is None:
        return None
    if not isinstance(node, Table):
        context.problems.add("E404", node.place, f"must be a mapping, got {describe(node)}", "bag")
        return None
    context.keys(node, tuple(_BAG), "E404", "bag")
    values = {}
    for key, _, value in node.pairs():
        if key in _BAG and context.value(value, _BAG[key], "E404", f"bag.{key}"):
            values[key] = plain(value)
    bag = Bag(**values)
    if bag.max_tiles is not None and bag.min_tiles > bag.max_tiles:
        message = f"min_tiles ({bag.min_tiles}) may not exceed max_tiles ({bag.max_tiles})"
        context.problems.add("E404", node.at.get("min_tiles", node.place), message, "bag")
    return bag
