"""L705: a step that changes the statistics of every picture, in one section only."""

from __future__ import annotations

from augrecipes.lint.arguments import chance, makes_draws
from augrecipes.lint.drift import acting, both, repaints
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.recipe.derive import derive
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Findings:
    """Steps of training that `eval: derived` would keep, and steps of evaluation that training never runs."""
    for training, evaluation in both(recipe):
        yield from _missing(recipe, training, {step.name for step in acting(evaluation)})
        trained = {step.name for step in acting(training)}
        for step in acting(evaluation):
            certain = chance(step) >= 1 and not makes_draws(step)  # of others L101 speaks
            if certain and repaints(step) and step.name not in trained:
                message = f"{step.name} changes every picture in evaluation, and training has no {step.name}"
                yield Finding(f"{message}; put it into `steps:` too, or leave it out", step)


def _missing(recipe: Recipe, training: tuple[Step, ...], evaluation: set[str]) -> Findings:
    """Steps of training that belong in evaluation too."""
    for row in derive(training, recipe.scales.plain()):
        kept = [step.name for step in row.becomes if repaints(step)]
        # Of a group that draws one of several any will do.
        likely = evaluation & {step.name for step in acting((row.step,))}
        for name in kept if not likely else [name for name in kept if row.inner and name not in evaluation]:
            message = f"{name} acts on every picture in training, and evaluation has no {name}"
            yield Finding(f"{message}; add it to `eval:`, or write `eval: derived`", row.step)


LINT = Lint(
    "L705",
    "eval-step",
    check,
    why="Equalisation, grey values, a fixed blur or gamma that act on every picture are preparation, not augmentation: "
    "a network that was trained with them and tested without them, or the other way round, sees other statistics.",
    fix="Put the step into both sections; `eval: derived` keeps what acts on every sample.",
    diff="""
 steps:
   - CLAHE: {clip_limit: [2, 2], p: 1.0}
   - RandomCrop: {height: 64, width: 64}
 eval:
+  - CLAHE: {clip_limit: [2, 2], p: 1.0}
   - CenterCrop: {height: 64, width: 64}
""",
)
