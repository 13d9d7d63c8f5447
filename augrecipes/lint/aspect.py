"""What is known of a picture's proportions behind the steps of a section: are things as wide as they were?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from augrecipes.lint import sizes
from augrecipes.lint.arguments import arguments, chance
from augrecipes.ops import groups
from augrecipes.ops.capabilities import capability
from augrecipes.ops.sizes import SizeBounds, to_sides
from augrecipes.recipe.model import Recipe, Step


@dataclass(frozen=True, slots=True)
class Aspect:
    """How much wider things are than they were.

    Attributes:
        low: least factor.
        high: greatest factor.
        framed: whole pictures were brought to one frame: the factor is to be divided by the picture's own proportions.
        whole: the picture is still the whole one, in some size.
    """

    low: float = 1
    high: float = 1
    framed: bool = False
    whole: bool = True

    def times(self, low: float, high: float) -> Aspect:
        """Stretched once more, by a factor between the two."""
        return replace(self, low=self.low * low, high=self.high * high)

    def like(self, other: Aspect) -> bool:
        """Whether some picture may have these proportions and the other's."""
        slack = 1.03  # sizes are whole pixels, bounds are often written with few digits
        near = self.low <= other.high * slack and other.low <= self.high * slack
        return self.framed == other.framed and near


class Behind(NamedTuple):
    """What is known behind a section: None where nothing is; and the step that stretched last."""

    aspect: Aspect | None
    step: Step | None


def behind(recipe: Recipe, steps: tuple[Step, ...]) -> Behind:
    """What is known behind `steps` of `recipe`."""
    aspect: Aspect | None = Aspect()
    size, stretched = sizes.arriving(recipe), None
    for step in steps:
        then = _after(step, aspect, size)
        if _stretch(then) != _stretch(aspect):
            stretched = step
        aspect, size = then, sizes.after(step, size)
    return Behind(aspect, stretched)


def _stretch(aspect: Aspect | None) -> tuple[float, float, bool] | None:
    return None if aspect is None else (aspect.low, aspect.high, aspect.framed)


def _after(step: Step, aspect: Aspect | None, size: SizeBounds) -> Aspect | None:
    p = chance(step)
    if p <= 0 or aspect is None:
        return aspect
    acted = _acting(step, aspect, size)
    return acted if p >= 1 else _join(acted, aspect)


def _join(one: Aspect | None, other: Aspect | None) -> Aspect | None:
    if one is None or other is None or one.framed != other.framed:
        return None
    low, high = min(one.low, other.low), max(one.high, other.high)
    return Aspect(low, high, one.framed, one.whole and other.whole)


def _acting(step: Step, aspect: Aspect, size: SizeBounds) -> Aspect | None:
    match step.name:
        case groups.SEQUENTIAL:
            inner: Aspect | None = aspect
            for child in step.steps:
                inner, size = _after(child, inner, size), sizes.after(child, size)
            return inner
        case groups.ONE_OF:
            ends = [_acting(child, aspect, size) for child in step.steps if chance(child) > 0]
            joined = ends[0] if ends else aspect
            for end in ends[1:]:
                joined = _join(joined, end)
            return joined
        case groups.SOME_OF | groups.RANDOM_ORDER:
            return aspect if all(_after(child, aspect, size) == aspect for child in step.steps) else None
    return _alone(step, aspect, size)


def _alone(step: Step, aspect: Aspect, size: SizeBounds) -> Aspect | None:
    record = capability(step.name)
    if record is None:
        return None
    values = arguments(step)
    cut = replace(aspect, whole=False)
    if record.resizes == "whole" and record.size is to_sides:
        wanted = values["width"] / values["height"]
        if size.exact:
            factor = wanted * size.low[0] / size.low[1]
            return aspect.times(factor, factor)
        # A whole picture of unknown size; of a part of it nothing can be said.
        return replace(aspect.times(wanted, wanted), framed=True) if aspect.whole and not aspect.framed else None
    if record.resizes == "window":
        if record.proportions is None:
            return None
        height, width = values["size"]
        flattest, widest = record.proportions(values)
        return cut.times(width / height / widest, width / height / flattest) if flattest > 0 else None
    leaves_whole = record.action in {"identity", "dihedral", "warp"} or "mask" not in record.targets
    return aspect if leaves_whole else cut
