"""torchvision's transforms that change values as steps, its conversions to tensors as `output:` and `inputs:`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.interop.draft import FOREIGN, Item, Line
from augrecipes.interop.outputs import Args, Maker, SampleState, Unheld, photometric
from augrecipes.interop.torchvision.geometry import center_crop, levels, resize
from augrecipes.recipe.keys import imagenet

# What ColorJitter leaves as it is, and what RandomPhotometricDistort does where nothing is said.
_AS_IT_IS = {"brightness": [1.0, 1.0], "contrast": [1.0, 1.0], "saturation": [1.0, 1.0], "hue": [0.0, 0.0]}
_DISTORTED = {"brightness": [0.875, 1.125], "contrast": [0.5, 1.5], "saturation": [0.5, 1.5], "hue": [-0.05, 0.05]}


def color_jitter(args: Args, sample: SampleState) -> list[Item]:
    """Brightness, contrast, saturation and hue in random order; what is not named stays as it is."""
    ranges = {key: _range(key, args) for key in _AS_IT_IS}
    return [] if ranges == _AS_IT_IS else [sample.line("ColorJitter", **ranges, p=1.0)]


def _range(key: str, args: Args) -> list[float]:
    if args.get(key) is None:
        return _AS_IT_IS[key]
    low, high = (float(end) for end in args.span(key, 0.0 if key == "hue" else 1.0))
    return [low if key == "hue" else max(low, 0.0), high]


def photometric_distort(args: Args, sample: SampleState) -> list[Item]:
    """Each of four colour changes or none of it, contrast first or last, and channels in any order."""
    p = args.get("p", 0.5)

    def change(key: str) -> Line:
        return sample.line("ColorJitter", **{**_AS_IT_IS, key: _range(key, Args(_DISTORTED | args))}, p=p)

    return [*photometric(change, sample.place), sample.line("ChannelShuffle", p=p)]


def gaussian_blur(args: Args, sample: SampleState) -> list[Item]:
    """Blurred by a kernel of one size."""
    kernel = {int(each) for each in args.numbers("kernel_size")}
    if len(kernel) > 1:
        raise Unheld("a kernel that is wider than high: GaussianBlur has square ones; take the larger side")
    sigma = args.ends("sigma", [0.1, 2.0])
    return [sample.line("GaussianBlur", blur_limit=[*kernel] * 2, sigma_limit=sigma, p=1.0)]


def solarize(args: Args, sample: SampleState) -> list[Item]:
    """Values from a level on turned round; the level counts as the image does where it stands."""
    level = float(args.numbers("threshold")[0])
    share = level if sample.scaled else level / 255
    if not 0 <= share <= 1:
        raise Unheld(f"threshold {level:g} is beyond white, and does nothing: leave the step out")
    return [sample.line("Solarize", threshold_range=[share, share], p=args.get("p", 0.5))]


def erasing(args: Args, sample: SampleState) -> list[Item]:
    """A hole; its value counts as the image does where it stands."""
    value = args.get("value", 0)
    fill = {"fill": "random"} if value == "random" else levels(value, sample)
    return [sample.line("Erasing", **args.spans("scale", "ratio"), **fill, p=args.get("p", 0.5))]


def to_dtype(args: Args, sample: SampleState) -> list[Item]:
    """Another type of numbers, scaled or not; what torchvision does not print is float32, as always."""
    value = args.get("dtype")
    if isinstance(value, Mapping):  # that of images
        value = next((each for each in value.values() if each is not None), None)
    name = str(value or "float32").rpartition(".")[2]
    dtype = {"float": "float32", "half": "float16"}.get(name, name)
    sample.output["layout"] = "chw"
    if dtype == "uint8":
        return []
    if dtype not in ("float32", "float16"):
        raise Unheld(f"dtype {dtype}: `output:` has float32, float16 and uint8; convert the batch")
    sample.output["dtype"] = dtype
    if args.get("scale"):
        sample.scaled = True
    elif not sample.scaled:
        sample.output["range"] = [0, 255]
    return []


def normalize(args: Args, sample: SampleState) -> list[Item]:
    """Mean and deviation; of 0..255, where nothing scaled the values."""
    if sample.normalized:
        raise Unheld("values are normalised already; leave one of the two out")
    full = 255 if sample.output.pop("range", None) == [0, 255] else 1
    found = {key: [each / full for each in args.numbers(key)] for key in ("mean", "std")}
    dtype = "float32" if sample.output["dtype"] == "uint8" else sample.output["dtype"]
    sample.output |= {"dtype": dtype, "layout": "chw", "normalize": found}
    sample.normalized = True
    return []


def clamp_boxes(args: Args, sample: SampleState) -> list[Item]:
    """Boxes cut at the image's edges."""
    sample.boxes = sample.boxes or {}
    return []


def sanitize_boxes(args: Args, sample: SampleState) -> list[Item]:
    """Boxes that are left out when little is left of them."""
    side, area = float(args.get("min_size", 1.0)), float(args.get("min_area", 1.0))
    sample.boxes = {**(sample.boxes or {}), "min_width": side, "min_height": side, "min_area": area}
    return []


def gray(args: Args, sample: SampleState) -> list[Item]:
    """Grey always; of one channel, where one is asked for."""
    if int(args.get("num_output_channels", 1)) == 1:
        sample.output["color"] = "gray"
    return [sample.line("ToGray", p=1.0)]


def weights(args: Args, sample: SampleState) -> list[Item]:
    """The transforms of torchvision's weights: the shorter side, the middle where asked for, a normalised tensor."""
    crop = args.get("crop_size")
    side = args.get("resize_size", None if crop is None else 256)
    found = [] if side is None else resize(Args(args, size=Args(resize_size=side).size("resize_size")[:1]), sample)
    found += [] if crop is None else center_crop(Args(size=crop), sample)
    sample.output |= {"dtype": "float32", "layout": "chw"}
    sample.scaled = True
    usual = imagenet("rgb")
    return [*found, *normalize(Args(mean=args.get("mean") or usual.mean, std=args.get("std") or usual.std), sample)]


def gaussian_noise(args: Args, sample: SampleState) -> list[Item]:
    """Noise of one strength."""
    ranges = {"std_range": args.ends("sigma", 0.1), "mean_range": args.ends("mean", 0.0)}
    return [sample.line("GaussNoise", **ranges, p=1.0)]


def jpeg(args: Args, sample: SampleState) -> list[Item]:
    """Coded and decoded, at a quality of a range."""
    return [sample.line("ImageCompression", quality_range=[int(end) for end in args.ends("quality")], p=1.0)]


def posterize(args: Args, sample: SampleState) -> list[Item]:
    """Fewer bits."""
    return [sample.line("Posterize", num_bits=int(args.numbers("bits")[0]), p=args.get("p", 0.5))]


def _step(name: str, usual: Mapping[str, Any]) -> Maker:
    """What makes a step of this class, with the probability that is given, or with the usual one."""
    return lambda args, sample: [sample.line(name, **usual | {"p": args.get("p", usual["p"])})]


def _output(keys: Mapping[str, Any]) -> Maker:
    """What only changes `output:`."""

    def make(args: Args, sample: SampleState) -> list[Item]:
        sample.output |= keys
        sample.scaled = sample.scaled or "dtype" in keys
        return []

    return make


# Of each class what makes steps of its arguments.
MAKERS: dict[str, Maker] = {
    **{cls: _step(*step) for cls, steps in FOREIGN["torchvision"]["steps"].items() for step in steps.items()},
    **{cls: _output(keys) for cls, keys in FOREIGN["torchvision"]["outputs"].items()},
    "ClampBoundingBoxes": clamp_boxes,
    "ColorJitter": color_jitter,
    "ConvertImageDtype": lambda args, sample: to_dtype(Args({"scale": True, **args}), sample),
    "GaussianBlur": gaussian_blur,
    "GaussianNoise": gaussian_noise,
    "Grayscale": gray,
    "ImageClassification": weights,
    "JPEG": jpeg,
    "Normalize": normalize,
    "RandomErasing": erasing,
    "RandomPhotometricDistort": photometric_distort,
    "RandomPosterize": posterize,
    "RandomSolarize": solarize,
    "SanitizeBoundingBoxes": sanitize_boxes,
    "SemanticSegmentation": weights,
    "ToDtype": to_dtype,
}
