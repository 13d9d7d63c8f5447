"""L3: colour, statistics and channels."""

from __future__ import annotations

from augrecipes.lint.record import Finding, Findings, rule
from augrecipes.lint.walk import sections
from augrecipes.ops.capabilities import capability, claims
from augrecipes.ops.ranges import is_neutral
from augrecipes.ops.registry import chance, effective
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.problems import Fix


@rule("L301", "statistics-after-crop")
def statistics_after_crop(recipe: Recipe) -> Findings:
    """Steps that read the whole image's statistics behind a random crop, in groups too."""
    for steps in sections(recipe):
        crop: Step | None = None
        for top in steps:
            for step in top.walk():
                reads = _reads(step) if crop is not None else ""
                if crop is not None and reads:
                    yield Finding(
                        f"{step.name} reads {reads} of what {crop.name} left, so the same pixel changes differently "
                        f"in every crop; move it before {crop.name} (which takes longer: it then changes the whole "
                        "image), or silence this if that is meant",
                        step,
                    )
            crop = next((step for step in top.walk() if _cuts(step)), crop)


def _cuts(step: Step) -> bool:
    """Whether the step may cut a window at a random place."""
    record = claims(step.name)
    return record.crops is not None and record.random and chance(step) > 0


def _reads(step: Step) -> str:
    """What the step reads of the whole image; empty where it reads nothing, or never acts."""
    return "" if chance(step) <= 0 or is_neutral(step) else claims(step.name).statistics_for(effective(step))


@rule("L302", "channel-count", "error")
def channel_count(recipe: Recipe) -> Findings:
    """Steps that raise on the declared channel count. Undeclared counts are not guessed at."""
    for steps in sections(recipe):
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
                channels = made(effective(top)) if chance(top) >= 1 else None


@rule("L303", "jitter-defaults")
def jitter_defaults(recipe: Recipe) -> Findings:
    """A ColorJitter that leaves the hue to its wide default."""
    for step in recipe.walk():
        if "hue" in claims(step.name).wide and "hue" not in step.args and chance(step) > 0:
            message = (
                "without `hue` albumentations samples from the whole colour circle (-0.5 .. 0.5); "
                "write `hue: 0` for torchvision's default"
            )
            yield Finding(message, step, fixes=(Fix("set", "hue: 0"),))
