"""L401: `optimize: fast`, and a step in the middle that keeps its neighbours from becoming one kernel."""

from __future__ import annotations

from augrecipes.lint.arguments import arguments, chance, is_neutral, sections
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import capability, claims
from augrecipes.recipe.model import Recipe, Step

# Kernels of `fast`: one warp, or one table or colour matrix.
_GEOMETRY = frozenset({"window", "dihedral", "warp"})
_COLOUR = frozenset({"lookup", "matrix", "pointwise"})
_REASONS = {
    "field": "bends the picture by a field, not by one matrix",
    "compression": "compresses the whole picture",
    "noise": "draws each pixel for itself",
    "padding": "paints its own border",
}


def check(recipe: Recipe) -> Findings:
    """Opaque steps of `steps` with something to fuse on both sides."""
    if recipe.optimize != "fast" or recipe.facts.scales:  # steps of a pair are not joined
        return
    for _, steps in sections(recipe):
        fusable = [_fusable(step) for step in steps]
        backward = _nearest(fusable[::-1])[::-1]
        for step, kind, before, later in zip(steps, fusable, _nearest(fusable), backward, strict=True):
            if kind is None and before is not None and before == later:
                culprit = next((inner for inner in step.walk() if not inner.is_group and _kind(inner) is None), step)
                where = "beginning" if _bars(culprit, before) else "end or the beginning"
                yield Finding(
                    f"{culprit.name} {_reason(culprit)}, so the {before} steps before and after it cannot become one "
                    f"kernel; move it to the {where}",
                    step,
                )


def _nearest(kinds: list[str | None]) -> list[str | None]:
    """The last kind before each that does something; None where that one blocks."""
    before: list[str | None] = []
    last = None
    for kind in kinds:
        before.append(last)
        last = last if kind == "nothing" else kind
    return before


def _fusable(step: Step) -> str | None:
    """`geometry`, `colour`, `nothing` for a step that does nothing, or None where the step blocks."""
    kinds = {_kind(inner) for inner in step.walk() if not inner.is_group}
    return kinds.pop() if len(kinds) == 1 else None


def _kind(step: Step) -> str | None:
    record = capability(step.name)
    if chance(step) <= 0 or is_neutral(step) or claims(step.name).action == "identity":
        return "nothing"
    if record is None:
        return None
    action = record.action_for(arguments(step))
    # `fast` approximates some whose colour part reads statistics.
    colour = action in _COLOUR or record.recolours_for(arguments(step))
    return "geometry" if action in _GEOMETRY else "colour" if colour else None


def _bars(step: Step, kind: str) -> bool:
    """Whether no steps of a kind are merged in front of a step, wherever it stands."""
    record = capability(step.name)
    if record is None or record.draws_from is None or "image" in record.draws_from:
        return True
    return kind == "colour" and record.gain_for(arguments(step)) is None


def _reason(step: Step) -> str:
    record = capability(step.name)
    if record is None:
        return "is a class that the optimiser knows nothing of"
    if record.effect is not None:
        return _REASONS[record.effect]
    if read := record.statistics_for(arguments(step)):
        return f"reads {read} of the whole image"
    return "mixes neighbouring pixels or covers them"


LINT = Lint(
    "L401",
    "fast-blocked",
    check,
    why="`fast` joins runs of geometry and runs of colour into one kernel each. A step in between that is neither "
    "splits a run in two, and the picture is resampled, or read and written, twice. In front of a step whose draws or "
    "thresholds go by the pixels colours are not merged at all, wherever it stands.",
    fix="Move the step to the end of the recipe (blur, plain noise) or to its beginning.",
    diff="""
 optimize: fast
 steps:
   - Rotate: {limit: 25, border_mode: reflect_101, p: 1.0}
+  - RandomResizedCrop: {size: [64, 64]}
   - GaussianBlur: {sigma_limit: [0.5, 1.5]}
-  - RandomResizedCrop: {size: [64, 64]}
 eval: []
""",
)
