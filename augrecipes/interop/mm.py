"""Conversion of the MM frameworks' pipelines: their own transforms, and those inside `Albu`.

Their normalisation becomes `output:`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.interop import albumentations, compose
from augrecipes.interop.draft import FOREIGN, Call, Item, Line, RecipeDraft
from augrecipes.interop.outputs import Args, Maker, SampleState, Unsupported, convert_calls, photometric
from augrecipes.ops.groups import COMPOSE, ONE_OF, SEQUENTIAL
from augrecipes.recipe import suggest

_MM = FOREIGN["mm"]
CARRIERS = frozenset(_MM["carriers"])  # load a sample, or pack it for the network: datasets and `output:` do this
NAMES = CARRIERS | {*_MM["names"]}  # names that only these frameworks have
_UNSUPPORTED: dict[str, str] = _MM["left_out"]  # the reason, and the nearest equivalent
_ALBU = ("Albu", "Albumentations")
_BGR = (
    "MMDetection and MMSegmentation give Albu BGR images, and recipes work on RGB: steps that tell channels apart "
    "(HueSaturationValue, RGBShift, ToGray, CLAHE, ...) act on the colours that their names say here."
)
# The wrapper of version 2's test pipelines; without flips and at one scale it has no effect of its own.
_TEST_TIME = "MultiScaleFlipAug"
_NEAR = ("Mosaic", "MixUp", "CopyPaste")
_SATURATION = "blends with grey, where the framework multiplies the saturation of HSV"

_FLIPS: dict[str, list[str]] = _MM["flips"]
_INTERPOLATIONS: dict[str, str] = _MM["interpolations"]
_MOST_SIZES = 1024


def resize(args: Args, sample: SampleState) -> list[Item]:
    """Resize to a size from a list or range, with or without the aspect ratio; `scale` is (width, height)."""
    scale, how = args.get("scale", args.get("img_scale")), _resize_options(args)
    if scale is None:
        factor = args.get("scale_factor")
        if not isinstance(factor, int | float):
            raise Unsupported("it says no scale; write the size")
        return [sample.line("RandomScale", scale_limit=[factor - 1, factor - 1], **how, p=1.0)]
    several = isinstance(scale, list) and any(isinstance(each, list) for each in scale)
    scales = [_pair(each) for each in (scale if several else [scale])]
    if len(scales) == 2 and args.get("multiscale_mode", "range") == "range":
        scales = _between(*scales)
    result: list[Item] = [_resize_step(scales, args.get("keep_ratio", "img_scale" in args), sample, how)]
    if (ratios := args.get("ratio_range")) is not None:
        line = sample.line("RandomScale", scale_limit=[round(ratio - 1, 10) for ratio in ratios], **how, p=1.0)
        line.comments.append("resampled twice, once in the framework")
        result.append(line)
    return result


def choice_resize(args: Args, sample: SampleState) -> list[Item]:
    """RandomChoiceResize: resize to one of several sizes."""
    keep = args.get("keep_ratio", (args.get("resize_cfg") or {}).get("keep_ratio", True))
    return [_resize_step([_pair(each) for each in args["scales"]], keep, sample, _resize_options(args))]


def _resize_options(args: Args) -> dict[str, Any]:
    return {"interpolation": args.named("interpolation", _INTERPOLATIONS, "bilinear")}


def _pair(scale: Any) -> list[int]:
    if isinstance(scale, int | float):
        return [int(scale), int(scale)]
    if not isinstance(scale, list) or len(scale) != 2 or not all(isinstance(each, int | float) for each in scale):
        raise Unsupported(f"scale {scale!r} is not a pair of numbers")
    return [int(scale[0]), int(scale[1])]


def _between(low: list[int], high: list[int]) -> list[list[int]]:
    """All sizes between two that differ only in the shorter side."""
    (long, short), (other, last) = sorted(low, reverse=True), sorted(high, reverse=True)
    if long != other or abs(last - short) >= _MOST_SIZES:
        raise Unsupported("draws both sides from ranges: write `SmallestMaxSize: {max_size: [640, 720, 800]}`")
    return [[long, side] for side in range(min(short, last), max(short, last) + 1)]


def _resize_step(scales: list[list[int]], keep: Any, sample: SampleState, how: dict[str, Any]) -> Line:
    """The step that resizes to one of these (width, height)."""
    if not keep:
        each = [sample.line("Resize", height=height, width=width, **how) for width, height in scales]
        return each[0] if len(each) == 1 else Line(ONE_OF, {}, sample.place, [*each])
    shortest, longest = [min(pair) for pair in scales], max(map(max, scales))
    size = shortest if len(shortest) > 1 else shortest[0]
    if all(width == height for width, height in scales):
        return sample.line("LongestMaxSize", max_size=size, **how)
    line = sample.line("SmallestMaxSize", max_size=size, **how)
    line.comments.append(f"the longer side is not held below {longest}")
    sample.draft.note(
        f"Resize keeps the longer side below {longest} in the framework: images longer than "
        f"{longest / max(shortest):.2f} times their shorter side become larger here."
    )
    return line


def random_flip(args: Args, sample: SampleState) -> list[Item]:
    """RandomFlip: a flip in one of the directions."""
    p, directions = args.get("prob", args.get("flip_ratio")), args.get("direction", "horizontal")
    directions = directions if isinstance(directions, list) else [directions]
    if unknown := [each for each in directions if each not in _FLIPS]:
        raise Unsupported(f"direction {unknown[0]!r} is none of {', '.join(_FLIPS)}")
    if not p:
        return []
    chances = p if isinstance(p, list) else [p / len(directions)] * len(directions)
    steps: list[Item] = []
    for direction, chance in zip(directions, chances, strict=False):
        first, *more = names = _FLIPS[direction]
        both: list[Item] = [sample.line(name, p=1.0) for name in names]
        steps.append(Line(SEQUENTIAL, {"p": chance}, sample.place, both) if more else sample.line(first, p=chance))
    return steps if len(steps) == 1 else [Line(ONE_OF, {"p": round(sum(chances), 6)}, sample.place, steps)]


def pad(args: Args, sample: SampleState) -> list[Item]:
    """Pad to a size, or to a multiple of a divisor; the image stays at the top left."""
    if args.get("pad_to_square"):
        raise Unsupported("pad_to_square has no step: write `PadIfNeeded` with a fixed size")
    if (divisor := args.get("size_divisor")) is not None:
        sides = {"min_height": None, "min_width": None, "pad_height_divisor": divisor, "pad_width_divisor": divisor}
    else:
        sides = dict(zip(("min_height", "min_width"), _pair(args.get("size")), strict=True))
    return [sample.line("PadIfNeeded", **sides, position="top_left", **_fills(args))]


def _fills(args: Mapping[str, Any], image: str = "pad_val", mask: str = "seg_pad_val") -> dict[str, Any]:
    value, labels = args.get(image, 0), args.get(mask)
    if isinstance(value, Mapping):
        value, labels = value.get("img", 0), value.get("seg", labels)
    fill = value[0] if isinstance(value, list) and len(set(value)) == 1 else value
    return {"fill": fill} | ({"fill_mask": labels} if labels is not None else {})


def random_crop(args: Args, sample: SampleState) -> list[Item]:
    """RandomCrop; smaller images are padded as a following Pad would do."""
    kind = args.get("crop_type", "absolute")
    if kind != "absolute":
        raise Unsupported(f"crop_type {kind!r} draws the window's size: write `RandomSizedCrop` or `RandomResizedCrop`")
    height, width = _pair(args["crop_size"])
    behind = next((call for call in sample.rest if call.name == "Pad" and call.args.get("size") is not None), None)
    fills = {} if behind is None else _fills(behind.args)
    line = sample.line("RandomCrop", height=height, width=width, pad_if_needed=True, pad_position="top_left", **fills)
    if args.get("cat_max_ratio", 1.0) != 1.0:
        line.comments.append("cat_max_ratio is not kept")
        sample.draft.note("RandomCrop draws again where one class fills cat_max_ratio of the window; here it does not.")
    return [line]


def center_crop(args: Args, sample: SampleState) -> list[Item]:
    """CenterCrop."""
    height, width = _pair(args["crop_size"])
    return [sample.line("CenterCrop", height=height, width=width, pad_if_needed=True)]


def random_rotate(args: Args, sample: SampleState) -> list[Item]:
    """RandomRotate."""
    return [sample.line("Rotate", limit=args.span("degree"), **_fills(args), p=args.get("prob", 0.5))]


def cut_out(args: Args, sample: SampleState) -> list[Item]:
    """CutOut with holes of one shape."""
    holes, shape = args["n_holes"], args.get("cutout_shape")
    if args.get("cutout_ratio") is not None or not isinstance(shape, list) or isinstance(shape[0], list):
        raise Unsupported("holes of several shapes: write a `OneOf` of `CoarseDropout` steps")
    count = holes if isinstance(holes, list) else [holes, holes]
    ranges = {"hole_height_range": [shape[0]] * 2, "hole_width_range": [shape[1]] * 2}
    fills = _fills(args, "fill_in", "seg_fill_in")
    return [sample.line("CoarseDropout", num_holes_range=count, **ranges, **fills, p=args.get("prob", 1.0))]


def filter_boxes(args: Args, sample: SampleState) -> list[Item]:
    """FilterAnnotations: drops small boxes."""
    width, height = args.get("min_gt_bbox_wh") or (1, 1)
    sample.boxes = {**(sample.boxes or {}), "min_width": width, "min_height": height}
    return []


def normalize(args: Args, sample: SampleState) -> list[Item]:
    """Normalize: mean and standard deviation in levels of 0..255, for RGB or BGR."""
    if args.get("to_rgb", args.get("bgr_to_rgb", True)) is False:
        sample.output["color"] = "bgr"
    sample.normalized = True
    if args.get("mean") is None or args.get("std") is None:
        return []
    sample.output.pop("range", None)
    if any(args["mean"]) or set(args["std"]) != {255.0}:  # otherwise it only scales to 0..1
        result = {key: [round(level / 255, 10) for level in args[key]] for key in ("mean", "std")}
        sample.output["normalize"] = result
    return []


def photometric_distortion(args: Args, sample: SampleState) -> list[Item]:
    """PhotoMetricDistortion: brightness, contrast (first or last), saturation and hue, each with p 0.5."""
    share, hue = round(args.get("brightness_delta", 32) / 255, 4), args.get("hue_delta", 18) / 2
    contrast, saturation = args.get("contrast_range", [0.5, 1.5]), args.get("saturation_range", [0.5, 1.5])

    def change(key: str) -> Line:
        if key == "hue":
            none = {"sat_shift_limit": 0, "val_shift_limit": 0}
            return sample.line("HueSaturationValue", hue_shift_limit=[-hue, hue], **none, p=0.5)
        if key == "saturation":
            fixed = {"brightness": [1.0, 1.0], "contrast": [1.0, 1.0], "hue": [0.0, 0.0]}
            blend = sample.line("ColorJitter", **fixed, saturation=[float(end) for end in saturation], p=0.5)
            blend.comments.append(_SATURATION)
            return blend
        ends = [round(end - 1, 10) for end in contrast] if key == "contrast" else [-share, share]
        limits = {"brightness_limit": [0, 0], "contrast_limit": [0, 0], f"{key}_limit": ends}
        return sample.line("RandomBrightnessContrast", **limits, p=0.5)

    sample.draft.note(f"PhotoMetricDistortion: its saturation {_SATURATION}.")
    return photometric(change, sample.place)


_MAKERS: dict[str, Maker] = {
    "CenterCrop": center_crop,
    "CutOut": cut_out,
    "FilterAnnotations": filter_boxes,
    "Normalize": normalize,
    "Pad": pad,
    "PhotoMetricDistortion": photometric_distortion,
    "RandomChoiceResize": choice_resize,
    "RandomCrop": random_crop,
    "RandomCutOut": cut_out,
    "RandomFlip": random_flip,
    "RandomResize": lambda args, sample: resize(Args({"keep_ratio": True, **args}), sample),
    "RandomRotate": random_rotate,
    "Resize": resize,
}


def convert(draft: RecipeDraft, calls: Sequence[Call], preprocessor: Mapping[str, Any] | None = None) -> None:
    """Fill a draft from a pipeline of an MM framework.

    Args:
        draft: the draft.
        calls: the transforms.
        preprocessor: arguments of the model's `data_preprocessor`, which normalises in releases since 2022.
    """
    sample = SampleState(draft, {"dtype": "float32", "layout": "chw", "range": [0, 255]})
    steps = convert_calls(_lines_of_call, calls, sample)
    if preprocessor is not None and not sample.normalized:
        normalize(Args(preprocessor), sample)
    if not sample.normalized:
        draft.note("The config normalises elsewhere (in `_base_`, or in the model): write `normalize:` into `output:`.")
    sample.finish(steps)


def _lines_of_call(call: Call, sample: SampleState) -> list[Item]:
    if call.name in CARRIERS:
        return _read_carrier(call, sample)
    if call.name == _TEST_TIME and not call.unread and not call.args.get("flip") and call.children:
        scale = call.args.get("img_scale")
        if scale is None or not isinstance(scale[0], list):
            scales = {} if scale is None else {"img_scale": scale}
            inner = [each for each in call.children if each.name != "RandomFlip"]
            inside = [replace(each, args={**scales, **each.args}) if each.name == "Resize" else each for each in inner]
            return convert_calls(_lines_of_call, inside, sample)
    if call.name in _UNSUPPORTED or any(near in call.name for near in _NEAR):
        raise Unsupported(
            _UNSUPPORTED.get(call.name) or "it needs other samples, which a step of a recipe does not have"
        )
    if call.unread:
        raise Unsupported(call.unread)
    if call.name in _ALBU:
        return _albu(call, sample)
    if call.name in _MAKERS:
        return _MAKERS[call.name](Args(call.args), sample)
    why = suggest.step(call.name, call.args, ()).text.removeprefix("; ")
    raise Unsupported(f"a transform of the framework that recipes do not have; {why}")


def _read_carrier(call: Call, sample: SampleState) -> list[Item]:
    """Read from a loading or packing transform what the sample has; it needs no step."""
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
    """The transforms inside Albu, with today's names; its bbox_params become `inputs:`."""
    params = call.args.get("bbox_params")
    if isinstance(params, Mapping):
        inner = RecipeDraft(sample.draft.name, sample.draft.origin, call.place)
        others = ("type", "label_fields", "filter_lost_elements")
        kept = {key: value for key, value in params.items() if key not in others}
        compose.convert(inner, Call(COMPOSE, {"bbox_params": kept}, (), call.place))
        boxes = inner.keys.get("inputs", {}).get("boxes", {})
        sample.boxes = {**(sample.boxes or {}), **{key: value for key, value in boxes.items() if key != "labels"}}
        sample.draft.refused += inner.refused
    if any(inner.name in _MM["telling_channels"] for inner in call.walk()):
        sample.draft.note(_BGR)
    if call.args.get("skip_img_without_anno"):
        sample.draft.note("Albu skipped images that lost all of their boxes; here they come without boxes.")
    return albumentations.lines(call.children or ())
