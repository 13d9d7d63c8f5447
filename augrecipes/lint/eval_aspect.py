"""L702: things that evaluation makes wider or flatter than training ever shows them."""

from __future__ import annotations

from augrecipes.lint.aspect import Aspect, behind
from augrecipes.lint.drift import both
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """The step that stretches pictures in evaluation, or leaves it out."""
    if recipe.facts.scales or not recipe.eval:
        return
    for training, evaluation in both(recipe):
        (aspect, trained), (other, step) = behind(recipe, training), behind(recipe, evaluation)
        if aspect is None or other is None or other.like(aspect):
            continue
        message = f"evaluation {_text(other)}, training {_text(aspect)}"
        if trained is not None:
            message += f" ({trained.name} in line {trained.position.line})"
        yield Finding(f"{message}; treat both alike, or write `eval: derived`", step or evaluation[0])


def _text(aspect: Aspect) -> str:
    spread = f"{aspect.low:.2g}" if aspect.low == aspect.high else f"{aspect.low:.2g} to {aspect.high:.2g}"
    if aspect.framed:
        return f"brings whole pictures to width : height = {spread}, whatever theirs was"
    return "keeps the proportions" if aspect.low == aspect.high == 1 else f"stretches widths by {spread}"


LINT = Lint(
    "L702",
    "eval-aspect",
    check,
    why="A Resize to height and width squashes every picture that has other proportions; a crop keeps them. A network "
    "that was trained on one and tested on the other meets shapes that it has never seen. Where all pictures have the "
    "proportions of the frame nothing is squashed: silence it.",
    fix="Use SmallestMaxSize and CenterCrop beside random crops, Resize beside Resize; `eval: derived` does.",
    diff="""
 steps:
   - RandomResizedCrop: {size: [64, 64]}
 eval:
+  - SmallestMaxSize: {max_size: 73}
-  - Resize: {height: 64, width: 64}
+  - CenterCrop: {height: 64, width: 64}
""",
)
