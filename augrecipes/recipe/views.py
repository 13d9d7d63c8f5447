"""The views of a recipe of kind views, while it is read."""

from __future__ import annotations

from augrecipes.errors import RecipeError
from augrecipes.ops.records import op_record
from augrecipes.recipe.grammar import TAKEN, VIEW, NamedView
from augrecipes.recipe.keys import Context
from augrecipes.recipe.model import Recipe, Step, label
from augrecipes.recipe.nodes import MappingNode, Place, describe, plain
from augrecipes.recipe.problems import near
from augrecipes.recipe.steps import build_steps

_LABELS = {key: schema for key, schema in VIEW["properties"].items() if key != "steps"}


def build_views(context: Context, top: MappingNode) -> tuple[NamedView, ...]:
    """What `views:` says; what is wrong is noted and left out."""
    node, add = top.entries.get("views"), context.problems.add
    if not context.facts.views or node is None:
        return ()
    if not isinstance(node, MappingNode) or not node.entries:
        message = f"must be a mapping such as {{global: {{count: 2, steps: []}}}}, got {describe(node)}"
        add("E407", node.place, message, "views")
        return ()
    found: dict[str, NamedView] = {}
    for name, place, body in node.pairs():
        if not name.isidentifier() or name in TAKEN:
            message = f"a view's name is letters, digits and _, and means nothing else in a sample; got {name!r}"
            add("E407", place, message, "views")
        elif other := next(
            (one for one in found if f"{name}_".startswith(f"{one}_") or one.startswith(f"{name}_")), ""
        ):
            message = f"begins like the view {other!r}, whose masks and boxes are called {other}_mask, {other}_boxes"
            add("E407", place, message, f"views.{name}")
        elif not isinstance(body, MappingNode):
            add("E407", body.place, f"must be a mapping with steps, got {describe(body)}", f"views.{name}")
        else:
            found[name] = _view(context, name, place, body, found)
    return tuple(found.values())


def _view(context: Context, name: str, place: Place, body: MappingNode, before: dict[str, NamedView]) -> NamedView:
    """One entry; `before`: those that stand before it."""
    add = context.problems.add
    for key, at, node in body.pairs():
        if key not in VIEW["properties"]:
            message = f"unknown key; it takes {', '.join(VIEW['properties'])}"
            add("E407", at, message, f"views.{name}.{key}", near(key, VIEW["properties"]))
        elif key in _LABELS:
            context.value(node, _LABELS[key], "E407", f"views.{name}.{key}")
    said = {key: plain(node) for key, node in body.entries.items() if key in _LABELS}
    of, count = said.get("of"), said.get("count", 1)
    of = of if isinstance(of, str) else None
    if of is not None and of not in before:
        message = f"no view {of!r} stands before it; there {'are' if before else 'is'} {', '.join(before) or 'none'}"
        add("E407", body.entries["of"].place, message, f"views.{name}.of")
    elif of is not None and said.setdefault("count", before[of].count) != before[of].count:
        message = f"there are {before[of].count} of {of!r}, and one is made of each: leave it out"
        add("E407", body.entries["count"].place, message, f"views.{name}.count")
    if "steps" not in body.entries:
        add("E407", place, "key 'steps' is missing; `steps: []` leaves the image as it is", f"views.{name}")
        return NamedView(name)
    steps = label(build_steps(context, body.entries["steps"], f"views.{name}.steps"), name)
    return NamedView(name, said.get("count", count), of if of in before else None, steps)


def check_places(context: Context, steps: tuple[Step, ...]) -> None:
    """Note the steps for which `correspondence:` has no matrix."""
    for step in steps:
        record = op_record(step.name)
        if step.is_group and not step.args.get("replace"):
            check_places(context, step.steps)
        elif step.is_group:
            message = "may run a step twice, which no matrix tells; use `replace: false`"
            context.problems.add("E407", context.place(step), message, step.name)
        elif not (record.is_known and record.is_matrix):
            nothing, no_matrix = "nothing is known of where it puts pixels", "it moves pixels by no 3×3 matrix"
            why = no_matrix if record.is_known else nothing
            message = f"{why} that its draws alone tell, as `correspondence: true` needs: leave it or that key out"
            context.problems.add("E407", context.place(step), message, step.name)


def refuse_views(recipe: Recipe, what: str) -> None:
    """RecipeError of a recipe of several views, for `what` is about one image; it says how to go on."""
    if recipe.views:
        of = recipe.views[0].name
        way = f"take its views one by one, each a recipe of one image: ar.load(...).view({of!r})"
        raise RecipeError(f"{recipe.file}: {what} is not for recipes of kind {recipe.kind}; {way}")
