"""L202: a rotation whose constant border a later crop shows."""

from __future__ import annotations

from math import cos, radians, sin

from augrecipes.lint.arguments import arguments, chance, interval, is_neutral
from augrecipes.lint.grids import on_one_grid
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.lint.sizes import along
from augrecipes.ops.capabilities import claims
from augrecipes.ops.sizes import SizeBounds
from augrecipes.recipe.model import Recipe, Step

# Crops that may keep a corner.
_SHOWING = ("centre", "anywhere")


def check(recipe: Recipe) -> Findings:
    """Every turn with a constant border that a crop follows, unless the crop stays inside the picture."""
    for _, steps in on_one_grid(recipe):
        for (step, size, _), crop in zip(along(recipe, steps), _crops_behind(steps), strict=True):
            if crop is not None:
                for turn in step.walk():
                    if _exposes(turn) and not _hidden(turn, size, crop):
                        yield _finding(turn, crop)


def _crops_behind(steps: tuple[Step, ...]) -> list[Step | None]:
    """The first crop behind each step."""
    behind: list[Step | None] = []
    crop = None
    for step in reversed(steps):
        behind.append(crop)
        crop = next((inner for inner in step.walk() if claims(inner.name).crops in _SHOWING), crop)
    return behind[::-1]


def _finding(turn: Step, crop: Step) -> Finding:
    message = (
        f"{turn.name} leaves corners of one colour, and {crop.name} after it shows them; "
        "write `border_mode: reflect_101`, or crop to the middle"
    )
    return Finding(message, turn, "border_mode")


def _exposes(step: Step) -> bool:
    if chance(step) <= 0 or is_neutral(step):
        return False
    values = arguments(step)
    if values.get("border_mode", "constant") != "constant" or values.get("crop_border") or values.get("fit_output"):
        return False
    return any(interval("symmetric", values.get(name)) not in (None, (0, 0)) for name in claims(step.name).turns)


def _hidden(turn: Step, size: SizeBounds, crop: Step) -> bool:
    """Whether a central crop stays inside every turned picture."""
    values, window = arguments(turn), arguments(crop)
    # Others do more than turn, or scale as well.
    if "crop_border" not in values or claims(crop.name).crops != "centre" or not size.declared:
        return False
    span = interval("symmetric", values["limit"])
    if span is None or not all(abs(end) <= 90 for end in span):
        return False
    height, width = window["height"], window["width"]
    least = 0.0 if span[0] <= 0 <= span[1] else min(abs(end) for end in span)
    most = max(abs(end) for end in span)
    # The window's extent across the turned picture peaks between the ends of the range, so tenths of it are looked at.
    angles = (radians(least + (most - least) * tenth / 10) for tenth in range(11))
    return all(
        height * cos(angle) + width * sin(angle) <= size.low[0]
        and width * cos(angle) + height * sin(angle) <= size.low[1]
        for angle in angles
    )


LINT = Lint(
    "L202",
    "border-in-crop",
    check,
    why="A rotation by 25° with the default border paints 14% of the picture in one colour. A crop after it brings "
    "those corners into training, and a network learns from them how far the picture was turned.",
    fix="Write `border_mode: reflect_101` (or `replicate`), or turn first and keep only the middle with a CenterCrop.",
    diff="""
 steps:
-  - Rotate: {limit: 25, p: 1.0}
+  - Rotate: {limit: 25, border_mode: reflect_101, p: 1.0}
   - RandomCrop: {height: 64, width: 64}
 eval: []
""",
)
