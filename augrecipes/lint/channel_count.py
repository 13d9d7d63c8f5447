"""L302: a step that does not take as many channels as the recipe declares."""

from __future__ import annotations

from augrecipes.lint.arguments import arguments, chance, sections
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import capability, claims
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """Steps that raise on the declared channel count. Undeclared counts are not guessed at."""
    for _, steps in sections(recipe):
        channels = recipe.inputs.channels
        for top in steps:
            for step in top.walk():
                record = capability(step.name)
                if channels is None or record is None or record.channels is None or chance(step) <= 0:
                    continue
                # Records list small counts; what takes 5 takes more.
                if channels in record.channels or channels > max(record.channels) > 3:
                    continue
                takes = " or ".join(str(count) for count in record.channels)
                extra = "; put ToRGB before it" if channels == 1 and 3 in record.channels else ""
                yield Finding(f"{step.name} takes {takes} channels, but images have {channels}{extra}", step)
            if (made := claims(top.name).channels_after) is not None and not top.target:
                channels = made(arguments(top)) if chance(top) >= 1 else None


LINT = Lint(
    "L302",
    "channel-count",
    check,
    why="The step raises on every single image.",
    fix="Declare the channels that decoding should deliver (`inputs: {image: {channels: 3}}` replicates grey), put "
    "ToRGB before the step, or use a step that takes any number of channels.",
    diff="""
 inputs: {image: {channels: 1}}
 steps:
-  - ISONoise
+  - GaussNoise: {std_range: [0.01, 0.05]}
 eval: []
""",
    severity="error",
)
