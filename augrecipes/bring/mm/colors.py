"""Transforms of the MM frameworks that change values, and their normalisation, which becomes `output:`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.bring.draft import Item, Line
from augrecipes.bring.mm.state import SampleState
from augrecipes.ops.groups import ONE_OF, SEQUENTIAL

Args = Mapping[str, Any]

_SATURATION = "blends with grey, where the framework multiplies the saturation of HSV"


def normalize(args: Args, sample: SampleState) -> list[Item]:
    """Mean and deviation in levels of 255, of RGB or of BGR."""
    if args.get("to_rgb", args.get("bgr_to_rgb", True)) is False:
        sample.output["color"] = "bgr"
    mean, std = args.get("mean"), args.get("std")
    sample.normalized = True
    if mean is None or std is None:
        return []
    sample.output.pop("range", None)
    if not any(mean) and set(std) == {255.0}:
        return []  # 0..1
    sample.output["normalize"] = {"mean": [_share(each) for each in mean], "std": [_share(each) for each in std]}
    return []


def _share(level: float) -> float:
    return round(level / 255, 10)


def photometric(args: Args, sample: SampleState) -> list[Item]:
    """Brightness, contrast first or last, saturation and hue, each or none of them; channels in any order."""
    delta, hue = args.get("brightness_delta", 32), args.get("hue_delta", 18)
    contrast, saturation = args.get("contrast_range", [0.5, 1.5]), args.get("saturation_range", [0.5, 1.5])

    def change() -> Line:
        return sample.line(
            "RandomBrightnessContrast",
            brightness_limit=[0, 0],
            contrast_limit=[round(end - 1, 10) for end in contrast],
            p=0.5,
        )

    def rest() -> list[Item]:
        fixed = {"brightness": [1.0, 1.0], "contrast": [1.0, 1.0], "hue": [0.0, 0.0]}
        blend = sample.line("ColorJitter", **fixed, saturation=[float(end) for end in saturation], p=0.5)
        blend.beside.append(_SATURATION)
        shift = sample.line(
            "HueSaturationValue", hue_shift_limit=[-hue / 2, hue / 2], sat_shift_limit=0, val_shift_limit=0, p=0.5
        )
        return [blend, shift]

    share = round(delta / 255, 4)
    first = Line(SEQUENTIAL, {"p": 0.5}, sample.place, [change(), *rest()])
    last = Line(SEQUENTIAL, {"p": 0.5}, sample.place, [*rest(), change()])
    found: list[Item] = [
        sample.line("RandomBrightnessContrast", brightness_limit=[-share, share], contrast_limit=[0, 0], p=0.5),
        Line(ONE_OF, {}, sample.place, [first, last]),
    ]
    sample.draft.note(f"PhotoMetricDistortion: its saturation {_SATURATION}.")
    return found


MAKERS = {"Normalize": normalize, "PhotoMetricDistortion": photometric}
