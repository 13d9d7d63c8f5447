"""Transforms of the MM frameworks as lines of a recipe: `Albu` opened, their own where the meaning is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.bring import compose
from augrecipes.bring import steps as albumentations
from augrecipes.bring.calls import Call
from augrecipes.bring.draft import Item, LeftOut, RecipeDraft
from augrecipes.bring.lines import placed_behind
from augrecipes.bring.mm import colors, geometry
from augrecipes.bring.mm.names import CARRIERS
from augrecipes.bring.mm.state import SampleState, Unheld
from augrecipes.ops.groups import COMPOSE
from augrecipes.recipe import suggest

_ALBU = ("Albu", "Albumentations")
_BGR = (
    "MMDetection and MMSegmentation give Albu BGR pictures, and recipes work on RGB: steps that tell channels apart "
    "(HueSaturationValue, RGBShift, ToGray, CLAHE, ...) act on the colours that their names say here."
)
_TELLS_CHANNELS = frozenset({
    "CLAHE", "ColorJitter", "FancyPCA", "HueSaturationValue", "PlanckianJitter", "RGBShift", "ToGray", "ToSepia",
})  # fmt: skip
Maker = Callable[[Mapping[str, Any], SampleState], list[Item]]
_MAKERS: dict[str, Maker] = {**geometry.MAKERS, **colors.MAKERS}
# What has no step of the same meaning: why, and what comes nearest.
_APART = {
    "AutoAugment": "its policies are lists of transforms: write `OneOf: {steps: [...]}` with a `Sequential` for each",
    "CopyPaste": "it needs other samples: copy and paste batches in the training loop",
    "Expand": "it puts the picture on a larger canvas: for a like effect at one size write "
    "`Affine: {scale: [0.25, 1.0], keep_ratio: true, p: 0.5}`",
    "MinIoURandomCrop": "its windows keep a share of some box: write `AtLeastOneBBoxRandomCrop` or "
    "`RandomSizedBBoxSafeCrop`, which keep boxes in their own ways",
    "MixUp": "it needs other samples: mix batches in the training loop",
    "Mosaic": "it needs other samples: mosaics are not in version 1",
    "RandomAffine": "it moves, scales and shears in one: write `Affine: {rotate: [-10, 10], scale: [0.5, 1.5], "
    "keep_ratio: true, translate_percent: [-0.1, 0.1], p: 1.0}`",
    "YOLOv5RandomAffine": "it cuts the mosaic down: write `Affine: {scale: [0.5, 1.5], keep_ratio: true, "
    "translate_percent: [-0.1, 0.1], p: 1.0}`",
    "YOLOXHSVRandomAug": "its gains add to hue, saturation and value at once: write `HueSaturationValue: "
    "{hue_shift_limit: 5, sat_shift_limit: 30, val_shift_limit: 30, p: 1.0}`",
    "YOLOv5HSVRandomAug": "its gains multiply hue, saturation and value: write `ColorJitter: {brightness: 0.4, "
    "contrast: 0, saturation: 0.7, hue: 0.015, p: 1.0}`",
}  # fmt: skip
# Version 2's test pipelines stand in this; without flips and at one scale it does nothing by itself.
_TESTED = "MultiScaleFlipAug"
_NEAR = ("Mosaic", "MixUp", "CopyPaste")


def fill(draft: RecipeDraft, calls: Sequence[Call], preprocessor: Mapping[str, Any] | None = None) -> None:
    """Put what a pipeline of an MM framework does into a draft.

    Args:
        draft: to be filled.
        calls: the transforms.
        preprocessor: arguments of the model's `data_preprocessor`, which normalises in releases from 2022 on.
    """
    sample = SampleState(draft)
    draft.steps = lines(calls, sample)
    if preprocessor is not None and not sample.normalized:
        colors.normalize(preprocessor, sample)
    if not sample.normalized:
        draft.note("The config normalises elsewhere (in `_base_`, or in the model): write `normalize:` into `output:`.")
    draft.keys["output"] = sample.output
    if sample.boxes is not None:
        draft.keys["inputs"] = {"boxes": {"format": "pascal_voc", **sample.boxes}}
    if sample.needs_mask:
        draft.keys.setdefault("inputs", {})["mask"] = "required"


def lines(calls: Sequence[Call], sample: SampleState) -> list[Item]:
    """The calls as lines; what has no place in a recipe is among them as left out."""
    found: list[Item] = []
    for index, call in enumerate(calls):
        sample.place, sample.rest = call.place, calls[index + 1 :]
        normalized = sample.normalized
        made = _made(call, sample)
        found += [each for item in made for each in placed_behind(item, sample.output)] if normalized else made
    return found


def _made(call: Call, sample: SampleState) -> list[Item]:
    if call.name in CARRIERS:
        return sample.carried(call)
    if call.name == _TESTED and not call.unread and not call.args.get("flip") and call.children:
        scale = call.args.get("img_scale")
        if scale is None or not isinstance(scale[0], list):
            given = {"img_scale": scale} if scale is not None else {}
            inside = [
                replace(each, args={**given, **each.args}) if each.name == "Resize" else each for each in call.children
            ]
            return lines([each for each in inside if each.name != "RandomFlip"], sample)
    if call.name in _APART or any(near in call.name for near in _NEAR):
        why = _APART.get(call.name) or "it needs other samples, which a step of a recipe does not have"
        return [LeftOut(call.name, why, call.place)]
    if call.unread:
        return [LeftOut(call.name, call.unread, call.place)]
    if call.name in _ALBU:
        return _albu(call, sample)
    try:
        if call.name in _MAKERS:
            return _MAKERS[call.name](call.args, sample)
    except Unheld as error:
        return [LeftOut(call.name, str(error), call.place)]
    except KeyError as error:
        return [LeftOut(call.name, f"its argument {error.args[0]!r} is missing", call.place)]
    why = suggest.step(call.name, call.args, ()).removeprefix("; ")
    return [LeftOut(call.name, f"a transform of the framework that recipes do not have; {why}", call.place)]


def _albu(call: Call, sample: SampleState) -> list[Item]:
    """What stands inside of Albu, with the names of today; its boxes are those of `inputs:`."""
    params = call.args.get("bbox_params")
    if isinstance(params, Mapping):
        inner = RecipeDraft(sample.draft.name, sample.draft.origin, call.place)
        kept = {
            key: value for key, value in params.items() if key not in ("type", "label_fields", "filter_lost_elements")
        }
        compose.fill(inner, Call(COMPOSE, {"bbox_params": kept}, (), call.place))
        sample.boxes = {**(sample.boxes or {}), **_without_labels(inner.keys.get("inputs", {}).get("boxes", {}))}
        for refused in inner.refused:
            sample.draft.refused.append(refused)
    if any(inner.name in _TELLS_CHANNELS for inner in call.walk()):
        sample.draft.note(_BGR)
    if call.args.get("skip_img_without_anno"):
        sample.draft.note("Albu skipped pictures that lost all of their boxes; here they come without boxes.")
    return albumentations.lines(call.children or ())


def _without_labels(boxes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in boxes.items() if key != "labels"}
