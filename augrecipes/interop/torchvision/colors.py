"""torchvision's transforms that change values as steps, its conversions to tensors as `output:` and `inputs:`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from augrecipes.interop.draft import Item, Line
from augrecipes.interop.outputs import Args, Maker, SampleState, Unheld, photometric
from augrecipes.interop.torchvision.geometry import center_crop, levels, numbers, resize, size, span

# What ColorJitter leaves as it is.
_AS_IT_IS = {"brightness": [1.0, 1.0], "contrast": [1.0, 1.0], "saturation": [1.0, 1.0], "hue": [0.0, 0.0]}
_NEVER_BELOW = {"brightness", "contrast", "saturation"}


def color_jitter(args: Args, sample: SampleState) -> list[Item]:
    """Brightness, contrast, saturation and hue in random order; what is not named stays as it is."""
    ranges = {key: _range(key, args.get(key)) for key in _AS_IT_IS}
    if ranges == _AS_IT_IS:
        return []
    return [sample.line("ColorJitter", **ranges, p=1.0)]


def _range(key: str, value: Any) -> list[float]:
    if value is None:
        return _AS_IT_IS[key]
    low, high = (float(end) for end in span(value, key, 0.0 if key == "hue" else 1.0))
    return [max(low, 0.0) if key in _NEVER_BELOW else low, high]


_DISTORTED = {"brightness": [0.875, 1.125], "contrast": [0.5, 1.5], "saturation": [0.5, 1.5], "hue": [-0.05, 0.05]}


def photometric_distort(args: Args, sample: SampleState) -> list[Item]:
    """Each of four colour changes or none of it, contrast first or last, and channels in any order."""
    p = args.get("p", 0.5)

    def change(key: str) -> Line:
        ranges = {**_AS_IT_IS, key: _range(key, args.get(key, _DISTORTED[key]))}
        return sample.line("ColorJitter", **ranges, p=p)

    return [*photometric(change, sample.place), sample.line("ChannelShuffle", p=p)]


def gaussian_blur(args: Args, sample: SampleState) -> list[Item]:
    """Blurred by a kernel of one size."""
    kernel = {int(each) for each in numbers(args["kernel_size"], "kernel_size")}
    if len(kernel) > 1:
        raise Unheld("a kernel that is wider than high: GaussianBlur has square ones; take the larger side")
    given = numbers(args.get("sigma", [0.1, 2.0]), "sigma")
    side = kernel.pop()
    return [sample.line("GaussianBlur", blur_limit=[side, side], sigma_limit=[given[0], given[-1]], p=1.0)]


def solarize(args: Args, sample: SampleState) -> list[Item]:
    """Values from a level on turned round; the level counts as the image does where it stands."""
    level = float(numbers(args["threshold"], "threshold")[0])
    share = level if sample.scaled else level / 255
    if not 0 <= share <= 1:
        raise Unheld(f"threshold {level:g} is beyond white, and does nothing: leave the step out")
    return [sample.line("Solarize", threshold_range=[share, share], p=args.get("p", 0.5))]


def erasing(args: Args, sample: SampleState) -> list[Item]:
    """A hole; its value counts as the image does where it stands."""
    value = args.get("value", 0)
    fill = {"fill": "random"} if value == "random" else levels(value, sample)
    ranges = {key: list(span(args[key], key)) for key in ("scale", "ratio") if args.get(key) is not None}
    return [sample.line("Erasing", **ranges, **fill, p=args.get("p", 0.5))]


def to_dtype(args: Args, sample: SampleState) -> list[Item]:
    """Another type of numbers, scaled or not."""
    dtype = _dtype(args.get("dtype"))
    sample.output["layout"] = "chw"
    if dtype not in ("float32", "float16"):
        if dtype != "uint8":
            raise Unheld(f"dtype {dtype}: `output:` has float32, float16 and uint8; convert the batch")
        return []
    sample.output["dtype"] = dtype
    if args.get("scale"):
        sample.scaled = True
    elif not sample.scaled:
        sample.output["range"] = [0, 255]
    return []


def _dtype(value: Any) -> str:
    """The name of a type; of a mapping, that of images. What torchvision does not print is float32, as always."""
    if isinstance(value, Mapping):
        value = next((each for each in value.values() if each is not None), None)
    name = str(value or "float32").rpartition(".")[2]
    return {"float": "float32", "half": "float16"}.get(name, name)


def normalize(args: Args, sample: SampleState) -> list[Item]:
    """Mean and deviation; of 0..255, where nothing scaled the values."""
    if sample.normalized:
        raise Unheld("values are normalised already; leave one of the two out")
    full = 255 if sample.output.get("range") == [0, 255] else 1
    mean, std = ([each / full for each in numbers(args[key], key)] for key in ("mean", "std"))
    sample.output.pop("range", None)
    dtype = "float32" if sample.output["dtype"] == "uint8" else sample.output["dtype"]
    sample.output |= {"dtype": dtype, "layout": "chw", "normalize": {"mean": mean, "std": std}}
    sample.normalized = True
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


def weights(args: Args, sample: SampleState, crop: Any = None) -> list[Item]:
    """The transforms of torchvision's weights: the shorter side, the middle where asked for, a normalised tensor."""
    side = args.get("resize_size", None if crop is None else 256)
    found = [] if side is None else resize({**args, "size": size(side, "resize_size")[:1]}, sample)
    found += [] if crop is None else center_crop({"size": crop}, sample)
    sample.output |= {"dtype": "float32", "layout": "chw"}
    sample.scaled = True
    usual = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    return [*found, *normalize({key: args.get(key) or value for key, value in usual.items()}, sample)]


def step(name: str, p: float = 0.5, **fixed: Any) -> Maker:
    """What makes a step of this class that acts with the probability that is given, or with `p`.

    The other arguments are values, or functions that make them of torchvision's arguments.
    """

    def make(args: Args, sample: SampleState) -> list[Item]:
        values = {key: each(args) if callable(each) else each for key, each in fixed.items()}
        return [sample.line(name, **values, p=args.get("p", p))]

    return make


def output(**keys: Any) -> Maker:
    """What only changes `output:`."""

    def make(args: Args, sample: SampleState) -> list[Item]:
        sample.output |= keys
        sample.scaled = sample.scaled or "dtype" in keys
        return []

    return make


def clamp_boxes(args: Args, sample: SampleState) -> list[Item]:
    """Boxes cut at the image's edges."""
    sample.boxes = sample.boxes or {}
    return []


def convert_boxes(args: Args, sample: SampleState) -> list[Item]:
    """Boxes leave in the format that they arrive in."""
    raise Unheld(
        "boxes leave a recipe in the format of `inputs: {boxes: {format: pascal_voc}}`; convert the batch where the "
        "network wants another"
    )


def _ends(key: str, usual: float | None = None, kind: type = float) -> Callable[[Args], list[Any]]:
    """The first and the last number at a key, as `kind`."""

    def ends(args: Args) -> list[Any]:
        found = numbers(args[key] if usual is None else args.get(key, usual), key)
        return [kind(found[0]), kind(found[-1])]

    return ends


_NOISE = step("GaussNoise", 1.0, std_range=_ends("sigma", 0.1), mean_range=_ends("mean", 0.0))


def _classified(args: Args, sample: SampleState) -> list[Item]:
    return weights(args, sample, args["crop_size"])


# Of each class the arguments in the order of its constructor, in both versions, and what makes steps of them.
MAKERS: dict[str, tuple[str, Maker]] = {
    "ClampBoundingBoxes": ("clamping_mode", clamp_boxes),
    "ClampKeyPoints": ("", output()),
    "ColorJitter": ("brightness contrast saturation hue", color_jitter),
    "ConvertBoundingBoxFormat": ("format", convert_boxes),
    "ConvertImageDtype": ("dtype", lambda args, sample: to_dtype({"scale": True, **args}, sample)),
    "GaussianBlur": ("kernel_size sigma", gaussian_blur),
    "GaussianNoise": (
        "mean sigma clip",
        _NOISE,
    ),
    "Grayscale": ("num_output_channels", gray),
    "Identity": ("", output()),
    "ImageClassification": (
        "crop_size resize_size mean std interpolation antialias",
        _classified,
    ),
    "JPEG": ("quality", step("ImageCompression", 1.0, quality_range=_ends("quality", kind=int))),
    "Normalize": ("mean std inplace", normalize),
    "ObjectDetection": ("", output(dtype="float32", layout="chw")),
    "PILToTensor": ("", output(layout="chw")),
    "RGB": ("", output()),
    "RandomAutocontrast": ("p", step("AutoContrast", method="pil")),
    "RandomChannelPermutation": ("", step("ChannelShuffle", 1.0)),
    "RandomEqualize": ("p", step("Equalize")),
    "RandomErasing": ("p scale ratio value inplace", erasing),
    "RandomGrayscale": ("p", step("ToGray", 0.1)),
    "RandomHorizontalFlip": ("p", step("HorizontalFlip")),
    "RandomInvert": ("p", step("InvertImg")),
    "RandomPhotometricDistort": ("brightness contrast saturation hue p", photometric_distort),
    "RandomPosterize": ("bits p", step("Posterize", num_bits=lambda args: _ends("bits", kind=int)(args)[0])),
    "RandomSolarize": ("threshold p", solarize),
    "RandomVerticalFlip": ("p", step("VerticalFlip")),
    "SanitizeBoundingBoxes": ("min_size min_area labels_getter", sanitize_boxes),
    "SemanticSegmentation": ("resize_size mean std interpolation antialias", weights),
    "ToDtype": ("dtype scale", to_dtype),
    "ToImage": ("", output(layout="chw")),
    "ToImageTensor": ("", output(layout="chw")),
    "ToPILImage": ("mode", output()),
    "ToPureTensor": ("", output()),
    "ToTensor": ("", output(dtype="float32", layout="chw")),
}
