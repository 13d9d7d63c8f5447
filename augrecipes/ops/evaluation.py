"""What a step of training becomes in evaluation: the same without draws.

One rule holds for every class: a step that acts on every sample and draws nothing stays, a step that draws goes. The
exceptions are written here, and only here: windows are cut from the centre, sizes stay, and of a step that always acts
with a strength that is never neutral the middle of its range stays, because training has seen no image without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

from augrecipes.ops import registry
from augrecipes.ops.intervals import Meaning, interval
from augrecipes.ops.ranges import BY_STRENGTH, NEUTRAL, is_neutral, makes_draws, meaning_of
from augrecipes.ops.records import op_record
from augrecipes.ops.step import Step

Arguments = Mapping[str, Any]
Made = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class EvalStep:
    """What stands in evaluation for one step that acts on every sample.

    Attributes:
        steps: class and arguments of each; empty: nothing does.
        why: in a few words.
    """

    steps: tuple[tuple[str, dict[str, Any]], ...]
    why: str


GONE = EvalStep((), "draws anew for every sample")


def counterpart(step: Step, unit: int = 1) -> EvalStep | None:
    """What `step`, a class and no group, becomes; None where nothing is known of its class.

    Args:
        step: which acts on every sample.
        unit: pixels come in multiples of this (of a pair: one pixel of the coarsest grid).

    >>> from augrecipes.ops.frozen import Arguments
    >>> from augrecipes.ops.step import Step
    >>> [name for name, _ in counterpart(Step("RandomResizedCrop", Arguments({"size": [224, 224]}))).steps]
    ['SmallestMaxSize', 'CenterCrop']
    >>> counterpart(Step("Rotate", Arguments({"limit": 10}))).steps, counterpart(Step("ClassOfYours"))
    ((), None)
    """
    given = step.args.plain()
    if registry.is_registered(step.name):
        return _registered(step.name, given)
    record = op_record(step.name)
    if step.name in _PLACED or not record.is_known:
        return None
    if record.action == "identity" or is_neutral(step):
        return EvalStep((), "changes nothing")
    values = registry.effective(step)
    if step.name in _WINDOWS:
        rule, why = _WINDOWS[step.name]
        return EvalStep(tuple(rule(given, values, unit)), why)
    if not makes_draws(step):
        return EvalStep(((step.name, given),), "draws nothing")
    if step.name in _CERTAIN:
        fixed = {**given, **_CERTAIN[step.name](values)}
        if is_neutral(replace(step, args=type(step.args)(fixed))):
            return EvalStep((), "draws anew for every sample, no change among it")
        return EvalStep(((step.name, fixed),), "the middle of what it draws")
    return GONE


# Cuts around a box that each sample names; no window stands for that.
_PLACED = frozenset({"RandomCropNearBBox"})


def _registered(name: str, given: dict[str, Any]) -> EvalStep | None:
    """What the class says of itself, in an attribute `in_eval`: `keep` or `drop`."""
    said = getattr(registry.get_class(name), "in_eval", None)
    if said == "keep":
        return EvalStep(((name, given),), "its class says in_eval = 'keep'")
    return EvalStep((), "its class says in_eval = 'drop'") if said == "drop" else None


# Windows: class, arguments as given, arguments that take effect, unit → the steps in the centre.

_PADDING = ("pad_if_needed", "border_mode", "fill", "fill_mask")
_SAMPLING = ("interpolation", "mask_interpolation", "area_for_downscale")
# Of the shorter side; torchvision's 224 of 256, which evaluation on ImageNet has used ever since.
_CUSTOMARY = 7 / 8
# A resize to many times the size of the crop would fill the memory.
_MOST = 16


def _some(given: Arguments, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _span(meaning: Meaning, value: Any) -> tuple[float, float]:
    return interval(meaning, value) or (1, 1)


def _to_unit(pixels: float, unit: int) -> int:
    return max(1, round(pixels / unit)) * unit


def _central(given: Arguments, values: Arguments, unit: int) -> Made:
    placed = {} if given.get("pad_position", "random") == "random" else _some(given, ("pad_position",))
    size = {"height": values["height"], "width": values["width"]}
    return [("CenterCrop", {**size, **_some(given, _PADDING), **placed})]


def _resized_central(given: Arguments, values: Arguments, unit: int) -> Made:
    """The customary share of the shorter side, or what of the training's shares is nearest to it.

    The image keeps its proportions, unless training stretches every image: then by the least that training does.
    """
    height, width = values["size"]
    low, high = _span("from_zero", values["scale"])
    share = max(min(max(_CUSTOMARY, sqrt(low)), sqrt(high)), 1 / _MOST)
    flattest, widest = _span("from_zero", values["ratio"])
    ratio = min(max(width / height, flattest), max(widest, 1 / _MOST))
    cut = height, width
    if abs(ratio * height / width - 1) > 0.01:  # the bounds are often written with few digits
        area = height * width
        cut = _to_unit(sqrt(area / ratio), unit), _to_unit(sqrt(area * ratio), unit)
    sampling = _some(given, _SAMPLING)
    sides = [_to_unit(side / share, unit) for side in cut]
    size = {"max_size": sides[0]} if cut[0] == cut[1] else {"max_size_hw": sides}
    made: Made = [
        ("SmallestMaxSize", {**size, **sampling}),
        ("CenterCrop", {"height": cut[0], "width": cut[1]}),
    ]
    return made if cut == (height, width) else [*made, ("Resize", {"height": height, "width": width, **sampling})]


def _sized_central(given: Arguments, values: Arguments, unit: int) -> Made:
    height, width = values["size"]
    middle = _to_unit(sum(_span("from_one", values["min_max_height"])) / 2, unit)
    cut = middle, _to_unit(int(middle * values["w2h_ratio"]), unit)
    made: Made = [("CenterCrop", {"height": cut[0], "width": cut[1]})]
    if cut == (height, width):
        return made
    return [*made, ("Resize", {"height": height, "width": width, **_some(given, _SAMPLING)})]


def _whole_resized(given: Arguments, values: Arguments, unit: int) -> Made:
    return [("Resize", {"height": values["height"], "width": values["width"], **_some(given, _SAMPLING)})]


def _whole(given: Arguments, values: Arguments, unit: int) -> Made:
    return []


_WINDOWS: dict[str, tuple[Callable[[Arguments, Arguments, int], Made], str]] = {
    "RandomCrop": (_central, "the window in the centre"),
    "AtLeastOneBBoxRandomCrop": (_central, "the window in the centre, whatever it shows"),
    "CropNonEmptyMaskIfExists": (_central, "the window in the centre, whatever it shows"),
    "RandomResizedCrop": (_resized_central, "the centre, 7/8 of the shorter side where training's scale allows it"),
    "RandomSizedCrop": (_sized_central, "a window of middle size in the centre"),
    "RandomSizedBBoxSafeCrop": (_whole_resized, "the whole image, which holds every box"),
    "BBoxSafeRandomCrop": (_whole, "the whole image, which holds every box"),
    "RandomCropFromBorders": (_whole, "the whole image"),
}


# Steps that one value for each draw makes certain: the neutral one where they draw it, or the middle one.


def _strengths(name: str) -> Callable[[Arguments], dict[str, Any]]:
    # No strength of CLAHE is neutral.
    ranges: Mapping[str, float | None] = {"clip_limit": None} if name == "CLAHE" else NEUTRAL[name]

    def settled(values: Arguments) -> dict[str, Any]:
        # balanced_scale draws on which side of 1.
        fixed: dict[str, Any] = {"balanced_scale": False} if values.get("balanced_scale") else {}
        for argument, neutral in ranges.items():
            if values.get(argument) is not None:
                fixed[argument] = _settle(
                    meaning_of(name, argument), values[argument], neutral, whole=argument.endswith("_px")
                )
        return fixed

    return settled


def _settle(meaning: Meaning, value: Any, neutral: float | None, *, whole: bool = False) -> Any:
    if isinstance(value, Mapping):
        return {key: _settle(meaning, part, neutral, whole=whole) for key, part in value.items()}
    span = interval(meaning, value)
    if span is None:
        return value
    low, high = span
    middle = neutral if neutral is not None and low <= neutral <= high else (low + high) / 2
    middle = int(middle) if whole or float(middle).is_integer() else middle
    return [middle, middle]


def _middle_size(values: Arguments) -> dict[str, Any]:
    sizes = sorted(values["max_size"])
    return {"max_size": sizes[len(sizes) // 2]}


def _middle_sides(values: Arguments) -> dict[str, Any]:
    """CropAndPad with a number for each side; a fill that is drawn becomes the middle one."""
    name = "percent" if values.get("px") is None else "px"
    amount = values[name]
    sides = amount if isinstance(amount, list | tuple) and len(amount) == 4 else [amount] * 4
    settled = [(_settle("exact", side, 0, whole=name == "px") or [0])[0] for side in sides]
    fills = {key: _middle_of(values[key]) for key in ("fill", "fill_mask") if isinstance(values[key], list | tuple)}
    return {name: settled, **fills}


def _middle_of(values: Any) -> Any:
    return sum(values) / 2 if len(values) == 2 else sorted(values)[len(values) // 2] if values else 0


_CERTAIN: dict[str, Callable[[Arguments], dict[str, Any]]] = {
    **{name: _strengths(name) for name in ("CLAHE", *BY_STRENGTH)},
    "SmallestMaxSize": _middle_size,
    "LongestMaxSize": _middle_size,
    "PadIfNeeded": lambda _: {"position": "center"},
    "CenterCrop": lambda _: {"pad_position": "center"},
    "Crop": lambda _: {"pad_position": "center"},
    "CropAndPad": _middle_sides,
}
