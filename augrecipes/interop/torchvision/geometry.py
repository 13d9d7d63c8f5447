"""torchvision's transforms that move pixels, as steps of a recipe; its ranges, sizes, fills and interpolations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.interop.draft import Item
from augrecipes.interop.outputs import Args, Maker, SampleState, Unheld

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


def size(value: Any, what: str = "size") -> tuple[int, int]:
    """Height and width; one number is both.

    >>> size(224), size([224]), size((32, 64))
    ((224, 224), (224, 224), (32, 64))
    """
    found = numbers(value, what)
    if len(found) > 2:
        raise Unheld(f"{what} must be one number or two, got {len(found)} of them")
    return int(found[0]), int(found[-1])


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


def levels(value: Any, sample: SampleState) -> dict[str, Any]:
    """The same in levels of 0..255, as the image counts where it stands."""
    found = fills(value)
    if sample.scaled and not sample.normalized and "fill" in found:
        fill = found["fill"]
        found["fill"] = [each * 255 for each in fill] if isinstance(fill, list) else fill * 255
    return found


def border(value: Any) -> str:
    """torchvision's padding mode by the name that recipes have for it."""
    if value not in _BORDERS:
        raise Unheld(f"padding_mode {value!r} is none of torchvision's: {', '.join(_BORDERS)}")
    return _BORDERS[value]


# The longest list of sizes that a step is given to draw from.
_MOST_SIZES = 1024
_AFTER = "the shear acts after the rotation here, before it in torchvision"


def resize(args: Args, sample: SampleState) -> list[Item]:
    """The shorter side, where one number is given; both sides, where two are."""
    how = resampling(args)
    longest = args.get("max_size")
    if args.get("size") is None:
        return [sample.line("LongestMaxSize", max_size=int(numbers(longest, "max_size")[0]), **how)]
    if longest is not None:
        raise Unheld(
            f"max_size {longest} limits the longer side as well: write `SmallestMaxSize` where no image is so long, "
            "or `LongestMaxSize` for that side alone"
        )
    height, width = sample.sides = size(args["size"])
    if len(numbers(args["size"], "size")) == 1:
        return [sample.line("SmallestMaxSize", max_size=height, **how)]
    return [sample.line("Resize", height=height, width=width, **how)]


def center_crop(args: Args, sample: SampleState) -> list[Item]:
    """The middle; of images that are smaller, with a black border."""
    height, width = size(args["size"])
    pad = {} if sample.holds(height, width) else {"pad_if_needed": True}
    sample.sides = height, width
    return [sample.line("CenterCrop", height=height, width=width, **pad)]


def random_crop(args: Args, sample: SampleState) -> list[Item]:
    """A window, of an image with a border where one is asked for."""
    height, width = size(args["size"])
    edge = {"border_mode": border(args.get("padding_mode", "constant")), **levels(args.get("fill"), sample)}
    found = pad(args, sample) if args.get("padding") not in (None, 0) else []
    needed = {"pad_if_needed": True, "pad_position": "random", **edge} if args.get("pad_if_needed") else {}
    sample.sides = height, width
    return [*found, sample.line("RandomCrop", height=height, width=width, **needed)]


def pad(args: Args, sample: SampleState) -> list[Item]:
    """A border: one number for all sides, two for left and right and for top and bottom, or four."""
    given = [int(each) for each in numbers(args["padding"], "padding")]
    if len(given) not in (1, 2, 4):
        raise Unheld(f"padding must be 1, 2 or 4 numbers, got {len(given)}")
    padding = given[0] if len(set(given)) == 1 else given
    mode = border(args.get("padding_mode", "constant"))
    sample.sides = None
    return [sample.line("Pad", padding=padding, border_mode=mode, **levels(args.get("fill"), sample))]


def random_resized_crop(args: Args, sample: SampleState) -> list[Item]:
    """A window of random area and proportions, at one size."""
    height, width = sample.sides = size(args["size"])
    ranges = {key: list(span(args[key], key)) for key in ("scale", "ratio") if args.get(key) is not None}
    return [sample.line("RandomResizedCrop", size=[height, width], **ranges, **resampling(args))]


def random_rotation(args: Args, sample: SampleState) -> list[Item]:
    """By an angle, counter-clockwise; with `expand` the image grows until it is whole."""
    limit = span(args["degrees"], "degrees")
    _no_centre(args)
    how = {"interpolation": interpolation(args.get("interpolation", "nearest")), **levels(args.get("fill"), sample)}
    if not args.get("expand"):
        return [sample.line("Rotate", limit=limit, **how, p=1.0)]
    sample.sides = None
    return [sample.line("Affine", rotate=_turned(limit), fit_output=True, **how, p=1.0)]


def random_affine(args: Args, sample: SampleState) -> list[Item]:
    """Turned, moved, scaled and sheared at once; angles are clockwise in torchvision."""
    _no_centre(args)
    found: dict[str, Any] = {"rotate": _turned(span(args["degrees"], "degrees"))}
    if args.get("translate") is not None:
        x, y = span(args["translate"], "translate")
        found["translate_percent"] = {"x": [-x, x], "y": [-y, y]}
    if args.get("scale") is not None:
        found |= {"scale": span(args["scale"], "scale"), "keep_ratio": True}
    if args.get("shear") is not None:
        given = numbers(args["shear"], "shear")
        horizontal = span(given if len(given) < 3 else given[:2], "shear")
        vertical = given[2:] if len(given) == 4 else [0.0, 0.0]
        found["shear"] = {"x": horizontal, "y": vertical}
    mode = interpolation(args.get("interpolation", "nearest"))
    line = sample.line("Affine", **found, interpolation=mode, **levels(args.get("fill"), sample), p=1.0)
    if any(found["rotate"]) and any(any(ends) for ends in found.get("shear", {}).values()):
        line.beside.append(_AFTER)
        sample.draft.note(f"RandomAffine: {_AFTER}.")
    return [line]


def _turned(angles: list[float]) -> list[float]:
    return [-angles[1] + 0.0, -angles[0] + 0.0]


def _no_centre(args: Args) -> None:
    if args.get("center") is not None:
        raise Unheld(f"center {args['center']}: images turn about their middle here; leave it out, or pad one side")


def elastic(args: Args, sample: SampleState) -> list[Item]:
    """Wobbles; torchvision counts alpha in half pixels."""
    alpha, sigma = ({*numbers(args.get(key, usual), key)} for key, usual in (("alpha", 50.0), ("sigma", 5.0)))
    if len(alpha) > 1 or len(sigma) > 1:
        raise Unheld("alpha and sigma that differ for x and y: ElasticTransform has one of each; take their mean")
    mode = interpolation(args.get("interpolation", "bilinear"))
    fill = levels(args.get("fill"), sample)
    made = {"alpha": alpha.pop() / 2, "sigma": sigma.pop(), "noise_distribution": "uniform", "interpolation": mode}
    return [sample.line("ElasticTransform", **made, **fill, p=1.0)]


def scale_jitter(args: Args, sample: SampleState) -> list[Item]:
    """As large as fits into the target, times a factor."""
    height, width = size(args["target_size"], "target_size")
    low, high = span(args.get("scale_range", [0.1, 2.0]), "scale_range")
    sample.sides = None
    how = resampling(args)
    limit = [round(low - 1, 10), round(high - 1, 10)]
    line = sample.line("RandomScale", scale_limit=limit, **how, p=1.0)
    line.beside.append("resampled twice, once in torchvision")
    return [sample.line("LongestMaxSize", max_size_hw=[height, width], **how), line]


def shortest_size(args: Args, sample: SampleState) -> list[Item]:
    """The shorter side, one of several."""
    sizes = [int(each) for each in numbers(args["min_size"], "min_size")]
    if args.get("max_size") is not None:
        return resize({**args, "size": sizes[:1]}, sample)
    sample.sides = min(sizes), min(sizes)
    return [sample.line("SmallestMaxSize", max_size=sizes if len(sizes) > 1 else sizes[0], **resampling(args))]


def random_resize(args: Args, sample: SampleState) -> list[Item]:
    """The shorter side, any from `min_size` to below `max_size`."""
    low, high = (int(numbers(args[key], key)[0]) for key in ("min_size", "max_size"))
    if not 0 < high - low <= _MOST_SIZES:
        raise Unheld(f"{high - low} sizes are too many to list; write `SmallestMaxSize` with a list of some of them")
    return shortest_size({**args, "min_size": list(range(low, high)), "max_size": None}, sample)


# Of each class the arguments in the order of its constructor, in both versions, and what makes steps of them.
MAKERS: dict[str, tuple[str, Maker]] = {
    "CenterCrop": ("size", center_crop),
    "ElasticTransform": ("alpha sigma interpolation fill", elastic),
    "Pad": ("padding fill padding_mode", pad),
    "RandomAffine": ("degrees translate scale shear interpolation fill center", random_affine),
    "RandomCrop": ("size padding pad_if_needed fill padding_mode", random_crop),
    "RandomResize": ("min_size max_size interpolation antialias", random_resize),
    "RandomResizedCrop": ("size scale ratio interpolation antialias", random_resized_crop),
    "RandomRotation": ("degrees interpolation expand center fill", random_rotation),
    "RandomShortestSize": ("min_size max_size interpolation antialias", shortest_size),
    "Resize": ("size interpolation max_size antialias", resize),
    "ScaleJitter": ("target_size scale_range interpolation antialias", scale_jitter),
}
