"""Pipelines of the MM frameworks as recipes: `Albu` opened, their own transforms where the meaning is the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.interop import albumentations, compose
from augrecipes.interop.draft import FOREIGN, Call, Item, RecipeDraft
from augrecipes.interop.mm_makers import MAKERS, normalize
from augrecipes.interop.outputs import Args, SampleState, Unheld, lines_by
from augrecipes.ops.groups import COMPOSE
from augrecipes.recipe import suggest

_MM = FOREIGN["mm"]
CARRIERS = frozenset(_MM["carriers"])  # load a sample, or pack it for the network: datasets and `output:` do this
NAMES = CARRIERS | {*_MM["names"]}  # that these frameworks alone have
_APART: dict[str, str] = _MM["left_out"]  # why, and what comes nearest
_ALBU = ("Albu", "Albumentations")
_BGR = (
    "MMDetection and MMSegmentation give Albu BGR images, and recipes work on RGB: steps that tell channels apart "
    "(HueSaturationValue, RGBShift, ToGray, CLAHE, ...) act on the colours that their names say here."
)
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
    sample = SampleState(draft, {"dtype": "float32", "layout": "chw", "range": [0, 255]})
    steps = lines_by(_made, calls, sample)
    if preprocessor is not None and not sample.normalized:
        normalize(Args(preprocessor), sample)
    if not sample.normalized:
        draft.note("The config normalises elsewhere (in `_base_`, or in the model): write `normalize:` into `output:`.")
    sample.finish(steps)


def _made(call: Call, sample: SampleState) -> list[Item]:
    if call.name in CARRIERS:
        return _carried(call, sample)
    if call.name == _TESTED and not call.unread and not call.args.get("flip") and call.children:
        scale = call.args.get("img_scale")
        if scale is None or not isinstance(scale[0], list):
            given = {} if scale is None else {"img_scale": scale}
            kept = [each for each in call.children if each.name != "RandomFlip"]
            inside = [replace(each, args={**given, **each.args}) if each.name == "Resize" else each for each in kept]
            return lines_by(_made, inside, sample)
    if call.name in _APART or any(near in call.name for near in _NEAR):
        raise Unheld(_APART.get(call.name) or "it needs other samples, which a step of a recipe does not have")
    if call.unread:
        raise Unheld(call.unread)
    if call.name in _ALBU:
        return _albu(call, sample)
    if call.name in MAKERS:
        return MAKERS[call.name](Args(call.args), sample)
    why = suggest.step(call.name, call.args, ()).text.removeprefix("; ")
    raise Unheld(f"a transform of the framework that recipes do not have; {why}")


def _carried(call: Call, sample: SampleState) -> list[Item]:
    """What loading and packing tell of the sample."""
    if call.name == "LoadAnnotations":
        if call.args.get("with_bbox"):
            sample.boxes = sample.boxes or {}
        segments = not any(key in call.args for key in ("with_bbox", "with_mask", "with_label"))
        sample.needs_mask = sample.needs_mask or segments or bool(call.args.get("with_seg"))
        if call.args.get("with_mask"):
            sample.draft.note("A mask for each box (with_mask) is not part of a sample here; boxes and classes are.")
    if call.args.get("color_type") == "grayscale":
        sample.output["color"] = "gray"
    return []


def _albu(call: Call, sample: SampleState) -> list[Item]:
    """What stands inside of Albu, with the names of today; its boxes are those of `inputs:`."""
    params = call.args.get("bbox_params")
    if isinstance(params, Mapping):
        inner = RecipeDraft(sample.draft.name, sample.draft.origin, call.place)
        others = ("type", "label_fields", "filter_lost_elements")
        kept = {key: value for key, value in params.items() if key not in others}
        compose.fill(inner, Call(COMPOSE, {"bbox_params": kept}, (), call.place))
        boxes = inner.keys.get("inputs", {}).get("boxes", {})
        sample.boxes = {**(sample.boxes or {}), **{key: value for key, value in boxes.items() if key != "labels"}}
        sample.draft.refused += inner.refused
    if any(inner.name in _MM["telling_channels"] for inner in call.walk()):
        sample.draft.note(_BGR)
    if call.args.get("skip_img_without_anno"):
        sample.draft.note("Albu skipped images that lost all of their boxes; here they come without boxes.")
    return albumentations.lines(call.children or ())
