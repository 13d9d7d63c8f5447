"""Steps that change colours and move no pixel: by matrices, through other colour spaces, by histograms."""

from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops import amplify
from augrecipes.ops.eval_windows import middle
from augrecipes.ops.families.base import GREY_OR_RGB, RGB, of_values, opencv
from augrecipes.ops.native_op import NativeOp, UpTo, encoder, uniform
from augrecipes.ops.stain_basis import check_basis, is_estimated

_AMOUNTS = ("brightness", "contrast", "saturation", "hue")


def _sepia(step: Any) -> list[tuple[float, ...]]:
    return [(*row, 0.0) for row in step.sepia_transformation_matrix.tolist()]


def _lab_tables(_: Any) -> int:
    from augrecipes.native import lab

    return int(lab.TABLES.ctypes.data)


def _stain_tables(step: Any) -> tuple[float, ...]:
    """The addresses of the tables, and the level of white, for StainJitter among joined colours of `fast`."""
    from augrecipes.ops.stain import jitter_tables, white_level

    return *(float(array.ctypes.data) for array in jitter_tables(step.rows)), float(white_level(step.white_threshold))


def _normalized_stains(step: Any) -> NativeOp | None:
    """StainNormalize by tables; those of a bag are entered with its stains."""
    if step.method == "reinhard" or step.source == "tile":
        return None
    in_bag = step.source_method is not None
    arguments = () if in_bag else step.native_arguments(None)
    return NativeOp(DRAWS.NOTHING, EFFECTS.NORMALIZES_STAINS, effect_arguments=arguments, drawn_in_python=in_bag)


_recolouring = partial(of_values, recolours=True, channels=GREY_OR_RGB)
_by_histogram = partial(of_values, statistics="the histogram", grids="alike", in_levels=True)
_HSV = dict.fromkeys(("hue_shift_limit", "sat_shift_limit", "val_shift_limit"), 0)
# Other methods compare the channels, or go through Lab or PCA; `average` truncates.
_WEIGHTED_SUM = {"method": "weighted_average", "num_output_channels": 3}
_GREY = (0.299, 0.587, 0.114, 0.0)  # weights of red, green and blue, and the offset

RECORDS = (
    # One 3×4 matrix; joining changes the rounding, so only `fast` joins it.
    _recolouring(
        "ToGray",
        "matrix",
        random=False,
        statistics="the principal colours",
        when={
            "action": lambda a: all(a.get(name, value) == value for name, value in _WEIGHTED_SUM.items()),
            "statistics": lambda a: a.get("method") == "pca",
        },
        grids="same",
        gain=amplify.to_gray,
        channels_after=lambda a: int(a.get("num_output_channels", 3)),
        limits={"num_output_channels": (1, 128)},
        mend="pixel_mends:NarrowGrey",
        native=encoder(EFFECTS.GRAYS),
        native_joined=encoder(EFFECTS.MIXES, arguments=_GREY * 3),
        native_with=_WEIGHTED_SUM,
    ),
    _recolouring(
        "ToSepia",
        "matrix",
        random=False,
        gain=1.36,
        native_joined=encoder(EFFECTS.MIXES, arguments=[_sepia]),
    ),
    of_values(
        "ToRGB",
        random=False,
        channels=GREY_OR_RGB,
        grids="same",
        gain=1.0,
        channels_after=lambda a: int(a.get("num_output_channels", 3)),
        mend="pixel_mends:NarrowGrey",
    ),
    _recolouring(
        "ChannelShuffle",
        "pointwise",
        channels=None,
        gain=1.0,
        native=encoder(EFFECTS.SHUFFLES_CHANNELS, DRAWS.ORDER, draws=["channels_shuffled"]),
    ),
    _recolouring(
        "HueSaturationValue",
        "pointwise",
        deep="ColorJitter",
        in_levels=True,
        neutral=_HSV,
        only_draws=(*_HSV,),
        native=uniform(
            EFFECTS.SHIFTS_HSV,
            effect_arguments=[opencv("hsv")],
            hue_shift="hue_shift_limit",
            sat_shift="sat_shift_limit",
            val_shift="val_shift_limit",
        ),
    ),
    # These read statistics of the whole image.
    _recolouring(
        "ColorJitter",
        statistics="the mean (for its contrast)",
        when={"statistics": lambda a: a.get("contrast") not in (0, [1, 1])},
        grids="same",
        colour_error=amplify.jitter_error,
        gain=amplify.color_jitter,
        wide=("hue",),
        neutral={"brightness": 1, "contrast": 1, "saturation": 1, "hue": 0},
        meanings={**dict.fromkeys(_AMOUNTS, "around_one"), "hue": "symmetric"},
        limits={**dict.fromkeys(_AMOUNTS, (0, 1_000_000)), "hue": (-0.5, 0.5)},
        rising=dict.fromkeys(_AMOUNTS, 0),
        unsigned=("hue",),
        native=encoder(
            EFFECTS.JITTERS_EXACTLY, DRAWS.COLOR_JITTER, _AMOUNTS, (*_AMOUNTS, "order"), [opencv("hsv"), opencv("sums")]
        ),
    ),
    _by_histogram(
        "AutoContrast",
        deep="RandomBrightnessContrast",
        random=False,
        native=encoder(EFFECTS.WIDENS_RANGE, effect_arguments=[lambda step: step.method == "cdf"]),
        native_with={"cutoff": 0, "ignore": None},
    ),
    _by_histogram(
        "CLAHE",
        deep="RandomGamma",
        channels=GREY_OR_RGB,
        only_draws=("clip_limit",),
        limits={"tile_grid_size": (1, 256)},
        settled=lambda a: {"clip_limit": middle("from_one", a["clip_limit"], None)},
        native=uniform(
            EFFECTS.APPLIES_CLAHE,
            effect_arguments=[lambda step: step.tile_grid_size[::-1], _lab_tables],
            clip_limit="clip_limit",
        ),
        native_with={"tile_grid_size": UpTo(64)},
    ),
    _by_histogram(
        "Equalize",
        deep="RandomGamma",
        random=False,
        channels=GREY_OR_RGB,
        overwrites=lambda a: a.get("mode") == "pil",
        native=encoder(EFFECTS.EQUALIZES, arguments=[lambda step: () if step.mask is None else None]),
        native_with={"mode": "cv", "by_channels": True},
    ),
    of_values(
        "FancyPCA",
        statistics="the principal colours",
        grids="alike",
        neutral={"alpha": 0},
        fast="fast_steps:fancy_pca",
    ),
    of_values("FDA", statistics="the spectrum", grids="alike", reads="references", module="augrecipes.ops.references"),
    of_values(
        "HistogramMatching",
        statistics="the histogram",
        grids="alike",
        in_levels=True,
        deep="FDA",
        reads="references",
        module="augrecipes.ops.references",
    ),
    of_values(
        "HEStain",
        statistics="the stains",
        when={"statistics": lambda a: a.get("method") in ("macenko", "vahadane")},
        channels=RGB,
        grids="alike",
        asks=True,
        module="augrecipes.ops.stain",
    ),
    of_values(
        "RandStainNA",
        statistics="the colours of the tissue",
        channels=RGB,
        grids="alike",
        in_levels=True,
        deep="StainJitter",
        reads="template",
        asks=True,
        module="augrecipes.ops.rand_stain",
    ),
    _recolouring(  # it jumps at the threshold of glass
        "StainJitter",
        "pointwise",
        jumps=True,
        channels=RGB,
        statistics="the stains",
        when={"action": lambda a: not is_estimated(a), "statistics": is_estimated},
        check=check_basis,
        neutral={"sigma": 0, "bias": 0},
        unsigned=("sigma", "bias"),
        module="augrecipes.ops.stain",
        native_joined=encoder(EFFECTS.STAINS, DRAWS.STAINS, ["sigma", "bias"], ["factors", "shifts"], [_stain_tables]),
    ),
    of_values(
        "StainNormalize",
        random=False,
        statistics="the stains",
        when={"statistics": lambda a: a.get("source") in ("bag", "tile")},
        channels=RGB,
        grids="alike",
        asks=True,
        module="augrecipes.ops.stain_normalize",
        reads="reference",
        reference_names=("macenko", "crc"),
        native=_normalized_stains,
        host_drawn=True,
        native_note="`method` macenko or vahadane; `source` numbers, or those of a bag",
    ),
    of_values("FromFloat", random=False, changes_dtype=True, grids="same"),
)
