"""L503: equal steps in one list whose draws go by their order."""

from __future__ import annotations

from augrecipes.lint.arguments import chance, makes_draws, sections, siblings
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Findings:
    """The second and later steps of one name, without id, in one list."""
    for _, section in sections(recipe):
        for steps in siblings(section):
            seen: dict[str, int] = {}
            for step in steps:
                if step.id is not None or not _draws(step):
                    continue
                seen[step.name] = seen.get(step.name, 0) + 1
                if seen[step.name] > 1:
                    yield Finding(
                        f"{step.name} stands here {_TIMES.get(seen[step.name], 'several times')}; "
                        "give each an `id`, or adding or removing one changes the draws of the others",
                        step,
                    )


_TIMES = {2: "twice", 3: "three times"}


def _draws(step: Step) -> bool:
    return 0 < chance(step) < 1 or step.is_group or makes_draws(step)


LINT = Lint(
    "L503",
    "equal-steps",
    check,
    why="A step's draws are keyed by its name and its place among steps of the same name. Adding an equal step before "
    "it gives it other draws, and two runs can no longer be compared sample by sample.",
    fix="Give each of them an `id`; the draws then follow the id wherever the step moves.",
    diff="""
 steps:
-  - RandomGamma: {gamma_limit: [80, 120]}
+  - RandomGamma: {gamma_limit: [80, 120], id: exposure}
-  - RandomGamma: {gamma_limit: [95, 105]}
+  - RandomGamma: {gamma_limit: [95, 105], id: display}
 eval: []
""",
)
