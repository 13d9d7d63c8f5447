"""Transforms of torchvision, version 2 or 1, as lines of a recipe with the same meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.configs.forms import positional
from augrecipes.bring.draft import Item, LeftOut, Line, RecipeDraft
from augrecipes.bring.lines import acting, placed_behind
from augrecipes.bring.torchvision import colors, ends, geometry
from augrecipes.bring.torchvision.signatures import PARAMETERS
from augrecipes.bring.torchvision.state import Picture
from augrecipes.bring.torchvision.values import Unknown
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, NO_OP, ONE_OF, RANDOM_ORDER, SEQUENTIAL
from augrecipes.recipe import suggest

Maker = Callable[[Mapping[str, Any], Picture], list[Item]]

_MAKERS: dict[str, Maker] = {
    "CenterCrop": geometry.center_crop,
    "ColorJitter": colors.color_jitter,
    "ElasticTransform": geometry.elastic,
    "GaussianBlur": colors.gaussian_blur,
    "GaussianNoise": colors.gaussian_noise,
    "Grayscale": colors.gray,
    "JPEG": colors.jpeg,
    "Pad": geometry.pad,
    "RandomAffine": geometry.random_affine,
    "RandomAutocontrast": colors.sometimes("AutoContrast", method="pil"),
    "RandomChannelPermutation": colors.always("ChannelShuffle"),
    "RandomCrop": geometry.random_crop,
    "RandomEqualize": colors.sometimes("Equalize"),
    "RandomErasing": colors.erasing,
    "RandomGrayscale": colors.sometimes("ToGray", 0.1),
    "RandomHorizontalFlip": geometry.flip("HorizontalFlip"),
    "RandomInvert": colors.sometimes("InvertImg"),
    "RandomPhotometricDistort": colors.photometric_distort,
    "RandomPosterize": colors.posterize,
    "RandomResize": geometry.random_resize,
    "RandomResizedCrop": geometry.random_resized_crop,
    "RandomRotation": geometry.random_rotation,
    "RandomShortestSize": geometry.shortest_size,
    "RandomSolarize": colors.solarize,
    "RandomVerticalFlip": geometry.flip("VerticalFlip"),
    "Resize": geometry.resize,
    "ScaleJitter": geometry.scale_jitter,
    **ends.MAKERS,
}
# What has no step of the same meaning: why, and what comes nearest.
_APART: dict[str, str] = {
    "LinearTransformation": "whitening needs a matrix, which a recipe cannot hold: apply it to the batch",
    "RandomAdjustSharpness": "Sharpen works by another kernel: for factors above 1 write "
    "`Sharpen: {alpha: [0.2, 0.5], p: 0.5}`, below 1 a weak `GaussianBlur`",
    "RandomIoUCrop": "its windows keep a share of some box: write `AtLeastOneBBoxRandomCrop` or "
    "`RandomSizedBBoxSafeCrop`, which keep boxes in their own ways",
    "RandomPerspective": "it shrinks the picture into a random quadrangle, where Perspective enlarges one: for like "
    "strength write `Perspective: {scale: [0.05, 0.1], p: 0.5}`",
    "RandomZoomOut": "it puts the picture on a larger canvas: for a like effect at one size write "
    "`Affine: {scale: [0.25, 1.0], keep_ratio: true, p: 0.5}`",
    "Lambda": "a recipe holds no code: write a class and make it known with augrecipes.register(cls)",
    "SanitizeKeyPoints": "write `inputs: {keypoints: {remove_invisible: true}}`",
}
_GROUPS = frozenset({"RandomApply", "RandomChoice", "RandomOrder"})


def fill(draft: RecipeDraft, call: Call) -> None:
    """Put what a Compose of torchvision does into a draft; a lone transform is a Compose of itself."""
    picture = Picture(draft)
    draft.steps = lines(call.children or () if call.name == COMPOSE else (call,), picture)
    draft.keys["output"] = picture.output
    if picture.boxes is not None:
        draft.keys["inputs"] = {"boxes": picture.boxes}


def lines(calls: Sequence[Call], picture: Picture) -> list[Item]:
    """The calls as lines; what has no place in a recipe is among them as left out."""
    found: list[Item] = []
    for call in calls:
        normalized = picture.normalized
        made = _made(call, picture)
        found += [each for item in made for each in placed_behind(item, picture.output)] if normalized else made
    return found


def _made(call: Call, picture: Picture) -> list[Item]:
    picture.place = call.place
    call = positional(call, [key for key in PARAMETERS.get(call.name, ()) if key != "transforms"])
    if call.unread:
        return [LeftOut(call.name, call.unread, call.place)]
    args = {key: value for key, value in call.args.items() if key != "transforms"}
    unknown = [key for key in args if key not in PARAMETERS.get(call.name, args)]
    if call.package and not call.package.startswith("torchvision"):
        return [LeftOut(call.name, _hint(call), call.place)]
    if call.name == COMPOSE:
        return lines(call.children or (), picture)
    if unknown and (call.name in _MAKERS or call.name in _GROUPS):
        return [LeftOut(call.name, f"torchvision's {call.name} has no argument {unknown[0]!r}", call.place)]
    try:
        if call.name in _GROUPS:
            return _group(call, args, picture)
        if call.name in _MAKERS:
            return _MAKERS[call.name](args, picture)
    except Unknown as error:
        return [LeftOut(call.name, str(error), call.place)]
    except KeyError as error:
        return [LeftOut(call.name, f"its argument {error.args[0]!r} is missing", call.place)]
    return [LeftOut(call.name, _APART.get(call.name) or _hint(call), call.place)]


def _hint(call: Call) -> str:
    foreign = bool(call.package) and not call.package.startswith("torchvision")
    if foreign or call.name not in PARAMETERS:
        where = f" of {call.package}" if foreign else ""
        return (
            f"no transform{where} that augrecipes knows: write it as a class for albumentations and make it known with "
            "augrecipes.register(cls)"
        )
    return suggest.step(call.name, call.args, ()).removeprefix("; ") or "nothing in a recipe has the same meaning"


def _group(call: Call, args: Mapping[str, Any], picture: Picture) -> list[Item]:
    children = call.children or ()
    if not children:
        return []
    sides = picture.sides
    if call.name == "RandomApply":
        if args.get("p", 0.5) is None:
            raise Unknown("torchvision 2 does not print its p: import the object itself, or write `p=` into the text")
        inside = lines(children, picture)
        picture.sides = sides
        return _applied(call, inside, float(args.get("p", 0.5)))
    if call.name == "RandomChoice":
        weights = args.get("p") or [1 / len(children)] * len(children)
        if len(weights) != len(children):
            raise Unknown(f"{len(weights)} probabilities for {len(children)} transforms")
        total = sum(weights)
        chosen = [_weighed(each, weight / total, picture) for each, weight in zip(children, weights, strict=True)]
        picture.sides = None
        return acting(Line(ONE_OF, {}, call.place, chosen))
    inside = [_whole(lines([each], picture), each) for each in children]
    picture.sides = None
    return acting(Line(RANDOM_ORDER, {}, call.place, inside))


def _applied(call: Call, inside: list[Item], p: float) -> list[Item]:
    """Steps that act together or not at all; one that always acts takes the probability itself."""
    if len(inside) == 1 and isinstance(inside[0], Line) and _acts_always(inside[0]):
        inside[0].args["p"] = p
        return inside
    return acting(Line(SEQUENTIAL, {"p": p}, call.place, inside))


def _weighed(call: Call, weight: float, picture: Picture) -> Item:
    """A transform that is drawn with that weight: in OneOf a step's `p` is its weight, and it acts for sure."""
    whole = _whole(lines([call], picture), call)
    if isinstance(whole, LeftOut):
        return whole
    if _acts_always(whole):
        whole.args["p"] = round(weight, 6)
        return whole
    return Line(SEQUENTIAL, {"p": round(weight, 6)}, call.place, [whole])


def _whole(made: list[Item], call: Call) -> Item:
    """Several lines as one."""
    if len(made) == 1:
        return made[0]
    if made and not any(isinstance(item, Line) for item in made):
        why = "; ".join(f"{item.name}: {item.why}" for item in made if isinstance(item, LeftOut))
        return LeftOut(call.name, why, call.place)
    return Line(SEQUENTIAL, {"p": 1.0}, call.place, made) if made else Line(NO_OP, {"p": 1.0}, call.place)


def _acts_always(line: Line) -> bool:
    if line.steps is not None:
        return line.args.get("p", 1.0) == 1
    takes = (registry.arguments(line.name) or {"properties": {}})["properties"]
    return bool(line.args.get("p", takes.get("p", {}).get("default")) == 1)
