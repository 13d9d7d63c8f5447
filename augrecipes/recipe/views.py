"""The views of a recipe of kind views, while it is read."""

from __future__ import annotations

from augrecipes.errors import RecipeError
from augrecipes.ops.records import op_record
from augrecipes.recipe.grammar import TAKEN, VIEW, NamedView, mapping
from augrecipes.recipe.keys import Context
from augrecipes.recipe.model import Recipe, Step, label
from augrecipes.recipe.nodes import NOWHERE, ListNode, MappingNode, Place, describe, plain
from augrecipes.recipe.steps import build_steps

_LABELS = mapping({**VIEW["properties"], "steps": {}})  # steps are checked one by one
_NO_STEPS = ListNode([], NOWHERE)


def build_views(context: Context, top: MappingNode) -> tuple[NamedView, ...]:
    """What `views:` says; what is wrong is noted and left out."""
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
            message = f"begins like the view {other!r}, whose masks and boxes are called {other}_mask, {other}_boxes"
            add("E407", place, message, f"views.{name}")
        elif not isinstance(body, MappingNode):
            add("E407", body.place, f"must be a mapping with steps, got {describe(body)}", f"views.{name}")
        else:
            views[name] = _view(context, name, place, body, views)
    return tuple(views.values())


def _view(context: Context, name: str, place: Place, body: MappingNode, before: dict[str, NamedView]) -> NamedView:
    """One entry; `before`: those that stand before it."""
    add, label_ = context.problems.add, f"views.{name}"
    context.value(MappingNode({**body.entries, "steps": _NO_STEPS}, body.place, body.at), _LABELS, "E407", label_)
    values = {key: plain(node) for key, node in body.entries.items() if key in ("count", "of")}
    of = values["of"] if isinstance(values.get("of"), str) else None
    if of is not None and of not in before:
        message = f"no view {of!r} stands before it; there {'are' if before else 'is'} {', '.join(before) or 'none'}"
        add("E407", body.entries["of"].place, message, f"{label_}.of")
    elif of is not None and values.setdefault("count", before[of].count) != before[of].count:
        message = f"there are {before[of].count} of {of!r}, and one is made of each: leave it out"
        add("E407", body.entries["count"].place, message, f"{label_}.count")
    if "steps" not in body.entries:
        add("E407", place, "key 'steps' is missing; `steps: []` leaves the image as it is", label_)
        return NamedView(name)
    steps = label(build_steps(context, body.entries["steps"], f"{label_}.steps"), name)
    return NamedView(name, values.get("count", 1), of if of in before else None, steps)


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
