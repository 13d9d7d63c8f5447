"""Steps that change colours and leave every pixel where it is.

`lookup` is claimed only where albumentations itself runs a table on uint8, whatever the image's size or memory
layout: arithmetic in float rounds differently in the vector body and in the tail of a row, and then a crop before
the step would change its last bit. `tests/laws/test_records.py` holds every claim to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.ops import amplify
from augrecipes.ops.record import NOTHING, OpRecord

_RGB = (3,)
_GREY_OR_RGB = (1, 3)


def _ranges_of(posterize: Mapping[str, Any]) -> int | None:
    """For how many channels there is a range of bits each."""
    bits = posterize.get("num_bits")
    return len(bits) if isinstance(bits, list) and isinstance(bits[0], list) else None


_colour = partial(OpRecord, draws_from=NOTHING)
_recolouring = partial(_colour, recolours=True)
_by_histogram = partial(_colour, statistics="the histogram", grids="alike", in_levels=True)

RECORDS = (
    # Tables.
    _colour("InvertImg", "lookup", random=False, averages=1, gain=1.0, native="colours:inverted"),
    _colour("Solarize", "lookup", jumps=True, gain=amplify.solarized, native="colours:solarized"),
    _colour("SolarizeAdd", "lookup", jumps=True, native="colours:lightened"),
    _colour(
        "Posterize",
        "lookup",
        jumps=True,
        in_levels=True,
        overwrites=lambda a: _ranges_of(a) is not None,
        channels_of=_ranges_of,
        native="colours:posterized",
    ),
    _colour("RandomGamma", "lookup", gain=amplify.bent, native="colours:bent"),
    _recolouring(
        "RandomBrightnessContrast",
        "lookup",
        when=lambda a: bool(a.get("brightness_by_max", True)),
        statistics="the mean (for its brightness)",
        statistics_when=lambda a: not a.get("brightness_by_max", True) and a.get("brightness_limit") not in (0, [0, 0]),
        gain=amplify.lightened,
        native="colours:scaled",
        native_when="`brightness_by_max` true; `ensure_safe_range` false",
    ),
    _colour("RandomToneCurve", "lookup", gain=3.0, in_levels=True, native="colours:curved"),
    _recolouring("PlanckianJitter", "lookup", channels=_RGB, gain=1.7),
    _colour(
        "MultiplicativeNoise",
        "lookup",
        when=lambda a: not a.get("elementwise", False),
        grids_when=lambda a: not a.get("elementwise", False),
        gain=amplify.multiplied("multiplier"),
        native="colours:multiplied",
        native_when="`elementwise` false",
    ),
    _colour(
        "ChannelDropout",
        "lookup",
        channels=(2, 3, 4, 5),
        averages=0,
        gain=1.0,
        native="colours:dropped",
        native_when="`fill` of 0 to 255",
    ),
    # One 3×4 matrix, in arithmetic that rounds: for `fast` only.
    _recolouring(
        "ToGray",
        "matrix",
        random=False,
        channels=_GREY_OR_RGB,
        # Other methods compare the channels, or go through Lab or PCA; `average` drops the fraction.
        when=lambda a: (
            a.get("method", "weighted_average") == "weighted_average" and a.get("num_output_channels", 3) == 3
        ),
        statistics="the principal colours",
        statistics_when=lambda a: a.get("method") == "pca",
        grids="same",
        averages=2,
        gain=amplify.greyed,
        chroma="drops",
        mend="pixel_mends:NarrowGrey",
        native="colours:greyed",
        native_when="`method` weighted_average; `num_output_channels` 3",
    ),
    _recolouring("ToSepia", "matrix", random=False, channels=_GREY_OR_RGB, gain=1.36),
    _colour(
        "ToRGB",
        random=False,
        channels=_GREY_OR_RGB,
        grids="same",
        gain=1.0,
        channels_after=lambda a: int(a.get("num_output_channels", 3)),
        mend="pixel_mends:NarrowGrey",
    ),
    _colour("RGBShift", "pointwise", channels=_GREY_OR_RGB, gain=1.0, native="colours:shifted"),
    _recolouring("ChannelShuffle", "pointwise", averages=0, gain=1.0, chroma="swaps", native="colours:reordered"),
    _recolouring(
        "HueSaturationValue",
        "pointwise",
        channels=_GREY_OR_RGB,
        in_levels=True,
        chroma="turns",
        chroma_when=lambda a: a.get("val_shift_limit") in (0, [0, 0]),
        native="colours:hue_saturation_value",
    ),
    # These look at the whole image first.
    _recolouring(
        "ColorJitter",
        statistics="the mean (for its contrast)",
        statistics_when=lambda a: a.get("contrast") not in (0, [1, 1]),
        channels=_GREY_OR_RGB,
        grids="same",
        colour_error=amplify.jitter_error,
        gain=amplify.jittered,
        wide=("hue",),
        native="colours:jittered",
    ),
    _by_histogram("AutoContrast", random=False, native="colours:stretched", native_when="`cutoff` 0; no `ignore`"),
    _by_histogram("CLAHE", channels=_GREY_OR_RGB, native="colours:evened_out", native_when="`tile_grid_size` up to 64"),
    _by_histogram(
        "Equalize",
        random=False,
        channels=_GREY_OR_RGB,
        overwrites=lambda a: a.get("mode") == "pil",
        native="colours:equalized",
        native_when="`mode` cv; `by_channels` true",
    ),
    _colour("FancyPCA", statistics="the principal colours", grids="alike", fast="principal_colours:fancy_pca"),
    _colour(
        "HEStain",
        statistics="the stains",
        statistics_when=lambda a: a.get("method") in ("macenko", "vahadane"),
        channels=_RGB,
        grids="alike",
    ),
    _recolouring(  # it jumps at what is glass
        "StainJitter",
        "pointwise",
        jumps=True,
        channels=_RGB,
        fast="stain_jitter:stain_jitter",
        native_joined="colours:stained",
    ),
    _colour("FromFloat", random=False, changes_dtype=True, grids="same"),
)
