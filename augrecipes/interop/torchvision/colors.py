"""torchvision's transforms that change values as steps, its conversions to tensors as `output:` and `inputs:`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.interop.draft import Item, Line
from augrecipes.interop.sample import Args, Maker, SampleState, Unheld, photometric
from augrecipes.interop.torchvision.values import levels, numbers, resampling, size, span

# What ColorJitter leaves as it is.
_AS_IT_IS = {"brightness": [1.0, 1.0], "contrast": [1.0, 1.0], "saturation": [1.0, 1.0], "hue": [0.0, 0.0]}
_NEVER_BELOW = {"brightness", "contrast", "saturation"}


def color_jitter(args: Args, picture: SampleState) -> list[Item]:
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


_DISTORTED = {"brightness": [0.875, 1.125], "contrast": [0.5, 1.5], "saturation": [0.5, 1.5], "hue": [-0.05, 0.05]}


def photometric_distort(args: Args, picture: SampleState) -> list[Item]:
    """Each of four colour changes or none of it, contrast first or last, and channels in any order."""
    p = args.get("p", 0.5)

    def change(key: str) -> Line:
        ranges = {**_AS_IT_IS, key: _range(key, args.get(key, _DISTORTED[key]))}
        return picture.line("ColorJitter", **ranges, p=p)

    return [*photometric(change, picture.place), picture.line("ChannelShuffle", p=p)]


def gaussian_blur(args: Args, picture: SampleState) -> list[Item]:
    """Blurred by a kernel of one size."""
    kernel = {int(each) for each in numbers(args["kernel_size"], "kernel_size")}
    if len(kernel) > 1:
        raise Unheld("a kernel that is wider than high: GaussianBlur has square ones; take the larger side")
    given = numbers(args.get("sigma", [0.1, 2.0]), "sigma")
    side = kernel.pop()
    return [picture.line("GaussianBlur", blur_limit=[side, side], sigma_limit=[given[0], given[-1]], p=1.0)]


def gaussian_noise(args: Args, picture: SampleState) -> list[Item]:
    """Noise of one strength, in fractions of full scale."""
    mean, sigma = (float(numbers(args.get(key, usual), key)[0]) for key, usual in (("mean", 0.0), ("sigma", 0.1)))
    return [picture.line("GaussNoise", std_range=[sigma, sigma], mean_range=[mean, mean], p=1.0)]


def jpeg(args: Args, picture: SampleState) -> list[Item]:
    """Compressed, at one quality of a range."""
    given = [int(each) for each in numbers(args["quality"], "quality")]
    return [picture.line("ImageCompression", quality_range=[given[0], given[-1]], p=1.0)]


def posterize(args: Args, picture: SampleState) -> list[Item]:
    """As many bits a channel as are left."""
    return [picture.line("Posterize", num_bits=int(numbers(args["bits"], "bits")[0]), p=args.get("p", 0.5))]


def solarize(args: Args, picture: SampleState) -> list[Item]:
    """Values from a level on turned round; the level counts as the image does where it stands."""
    level = float(numbers(args["threshold"], "threshold")[0])
    share = level if picture.scaled else level / 255
    if not 0 <= share <= 1:
        raise Unheld(f"threshold {level:g} is beyond white, and does nothing: leave the step out")
    return [picture.line("Solarize", threshold_range=[share, share], p=args.get("p", 0.5))]


def gray(args: Args, picture: SampleState) -> list[Item]:
    """Grey always; of one channel, where one is asked for."""
    if int(args.get("num_output_channels", 1)) == 1:
        picture.output["color"] = "gray"
    return [picture.line("ToGray", p=1.0)]


def erasing(args: Args, picture: SampleState) -> list[Item]:
    """A hole; its value counts as the image does where it stands."""
    value = args.get("value", 0)
    fill = {"fill": "random"} if value == "random" else levels(value, picture)
    ranges = {key: list(span(args[key], key)) for key in ("scale", "ratio") if args.get(key) is not None}
    return [picture.line("Erasing", **ranges, **fill, p=args.get("p", 0.5))]


def step(name: str, p: float = 0.5, **fixed: Any) -> Maker:
    """What makes a step of this class that acts with the probability that is given, or with `p`."""
    return lambda args, picture: [picture.line(name, **fixed, p=args.get("p", p))]


def nothing(args: Args, picture: SampleState) -> list[Item]:
    """What recipes do anyway."""
    return []


def to_tensor(args: Args, picture: SampleState) -> list[Item]:
    """A tensor of 0..1."""
    picture.output |= {"dtype": "float32", "layout": "chw"}
    picture.scaled = True
    return []


def to_image(args: Args, picture: SampleState) -> list[Item]:
    """A tensor of what was there."""
    picture.output["layout"] = "chw"
    return []


def convert(args: Args, picture: SampleState) -> list[Item]:
    """Another type of numbers, scaled to 0..1."""
    return to_dtype({"scale": True, **args}, picture)


def to_dtype(args: Args, picture: SampleState) -> list[Item]:
    """Another type of numbers, scaled or not."""
    dtype = _dtype(args.get("dtype"))
    picture.output["layout"] = "chw"
    if dtype not in ("float32", "float16"):
        if dtype != "uint8":
            raise Unheld(f"dtype {dtype}: `output:` has float32, float16 and uint8; convert the batch")
        return []
    picture.output["dtype"] = dtype
    if args.get("scale"):
        picture.scaled = True
    elif not picture.scaled:
        picture.output["range"] = [0, 255]
    return []


def _dtype(value: Any) -> str:
    """The name of a type; of a mapping, that of images. What torchvision does not print is float32, as always."""
    if isinstance(value, Mapping):
        value = next((each for each in value.values() if each is not None), None)
    name = str(value or "float32").rpartition(".")[2]
    return {"float": "float32", "half": "float16"}.get(name, name)


def normalize(args: Args, picture: SampleState) -> list[Item]:
    """Mean and deviation; of 0..255, where nothing scaled the values."""
    if picture.normalized:
        raise Unheld("values are normalised already; leave one of the two out")
    full = 255 if picture.output.get("range") == [0, 255] else 1
    mean, std = ([each / full for each in numbers(args[key], key)] for key in ("mean", "std"))
    picture.output.pop("range", None)
    picture.output |= {
        "dtype": "float32" if picture.output["dtype"] == "uint8" else picture.output["dtype"],
        "layout": "chw",
    }
    picture.output["normalize"] = {"mean": mean, "std": std}
    picture.normalized = True
    return []


def image_classification(args: Args, picture: SampleState) -> list[Item]:
    """The transforms of torchvision's weights: the shorter side, the middle, and a normalised tensor."""
    side = size(args.get("resize_size", 256), "resize_size")[0]
    height, width = size(args["crop_size"], "crop_size")
    picture.sides = side, side
    found: list[Item] = [picture.line("SmallestMaxSize", max_size=side, **resampling(args))]
    pad = {} if picture.holds(height, width) else {"pad_if_needed": True}
    found.append(picture.line("CenterCrop", height=height, width=width, **pad))
    return [*found, *_weights(args, picture)]


def semantic_segmentation(args: Args, picture: SampleState) -> list[Item]:
    """The transforms of torchvision's weights: the shorter side, and a normalised tensor."""
    side = args.get("resize_size")
    found: list[Item] = []
    if side is not None:
        found.append(picture.line("SmallestMaxSize", max_size=size(side, "resize_size")[0], **resampling(args)))
    return [*found, *_weights(args, picture)]


def _weights(args: Args, picture: SampleState) -> list[Item]:
    usual = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    to_tensor(args, picture)
    return normalize({key: args.get(key) or value for key, value in usual.items()}, picture)


def clamp_boxes(args: Args, picture: SampleState) -> list[Item]:
    """Boxes cut at the image's edges."""
    picture.boxes = picture.boxes or {}
    return []


def sanitize_boxes(args: Args, picture: SampleState) -> list[Item]:
    """Boxes that are left out when little is left of them."""
    side, area = float(args.get("min_size", 1.0)), float(args.get("min_area", 1.0))
    picture.boxes = {**(picture.boxes or {}), "min_width": side, "min_height": side, "min_area": area}
    return []


def convert_boxes(args: Args, picture: SampleState) -> list[Item]:
    """Boxes leave in the format that they arrive in."""
    raise Unheld(
        "boxes leave a recipe in the format of `inputs: {boxes: {format: pascal_voc}}`; convert the batch where the "
        "network wants another"
    )


# Of each class the arguments in the order of its constructor, in both versions, and what makes steps of them.
MAKERS: dict[str, tuple[str, Maker]] = {
    "ClampBoundingBoxes": ("clamping_mode", clamp_boxes),
    "ClampKeyPoints": ("", nothing),
    "ColorJitter": ("brightness contrast saturation hue", color_jitter),
    "ConvertBoundingBoxFormat": ("format", convert_boxes),
    "ConvertImageDtype": ("dtype", convert),
    "GaussianBlur": ("kernel_size sigma", gaussian_blur),
    "GaussianNoise": ("mean sigma clip", gaussian_noise),
    "Grayscale": ("num_output_channels", gray),
    "Identity": ("", nothing),
    "ImageClassification": ("crop_size resize_size mean std interpolation antialias", image_classification),
    "JPEG": ("quality", jpeg),
    "Normalize": ("mean std inplace", normalize),
    "ObjectDetection": ("", to_tensor),
    "PILToTensor": ("", to_image),
    "RGB": ("", nothing),
    "RandomAutocontrast": ("p", step("AutoContrast", method="pil")),
    "RandomChannelPermutation": ("", step("ChannelShuffle", 1.0)),
    "RandomEqualize": ("p", step("Equalize")),
    "RandomErasing": ("p scale ratio value inplace", erasing),
    "RandomGrayscale": ("p", step("ToGray", 0.1)),
    "RandomHorizontalFlip": ("p", step("HorizontalFlip")),
    "RandomInvert": ("p", step("InvertImg")),
    "RandomPhotometricDistort": ("brightness contrast saturation hue p", photometric_distort),
    "RandomPosterize": ("bits p", posterize),
    "RandomSolarize": ("threshold p", solarize),
    "RandomVerticalFlip": ("p", step("VerticalFlip")),
    "SanitizeBoundingBoxes": ("min_size min_area labels_getter", sanitize_boxes),
    "SemanticSegmentation": ("resize_size mean std interpolation antialias", semantic_segmentation),
    "ToDtype": ("dtype scale", to_dtype),
    "ToImage": ("", to_image),
    "ToImageTensor": ("", to_image),
    "ToPILImage": ("mode", nothing),
    "ToPureTensor": ("", nothing),
    "ToTensor": ("", to_tensor),
}
