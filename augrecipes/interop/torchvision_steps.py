"""Converters of torchvision's transforms to steps: those that move pixels, and those that change values."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.interop.draft import FOREIGN, Item, Line
from augrecipes.interop.outputs import Args, Maker, SampleState, Unsupported, numbers, photometric
from augrecipes.ops.groups import ONE_OF

INTERPOLATIONS: dict[str, str] = FOREIGN["torchvision"]["interpolations"]
_ANTIALIASED = frozenset({"linear", "cubic"})  # modes that torchvision antialiases when it shrinks images
_BORDERS: dict[str, str] = FOREIGN["torchvision"]["borders"]
_MOST_SIZES = 1024  # in a list that a step draws from
_AFTER = "the shear acts after the rotation here, before it in torchvision"
NOTES: dict[str, str] = FOREIGN["torchvision"]["notes"]


def resampling(args: Args) -> dict[str, Any]:
    """The arguments of a resizing step that match torchvision's.

    >>> resampling(Args()), resampling(Args(interpolation="bicubic", antialias=False))
    ({'interpolation': 'linear', 'area_for_downscale': 'image'}, {'interpolation': 'cubic'})
    """
    mode = args.named("interpolation", INTERPOLATIONS, "bilinear")
    smooth = args.get("antialias", True) is not False and mode in _ANTIALIASED
    return {"interpolation": mode} | ({"area_for_downscale": "image"} if smooth else {})


def fills(value: Any) -> dict[str, Any]:
    """The arguments `fill` and `fill_mask` from torchvision's `fill`; none (black) for None.

    >>> fills([9, 9, 9]), fills({"Image": 127, "Mask": 255}), fills(None)
    ({'fill': 9}, {'fill': 127, 'fill_mask': 255}, {})
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        result = numbers(value, "fill")
        return {"fill": result[0] if len(set(result)) == 1 else result}
    image, mask = (of_kind(value, kind) for kind in ("image", "mask"))
    return {**fills(image), **({"fill_mask": fills(mask)["fill"]} if mask is not None else {})}


def of_kind(by_kind: Mapping[str, Any], kind: str) -> Any:
    """The value for inputs of a kind, from a mapping by kind; None if it has none.

    >>> of_kind({"torchvision.tv_tensors.Mask": 2, "others": 3}, "mask"), of_kind({"Tensor": 1}, "image")
    (2, 1)
    """
    kinds = {str(key).rpartition(".")[2].strip("'>").lower(): value for key, value in by_kind.items()}
    return kinds.get(kind, kinds.get("others", kinds.get("tensor")))


def levels(value: Any, sample: SampleState) -> dict[str, Any]:
    """As `fills`, converted to levels of 0..255 from the image's range at this point."""
    result = fills(value)
    if sample.scaled and not sample.normalized and "fill" in result:
        fill = result["fill"]
        result["fill"] = [each * 255 for each in fill] if isinstance(fill, list) else fill * 255
    return result


def _edge(args: Args, sample: SampleState) -> dict[str, Any]:
    return {"border_mode": args.named("padding_mode", _BORDERS, "constant"), **levels(args.get("fill"), sample)}


def _warp(args: Args, sample: SampleState, usual: str = "nearest") -> dict[str, Any]:
    if args.get("center") is not None:
        raise Unsupported(
            f"center {args['center']}: images turn about their middle here; leave it out, or pad one side"
        )
    return {"interpolation": args.named("interpolation", INTERPOLATIONS, usual), **levels(args.get("fill"), sample)}


def resize(args: Args, sample: SampleState) -> list[Item]:
    """Resize: the shorter side for one number, both sides for two."""
    how, longest = resampling(args), args.get("max_size")
    if args.get("size") is None:
        return [sample.line("LongestMaxSize", max_size=int(args.numbers("max_size")[0]), **how)]
    if longest is not None:
        raise Unsupported(
            f"max_size {longest} limits the longer side as well: write `SmallestMaxSize` where no image is so long, "
            "or `LongestMaxSize` for that side alone"
        )
    height, width = sample.sides = args.size("size")
    if len(args.numbers("size")) == 1:
        return [sample.line("SmallestMaxSize", max_size=height, **how)]
    return [sample.line("Resize", height=height, width=width, **how)]


def center_crop(args: Args, sample: SampleState) -> list[Item]:
    """CenterCrop; smaller images get a black border."""
    height, width = args.size("size")
    fits = sample.sides is not None and sample.sides[0] >= height and sample.sides[1] >= width
    sample.sides = height, width
    return [sample.line("CenterCrop", height=height, width=width, **({} if fits else {"pad_if_needed": True}))]


def random_crop(args: Args, sample: SampleState) -> list[Item]:
    """RandomCrop, with its padding."""
    height, width = args.size("size")
    result = pad(args, sample) if args.get("padding") not in (None, 0) else []
    needed = {"pad_if_needed": True, "pad_position": "random"} | _edge(args, sample)
    sample.sides = height, width
    padded = needed if args.get("pad_if_needed") else {}
    return [*result, sample.line("RandomCrop", height=height, width=width, **padded)]


def pad(args: Args, sample: SampleState) -> list[Item]:
    """Pad: one number for all sides, two for left/right and top/bottom, or four."""
    sides = [int(each) for each in args.numbers("padding")]
    if len(sides) not in (1, 2, 4):
        raise Unsupported(f"padding must be 1, 2 or 4 numbers, got {len(sides)}")
    sample.sides = None
    sides = sides[:2] if sides[:2] == sides[2:] else sides
    return [sample.line("Pad", padding=sides[0] if len(set(sides)) == 1 else sides, **_edge(args, sample))]


def random_resized_crop(args: Args, sample: SampleState) -> list[Item]:
    """RandomResizedCrop; a OneOf for several interpolations."""
    sample.sides, how = args.size("size"), args.get("interpolation", "bilinear")
    ways = [resampling(Args(args, interpolation=each)) for each in (how if isinstance(how, list) else [how])]
    same = {"size": [*sample.sides], **args.spans("scale", "ratio")}
    result: list[Item] = [sample.line("RandomResizedCrop", **same, **way) for way in ways]
    return result if len(result) == 1 else [Line(ONE_OF, {}, sample.place, result)]


def random_rotation(args: Args, sample: SampleState) -> list[Item]:
    """RandomRotation, counter-clockwise; with `expand` the output fits the whole image."""
    limit, how = args.span("degrees"), _warp(args, sample)
    if not args.get("expand"):
        return [sample.line("Rotate", limit=limit, **how, p=1.0)]
    sample.sides = None
    sample.draft.note(NOTES["expand"])
    return [sample.line("Affine", rotate=_negate(limit), fit_output=True, **how, p=1.0)]


def random_affine(args: Args, sample: SampleState) -> list[Item]:
    """RandomAffine; angles are clockwise in torchvision."""
    result: dict[str, Any] = {"rotate": _negate(args.span("degrees"))}
    if args.get("translate") is not None:
        x, y = args.span("translate")
        result["translate_percent"] = {"x": [-x, x], "y": [-y, y]}
    if args.get("scale") is not None:
        result |= {"scale": args.span("scale"), "keep_ratio": True}
    if args.get("shear") is not None:
        given = args.numbers("shear")
        horizontal = Args(shear=given if len(given) < 3 else given[:2]).span("shear")
        result["shear"] = {"x": horizontal, "y": given[2:] if len(given) == 4 else [0.0, 0.0]}
    line = sample.line("Affine", **result, **_warp(args, sample), p=1.0)
    if any(result["rotate"]) and any(any(ends) for ends in result.get("shear", {}).values()):
        line.comments.append(_AFTER)
        sample.draft.note(f"RandomAffine: {_AFTER}.")
    return [line]


def _negate(angles: list[float]) -> list[float]:
    return [-angles[1] + 0.0, -angles[0] + 0.0]


def elastic(args: Args, sample: SampleState) -> list[Item]:
    """ElasticTransform; torchvision's alpha counts half pixels."""
    alpha, sigma = ({*args.numbers(key, usual)} for key, usual in (("alpha", 50), ("sigma", 5)))
    if len(alpha) > 1 or len(sigma) > 1:
        raise Unsupported("alpha and sigma that differ for x and y: ElasticTransform has one of each; take their mean")
    arguments = {"alpha": alpha.pop() / 2, "sigma": sigma.pop(), "noise_distribution": "uniform"}
    return [sample.line("ElasticTransform", **arguments, **_warp(args, sample, "bilinear"), p=1.0)]


def scale_jitter(args: Args, sample: SampleState) -> list[Item]:
    """ScaleJitter: fits the image into the target size (width, height in torchvision), times a random factor."""
    how, limit = resampling(args), [round(end - 1, 10) for end in args.span("scale_range", usual=[0.1, 2])]
    sample.sides = None
    line = sample.line("RandomScale", scale_limit=limit, **how, p=1.0)
    line.comments.append("resampled twice, once in torchvision")
    return [sample.line("LongestMaxSize", max_size_hw=[*args.size("target_size")[::-1]], **how), line]


def shortest_size(args: Args, sample: SampleState) -> list[Item]:
    """RandomShortestSize: resizes the shorter side to one of several sizes."""
    sizes = [int(each) for each in args.numbers("min_size")]
    if args.get("max_size") is not None:
        return resize(Args(args, size=sizes[:1]), sample)
    sample.sides = min(sizes), min(sizes)
    return [sample.line("SmallestMaxSize", max_size=sizes if len(sizes) > 1 else sizes[0], **resampling(args))]


def random_resize(args: Args, sample: SampleState) -> list[Item]:
    """RandomResize: resizes the shorter side to a size from `min_size` to below `max_size`."""
    low, high = (int(args.numbers(key)[0]) for key in ("min_size", "max_size"))
    if not 0 < high - low <= _MOST_SIZES:
        raise Unsupported(
            f"{high - low} sizes are too many to list; write `SmallestMaxSize` with a list of some of them"
        )
    return shortest_size(Args(args, min_size=list(range(low, high)), max_size=None), sample)


# ColorJitter's neutral ranges, and RandomPhotometricDistort's defaults.
_NEUTRAL = {"brightness": [1.0, 1.0], "contrast": [1.0, 1.0], "saturation": [1.0, 1.0], "hue": [0.0, 0.0]}
_DISTORTION = {"brightness": [0.875, 1.125], "contrast": [0.5, 1.5], "saturation": [0.5, 1.5], "hue": [-0.05, 0.05]}


def color_jitter(args: Args, sample: SampleState) -> list[Item]:
    """ColorJitter: brightness, contrast, saturation and hue in random order."""
    ranges = {key: _range(key, args) for key in _NEUTRAL}
    return [] if ranges == _NEUTRAL else [sample.line("ColorJitter", **ranges, p=1.0)]


def _range(key: str, args: Args) -> list[float]:
    if args.get(key) is None:
        return _NEUTRAL[key]
    low, high = (float(end) for end in args.span(key, 0.0 if key == "hue" else 1.0))
    return [low if key == "hue" else max(low, 0.0), high]


def photometric_distort(args: Args, sample: SampleState) -> list[Item]:
    """RandomPhotometricDistort: four optional colour changes, contrast first or last, and shuffled channels."""
    p = args.get("p", 0.5)

    def change(key: str) -> Line:
        return sample.line("ColorJitter", **{**_NEUTRAL, key: _range(key, Args(_DISTORTION | args))}, p=p)

    return [*photometric(change, sample.place), sample.line("ChannelShuffle", p=p)]


def gaussian_blur(args: Args, sample: SampleState) -> list[Item]:
    """GaussianBlur with a square kernel."""
    kernel = {int(each) for each in args.numbers("kernel_size")}
    if len(kernel) > 1:
        raise Unsupported("a kernel that is wider than high: GaussianBlur has square ones; take the larger side")
    sigma = args.ends("sigma", [0.1, 2.0])
    return [sample.line("GaussianBlur", blur_limit=[*kernel] * 2, sigma_limit=sigma, p=1.0)]


def solarize(args: Args, sample: SampleState) -> list[Item]:
    """RandomSolarize; the threshold counts in the image's range at this point."""
    level = float(args.numbers("threshold")[0])
    share = level if sample.scaled else level / 255
    if not 0 <= share <= 1:
        raise Unsupported(f"threshold {level:g} is beyond white, and does nothing: leave the step out")
    return [sample.line("Solarize", threshold_range=[share, share], p=args.get("p", 0.5))]


def erasing(args: Args, sample: SampleState) -> list[Item]:
    """RandomErasing; its value counts in the image's range at this point."""
    value, result = args.get("value", 0), args.spans("scale", "ratio")
    fill = {"fill": "random"} if value in ("random", None) else levels(value, sample)
    low, high = result.get("ratio", (1, 1))
    if low > 0 and abs(low * high - 1) > 0.02:  # of height to width there, of width to height here
        result["ratio"] = [round(1 / high, 6), round(1 / low, 6)]
    sample.draft.note(NOTES["erasing"])
    return [sample.line("Erasing", **result, **fill, p=args.get("p", 0.5))]


def gray(args: Args, sample: SampleState) -> list[Item]:
    """Grayscale; the output has one channel if `num_output_channels` is 1."""
    if int(args.get("num_output_channels", 1)) == 1:
        sample.output["color"] = "gray"
    return [sample.line("ToGray", p=1.0)]


def gaussian_noise(args: Args, sample: SampleState) -> list[Item]:
    """GaussianNoise, with a fixed mean and standard deviation."""
    ranges = {"std_range": args.ends("sigma", 0.1), "mean_range": args.ends("mean", 0.0)}
    return [sample.line("GaussNoise", **ranges, p=1.0)]


def jpeg(args: Args, sample: SampleState) -> list[Item]:
    """JPEG: compression with a quality from a range."""
    return [sample.line("ImageCompression", quality_range=[int(end) for end in args.ends("quality")], p=1.0)]


def sharpness(args: Args, sample: SampleState) -> list[Item]:
    """RandomAdjustSharpness, with a fixed factor."""
    factor = float(args.numbers("sharpness_factor")[0])
    return [sample.line("Sharpness", factor=[factor, factor], p=args.get("p", 0.5))]


def posterize(args: Args, sample: SampleState) -> list[Item]:
    """RandomPosterize: reduces the bits of each channel."""
    return [sample.line("Posterize", num_bits=int(args.numbers("bits")[0]), p=args.get("p", 0.5))]


def mixture(name: str, args: Args, sample: SampleState) -> list[Item]:
    """A step of `batch:` with the sample before each as its partner."""
    return [sample.line(name, alpha=args.get("alpha", 1.0), partners="roll", classes=args.get("num_classes"))]


# Converters of arguments to steps, by class.
MAKERS: dict[str, Maker] = {
    **{name: partial(mixture, name) for name in ("CutMix", "MixUp")},
    "CenterCrop": center_crop,
    "ColorJitter": color_jitter,
    "ElasticTransform": elastic,
    "GaussianBlur": gaussian_blur,
    "GaussianNoise": gaussian_noise,
    "Grayscale": gray,
    "JPEG": jpeg,
    "Pad": pad,
    "RandomAdjustSharpness": sharpness,
    "RandomAffine": random_affine,
    "RandomCrop": random_crop,
    "RandomErasing": erasing,
    "RandomPhotometricDistort": photometric_distort,
    "RandomPosterize": posterize,
    "RandomResize": random_resize,
    "RandomResizedCrop": random_resized_crop,
    "RandomRotation": random_rotation,
    "RandomShortestSize": shortest_size,
    "RandomSolarize": solarize,
    "Resize": resize,
    "ScaleJitter": scale_jitter,
}
