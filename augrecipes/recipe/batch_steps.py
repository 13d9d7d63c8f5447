"""The key `batch:`: steps that act on whole batches, from nodes to the model, checked."""

from __future__ import annotations

from augrecipes.mixtures import mixtures
from augrecipes.ops import groups, registry
from augrecipes.recipe import schedules
from augrecipes.recipe.arguments import Schema
from augrecipes.recipe.grammar import GROUPS, STEP_KEYS, P, is_ramped, mapping, ramped
from augrecipes.recipe.keys import Context
from augrecipes.recipe.model import Recipe, Step, label
from augrecipes.recipe.nodes import MappingNode, Node, plain
from augrecipes.recipe.problems import near
from augrecipes.recipe.steps import check_children, check_id, listed, placed_step, shape_of

_BATCH = {"$ref": "#/$defs/batchStep"}


def step_schemas() -> dict[str, Schema]:
    """JSON Schema of every step of `batch:` by its name."""
    own = {"p": {**P, "default": 1.0, "description": "Probability; inside OneOf the weight."}, "id": STEP_KEYS["id"]}
    schemas: dict[str, Schema] = {
        name: mapping({**own, **record.arguments}, type=["object", "null"], description=record.about)
        for name, record in mixtures().items()
    }
    children = {"type": "array", "items": _BATCH, "minItems": 1}
    one_of = {key: GROUPS[groups.ONE_OF][key] for key in ("type", "additionalProperties", "description", "required")}
    return schemas | {groups.ONE_OF: {**one_of, "properties": {**own, "steps": children}}}


def schema() -> Schema:
    """JSON Schema of one step of `batch:`."""
    steps = {name: ramped(step) for name, step in step_schemas().items()}
    bare = [name for name, step in steps.items() if not step.get("required")]
    return {"anyOf": [{"enum": bare}, mapping(steps, minProperties=1, maxProperties=1)]}


def build_batch(context: Context, node: Node | None) -> tuple[Step, ...]:
    """The steps of `batch:`, labelled; what is wrong is noted and left out."""
    return () if node is None else label(_listed(context, node, "batch"))


def _listed(context: Context, node: Node, key: str) -> tuple[Step, ...]:
    return listed(context, node, key, lambda item: _build(context, item))


def _build(context: Context, node: Node) -> Step | None:
    place, name, body = shape_of(context, node)
    schema = step_schemas().get(name)
    if schema is None:
        message = "is a step of `steps:`" if registry.arguments(name) is not None else "unknown step of `batch:`"
        if name:
            context.problems.add("E302", place, message, name, near(name, step_schemas()))
        return None
    body = MappingNode({}, place) if body is None else body
    before, wanted = len(context.problems), {**schema, "required": ()}  # check_children says what a group wants
    if not isinstance(body, MappingNode):
        context.value(body, wanted, "", name)
        return None
    ramps = {key for key, part in schema["properties"].items() if is_ramped(part)}
    scheduled, bodies = schedules.bodies(context, name, body, ramps)
    for body in bodies:
        if len(context.problems) == before:
            context.value(body, wanted, "", name)
    context.steps += 1
    values, nodes = plain(body), body.entries
    if "id" in nodes:
        check_id(context, nodes["id"], f"{name}.id")
    step = placed_step(
        context, name, body, place, {key: value for key, value in values.items() if key not in ("p", "id", "steps")},
        p=float(values["p"]) if isinstance(values.get("p"), int | float) else None,
        id=str(values["id"]) if "id" in nodes else None,
        steps=_listed(context, nodes["steps"], f"{name}.steps") if "steps" in nodes else (),
        schedule=scheduled,
    )  # fmt: skip
    if step.is_group:
        check_children(context, step, body, place, len(context.problems))  # whatever else is wrong
    return step


def check_batch(context: Context, recipe: Recipe) -> None:
    """Note steps of `batch:` that can act on no batch of this recipe."""
    for step in (inner for top in recipe.batch for inner in top.walk() if not inner.is_group):
        if refused := mixtures()[step.name].refused(recipe, step.args):
            context.problems.add("E316", context.place(step), refused, step.name)
