"""torchvision's transforms that move pixels, as steps of a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.interop.draft import Item
from augrecipes.interop.sample import Args, Maker, SampleState, Unheld
from augrecipes.interop.torchvision.values import border, interpolation, levels, numbers, resampling, size, span

# The longest list of sizes that a step is given to draw from.
_MOST_SIZES = 1024
_AFTER = "the shear acts after the rotation here, before it in torchvision"


def resize(args: Args, picture: SampleState) -> list[Item]:
    """The shorter side, where one number is given; both sides, where two are."""
    how = resampling(args)
    longest = args.get("max_size")
    if args.get("size") is None:
        return [picture.line("LongestMaxSize", max_size=int(numbers(longest, "max_size")[0]), **how)]
    given = numbers(args["size"], "size")
    if len(given) == 1 and longest is None:
        picture.sides = int(given[0]), int(given[0])
        return [picture.line("SmallestMaxSize", max_size=int(given[0]), **how)]
    if longest is not None:
        raise Unheld(
            f"max_size {longest} limits the longer side as well: write `SmallestMaxSize` where no image is so long, "
            "or `LongestMaxSize` for that side alone"
        )
    height, width = size(given)
    picture.sides = height, width
    return [picture.line("Resize", height=height, width=width, **how)]


def center_crop(args: Args, picture: SampleState) -> list[Item]:
    """The middle; of images that are smaller, with a black border."""
    height, width = size(args["size"])
    pad = {} if picture.holds(height, width) else {"pad_if_needed": True}
    picture.sides = height, width
    return [picture.line("CenterCrop", height=height, width=width, **pad)]


def random_crop(args: Args, picture: SampleState) -> list[Item]:
    """A window, of an image with a border where one is asked for."""
    height, width = size(args["size"])
    edge = {"border_mode": border(args.get("padding_mode", "constant")), **levels(args.get("fill"), picture)}
    found = pad(args, picture) if args.get("padding") not in (None, 0) else []
    needed = {"pad_if_needed": True, "pad_position": "random", **edge} if args.get("pad_if_needed") else {}
    picture.sides = height, width
    return [*found, picture.line("RandomCrop", height=height, width=width, **needed)]


def pad(args: Args, picture: SampleState) -> list[Item]:
    """A border: one number for all sides, two for left and right and for top and bottom, or four."""
    given = [int(each) for each in numbers(args["padding"], "padding")]
    if len(given) not in (1, 2, 4):
        raise Unheld(f"padding must be 1, 2 or 4 numbers, got {len(given)}")
    padding = given[0] if len(set(given)) == 1 else given
    mode = border(args.get("padding_mode", "constant"))
    picture.sides = None
    return [picture.line("Pad", padding=padding, border_mode=mode, **levels(args.get("fill"), picture))]


def random_resized_crop(args: Args, picture: SampleState) -> list[Item]:
    """A window of random area and proportions, at one size."""
    height, width = size(args["size"])
    picture.sides = height, width
    ranges = {key: list(span(args[key], key)) for key in ("scale", "ratio") if args.get(key) is not None}
    return [picture.line("RandomResizedCrop", size=[height, width], **ranges, **resampling(args))]


def random_rotation(args: Args, picture: SampleState) -> list[Item]:
    """By an angle, counter-clockwise; with `expand` the image grows until it is whole."""
    limit = span(args["degrees"], "degrees")
    _no_centre(args)
    how = {"interpolation": interpolation(args.get("interpolation", "nearest")), **levels(args.get("fill"), picture)}
    if not args.get("expand"):
        return [picture.line("Rotate", limit=limit, **how, p=1.0)]
    picture.sides = None
    return [picture.line("Affine", rotate=_turned(limit), fit_output=True, **how, p=1.0)]


def random_affine(args: Args, picture: SampleState) -> list[Item]:
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
    line = picture.line("Affine", **found, interpolation=mode, **levels(args.get("fill"), picture), p=1.0)
    if any(found["rotate"]) and any(_ends(found.get("shear"))):
        line.beside.append(_AFTER)
        picture.draft.note(f"RandomAffine: {_AFTER}.")
    return [line]


def _ends(shear: Mapping[str, Any] | None) -> list[float]:
    return [end for each in (shear or {}).values() for end in each]


def _turned(angles: list[float]) -> list[float]:
    return [-angles[1] + 0.0, -angles[0] + 0.0]


def _no_centre(args: Args) -> None:
    if args.get("center") is not None:
        raise Unheld(f"center {args['center']}: images turn about their middle here; leave it out, or pad one side")


def elastic(args: Args, picture: SampleState) -> list[Item]:
    """Wobbles; torchvision counts alpha in half pixels."""
    alpha, sigma = ({*numbers(args.get(key, usual), key)} for key, usual in (("alpha", 50.0), ("sigma", 5.0)))
    if len(alpha) > 1 or len(sigma) > 1:
        raise Unheld("alpha and sigma that differ for x and y: ElasticTransform has one of each; take their mean")
    mode = interpolation(args.get("interpolation", "bilinear"))
    fill = levels(args.get("fill"), picture)
    made = {"alpha": alpha.pop() / 2, "sigma": sigma.pop(), "noise_distribution": "uniform", "interpolation": mode}
    return [picture.line("ElasticTransform", **made, **fill, p=1.0)]


def scale_jitter(args: Args, picture: SampleState) -> list[Item]:
    """As large as fits into the target, times a factor."""
    height, width = size(args["target_size"], "target_size")
    low, high = span(args.get("scale_range", [0.1, 2.0]), "scale_range")
    picture.sides = None
    how = resampling(args)
    limit = [round(low - 1, 10), round(high - 1, 10)]
    line = picture.line("RandomScale", scale_limit=limit, **how, p=1.0)
    line.beside.append("resampled twice, once in torchvision")
    return [picture.line("LongestMaxSize", max_size_hw=[height, width], **how), line]


def shortest_size(args: Args, picture: SampleState) -> list[Item]:
    """The shorter side, one of several."""
    sizes = [int(each) for each in numbers(args["min_size"], "min_size")]
    if args.get("max_size") is not None:
        return resize({**args, "size": sizes[:1]}, picture)
    picture.sides = min(sizes), min(sizes)
    return [picture.line("SmallestMaxSize", max_size=sizes if len(sizes) > 1 else sizes[0], **resampling(args))]


def random_resize(args: Args, picture: SampleState) -> list[Item]:
    """The shorter side, any from `min_size` to below `max_size`."""
    low, high = (int(numbers(args[key], key)[0]) for key in ("min_size", "max_size"))
    if not 0 < high - low <= _MOST_SIZES:
        raise Unheld(f"{high - low} sizes are too many to list; write `SmallestMaxSize` with a list of some of them")
    return shortest_size({**args, "min_size": list(range(low, high)), "max_size": None}, picture)


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
