"""Steps that change colours and leave every pixel where it is.

`lookup` is claimed only where albumentations itself runs a table on uint8, whatever the image's size or memory
layout: arithmetic in float rounds differently in the vector body and in the tail of a row, and then a crop before
the step would change its last bit. `tests/laws/test_capabilities.py` holds every claim to that.
"""

from __future__ import annotations

from augrecipes.ops.capability import Capability
from augrecipes.ops.tints import brightness_contrast, jitter, probed

_RGB = (3,)
_GREY_OR_RGB = (1, 3)

CAPABILITIES = (
    # Tables.
    Capability("InvertImg", "lookup", random=False, averages=1),
    Capability("Solarize", "lookup"),
    Capability("Posterize", "lookup"),
    Capability("RandomGamma", "lookup"),
    Capability(
        "RandomBrightnessContrast",
        "lookup",
        when=lambda a: bool(a.get("brightness_by_max", True)),
        tint=brightness_contrast,
    ),
    Capability("RandomToneCurve", "lookup"),
    Capability("PlanckianJitter", "lookup", channels=_RGB, tint=probed),
    Capability(
        "MultiplicativeNoise",
        "lookup",
        when=lambda a: not a.get("elementwise", False),
        grids_when=lambda a: not a.get("elementwise", False),
    ),
    Capability("ChannelDropout", "lookup", channels=(2, 3, 4, 5), averages=0),
    # One 3×4 matrix, in arithmetic that rounds: for `fast` only.
    Capability(
        "ToGray",
        "matrix",
        random=False,
        channels=_GREY_OR_RGB,
        # Other methods compare the channels, or go through Lab or PCA; `average` drops the fraction.
        when=lambda a: (
            a.get("method", "weighted_average") == "weighted_average" and a.get("num_output_channels", 3) == 3
        ),
        grids="same",
        averages=2,
        tint=probed,
    ),
    Capability("ToSepia", "matrix", random=False, channels=_GREY_OR_RGB, tint=probed),
    Capability("ToRGB", random=False, channels=_GREY_OR_RGB, grids="same"),
    Capability("RGBShift", "pointwise", channels=_GREY_OR_RGB),
    Capability("ChannelShuffle", "pointwise", averages=0, tint=probed),
    Capability("HueSaturationValue", "pointwise", channels=_GREY_OR_RGB),
    # These look at the whole image first.
    Capability("ColorJitter", statistics=True, channels=_GREY_OR_RGB, grids="same", tint=jitter),
    Capability("AutoContrast", random=False, statistics=True, grids="alike"),
    Capability("CLAHE", statistics=True, channels=_GREY_OR_RGB, grids="alike"),
    Capability("Equalize", random=False, statistics=True, channels=_GREY_OR_RGB, grids="alike"),
    Capability("FancyPCA", statistics=True, grids="alike"),
    Capability("HEStain", statistics=True, channels=_RGB, grids="alike"),
    Capability("StainJitter", "pointwise", channels=_RGB),
    Capability("FromFloat", random=False, changes_dtype=True, grids="same"),
)
