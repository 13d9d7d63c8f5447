"""The whole recipe: from the top mapping to the model."""

from __future__ import annotations

import re
from typing import Any

from augrecipes.kinds import owners
from augrecipes.ops import plugins, registry
from augrecipes.ops.bounds import MOST_BYTES
from augrecipes.recipe import checks, derive, keys, suggest
from augrecipes.recipe.checks import other_default
from augrecipes.recipe.context import Context
from augrecipes.recipe.grammar import BAG, KEYS, TOP, WORD
from augrecipes.recipe.model import Arguments, Bag, Recipe, Step
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Scalar, describe, plain
from augrecipes.recipe.problems import NO_HINT, Fix, Hint, Problems, near, noted
from augrecipes.recipe.sites import label
from augrecipes.recipe.steps import build_steps
from augrecipes.recipe.variants import Resolved

RESERVED = {
    "views": "multi-crop",
    "tta": "test-time augmentation",
    "test_time": "test-time augmentation",
    "tiles": "overlapping tiles",
    "overlap": "overlapping tiles",
    "mixup": "MixUp",
    "cutmix": "CutMix",
}
_ASKED = "it runs where the recipe is loaded from its file, or by augrecipes.load"
_NAME = re.compile(TOP["properties"]["recipe"]["pattern"])


def build(resolved: Resolved, problems: Problems, *, run_plugins: bool = True) -> Recipe:
    """A recipe of everything that is understood; what is not is noted in `problems`. Runs the plugins that it names."""
    top = resolved.top
    context = Context(problems, resolved.lines, file=resolved.file, extends=resolved.extends, runs_plugins=run_plugins)
    _check_keys(context, top)
    _check_version(context, top)
    if "recipe" not in top.entries and not resolved.partial:
        message = "key 'recipe' is missing; it names the recipe"
        problems.add("E203", top.place, message, "recipe", _written("recipe: mine"))
    kind = _value(context, top, "kind", "image")
    context.kind = kind
    for key in top.entries:
        if key in KEYS and key not in context.facts.keys and (owner := owners(key)):
            problems.add("E207", top.at[key], f"belongs to recipes of kind {owner}, and this is kind {kind}", key)
    context.max_bytes = _value(context, top, "max_bytes", MOST_BYTES)
    context.scales = checks.build_scales(context, top)
    named = _plugins(context, top, run=run_plugins)
    steps = _section(context, top, "steps")
    evaluation = _evaluation(context, top, steps or ())
    if "steps" not in top.entries and not resolved.partial:
        message = "key 'steps' is missing; `steps: []` passes images as they are"
        problems.add("E203", top.place, message, "steps", _written("steps: []"))
    output, by_target = keys.build_output(context, top.entries.get("output"))
    recipe = Recipe(
        name=_name(context, top),
        about=_value(context, top, "about", ""),
        kind=context.kind,
        optimize=_value(context, top, "optimize", "exact"),
        without_rules=tuple(_value(context, top, "without_rules", ())),
        plugins=named,
        inputs=keys.build_inputs(context, top.entries.get("inputs")),
        steps=steps or (),
        eval=evaluation,
        output=output,
        outputs=Arguments(by_target),
        scales=Arguments(context.scales),
        bag=_bag(context, top.entries.get("bag")),
        allow_resampling=_value(context, top, "allow_resampling", False),
        max_bytes=context.max_bytes,
        file=resolved.file,
        derived=_says_derived(top),
    )
    if context.facts.scales:
        checks.check_steps(context, recipe)
    if context.translated and (other := other_default(recipe)):
        step, message, fix = other
        problems.note(noted(recipe.file, step.position, message, "L504", "group-defaults", "warning", (fix,)))
    return recipe


def _check_keys(context: Context, top: MappingNode) -> None:
    for key, place, _ in top.pairs():
        if key in RESERVED:
            context.problems.add("E206", place, f"reserved for {RESERVED[key]}, which is not in version 1", key)
        elif key not in KEYS:
            context.problems.add("E202", place, "unknown key", key, suggest.top_key(key, KEYS))


def _check_version(context: Context, top: MappingNode) -> None:
    node = top.entries.get("version")
    if node is None:
        message, hint = "key 'version' is missing; write `version: 1`", _written("version: 1")
        context.problems.add("E203", top.place, message, "version", hint)
    elif not isinstance(node, Scalar) or isinstance(node.value, bool) or node.value != 1:
        message = f"must be 1, the only version of the language, got {describe(node)}"
        context.problems.add("E205", node.place, message, "version", _written("version: 1"))


def _written(key: str) -> Hint:
    """The fix that writes a key; the message has said it."""
    return Hint(fixes=(Fix("key", key),))


def _name(context: Context, top: MappingNode) -> str:
    node = top.entries.get("recipe")
    if node is None:
        return ""
    # A name of digits is a number to YAML.
    value = node.written if isinstance(node, Scalar) and isinstance(node.value, str | int | float) else None
    value = None if isinstance(plain(node), bool) else value
    if not value or not _NAME.fullmatch(value):
        slug = re.sub(r"[^a-z0-9]+", "-", (value or "").lower()).strip("-")
        hint = Hint(f"; such as {slug!r}", (Fix("value", slug),)) if slug else NO_HINT
        message = f"a recipe's name holds a-z, 0-9 and -, got {describe(node)}"
        context.problems.add("E204", node.place, message, "recipe", hint)
        return ""
    return value


def _value(context: Context, top: MappingNode, key: str, otherwise: Any) -> Any:
    """The value of a key that takes plain values."""
    node = top.entries.get(key)
    fine = node is not None and context.value(node, TOP["properties"][key], "E204", key)
    return plain(node) if node is not None and fine else otherwise


def _plugins(context: Context, top: MappingNode, *, run: bool) -> tuple[str, ...]:
    """The plugins that the recipe names, which have run: their classes can be steps from here on."""
    node = top.entries.get("plugins")
    names = _value(context, top, "plugins", ())
    for name, item in zip(names, node.items if isinstance(node, ListNode) else (), strict=False):
        try:
            if run or name not in plugins.announced():
                plugins.load(name)
            elif not plugins.is_loaded(name):
                message = f"plugin {name!r} is not run for this text; {_ASKED}"
                context.problems.add("E211", item.place, message, "plugins")
        except KeyError:
            there = plugins.announced()
            have = f"they announce {', '.join(sorted(there))}" if there else "none announces any"
            message = f"no installed package announces a plugin {name!r}; {have}"
            context.problems.add("E209", item.place, message, "plugins", near(name, there))
        except registry.BrokenPlugin as error:
            context.problems.add("E210", item.place, f"plugin {name!r}: {error}", "plugins")
    return tuple(dict.fromkeys(names))


def _section(context: Context, top: MappingNode, key: str) -> tuple[Step, ...] | None:
    node: Node | None = top.entries.get(key)
    if node is None:
        return None
    if isinstance(node, Scalar) and node.value is None:
        message = f"has no steps; `{key}: []` passes images as they are"
        context.problems.add("E204", node.place, message, key, _written(f"{key}: []"))
        return None
    return label(build_steps(context, node, key=key))


def _says_derived(top: MappingNode) -> bool:
    node = top.entries.get("eval")
    return isinstance(node, Scalar) and node.value == WORD


def _evaluation(context: Context, top: MappingNode, steps: tuple[Step, ...]) -> tuple[Step, ...] | None:
    node = top.entries.get("eval")
    if isinstance(node, Scalar) and isinstance(node.value, str) and not _says_derived(top):
        message = f"must be a list of steps, or `{WORD}`, got {describe(node)}"
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


def _bag(context: Context, node: Node | None) -> Bag | None:
    if node is None:
        return None
    bag = Bag(**context.fields(node, BAG, "E404", "bag"))
    if bag.max_tiles is not None and bag.min_tiles > bag.max_tiles:
        message = f"min_tiles ({bag.min_tiles}) may not exceed max_tiles ({bag.max_tiles})"
        context.problems.add("E404", context.at(node, "min_tiles"), message, "bag")
    return bag
