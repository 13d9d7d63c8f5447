"""Lints L2xx: sizes, crops and borders of images; L3xx: colour, statistics and channels; L8xx: batches."""

from collections.abc import Iterator
from dataclasses import replace
from math import cos, radians, sin

from augrecipes.errors import Fix
from augrecipes.lint import record as lints
from augrecipes.ops.groups import SEQUENTIAL
from augrecipes.ops.intervals import interval
from augrecipes.ops.ranges import is_neutral
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance, effective, record_of
from augrecipes.ops.sizes import SizeBounds
from augrecipes.recipe.model import Recipe, Step


@lints.rule("L201", "resize-after-resized-crop")
def resize_after_resized_crop(recipe: Recipe) -> lints.Findings:
    """Find resizes next to a resized crop in a section or Sequential, where only flips and quarter turns intervene."""
    for steps in (*lints.sections(recipe), *(group.steps for group in recipe.walk() if group.name == SEQUENTIAL)):
        crop = ""
        for step in steps:
            record = op_record(step.name)
            if crop and record.resizes in ("whole", "window"):
                message = f"{step.name} resamples what {crop} has just resampled; give {crop} the final size instead"
                yield lints.Finding(message, step)
            if record.resizes == "window" and chance(step) >= 1:
                crop = step.name
            elif record.action not in {"dihedral", "identity"}:
                crop = ""


@lints.rule("L202", "border-in-crop")
def border_in_crop(recipe: Recipe) -> lints.Findings:
    """Find rotations with a constant border before a crop, unless the crop stays inside the image."""
    for steps in lints.on_one_grid(recipe):
        for (step, size, _), crop in zip(lints.along(recipe, steps), _next_crops(steps), strict=True):
            for turn in step.walk() if crop is not None else ():
                if crop is not None and _exposes(turn) and not _hidden(turn, size, crop):
                    message = f"{crop.name} shows corners that {turn.name} leaves; write `border_mode: reflect_101`"
                    yield lints.Finding(message, turn, "border_mode", (Fix("set", "border_mode: reflect_101"),))


def _next_crops(steps: tuple[Step, ...]) -> list[Step | None]:
    """For each step, the next crop that may show a corner."""
    crops: list[Step | None] = []
    crop = None
    for step in reversed(steps):
        crops.append(crop)
        crop = next((inner for inner in step.walk() if op_record(inner.name).crops in ("centre", "anywhere")), crop)
    return crops[::-1]


def _exposes(step: Step) -> bool:
    if chance(step) <= 0 or is_neutral(step):
        return False
    values = effective(step)
    if values.get("border_mode", "constant") != "constant" or values.get("crop_border") or values.get("fit_output"):
        return False
    return any(interval("symmetric", values.get(name)) not in (None, (0, 0)) for name in op_record(step.name).turns)


def _hidden(turn: Step, size: SizeBounds, crop: Step) -> bool:
    """Whether a central crop stays inside every rotated image."""
    values, window = effective(turn), effective(crop)
    # Steps without `crop_border` do more than rotate.
    if "crop_border" not in values or op_record(crop.name).crops != "centre" or not size.declared:
        return False
    span = interval("symmetric", values["limit"])
    if span is None or not all(abs(end) <= 90 for end in span):
        return False
    height, width = window["height"], window["width"]
    least = 0.0 if span[0] <= 0 <= span[1] else min(abs(end) for end in span)
    most = max(abs(end) for end in span)
    # The window's extent in the rotated image peaks within the range of angles, so eleven angles are tried.
    angles = (radians(least + (most - least) * tenth / 10) for tenth in range(11))
    return all(
        height * cos(angle) + width * sin(angle) <= size.low[0]
        and width * cos(angle) + height * sin(angle) <= size.low[1]
        for angle in angles
    )


@lints.rule("L203", "crop-too-large")
def crop_too_large(recipe: Recipe) -> lints.Findings:
    """Find crops without padding that exceed a declared or computed size."""
    coarsest = min(recipe.scales, key=recipe.scales.__getitem__, default="")
    unit = f"px of {coarsest}" if coarsest else "px"
    for steps in lints.on_one_grid(recipe):
        for step, size, _ in lints.along(recipe, steps):
            yield from _too_large(step, size, unit)


def _too_large(step: Step, size: SizeBounds, unit: str) -> lints.Findings:
    for child in step.steps if step.is_group else ():
        yield from _too_large(child, size, unit)
        if step.name == SEQUENTIAL:
            size = lints.after(child, size)
    if step.is_group or chance(step) <= 0 or not op_record(step.name).cuts_sides:
        return
    values = effective(step)
    for side, least, most in zip(("height", "width"), size.low, size.high, strict=True):
        if not values.get("pad_if_needed") and (values[side] > most or (size.declared and values[side] > least)):
            available = f"{most if values[side] > most else least:g} {unit}"
            message = f"{step.name} wants {side} {values[side]}, but images here may have only {available}"
            fixes = (Fix("set", "pad_if_needed: true"),)
            yield lints.Finding(f"{message}; resize first, or write `pad_if_needed: true`", step, side, fixes)
            return


@lints.rule("L205", "ragged-sizes")
def ragged_sizes(recipe: Recipe) -> lints.Findings:
    """Find the step after which images differ in size, unless a later step gives them one size again."""
    for steps in lints.on_one_grid(recipe):
        finding = None
        for step, size, result in lints.along(recipe, steps):
            if result.exact:
                finding = None
            elif lints.acting(step, size).exact:
                message = f"{step.name} decides the size but acts with p = {chance(step):g}; write `p: 1.0`"
                finding = lints.Finding(message, step, "p", (Fix("set", "p: 1.0"),))
            elif size.exact and all(inner.is_group or op_record(inner.name).is_known for inner in step.walk()):
                message = f"{step.name} leaves some {size.low[0]:g} × {size.low[1]:g} images with another size"
                finding = lints.Finding(f"{message}; make them square before it, or fix the size after it", step)
        if finding is not None:
            yield finding


@lints.rule("L301", "statistics-after-crop", advice=True)
def statistics_after_crop(recipe: Recipe) -> lints.Findings:
    """Find the first step of a section, or inside a group, that reads the image's statistics after a random crop.

    Statistics of a whole bag do not count: a crop does not change them.
    """
    for steps in lints.sections(recipe):
        crop, findings = "", []
        for top in steps:
            readers = [step for step in top.walk() if crop and _reads(step) and "L301" not in step.ignored]
            readers = [step for step in readers if not (recipe.facts.tiles and effective(step).get("source") == "bag")]
            tail = f"of what {crop} left; put it before the crop, or silence this"
            findings += [lints.Finding(f"{step.name} depends on {_reads(step)} {tail}", step) for step in readers]
            crop = next((step.name for step in top.walk() if _cuts(step)), crop)
        yield from findings[:1]


def _cuts(step: Step) -> bool:
    """Whether a step may crop at a random place."""
    record = op_record(step.name)
    return record.crops is not None and record.random and chance(step) > 0


def _reads(step: Step) -> str:
    """The statistics of the whole image that a step reads; empty where it reads none or never acts."""
    return "" if chance(step) <= 0 or is_neutral(step) else record_of(step).statistics


@lints.rule("L302", "channel-count", "error")
def channel_count(recipe: Recipe) -> lints.Findings:
    """Find steps that would raise on the declared number of channels."""
    for steps in lints.sections(recipe):
        for top, channels in _channels_along(recipe, steps):
            for step in top.walk() if top else ():
                record, count = op_record(step.name), len(step.channels) or channels
                if channels is not None and step.channels and not step.is_group and max(step.channels) >= channels:
                    yield lints.Finding(
                        f"{step.name} changes channel {max(step.channels)}, of images of {channels}", step
                    )
                if count is None or record.channels is None or chance(step) <= 0:
                    continue
                # Records list counts up to 5; a step that takes 5 takes more.
                if count in record.channels or count > max(record.channels) > 3:
                    continue
                takes = " or ".join(map(str, record.channels))
                extra = "; put ToRGB before it" if count == 1 and 3 in record.channels else ""
                if count > 3 and not step.channels:
                    extra = "; say which of them it changes, such as `channels: [0, 1, 2]`"
                has = f"its `channels` are {count}" if step.channels else f"images have {count}"
                yield lints.Finding(f"{step.name} takes {takes} channels, but {has}{extra}", step)


def _channels_along(recipe: Recipe, steps: tuple[Step, ...]) -> Iterator[tuple[Step | None, int | None]]:
    """Each step of a section with the number of channels before it, None where unknown; then None with the result."""
    channels = recipe.inputs.channels
    for top in steps:
        yield top, channels
        channels = _channels_after(top, channels)
    yield None, channels


def _channels_after(top: Step, channels: int | None) -> int | None:
    """The number of channels after a step, from the number before; None where unknown."""
    counts: set[int | None] = set()
    for step in (step for step in top.walk() if not step.steps):
        record = op_record(step.name)
        if not record.is_known:
            return None
        if record.channels_after is not None and not (step.channels or step.target or top.target):
            counts.add(record.channels_after(effective(step)))
    if counts <= {channels}:
        return channels
    return counts.pop() if not top.is_group and chance(top) >= 1 else None


@lints.rule("L306", "channel-statistics", "error")
def channel_statistics(recipe: Recipe) -> lints.Findings:
    """Find means and standard deviations whose number is not that of the output channels."""
    outputs = (recipe.output, *recipe.outputs.values())
    normalizations = [output.normalize for output in outputs if output.normalize and output.color in ("rgb", "bgr")]
    numbers = {len(values) for normalize in normalizations for values in (normalize.mean, normalize.std)} - {1}
    for steps in lints.sections(replace(recipe, eval=None) if recipe.derived else recipe):
        *_, (_, count) = _channels_along(recipe, steps)
        wrong = numbers - {count}
        if wrong and count is not None:
            message = f"`normalize` has {min(wrong)} numbers, and images leave with {count} channels"
            yield lints.Finding(f"{message}: give one for each channel, or one for all", steps[-1] if steps else None)
            return


@lints.rule("L303", "jitter-defaults")
def jitter_defaults(recipe: Recipe) -> lints.Findings:
    """Find ColorJitter steps that leave the hue at its wide default."""
    for step in recipe.walk():
        if "hue" in op_record(step.name).wide and "hue" not in step.args and chance(step) > 0:
            message = "without `hue` albumentations samples from the whole colour circle"
            yield lints.Finding(
                f"{message}; write `hue: 0` for torchvision's default", step, fixes=(Fix("set", "hue: 0"),)
            )


@lints.rule("L304", "levels-in-floats")
def levels_in_floats(recipe: Recipe) -> lints.Findings:
    """Find steps that round float32 images to 256 levels, by `inputs` or before a step that changes the dtype."""
    for steps in lints.sections(recipe):
        ends = (place for place, step in enumerate(steps) if op_record(step.name).changes_dtype and chance(step) > 0)
        count = next(ends, len(steps) if recipe.inputs.dtype == "float32" else 0)
        for step in (step for top in steps[:count] for step in top.walk()):
            if _uses_levels(step):
                yield lints.Finding(
                    f"{step.name} rounds float32 images to 256 levels{_instead(step)}", step, fixes=lints.REMOVE
                )


@lints.rule("L305", "levels-at-depth", "error")
def levels_at_depth(recipe: Recipe) -> lints.Findings:
    """Find steps of 256 levels on images of 16 bits, and steps that convert images of a declared depth to 8 bits."""
    for step in recipe.walk() if recipe.inputs.is_deep else ():
        if op_record(step.name).changes_dtype and chance(step) > 0:
            message = f"{step.name} ends the depth of images, which `output:` does; leave it out"
            yield lints.Finding(message, step, fixes=lints.REMOVE)
        elif recipe.inputs.dtype == "uint16" and _uses_levels(step):
            message = f"{step.name} works on 256 levels, and images have 16 bits"
            yield lints.Finding(message + _instead(step), step, fixes=lints.REMOVE)


def _uses_levels(step: Step) -> bool:
    return not step.steps and chance(step) > 0 and record_of(step).in_levels and not is_neutral(step)


def _instead(step: Step) -> str:
    """A remedy for a step of 256 levels."""
    other = op_record(step.name).deep
    return f"; {f'use {other}, ' if other else ''}leave it out, or give the recipe images of 8 bits"


@lints.rule("L801", "batch-size-differs")
def batch_size_differs(recipe: Recipe) -> lints.Findings:
    """Find steps of `batch:` after steps that may leave images of different sizes."""
    size = lints.arriving(recipe)
    for step in next(lints.on_one_grid(recipe)) if recipe.batch else ():
        size = lints.after(step, size)
    if recipe.batch and not size.exact:
        message = f"{recipe.batch[0].name} mixes images of one size; end `steps:` in a crop of fixed size"
        yield lints.Finding(message, recipe.batch[0])
