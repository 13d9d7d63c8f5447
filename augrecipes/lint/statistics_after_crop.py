"""L301: a step that reads the whole image's statistics, after a crop has changed them at random."""

from __future__ import annotations

from augrecipes.lint.arguments import arguments, chance, is_neutral, sections
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Findings:
    """Statistics-dependent steps behind a random crop, in groups too."""
    for _, steps in sections(recipe):
        crop: Step | None = None
        for top in steps:
            for step in top.walk():
                reads = _reads(step) if crop is not None else ""
                if crop is not None and reads:
                    yield Finding(
                        f"{step.name} reads {reads} of what {crop.name} left, so the same pixel changes differently "
                        f"in every crop; move it before {crop.name} (which takes longer: it then changes the whole "
                        "picture), or silence this if that is meant",
                        step,
                    )
            crop = next((step for step in top.walk() if _cuts(step)), crop)


def _cuts(step: Step) -> bool:
    """Whether the step may cut a window that it draws."""
    record = claims(step.name)
    return record.crops is not None and record.random and chance(step) > 0


def _reads(step: Step) -> str:
    """What the step reads of the whole image; empty where it reads nothing, or never acts."""
    return "" if chance(step) <= 0 or is_neutral(step) else claims(step.name).statistics_for(arguments(step))


LINT = Lint(
    "L301",
    "statistics-after-crop",
    check,
    why="Contrast about the mean, equalisation and PCA colour depend on which window was cut, so the strength of the "
    "change is coupled to the crop; and the plan can neither move such a step nor prepare it once for the whole image.",
    fix="Put the step before the crop, or use one that looks at single pixels (RandomBrightnessContrast, RandomGamma, "
    "StainJitter). Before the crop it has the whole picture to change: stained-tissue with its ColorJitter in front "
    "takes 1.1 times as long on pictures of 256², 1.5 to 1.7 times on 512², 2.1 to 2.6 times on 1024². Where that is "
    "too much, or the crop's own statistics are meant, as in most published pipelines, silence it.",
    diff="""
 steps:
+  - ColorJitter: {brightness: 0.2, contrast: 0.2, saturation: 0.1, hue: 0.02, p: 1.0}
   - RandomCrop: {height: 64, width: 64}
-  - ColorJitter: {brightness: 0.2, contrast: 0.2, saturation: 0.1, hue: 0.02, p: 1.0}
 eval: []
""",
)
