"""Values as torchvision writes them, in the forms that recipes have: ranges, sizes, fills, interpolations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.interop.sample import SampleState, Unheld

_INTERPOLATIONS = {
    "nearest": "nearest", "nearest-exact": "nearest_exact", "nearest_exact": "nearest_exact", "bilinear": "linear",
    "bicubic": "cubic", "lanczos": "lanczos4", "box": "area", "hamming": "linear",
    "0": "nearest", "1": "lanczos4", "2": "linear", "3": "cubic", "4": "area", "5": "linear",
}  # fmt: skip
# Which of them torchvision smooths before it makes images smaller.
_SMOOTHED = frozenset({"linear", "cubic"})
_BORDERS = {"constant": "constant", "edge": "replicate", "reflect": "reflect_101", "symmetric": "reflect"}


def interpolation(value: Any) -> str:
    """torchvision's mode, by name, as its enumeration prints it, or as Pillow's number.

    >>> interpolation("InterpolationMode.BICUBIC"), interpolation(0)
    ('cubic', 'nearest')
    """
    text = str(value).rpartition(".")[2].lower()
    if text not in _INTERPOLATIONS:
        raise Unheld(f"interpolation {value!r} is none of torchvision's: {', '.join(list(_INTERPOLATIONS)[:8])}")
    return _INTERPOLATIONS[text]


def resampling(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a step that resizes as one of torchvision with these arguments does.

    >>> resampling({}), resampling({"interpolation": "bicubic", "antialias": False})
    ({'interpolation': 'linear', 'area_for_downscale': 'image'}, {'interpolation': 'cubic'})
    """
    mode = interpolation(args.get("interpolation", "bilinear"))
    smooth = args.get("antialias", True) is not False and mode in _SMOOTHED
    return {"interpolation": mode} | ({"area_for_downscale": "image"} if smooth else {})


def numbers(value: Any, what: str) -> list[float]:
    """A list of numbers, of one where there is one."""
    found = list(value) if isinstance(value, list | tuple) else [value]
    if not found or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in found):
        raise Unheld(f"{what} must be a number, or a list of them, got {value!r}")
    return found


def span(value: Any, what: str, centre: float = 0.0) -> list[float]:
    """A range: two numbers as they are, one on both sides of the centre.

    >>> span(25, "degrees"), span([0, 90], "degrees"), span(0.4, "brightness", 1.0)
    ([-25, 25], [0, 90], [0.6, 1.4])
    """
    found = numbers(value, what)
    if len(found) == 1:
        low, high = centre - found[0], centre + found[0]
        return [round(low, 10), round(high, 10)] if centre else [-found[0], found[0]]
    if len(found) != 2:
        raise Unheld(f"{what} must be a number or two, got {len(found)} of them")
    return found


def size(value: Any, what: str = "size") -> list[int]:
    """Height and width; one number is both.

    >>> size(224), size([224]), size((32, 64))
    ([224, 224], [224, 224], [32, 64])
    """
    found = numbers(value, what)
    if len(found) > 2:
        raise Unheld(f"{what} must be one number or two, got {len(found)} of them")
    return [int(found[0]), int(found[-1])]


def fills(value: Any) -> dict[str, Any]:
    """What borders are filled with, as `fill` and `fill_mask`; black where nothing is said.

    >>> fills([9, 9, 9]), fills({"Image": 127, "Mask": 255}), fills(None)
    ({'fill': 9}, {'fill': 127, 'fill_mask': 255}, {})
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        found = numbers(value, "fill")
        return {"fill": found[0] if len(set(found)) == 1 else found}
    kinds = {str(kind).rpartition(".")[2].strip("'>").lower(): each for kind, each in value.items()}
    image = kinds.get("image", kinds.get("others"))
    mask = kinds.get("mask", kinds.get("others"))
    return {**fills(image), **({"fill_mask": fills(mask)["fill"]} if mask is not None else {})}


def levels(value: Any, picture: SampleState) -> dict[str, Any]:
    """The same in levels of 0..255, as the image counts where it stands."""
    found = fills(value)
    if picture.scaled and not picture.normalized and "fill" in found:
        fill = found["fill"]
        found["fill"] = [each * 255 for each in fill] if isinstance(fill, list) else fill * 255
    return found


def border(value: Any) -> str:
    """torchvision's padding mode by the name that recipes have for it."""
    if value not in _BORDERS:
        raise Unheld(f"padding_mode {value!r} is none of torchvision's: {', '.join(_BORDERS)}")
    return _BORDERS[value]
