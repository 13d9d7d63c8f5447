"""torchvision's transforms that change values, as steps of a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.bring.draft import Item, Line
from augrecipes.bring.torchvision.state import Picture
from augrecipes.bring.torchvision.values import Unknown, numbers, span
from augrecipes.ops.groups import ONE_OF, SEQUENTIAL

Args = Mapping[str, Any]

# What ColorJitter leaves as it is.
_AS_IT_IS = {"brightness": [1.0, 1.0], "contrast": [1.0, 1.0], "saturation": [1.0, 1.0], "hue": [0.0, 0.0]}
_NEVER_BELOW = {"brightness", "contrast", "saturation"}


def color_jitter(args: Args, picture: Picture) -> list[Item]:
    """Brightness, contrast, saturation and hue in random order; what is not named stays as it is."""
    ranges = {key: _range(key, args.get(key)) for key in _AS_IT_IS}
    if ranges == _AS_IT_IS:
        return []
    return [picture.line("ColorJitter", **ranges, p=1.0)]


def _range(key: str, value: Any) -> list[float]:
    if value is None:
        return _AS_IT_IS[key]
    low, high = (float(end) for end in span(value, key, 0.0 if key == "hue" else 1.0))
    return [max(low, 0.0) if key in _NEVER_BELOW else low, high]


def photometric_distort(args: Args, picture: Picture) -> list[Item]:
    """Each of four colour changes or none of it, contrast first or last, and channels in any order."""
    p = args.get("p", 0.5)

    def change(key: str, usual: list[float]) -> Line:
        return picture.line("ColorJitter", **{**_AS_IT_IS, key: _range(key, args.get(key, usual))}, p=p)

    def rest() -> list[Item]:
        return [change("saturation", [0.5, 1.5]), change("hue", [-0.05, 0.05])]

    usual = [0.5, 1.5]
    first = Line(SEQUENTIAL, {"p": 0.5}, picture.place, [change("contrast", usual), *rest()])
    last = Line(SEQUENTIAL, {"p": 0.5}, picture.place, [*rest(), change("contrast", usual)])
    return [
        change("brightness", [0.875, 1.125]),
        Line(ONE_OF, {}, picture.place, [first, last]),
        picture.line("ChannelShuffle", p=p),
    ]


def gaussian_blur(args: Args, picture: Picture) -> list[Item]:
    """Blurred by a kernel of one size."""
    kernel = {int(each) for each in numbers(args["kernel_size"], "kernel_size")}
    if len(kernel) > 1:
        raise Unknown("a kernel that is wider than high: GaussianBlur has square ones; take the larger side")
    given = numbers(args.get("sigma", [0.1, 2.0]), "sigma")
    side = kernel.pop()
    return [picture.line("GaussianBlur", blur_limit=[side, side], sigma_limit=[given[0], given[-1]], p=1.0)]


def gaussian_noise(args: Args, picture: Picture) -> list[Item]:
    """Noise of one strength, in fractions of full scale."""
    mean, sigma = (float(numbers(args.get(key, usual), key)[0]) for key, usual in (("mean", 0.0), ("sigma", 0.1)))
    return [picture.line("GaussNoise", std_range=[sigma, sigma], mean_range=[mean, mean], p=1.0)]


def jpeg(args: Args, picture: Picture) -> list[Item]:
    """Compressed, at one quality of a range."""
    given = [int(each) for each in numbers(args["quality"], "quality")]
    return [picture.line("ImageCompression", quality_range=[given[0], given[-1]], p=1.0)]


def posterize(args: Args, picture: Picture) -> list[Item]:
    """As many bits a channel as are left."""
    return [picture.line("Posterize", num_bits=int(numbers(args["bits"], "bits")[0]), p=args.get("p", 0.5))]


def solarize(args: Args, picture: Picture) -> list[Item]:
    """Values from a level on turned round; the level counts as the picture does where it stands."""
    level = float(numbers(args["threshold"], "threshold")[0])
    share = level if picture.scaled else level / 255
    if not 0 <= share <= 1:
        raise Unknown(f"threshold {level:g} is beyond white, and does nothing: leave the step out")
    return [picture.line("Solarize", threshold_range=[share, share], p=args.get("p", 0.5))]


def gray(args: Args, picture: Picture) -> list[Item]:
    """Grey always; of one channel, where one is asked for."""
    if int(args.get("num_output_channels", 1)) == 1:
        picture.output["color"] = "gray"
    return [picture.line("ToGray", p=1.0)]


def erasing(args: Args, picture: Picture) -> list[Item]:
    """A hole; its value counts as the picture does where it stands."""
    value = args.get("value", 0)
    fill = {"fill": "random"} if value == "random" else picture.fills(value)
    ranges = {key: list(span(args[key], key)) for key in ("scale", "ratio") if args.get(key) is not None}
    return [picture.line("Erasing", **ranges, **fill, p=args.get("p", 0.5))]


def sometimes(name: str, usual: float = 0.5, **fixed: Any) -> Any:
    """What makes a step of this class that acts with the probability `p`."""

    def made(args: Args, picture: Picture) -> list[Item]:
        return [picture.line(name, **fixed, p=args.get("p", usual))]

    return made


def always(name: str) -> Any:
    """What makes a step of this class that acts always."""

    def made(args: Args, picture: Picture) -> list[Item]:
        return [picture.line(name, p=1.0)]

    return made
