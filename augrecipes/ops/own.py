"""augrecipes' own transforms, by name, and where each lives. A module is imported when its class is asked for."""

from __future__ import annotations

OWN: dict[str, str] = {
    "AugMix": "augrecipes.ops.augmix:AugMix",
    "CornerAffine": "augrecipes.ops.enhance:CornerAffine",
    "HEStain": "augrecipes.ops.stain:HEStain",
    "ResizeToTarget": "augrecipes.ops.resize_to_target:ResizeToTarget",
    "Sharpness": "augrecipes.ops.enhance:Sharpness",
    "SolarizeAdd": "augrecipes.ops.enhance:SolarizeAdd",
    "StainJitter": "augrecipes.ops.stain:StainJitter",
}
