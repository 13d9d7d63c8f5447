"""torchvision's conversions to tensors, and what is said of boxes, as `output:` and `inputs:`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.bring.draft import Item
from augrecipes.bring.torchvision.state import Picture
from augrecipes.bring.torchvision.values import Unknown, numbers, resampling, size

Args = Mapping[str, Any]


def nothing(args: Args, picture: Picture) -> list[Item]:
    """What recipes do anyway."""
    return []


def to_tensor(args: Args, picture: Picture) -> list[Item]:
    """A tensor of 0..1."""
    picture.output |= {"dtype": "float32", "layout": "chw"}
    picture.scaled = True
    return []


def to_image(args: Args, picture: Picture) -> list[Item]:
    """A tensor of what was there."""
    picture.output["layout"] = "chw"
    return []


def convert(args: Args, picture: Picture) -> list[Item]:
    """Another type of numbers, scaled to 0..1."""
    return to_dtype({"scale": True, **args}, picture)


def to_dtype(args: Args, picture: Picture) -> list[Item]:
    """Another type of numbers, scaled or not."""
    dtype = _dtype(args.get("dtype"))
    picture.output["layout"] = "chw"
    if dtype not in ("float32", "float16"):
        if dtype != "uint8":
            raise Unknown(f"dtype {dtype}: `output:` has float32, float16 and uint8; convert the batch")
        return []
    picture.output["dtype"] = dtype
    if args.get("scale"):
        picture.scaled = True
    elif not picture.scaled:
        picture.output["range"] = [0, 255]
    return []


def _dtype(value: Any) -> str:
    """The name of a type; of a mapping, that of pictures. What torchvision does not print is float32, as always."""
    if isinstance(value, Mapping):
        value = next((each for each in value.values() if each is not None), None)
    name = str(value or "float32").rpartition(".")[2]
    return {"float": "float32", "half": "float16"}.get(name, name)


def normalize(args: Args, picture: Picture) -> list[Item]:
    """Mean and deviation; of 0..255, where nothing scaled the values."""
    if picture.normalized:
        raise Unknown("values are normalised already; leave one of the two out")
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


def image_classification(args: Args, picture: Picture) -> list[Item]:
    """The transforms of torchvision's weights: the shorter side, the middle, and a normalised tensor."""
    side = size(args.get("resize_size", 256), "resize_size")[0]
    height, width = size(args["crop_size"], "crop_size")
    picture.at_least(side, side)
    found: list[Item] = [picture.line("SmallestMaxSize", max_size=side, **resampling(args))]
    pad = {} if picture.holds(height, width) else {"pad_if_needed": True}
    found.append(picture.line("CenterCrop", height=height, width=width, **pad))
    return [*found, *_weights(args, picture)]


def semantic_segmentation(args: Args, picture: Picture) -> list[Item]:
    """The transforms of torchvision's weights: the shorter side, and a normalised tensor."""
    side = args.get("resize_size")
    found: list[Item] = []
    if side is not None:
        found.append(picture.line("SmallestMaxSize", max_size=size(side, "resize_size")[0], **resampling(args)))
    return [*found, *_weights(args, picture)]


def _weights(args: Args, picture: Picture) -> list[Item]:
    usual = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    to_tensor(args, picture)
    return normalize({key: args.get(key) or value for key, value in usual.items()}, picture)


def clamp_boxes(args: Args, picture: Picture) -> list[Item]:
    """Boxes cut at the picture's edges."""
    picture.boxes = {"format": "pascal_voc", **(picture.boxes or {})}
    return []


def sanitize_boxes(args: Args, picture: Picture) -> list[Item]:
    """Boxes that are left out when little is left of them."""
    side, area = float(args.get("min_size", 1.0)), float(args.get("min_area", 1.0))
    picture.boxes = {
        "format": "pascal_voc",
        **(picture.boxes or {}),
        "min_width": side,
        "min_height": side,
        "min_area": area,
    }
    return []


def convert_boxes(args: Args, picture: Picture) -> list[Item]:
    """Boxes leave in the format that they arrive in."""
    raise Unknown(
        "boxes leave a recipe in the format of `inputs: {boxes: {format: pascal_voc}}`; convert the batch where the "
        "network wants another"
    )


MAKERS = {
    "ClampBoundingBoxes": clamp_boxes,
    "ClampKeyPoints": nothing,
    "ConvertBoundingBoxFormat": convert_boxes,
    "ConvertImageDtype": convert,
    "Identity": nothing,
    "ImageClassification": image_classification,
    "Normalize": normalize,
    "ObjectDetection": to_tensor,
    "PILToTensor": to_image,
    "RGB": nothing,
    "SanitizeBoundingBoxes": sanitize_boxes,
    "SemanticSegmentation": semantic_segmentation,
    "ToDtype": to_dtype,
    "ToImage": to_image,
    "ToImageTensor": to_image,
    "ToPILImage": nothing,
    "ToPureTensor": nothing,
    "ToTensor": to_tensor,
}
