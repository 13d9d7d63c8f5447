"""Steps switched off, or made to act always or never, without a change of the text: what else is drawn stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from augrecipes.ops import groups
from augrecipes.recipe.model import Recipe, Step
from augrecipes.studio.asked import Refused, RequestBody
from augrecipes.studio.outline import steps_by_path


def switched(recipe: Recipe, body: RequestBody) -> Recipe:
    """The recipe with the steps of `off` left out, and those of `force` with a p of 0 or 1.

    Labels stay, so every other step draws what it drew. Inside a group a step that is off stays and never acts, because
    groups draw which of so many steps act.

    Raises:
        Refused: a path that no step has, or a force that is neither 0 nor 1.
    """
    off, force = body.names("off"), body.mapping("force")
    if not off and not force:
        return recipe
    known = steps_by_path(recipe)
    for path in (*off, *force):
        if path not in known:
            raise Refused(404, "path", f"there is no step {path!r:.80}")
    if any(value not in (0, 1) or isinstance(value, bool) for value in force.values()):
        raise Refused(400, "force", "'force' has 0 or 1 for each path")
    return replace(
        recipe,
        steps=_section(recipe.steps, "steps", off, force),
        eval=recipe.eval if recipe.eval is None else _section(recipe.eval, "eval", off, force),
    )


def _section(steps: tuple[Step, ...], path: str, off: list[str], force: dict[str, Any]) -> tuple[Step, ...]:
    found = []
    for number, step in enumerate(steps):
        here = f"{path}.{number}"
        if here not in off:
            found.append(_switched(step, here, off, force))
    return tuple(found)


def _switched(step: Step, path: str, off: list[str], force: dict[str, Any]) -> Step:
    always = [number for number in range(len(step.steps)) if force.get(f"{path}.steps.{number}") == 1]
    children = []
    for number, child in enumerate(step.steps):
        inner = f"{path}.steps.{number}"
        made = _switched(child, inner, off, force)
        alone = step.name == groups.ONE_OF and always and number not in always
        children.append(replace(made, p=0.0) if inner in off or alone else made)
    p = float(force[path]) if path in force else step.p
    return replace(step, steps=tuple(children), p=p)
