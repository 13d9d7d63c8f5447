"""What Ultralytics writes of a run, `args.yaml`, and its `hyp.yaml`: how strong each augmentation is, by its key."""

from __future__ import annotations

import json
from typing import Any

from augrecipes.bring.dialect import Dialect
from augrecipes.bring.draft import Item, LeftOut, Line, RecipeDraft
from augrecipes.bring.lines import line
from augrecipes.bring.naming import name_of
from augrecipes.bring.reading import Document
from augrecipes.bring.sr.options import OptionFile
from augrecipes.recipe.nodes import MappingNode, Scalar

# What counts where the file says nothing: Ultralytics' own defaults.
_USUAL = {
    "hsv_h": 0.015, "hsv_s": 0.7, "hsv_v": 0.4, "degrees": 0.0, "translate": 0.1, "scale": 0.5, "shear": 0.0,
    "perspective": 0.0, "flipud": 0.0, "fliplr": 0.5, "mosaic": 1.0, "mixup": 0.0,
}  # fmt: skip
_TELLING = 4  # of these keys tell such a file
_SIZE = {"classify": 224}
_GREY = 114
_MIX = "it needs other samples: mix batches in the training loop"
_NAMED = {
    "mosaic": "it needs other samples: mosaics are not in version 1",
    "mixup": _MIX, "cutmix": _MIX, "copy_paste": _MIX,
    "bgr": "it swaps red and blue; `ChannelShuffle` puts channels in any order",
    "perspective": "it tilts by so much a pixel; of like strength is `Perspective: {scale: [0.0, 0.001], p: 1.0}`",
}  # fmt: skip
_POLICIES = "its policies are lists of transforms: write `SomeOf: {n: 2, steps: [...]}` with steps of your choice"
_SATURATION = "saturation blends with grey, there it scaled that of HSV"
_BOXES = {"format": "pascal_voc", "labels": "box_labels", "min_visibility": 0.1, "min_width": 2, "min_height": 2,
          "clip": True}  # fmt: skip


def owns(document: Document) -> bool:
    """Whether several of the keys stand in it, each with a number."""
    top = document.top
    return isinstance(top, MappingNode) and sum(isinstance(top.entries.get(key), Scalar) for key in _USUAL) >= _TELLING


def draft(document: Document) -> RecipeDraft:
    """What the training data of a run goes through, as a recipe.

    Raises:
        RecipeError: a value that cannot be; names key and line.
    """
    top = document.top
    given = OptionFile((top,) if isinstance(top, MappingNode) else (), document.place)
    made = RecipeDraft(name_of(document.file), "the arguments of a run of Ultralytics", document.place)
    task = str(given.get("task", "detect"))
    if task == "classify":
        _classify(made, given)
    else:
        _detect(made, given, task)
    data = given.get("data")
    if isinstance(data, str):
        listed = f'files={json.dumps(data)}, split="train"'
        where = json.dumps(f"{data}/train") if task == "classify" else listed
        made.dataset = f'ar.ImageFolder({where}, recipe="{made.name}.yaml")'
    if given.get("multi_scale"):
        made.refuse("multi_scale", "sizes change from batch to batch there; a recipe has one: see `imgsz`",
                    given.at("multi_scale"))  # fmt: skip
    return made


def _detect(made: RecipeDraft, given: OptionFile, task: str) -> None:
    """Boxes, and outlines or points beside them: letterbox, one warp, colours, flips."""
    made.keys["inputs"] = {"boxes": dict(_BOXES)}
    if task == "pose":
        made.keys["inputs"]["keypoints"] = {"format": "xy", "remove_invisible": False}
        made.note("Flips do not swap left and right points (`flip_idx` of data.yaml): do so in the training loop.")
    if task == "obb":
        made.refuse("task", "rotated boxes have no place in a recipe: let their corners travel as keypoints",
                    given.at("task"))  # fmt: skip
    size = _size(made, given, 640)
    letterbox = _letterbox(given, size)
    made.steps = [
        *letterbox,
        *_left_out(given, "mosaic", "copy_paste", "perspective"),
        *_warp(given),
        *_left_out(given, "mixup", "cutmix"),
        *_colours(given),
        *_flips(given),
        *_left_out(given, "bgr"),
    ]
    made.eval = [Line(step.name, dict(step.args), step.place) for step in letterbox]
    made.note(
        "Where albumentations is installed, Ultralytics adds Blur, MedianBlur, ToGray and CLAHE with p 0.01 each; they "
        "stand in no file, and not here."
    )


def _classify(made: RecipeDraft, given: OptionFile) -> None:
    """Whole pictures: a window, flips, colours, a hole."""
    size = _size(made, given, _SIZE["classify"])
    at, least = given.at("scale"), 1 - _share(given, "scale")
    made.steps = [line("RandomResizedCrop", {"size": [size, size], "scale": [least, 1.0]}, at), *_flips(given)]
    policy = "randaugment" if given.node("auto_augment") is None else given.get("auto_augment")  # null is none
    if policy:
        made.steps.append(LeftOut(f"auto_augment: {policy}", _POLICIES, given.at("auto_augment")))
    else:
        made.steps += _jitter(given)
    if p := given.chance("erasing", 0.4):
        made.steps.append(Line("Erasing", {"p": p}, given.at("erasing")))
    made.eval = [
        Line("SmallestMaxSize", {"max_size": size}, given.at("imgsz")),
        Line("CenterCrop", {"height": size, "width": size}, given.at("imgsz")),
    ]


def _size(made: RecipeDraft, given: OptionFile, usual: int) -> int:
    if given.node("imgsz") is None:
        made.note(f"The file says no `imgsz`; {usual} is Ultralytics' own.")
    return given.whole("imgsz", usual)


def _letterbox(given: OptionFile, size: int) -> list[Line]:
    at = given.at("imgsz")
    return [
        Line("LongestMaxSize", {"max_size": size}, at),
        Line("PadIfNeeded", {"min_height": size, "min_width": size, "fill": _GREY}, at),
    ]


def _share(given: OptionFile, key: str) -> float:
    value = given.number(key, _USUAL[key])
    if not 0 <= value < 1:
        given.wrong(key, f"must be 0 or more and below 1, got {value:g}")
    return value


def _either(value: float) -> list[float]:
    return [-value, value]


def _warp(given: OptionFile) -> list[Item]:
    """Rotation, scale, shear and shift, which are one matrix there, too."""
    degrees, shear = (given.number(key, _USUAL[key]) for key in ("degrees", "shear"))
    shift, scale = _share(given, "translate"), _share(given, "scale")
    if not (degrees or shear or shift or scale):
        return []
    args: dict[str, Any] = {"rotate": _either(abs(degrees))} if degrees else {}
    args |= {"scale": [round(1 - scale, 9), 1 + scale], "keep_ratio": True} if scale else {}
    args |= {"translate_percent": _either(shift)} if shift else {}
    args |= {"shear": {"x": _either(abs(shear)), "y": _either(abs(shear))}} if shear else {}
    at = given.at(next((key for key in ("degrees", "scale", "translate", "shear") if given.node(key)), "degrees"))
    made = Line("Affine", {**args, "fill": _GREY, "p": 1.0}, at)
    if shear and degrees:
        made.beside.append("there sheared after it was turned")
    return [made]


def _colours(given: OptionFile) -> list[Item]:
    """Hue turned, saturation and value scaled: of `ColorJitter` hue and brightness mean the same."""
    hue, saturation, value = (given.chance(key, _USUAL[key]) for key in ("hsv_h", "hsv_s", "hsv_v"))
    if not (hue or saturation or value):
        return []
    if hue > 0.5:
        given.wrong("hsv_h", f"must be half a turn at most, 0.5, got {hue:g}")
    args = {
        "brightness": [round(1 - value, 9), 1 + value], "contrast": [1.0, 1.0],
        "saturation": [round(1 - saturation, 9), 1 + saturation], "hue": _either(hue), "p": 1.0,
    }  # fmt: skip
    at = given.at(next((key for key in ("hsv_h", "hsv_s", "hsv_v") if given.node(key)), "hsv_h"))
    return [Line("ColorJitter", args, at, beside=[_SATURATION] if saturation else [])]


def _jitter(given: OptionFile) -> list[Item]:
    """The jitter of classification, which is torchvision's."""
    hue, saturation, value = (given.chance(key, _USUAL[key]) for key in ("hsv_h", "hsv_s", "hsv_v"))
    args = {"brightness": value, "contrast": value, "saturation": saturation, "hue": hue, "p": 1.0}
    return [Line("ColorJitter", args, given.at("hsv_v"))] if hue or saturation or value else []


def _flips(given: OptionFile) -> list[Item]:
    found: list[Item] = []
    for key, name in (("flipud", "VerticalFlip"), ("fliplr", "HorizontalFlip")):
        if p := given.chance(key, _USUAL[key]):
            found.append(line(name, {"p": p}, given.at(key)))
    return found


def _left_out(given: OptionFile, *keys: str) -> list[Item]:
    """What no recipe can hold, where the run did it."""
    return [
        LeftOut(f"{key}: {strength:g}", _NAMED[key], given.at(key))
        for key in keys
        if (strength := given.number(key, _USUAL.get(key, 0.0)))
    ]


DIALECT = Dialect("args.yaml or hyp.yaml of Ultralytics", owns, draft)
