"""Recipes written differently, with the same meaning, and recipes edited, with perhaps another one."""

import random
from dataclasses import replace
from typing import Any

import yaml
from hypothesis import strategies as st
from random_recipes import Pool, step

from augrecipes.ops import registry
from augrecipes.recipe.model import Arguments, Output, Recipe, Step, label

# Edits that often change nothing, and those that nearly always do.
GENTLE = ("default p", "default", "id", "halve", "pair")
ROUGH = ("remove", "repeat", "swap", "add", "p", "other", "wrap")
GROUPS = ("OneOf", "SomeOf", "Sequential", "RandomOrder")


def reformatted(text: str, rng: random.Random) -> str:
    """The recipe in `text` with its keys shuffled, numbers and steps spelt otherwise, defaults written, comments."""
    told = yaml.safe_load(text)
    for section in ("steps", "eval", "batch"):
        if section in told:
            told[section] = [_step(item, rng) for item in told[section]]
    how: Any = {"sort_keys": False, "default_flow_style": rng.choice([None, True, False]), "width": 10_000}
    dumped = yaml.safe_dump(_shuffled(told, rng), **how)
    lines = dumped.replace("version: 1.0", "version: 1").splitlines()
    return "# Other words.\n" + "\n".join(f"{line}  # {rng.random()}" if rng.random() < 0.1 else line for line in lines)


def _step(item: Any, rng: random.Random) -> Any:
    name, body = (item, {}) if isinstance(item, str) else next(iter(item.items()))
    body = dict(body or {})
    if "steps" in body:
        body["steps"] = [_step(child, rng) for child in body["steps"]]
    if rng.random() < 0.5:
        body.setdefault("p", 1.0 if name in GROUPS else registry.default_p(name))
    for key, schema in (registry.arguments(name) or {"properties": {}})["properties"].items():
        if "default" in schema and key != "p" and rng.random() < 0.3:
            body.setdefault(key, schema["default"])
    if not body and rng.random() < 0.7:
        return rng.choice([name, {name: {}}, {name: None}])
    return {name: body}


def _shuffled(value: Any, rng: random.Random, *, ordered: bool = False) -> Any:
    """`ordered`: keys keep their order, as those of views do: the first is what evaluation sees."""
    if isinstance(value, dict):
        items = list(value.items())
        if not ordered:
            rng.shuffle(items)
        return {key: _shuffled(part, rng, ordered=key == "views") for key, part in items}
    if isinstance(value, list):
        return [_shuffled(part, rng) for part in value]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.3:
        return float(value)
    return int(value) if isinstance(value, float) and value.is_integer() and rng.random() < 0.5 else value


def _each(steps: tuple[Step, ...], number: int, change: Any) -> tuple[Step, ...]:
    """The steps with the list that holds the `number`-th of all, groups before their children, changed there."""
    made: list[Step] = []
    for place, one in enumerate(steps):
        if number == 0:
            return tuple(change(steps, place))
        size = len(list(one.walk()))
        if number < size:
            made.append(replace(one, steps=_each(one.steps, number - 1, change)))
            return (*made, *steps[place + 1 :])
        number -= size
        made.append(one)
    return tuple(made)


@st.composite
def edited(draw: st.DrawFn, recipe: Recipe, pool: Pool, only: tuple[str, ...] = ()) -> Recipe:
    """The recipe after a few edits, of these kinds only if any are named; some of them change nothing."""
    steps = recipe.steps
    gentle = draw(st.booleans())
    kinds = only or (GENTLE if gentle else GENTLE + ROUGH)
    for _ in range(draw(st.integers(1, 3))):
        count = sum(1 for one in steps for _ in one.walk())
        if not count:
            break
        steps = _each(steps, draw(st.integers(0, count - 1)), _edit(draw, pool, kinds))
    others = [] if gentle else [Output(layout="hwc"), Output(range=(0, 255))]
    output = draw(st.sampled_from([recipe.output] * 5 + others))
    return replace(recipe, steps=label(_sound(steps)), output=output)


def _edit(draw: st.DrawFn, pool: Pool, kinds: tuple[str, ...]) -> Any:
    kind = draw(st.sampled_from(kinds))
    other = draw(step(pool, depth=1))
    p = draw(st.sampled_from([0.0, 0.5, 1.0]))
    number = draw(st.integers(0, 99))

    def change(steps: tuple[Step, ...], place: int) -> list[Step]:
        made, here = list(steps), steps[place]
        match kind:
            case "remove" if len(steps) > 1:
                del made[place]
            case "repeat":
                made.insert(place, replace(here, id=None, steps=tuple(_without_ids(here.steps))))
            case "swap":
                made[place - 1], made[place] = made[place], made[place - 1]
            case "add":
                made.insert(place, other)
            case "p":
                made[place] = replace(here, p=p)
            case "default p":
                made[place] = replace(here, p=1.0 if here.steps else registry.default_p(here.name))
            case "default" | "other" if not here.steps:
                made[place] = _argument(here, number, pool, default=kind == "default")
            case "wrap":
                made[place] = Step("Sequential", p=1.0, steps=(here,))
            case "id":
                made[place] = replace(here, id=f"id{number}")
            case "halve":
                made = [replace(one, p=(registry.default_p(one.name) if one.p is None else one.p) / 2) for one in made]
            case "pair":
                made[place] = _as_pair(here)
        return made

    return change


def _without_ids(steps: tuple[Step, ...]) -> list[Step]:
    return [replace(one, id=None, steps=tuple(_without_ids(one.steps))) for one in steps]


def _argument(one: Step, number: int, pool: Pool, *, default: bool) -> Step:
    """A default written out, or the arguments of another step of the class."""
    if not default:
        same = [args for name, args in pool if name == one.name]
        return replace(one, args=Arguments(same[number % len(same)])) if same else one
    properties = (registry.arguments(one.name) or {"properties": {}})["properties"]
    names = [key for key, schema in properties.items() if "default" in schema and key not in (*one.args, "p")]
    if not names:
        return one
    name = names[number % len(names)]
    return replace(one, args=Arguments({**one.args.plain(), name: properties[name]["default"]}))


def _as_pair(one: Step) -> Step:
    """A limit as the range that some classes make of it."""
    limits = {key: value for key, value in one.args.items() if key.endswith("limit") and isinstance(value, int | float)}
    return replace(one, args=Arguments({**one.args.plain(), **{key: [-v, v] for key, v in limits.items()}}))


def _sound(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps without what the language refuses: ids given twice, choices of nothing, more steps than there are."""
    seen: set[str] = set()

    def mend(one: Step) -> Step:
        own = None if one.id in seen else one.id
        seen.update({own} if own else ())
        children = tuple(map(mend, one.steps))
        args = one.args
        if one.name == "SomeOf" and args.get("n", 1) > len(children) and not args.get("replace"):
            args = Arguments({**args.plain(), "n": len(children)})
        name = one.name
        if name == "OneOf" and not any(registry.default_p(c.name) if c.p is None else c.p for c in children):
            name, args = "Sequential", Arguments()
        return replace(one, id=own, steps=children, name=name, args=args)

    return tuple(map(mend, steps))
