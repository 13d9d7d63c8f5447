"""The keys `views:` and `batch:`: steps for several views of one image, and steps for whole batches."""

from augrecipes.errors import RecipeError
from augrecipes.mixtures.families import MIXTURES
from augrecipes.ops import groups, records, registry
from augrecipes.recipe import arguments, keys, model, problems, step_keys
from augrecipes.recipe.grammar import GROUPS, STEP_KEYS, TAKEN, VIEW, NamedView, P, is_ramped, mapping, ramped
from augrecipes.recipe.nodes import NOWHERE, ListNode, MappingNode, Node, Place, describe, plain
from augrecipes.recipe.steps import build_items, build_steps, check_children, check_id, placed_step, shape_of

_LABELS = mapping({**VIEW["properties"], "steps": {}})  # steps are checked one by one
_NO_STEPS = ListNode([], NOWHERE)


def build_views(context: keys.Context, top: MappingNode) -> tuple[NamedView, ...]:
    """Build the entries of `views:`; invalid ones are noted and left out."""
    node, add = top.entries.get("views"), context.problems.add
    if not context.facts.views or node is None:
        return ()
    if not isinstance(node, MappingNode) or not node.entries:
        message = f"must be a mapping such as {{global: {{count: 2, steps: []}}}}, got {describe(node)}"
        add("E407", node.place, message, "views")
        return ()
    views: dict[str, NamedView] = {}
    for name, place, body in node.pairs():
        if not name.isidentifier() or name in TAKEN:
            message = f"a view's name is letters, digits and _, and means nothing else in a sample; got {name!r}"
            add("E407", place, message, "views")
        elif other := next(
            (earlier for earlier in views if f"{name}_".startswith(f"{earlier}_") or earlier.startswith(f"{name}_")), ""
        ):
            message = f"begins like view {other!r}, whose masks and boxes are {other}_mask, {other}_boxes; rename it"
            add("E407", place, message, f"views.{name}")
        elif not isinstance(body, MappingNode):
            add("E407", body.place, f"must be a mapping with steps, got {describe(body)}", f"views.{name}")
        else:
            views[name] = _view(context, name, place, body, views)
    return tuple(views.values())


def _view(context: keys.Context, name: str, place: Place, body: MappingNode, before: dict[str, NamedView]) -> NamedView:
    """Build one entry; `before`: the entries before it."""
    add, label_ = context.problems.add, f"views.{name}"
    context.value(MappingNode({**body.entries, "steps": _NO_STEPS}, body.place, body.at), _LABELS, "E407", label_)
    values = {key: plain(node) for key, node in body.entries.items() if key in ("count", "of")}
    of = values["of"] if isinstance(values.get("of"), str) else None
    if of is not None and of not in before:
        message = f"no view {of!r} comes before it; there {'are' if before else 'is'} {', '.join(before) or 'none'}"
        add("E407", body.entries["of"].place, message, f"{label_}.of")
    elif of is not None and values.setdefault("count", before[of].count) != before[of].count:
        message = f"{of!r} has count {before[of].count}, and one view is made of each; leave it out"
        add("E407", body.entries["count"].place, message, f"{label_}.count")
    if "steps" not in body.entries:
        add("E407", place, "key 'steps' is missing; `steps: []` leaves the image unchanged", label_)
        return NamedView(name)
    steps = model.label(build_steps(context, body.entries["steps"], f"{label_}.steps"), name)
    return NamedView(name, values.get("count", 1), of if of in before else None, steps)


def check_places(context: keys.Context, steps: tuple[model.Step, ...]) -> None:
    """Note the steps that `correspondence:` cannot describe by a matrix."""
    for step in steps:
        record = records.op_record(step.name)
        if step.is_group and not step.args.get("replace"):
            check_places(context, step.steps)
        elif step.is_group:
            message = "may run a step twice, so that its matrix is unknown; use `replace: false`"
            context.problems.add("E407", context.place(step), message, step.name)
        elif not (record.is_known and record.is_matrix):
            no_matrix = "it moves pixels by no 3×3 matrix that follows from its draws"
            why = no_matrix if record.is_known else "nothing is known of where it puts pixels"
            message = f"{why}, but `correspondence: true` needs a matrix; leave out the step or that key"
            context.problems.add("E407", context.place(step), message, step.name)


def refuse_views(recipe: model.Recipe, what: str) -> None:
    """Raise RecipeError for a recipe of kind views, where `what` needs recipes of one image."""
    if recipe.views:
        name = recipe.views[0].name
        way = f"take its views one by one, each a recipe of one image: ar.load(...).view({name!r})"
        raise RecipeError(f"{recipe.file}: {what} is not for recipes of kind {recipe.kind}; {way}")


_BATCH = {"$ref": "#/$defs/batchStep"}


def step_schemas() -> dict[str, arguments.Schema]:
    """The JSON Schema of every step of `batch:`, by name."""
    own = {"p": {**P, "default": 1.0, "description": "Probability; inside OneOf the weight."}, "id": STEP_KEYS["id"]}
    schemas: dict[str, arguments.Schema] = {
        name: mapping({**own, **record.arguments}, type=["object", "null"], description=record.about)
        for name, record in MIXTURES.items()
    }
    children = {"type": "array", "items": _BATCH, "minItems": 1}
    one_of = {key: GROUPS[groups.ONE_OF][key] for key in ("type", "additionalProperties", "description", "required")}
    return schemas | {groups.ONE_OF: {**one_of, "properties": {**own, "steps": children}}}


def schema() -> arguments.Schema:
    """The JSON Schema of a step of `batch:`."""
    steps = {name: ramped(step) for name, step in step_schemas().items()}
    bare = [name for name, step in steps.items() if not step.get("required")]
    return {"anyOf": [{"enum": bare}, mapping(steps, minProperties=1, maxProperties=1)]}


def build_batch(context: keys.Context, node: Node | None) -> tuple[model.Step, ...]:
    """Build the steps of `batch:`, labelled; invalid ones are noted and left out."""
    return () if node is None else model.label(_build_list(context, node, "batch"))


def _build_list(context: keys.Context, node: Node, key: str) -> tuple[model.Step, ...]:
    return build_items(context, node, key, lambda item: _build(context, item))


def _build(context: keys.Context, node: Node) -> model.Step | None:
    place, name, body = shape_of(context, node)
    schema = step_schemas().get(name)
    if schema is None:
        message = "is a step of `steps:`" if registry.arguments(name) is not None else "unknown step of `batch:`"
        if name:
            context.problems.add("E302", place, message, name, problems.near(name, step_schemas()))
        return None
    body = MappingNode({}, place) if body is None else body
    before, lenient = len(context.problems), {**schema, "required": ()}  # check_children notes missing steps
    if not isinstance(body, MappingNode):
        context.value(body, lenient, "", name)
        return None
    ramps = {key for key, part in schema["properties"].items() if is_ramped(part)}
    scheduled, bodies = step_keys.bodies(context, name, body, ramps)
    for body in bodies:
        if len(context.problems) == before:
            context.value(body, lenient, "", name)
    context.steps += 1
    values, nodes = plain(body), body.entries
    if "id" in nodes:
        check_id(context, nodes["id"], f"{name}.id")
    step = placed_step(
        context, name, body, place, {key: value for key, value in values.items() if key not in ("p", "id", "steps")},
        p=float(values["p"]) if isinstance(values.get("p"), int | float) else None,
        id=str(values["id"]) if "id" in nodes else None,
        steps=_build_list(context, nodes["steps"], f"{name}.steps") if "steps" in nodes else (),
        schedule=scheduled,
    )  # fmt: skip
    if step.is_group:
        check_children(context, step, body, place, len(context.problems))  # even if there are other problems
    return step


def check_batch(context: keys.Context, recipe: model.Recipe) -> None:
    """Note steps of `batch:` that cannot act on batches of this recipe."""
    for step in (inner for top in recipe.batch for inner in top.walk() if not inner.is_group):
        if refused := MIXTURES[step.name].refused(recipe, step.args):
            context.problems.add("E316", context.place(step), refused, step.name)
