"""torchvision's conversions to tensors, and what is said of boxes, as `output:` and `inputs:`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.bring.draft import Item
from augrecipes.bring.torchvision.flow import Flow
from augrecipes.bring.torchvision.values import Unknown, numbers, resampling, size

Args = Mapping[str, Any]


def nothing(args: Args, flow: Flow) -> list[Item]:
    """What recipes do anyway."""
    return []


def to_tensor(args: Args, flow: Flow) -> list[Item]:
    """A tensor of 0..1."""
    flow.output |= {"dtype": "float32", "layout": "chw"}
    flow.scaled = True
    return []


def to_image(args: Args, flow: Flow) -> list[Item]:
    """A tensor of what was there."""
    flow.output["layout"] = "chw"
    return []


def convert(args: Args, flow: Flow) -> list[Item]:
    """Another type of numbers, scaled to 0..1."""
    return to_dtype({"scale": True, **args}, flow)


def to_dtype(args: Args, flow: Flow) -> list[Item]:
    """Another type of numbers, scaled or not."""
    dtype = _dtype(args.get("dtype"))
    flow.output["layout"] = "chw"
    if dtype not in ("float32", "float16"):
        if dtype != "uint8":
            raise Unknown(f"dtype {dtype}: `output:` has float32, float16 and uint8; convert the batch")
        return []
    flow.output["dtype"] = dtype
    if args.get("scale"):
        flow.scaled = True
    elif not flow.scaled:
        flow.output["range"] = [0, 255]
    return []


def _dtype(value: Any) -> str:
    """The name of a type; of a mapping, that of pictures. What torchvision does not print is float32, as always."""
    if isinstance(value, Mapping):
        value = next((each for each in value.values() if each is not None), None)
    name = str(value or "float32").rpartition(".")[2]
    return {"float": "float32", "half": "float16"}.get(name, name)


def normalize(args: Args, flow: Flow) -> list[Item]:
    """Mean and deviation; of 0..255, where nothing scaled the values."""
    if flow.normalized:
        raise Unknown("values are normalised already; leave one of the two out")
    full = 255 if flow.output.get("range") == [0, 255] else 1
    mean, std = ([each / full for each in numbers(args[key], key)] for key in ("mean", "std"))
    flow.output.pop("range", None)
    flow.output |= {"dtype": "float32" if flow.output["dtype"] == "uint8" else flow.output["dtype"], "layout": "chw"}
    flow.output["normalize"] = {"mean": mean, "std": std}
    flow.normalized = True
    return []


def image_classification(args: Args, flow: Flow) -> list[Item]:
    """The transforms of torchvision's weights: the shorter side, the middle, and a normalised tensor."""
    side = size(args.get("resize_size", 256), "resize_size")[0]
    height, width = size(args["crop_size"], "crop_size")
    flow.at_least(side, side)
    found: list[Item] = [flow.line("SmallestMaxSize", max_size=side, **resampling(args))]
    pad = {} if flow.holds(height, width) else {"pad_if_needed": True}
    found.append(flow.line("CenterCrop", height=height, width=width, **pad))
    return [*found, *_weights(args, flow)]


def semantic_segmentation(args: Args, flow: Flow) -> list[Item]:
    """The transforms of torchvision's weights: the shorter side, and a normalised tensor."""
    side = args.get("resize_size")
    found: list[Item] = []
    if side is not None:
        found.append(flow.line("SmallestMaxSize", max_size=size(side, "resize_size")[0], **resampling(args)))
    return [*found, *_weights(args, flow)]


def _weights(args: Args, flow: Flow) -> list[Item]:
    usual = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    to_tensor(args, flow)
    return normalize({key: args.get(key) or value for key, value in usual.items()}, flow)


def clamp_boxes(args: Args, flow: Flow) -> list[Item]:
    """Boxes cut at the picture's edges."""
    flow.boxes = {"format": "pascal_voc", **(flow.boxes or {})}
    return []


def sanitize_boxes(args: Args, flow: Flow) -> list[Item]:
    """Boxes that are left out when little is left of them."""
    side, area = float(args.get("min_size", 1.0)), float(args.get("min_area", 1.0))
    flow.boxes = {"format": "pascal_voc", **(flow.boxes or {}), "min_width": side, "min_height": side, "min_area": area}
    return []


def convert_boxes(args: Args, flow: Flow) -> list[Item]:
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
