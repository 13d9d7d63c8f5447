"""The evaluation steps that replace random crops, and the middle values that replace draws."""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

from augrecipes.ops.intervals import Meaning, interval

Arguments = Mapping[str, Any]
EvalSteps = list[tuple[str, dict[str, Any]]]
# (arguments as written, arguments with defaults, multiple of px) → the evaluation steps.
Window = Callable[[Arguments, Arguments, int], EvalSteps]
# Arguments with defaults → the arguments that leave nothing to draw.
Settled = Callable[[Arguments], dict[str, Any]]

_PADDING = ("pad_if_needed", "border_mode", "fill", "fill_mask")
_SAMPLING = ("interpolation", "mask_interpolation", "area_for_downscale")
# The share of the shorter side that evaluation on ImageNet customarily keeps: torchvision's 224 of 256.
_CUSTOMARY = 7 / 8
# A resize to many times the size of the crop would exhaust memory.
_LARGEST_FACTOR = 16


def _pick(written: Arguments, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: written[name] for name in names if name in written}


def _span(meaning: Meaning, value: Any) -> tuple[float, float]:
    return interval(meaning, value) or (1, 1)


def _to_unit(pixels: float, unit: int) -> int:
    return max(1, round(pixels / unit)) * unit


def central(written: Arguments, values: Arguments, unit: int) -> EvalSteps:
    """A crop of the same size in the centre."""
    placed = {} if written.get("pad_position", "random") == "random" else _pick(written, ("pad_position",))
    return [("CenterCrop", {**_pick(values, ("height", "width")), **_pick(written, _PADDING), **placed})]


def resized_central(written: Arguments, values: Arguments, unit: int) -> EvalSteps:
    """A central crop of the customary share of the shorter side, or of the share nearest to it that training draws.

    The image keeps its proportions, unless training stretches every image: then it is stretched by the least that
    training does.
    """
    height, width = values["size"]
    low, high = _span("from_zero", values["scale"])
    share = max(min(max(_CUSTOMARY, sqrt(low)), sqrt(high)), 1 / _LARGEST_FACTOR)
    flattest, widest = _span("from_zero", values["ratio"])
    ratio = min(max(width / height, flattest), max(widest, 1 / _LARGEST_FACTOR))
    cut = height, width
    if abs(ratio * height / width - 1) > 0.01:  # the bounds are often written with few digits
        area = height * width
        cut = _to_unit(sqrt(area / ratio), unit), _to_unit(sqrt(area * ratio), unit)
    sampling = _pick(written, _SAMPLING)
    sides = [_to_unit(side / share, unit) for side in cut]
    size = {"max_size": sides[0]} if cut[0] == cut[1] else {"max_size_hw": sides}
    return [("SmallestMaxSize", {**size, **sampling}), *_cut_and_resize(cut, (height, width), sampling)]


def sized_central(written: Arguments, values: Arguments, unit: int) -> EvalSteps:
    """A central crop of the middle size."""
    height, width = values["size"]
    middle = _to_unit(sum(_span("from_one", values["min_max_height"])) / 2, unit)
    cut = middle, _to_unit(int(middle * values["w2h_ratio"]), unit)
    return _cut_and_resize(cut, (height, width), _pick(written, _SAMPLING))


def _cut_and_resize(cut: tuple[int, int], size: tuple[int, int], sampling: dict[str, Any]) -> EvalSteps:
    crop, resize = ({"height": height, "width": width} for height, width in (cut, size))
    return [("CenterCrop", crop), *([("Resize", {**resize, **sampling})] if cut != size else [])]


def whole_resized(written: Arguments, values: Arguments, unit: int) -> EvalSteps:
    """The whole image, resized to the size of the crops."""
    return [("Resize", {**_pick(values, ("height", "width")), **_pick(written, _SAMPLING)})]


def whole(written: Arguments, values: Arguments, unit: int) -> EvalSteps:
    """The whole image."""
    return []


def middle(meaning: Meaning, value: Any, neutral: float | None, *, is_whole: bool = False) -> Any:
    """A range reduced to the neutral value if that is in it, else to its middle; each axis of a mapping by itself."""
    if isinstance(value, Mapping):
        return {key: middle(meaning, part, neutral, is_whole=is_whole) for key, part in value.items()}
    span = interval(meaning, value)
    if span is None:
        return value
    low, high = span
    number = neutral if neutral is not None and low <= neutral <= high else (low + high) / 2
    number = int(number) if is_whole or float(number).is_integer() else number
    return [number, number]


def middle_size(values: Arguments) -> dict[str, Any]:
    """The median of several lengths."""
    lengths = sorted(values["max_size"])
    return {"max_size": lengths[len(lengths) // 2]}


def middle_sides(values: Arguments) -> dict[str, Any]:
    """CropAndPad with one number per side; a drawn fill becomes its middle value."""
    name = "percent" if values.get("px") is None else "px"
    amount = values[name]
    sides = amount if isinstance(amount, list | tuple) and len(amount) == 4 else [amount] * 4
    numbers = [(middle("exact", side, 0, is_whole=name == "px") or [0])[0] for side in sides]
    fills = {key: _middle_number(values[key]) for key in ("fill", "fill_mask") if isinstance(values[key], list | tuple)}
    return {name: numbers, **fills}


def _middle_number(values: Any) -> Any:
    return sum(values) / 2 if len(values) == 2 else sorted(values)[len(values) // 2] if values else 0
