"""Build the whole recipe: from the top mapping to the model."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from augrecipes.errors import NO_HINT, Fix, Hint
from augrecipes.ops import bounds, groups, plugins, registry
from augrecipes.recipe import checks, derive, grammar, kinds, outputs, sections, suggest, targets, variants
from augrecipes.recipe.keys import Context, build_bag, build_inputs, build_scales, build_tta
from augrecipes.recipe.model import DERIVED, KEYS, Arguments, Inputs, Output, Recipe, Step, label
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Scalar, describe, plain
from augrecipes.recipe.problems import Problems, lint_note, near
from augrecipes.recipe.steps import build_steps

# Keys that `build` reads by functions of their own; the others are plain values.
_READ_APART = frozenset(
    {"recipe", "scales", "bag", "tta", "inputs", "steps", "views", "eval", "batch", "output", "targets"}
)
# A key, the code, the keys that do not go with it, and why.
_CLASHES = (
    ("stack", "E402", ("batch", "tta", "targets"), "goes with single images, and a sample is a stack of frames"),
    ("targets", "E408", ("batch", "tta"), "acts on images and what lies on them; leave it out, or `targets:`"),
)
# Required keys: what the message says, and what the fix writes.
_REQUIRED = {
    "version": ("write `version: 1`", "version: 1"),
    "recipe": ("write `recipe: NAME`", "recipe: mine"),
    "steps": ("`steps: []` passes images unchanged", "steps: []"),
}
_OF_VIEWS = "add it, such as {global: {count: 2, steps: []}}", "views: {all: {steps: []}}"
_REQUIRED_OF_VIEWS = {**{key: _REQUIRED[key] for key in ("version", "recipe")}, "views": _OF_VIEWS}
_ASKED = "it runs where the recipe is loaded from its file, or by augrecipes.load"
_NAME = re.compile(KEYS["recipe"].schema["pattern"])


def build(resolved: variants.Resolved, problems: Problems) -> Recipe:
    """Build a recipe of all that is valid; note the rest in `problems`. Runs the plugins that it names."""
    top = _with_scene_keys(resolved.top, problems)
    context = Context(problems, resolved)
    values = _plain_values(context, top)
    context.kind = values.get("kind", "image")
    _check_keys(context, top, partial=resolved.partial)
    if context.facts.views and "steps" in top.entries:
        message = "recipes of kind views have steps in `views:`, and steps before all views in `shared:`"
        problems.add("E207", top.at["steps"], message, "steps")
    for key in top.entries:
        if key in KEYS and key not in context.facts.keys and (owner := kinds.owners(key)):
            message = f"belongs to recipes of kind {owner}, and this is kind {context.kind}"
            problems.add("E207", top.at[key], message, key)
    context.max_bytes = values.setdefault("max_bytes", bounds.MOST_BYTES)
    context.scales = build_scales(context, top)
    _run_plugins(context, top.entries.get("plugins"), values.get("plugins", ()))
    context.inputs = inputs = build_inputs(context, top.entries.get("inputs"))
    if (node := top.entries.get("stack")) is not None and context.value(node, grammar.STACK, "E204", "stack"):
        context.inputs = inputs = replace(inputs, stack=plain(node))
    first = "shared" if context.facts.views else "steps"
    steps = _section(context, top, first) or ()
    views = sections.build_views(context, top)
    derived = "eval" in top.entries and plain(top.entries["eval"]) == DERIVED
    evaluation = _derive_eval(context, top.entries["eval"], steps, views) if derived else _section(context, top, "eval")
    output, by_target = outputs.build_output(context, top.entries.get("output"))
    recipe = Recipe(
        _name(context, top),
        inputs=replace(inputs, targets=Arguments(targets.build_targets(context, top.entries.get("targets"), inputs))),
        steps=steps,
        eval=evaluation,
        output=output,
        outputs=Arguments(by_target),
        scales=Arguments(context.scales),
        views=views,
        bag=build_bag(context, top.entries.get("bag")),
        tta=build_tta(context, top.entries.get("tta")),
        batch=sections.build_batch(context, top.entries.get("batch")),
        file=resolved.file,
        derived=derived,
        **values,
    )
    _check_clashes(context, top, inputs, output)
    for name in inputs.real.keys() - {step.args.get("target") for step in steps if step.name == groups.DEGRADE}:
        place = getattr(getattr(top.entries["inputs"], "entries", {}).get(name), "place", top.place)
        message = f"no Degrade in `steps` makes {name}, so that all of it is read; leave it out"
        problems.add("E402", place, message, f"inputs.{name}.real")
    if recipe.correspondence:
        for listed in (recipe.steps, *(view.steps for view in recipe.views)):
            sections.check_places(context, listed)
    for state in dict.fromkeys((recipe.in_epoch(0), recipe)) if context.facts.scales and not problems else ():
        checks.check_steps(context, state)
    if recipe.tta is not None:
        _check_undone(context, top, recipe)
    sections.check_batch(context, recipe)
    if context.translated and problems and (other := checks.other_default(recipe)):
        step, message, fix = other
        problems.note(lint_note(recipe.file, step.position, message, "L504", "group-defaults", "warning", (fix,)))
    return recipe


def _with_scene_keys(top: MappingNode, problems: Problems) -> MappingNode:
    """Move keys that may stand in `inputs:` or at the top, such as `targets:`, to the top."""
    inputs = top.entries.get("inputs")
    if not isinstance(inputs, MappingNode) or "scales" in top.entries:  # there each key may be a target of the pair
        return top
    moved = {key: node for key, node in inputs.entries.items() if key in grammar.SCENE_KEYS}
    for key in moved.keys() & top.entries.keys():
        problems.add("E402", inputs.at[key], "stands at the top, too; leave one of them out", f"inputs.{key}")
    rest = replace(inputs, entries={key: node for key, node in inputs.entries.items() if key not in moved})
    return replace(top, entries={**top.entries, "inputs": rest, **moved}, at={**inputs.at, **top.at})


def _check_clashes(context: Context, top: MappingNode, inputs: Inputs, output: Output) -> None:
    """Note keys that do not go with `stack:`, `targets:` or `nodata`."""
    for key, code, others, message in _CLASHES:
        for other in others:
            if key in top.entries and other in top.entries:
                context.problems.add(code, top.at[other], message, other)
    if inputs.nodata is not None and (inputs.stack or context.facts.scales):
        message = f"{'frames' if inputs.stack else 'pairs'} have no missing data: it goes with single images"
        context.problems.add("E402", top.at["inputs"], message, "inputs.nodata")
    if inputs.nodata is not None and output.where == "device":
        message = "which pixels hold data is known on the host alone; leave `where` out, or `nodata`"
        place = getattr(top.entries.get("output"), "at", {}).get("where", top.place)
        context.problems.add("E401", place, message, "output.where")


def _plain_values(context: Context, top: MappingNode) -> dict[str, Any]:
    """The values of keys without a function of their own, by field of the model; lists without duplicates."""
    values: dict[str, Any] = {}
    for name, node in top.entries.items():
        key = KEYS.get(name)
        if key and key.field and name not in _READ_APART and context.value(node, key.schema, "E204", name):
            value = plain(node)
            values[key.field] = tuple(dict.fromkeys(value)) if isinstance(value, list) else value
    return values


def _check_keys(context: Context, top: MappingNode, *, partial: bool) -> None:
    """Note unknown and missing keys; `partial`: a file that it extends cannot be read, so keys may be missing."""
    add = context.problems.add
    for key, place, _ in top.pairs():
        if key in grammar.RESERVED:
            add("E206", place, f"reserved for {grammar.RESERVED[key]}, which is not in version 1", key)
        elif key not in KEYS:
            is_target = key in getattr(top.entries.get("scales"), "entries", ())
            hint = Hint(f"; what is said of a target's images stands in `inputs: {{{key}: ...}}`")
            add("E202", place, "unknown key", key, hint if is_target else suggest.top_key(key, KEYS))
    for key, (cure, written) in (_REQUIRED_OF_VIEWS if context.facts.views else _REQUIRED).items():
        node = top.entries.get(key)
        if node is None and (key == "version" or not partial):
            add("E203", top.place, f"key {key!r} is missing; {cure}", key, _write_hint(written))
        elif node is not None and key == "version" and (isinstance(plain(node), bool) or plain(node) != 1):
            message = f"must be 1, the only version of the language, got {describe(node)}"
            add("E205", node.place, message, key, _write_hint(written))


def _write_hint(key: str) -> Hint:
    """The fix that writes a key, which the message names already."""
    return Hint(fixes=(Fix("key", key),))


def _name(context: Context, top: MappingNode) -> str:
    node = top.entries.get("recipe")
    if node is None:
        return ""
    # YAML reads a name of digits as a number.
    value = node.written if isinstance(node, Scalar) and type(node.value) in (str, int, float) else ""
    if not _NAME.fullmatch(value):
        slug = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")
        hint = Hint(f"; such as {slug!r}", (Fix("value", slug),)) if slug else NO_HINT
        message = f"a recipe's name holds a-z, 0-9 and -, got {describe(node)}"
        context.problems.add("E204", node.place, message, "recipe", hint)
    return value


def _run_plugins(context: Context, node: Node | None, names: Sequence[str]) -> None:
    """Run the plugins that the recipe names, so that their classes can be steps."""
    add = context.problems.add
    for name, item in zip(names, node.items if isinstance(node, ListNode) else (), strict=False):
        try:
            if context.resolved.runs_plugins or name not in plugins.announced():
                plugins.load(name)
            elif not plugins.is_loaded(name):
                add("E211", item.place, f"plugin {name!r} is not run for this text; {_ASKED}", "plugins")
        except KeyError:
            names_there = plugins.announced()
            have = f"they announce {', '.join(sorted(names_there))}" if names_there else "none announces any"
            message = f"no installed package announces a plugin {name!r}; {have}"
            add("E209", item.place, message, "plugins", near(name, names_there))
        except plugins.BrokenPlugin as error:
            add("E210", item.place, f"plugin {name!r}: {error}", "plugins")


def _section(context: Context, top: MappingNode, key: str) -> tuple[Step, ...] | None:
    node = top.entries.get(key)
    if node is None:
        return None
    if isinstance(node, Scalar) and node.value is None:
        message = f"has no steps; `{key}: []` passes images unchanged"
        context.problems.add("E204", node.place, message, key, _write_hint(f"{key}: []"))
        return None
    if key == "eval" and isinstance(node, Scalar) and isinstance(node.value, str):
        context.problems.add("E204", node.place, f"must be a list of steps, or `{DERIVED}`, got {describe(node)}", key)
        return None
    return label(build_steps(context, node, key=key))


def _derive_eval(
    context: Context, node: Node, steps: tuple[Step, ...], views: tuple[grammar.NamedView, ...]
) -> tuple[Step, ...]:
    if context.problems:
        return ()  # invalid steps cannot be derived
    steps = (*steps, *views[0].steps) if views else steps  # evaluation sees the first view
    rows = derive.derive(steps, context.scales)
    for row in derive.unknown(rows):
        line = context.place(row.step).line
        message = f"{row.step.name} in line {line}: {row.why}; write the steps of `eval:` out"
        if registry.is_registered(row.step.name):
            message += ", or give the class `in_eval = 'keep'` (as it is) or 'drop'"
        context.problems.add("E208", node.place, message, "eval")
    return derive.steps_of(rows)


def _check_undone(context: Context, top: MappingNode, recipe: Recipe) -> None:
    """Note why predictions on the views of `tta:` cannot be mapped back to the source."""
    if recipe.eval is None and "eval" not in top.entries:
        message = "test-time augmentation needs evaluation; add `eval:`, or `eval: derived`"
        context.problems.add("E406", top.at["tta"], message, "tta", _write_hint("eval: derived"))
    for step, why in checks.obstacles(recipe.eval or ()):
        message = f"{why}, so `tta:` cannot map predictions back to the source; leave it out"
        context.problems.add("E406", context.place(step), message, step.name)
