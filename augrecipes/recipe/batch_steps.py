"""The key `batch:`: steps that act on whole batches, from nodes to the model, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from augrecipes.mixtures import mixtures
from augrecipes.ops import groups, registry
from augrecipes.recipe import schedules
from augrecipes.recipe.arguments import Schema, check_value
from augrecipes.recipe.grammar import GROUPS, STEP_KEYS, P, is_ramped, mapping, ramped
from augrecipes.recipe.keys import Context
from augrecipes.recipe.model import Arguments, Recipe, Step, label
from augrecipes.recipe.nodes import MappingNode, Node, plain
from augrecipes.recipe.problems import near
from augrecipes.recipe.steps import check_children, check_id, listed, shape_of

_BATCH = {"$ref": "#/$defs/batchStep"}


def step_schemas() -> dict[str, Schema]:
    """JSON Schema of every step of `batch:` by its name."""
    own = {"p": {**P, "default": 1.0, "description": "Probability; inside OneOf the weight."}, "id": STEP_KEYS["id"]}
    found: dict[str, Schema] = {
        name: mapping({**own, **record.arguments}, type=["object", "null"], description=record.about)
        for name, record in mixtures().items()
    }
    children = {"type": "array", "items": _BATCH, "minItems": 1}
    one_of = {key: GROUPS[groups.ONE_OF][key] for key in ("type", "additionalProperties", "description", "required")}
    return found | {groups.ONE_OF: {**one_of, "properties": {**own, "steps": children}}}


def schema() -> Schema:
    """JSON Schema of one step of `batch:`."""
    steps = {name: ramped(one) for name, one in step_schemas().items()}
    bare = [name for name, one in steps.items() if not one.get("required")]
    return {"anyOf": [{"enum": bare}, mapping(steps, minProperties=1, maxProperties=1)]}


def build_batch(context: Context, node: Node | None) -> tuple[Step, ...]:
    """The steps of `batch:`, labelled; what is wrong is noted and left out."""
    return () if node is None else label(_listed(context, node, "batch"))


def _listed(context: Context, node: Node, key: str) -> tuple[Step, ...]:
    return listed(context, node, key, lambda item: _build(context, item))


def _build(context: Context, node: Node) -> Step | None:
    place, name, body = shape_of(context, node)
    schemas = step_schemas()
    if name and name not in schemas:
        message = "is a step of `steps:`" if registry.arguments(name) is not None else "unknown step of `batch:`"
        context.problems.add("E302", place, message, name, near(name, schemas))
    if name not in schemas:
        return None
    body = MappingNode({}, place) if body is None else body
    before, wanted = len(context.problems), {**schemas[name], "required": ()}  # check_children says what a group wants
    ramps = {key for key, part in schemas[name]["properties"].items() if is_ramped(part)}
    scheduled, bodies = Arguments(), cast(Sequence[Node], [body])
    if isinstance(body, MappingNode):
        scheduled, bodies = schedules.bodies(context, name, body, ramps)
    for body in bodies:
        for finding in check_value(wanted, body) if len(context.problems) == before else ():
            context.problems.add(finding.code, finding.place, finding.message, f"{name}{finding.key}", finding.hint)
    if not isinstance(body, MappingNode):
        return None
    context.steps += 1
    given, said = plain(body), body.entries
    if "id" in said:
        check_id(context, said["id"], f"{name}.id")
    step = Step(
        name,
        args=Arguments({key: value for key, value in given.items() if key not in ("p", "id", "steps")}),
        p=float(given["p"]) if isinstance(given.get("p"), int | float) else None,
        id=str(given["id"]) if "id" in said else None,
        steps=_listed(context, said["steps"], f"{name}.steps") if "steps" in said else (),
        position=context.position(place),
        places=Arguments({key: context.position(at) for key, at in body.at.items()}),
        ignored=context.ignored(place),
        schedule=scheduled,
    )
    if step.is_group:
        check_children(context, step, body, place, len(context.problems))  # whatever else is wrong
    return step


def check_batch(context: Context, recipe: Recipe) -> None:
    """Note steps of `batch:` that can act on no batch of this recipe."""
    for step in (inner for one in recipe.batch for inner in one.walk() if not inner.is_group):
        if refused := mixtures()[step.name].refused(recipe, step.args):
            context.problems.add("E316", context.place(step), refused, step.name)
