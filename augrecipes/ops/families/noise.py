"""Noise, compression and downscaling."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops.amplify import downscaled, sampled
from augrecipes.ops.checks import Arguments, Fault
from augrecipes.ops.constants import AREA, CUBIC, LINEAR, NEAREST
from augrecipes.ops.families.base import GREY_OR_RGB, RGB, of_values, opencv
from augrecipes.ops.native_op import NativeOp, counts_noise, encoder, uniform

_CHANNELS = 3
_NUMBERS_OF_A_KEY = 1 << 32
# Keys of AdditiveNoise's noise_params by noise_type.
_NOISE = {
    "uniform": {"ranges"},
    "gaussian": {"mean_range", "std_range"},
    "laplace": {"mean_range", "scale_range"},
    "beta": {"alpha_range", "beta_range", "scale_range"},
}


def _check_params(a: Arguments) -> Fault:
    params, keys = a["noise_params"], _NOISE[a["noise_type"]]
    if params is None or set(params) == keys:
        return None
    # Stricter: the class ignores other keys.
    return "noise_params", f"for noise_type {a['noise_type']} give {', '.join(sorted(keys))}; got {', '.join(params)}"


def _check_subsampling(a: Arguments) -> Fault:
    if a["compression_type"] == "jpeg" or a["subsampling"] == "4:2:0":
        return None
    return "subsampling", "is of JPEGs; a WebP has 4:2:0"


def _constant(step: Any) -> NativeOp | None:
    """The encoder of steps that add a constant to each channel."""
    ranges = step.noise_params["ranges"]
    limits = ranges * _CHANNELS if len(ranges) == 1 else ranges
    known = encoder(EFFECTS.SHIFTS, DRAWS.SHIFTS, [lambda _: limits], ["noise_map"])
    return known(step) if len(limits) == _CHANNELS else None


def _gaussian(step: Any) -> NativeOp | None:
    """The encoder of GaussNoise, by our generator or by OpenCV's."""
    limits = ("std_range", "mean_range")
    if counts_noise(step):
        arguments = (not step.per_channel, _NUMBERS_OF_A_KEY)
        return encoder(EFFECTS.ADDS_OWN_NOISE, DRAWS.OWN_NOISE, limits, _own_key, arguments)(step)
    known = encoder(EFFECTS.ADDS_NOISE, DRAWS.GAUSS_NOISE, limits, effect_arguments=[opencv("normal_numbers")])
    return known(step) if step.per_channel else None


def _own_key(params: Mapping[str, Any]) -> tuple[float, ...]:
    noise = params["noise_map"]
    return noise.deviation, noise.mean, float(noise.key >> 32), float(noise.key & 0xFFFFFFFF)


def _numpy_normals(_: Any) -> tuple[int, ...] | None:
    from augrecipes.native.kernels import library
    from augrecipes.ops import opencv_variants

    kernels = library()
    numbers = None if kernels is None else opencv_variants.numpy_normals(kernels)
    return None if numbers is None else numbers.addresses


def _iso(step: Any) -> NativeOp | None:
    """The encoder of ISONoise, by our generator or by numpy's."""
    limits = ("color_shift", "intensity")
    effect, arguments = EFFECTS.ADDS_ISO_NOISE, [opencv("hls"), _numpy_normals]
    if counts_noise(step):
        effect, arguments = EFFECTS.ADDS_OWN_ISO_NOISE, []
    return encoder(effect, DRAWS.ISO_NOISE, limits, (*limits, "random_seed"), arguments)(step)


def _downscale(step: Any) -> NativeOp | None:
    ways = down, up = [step.interpolation_pair[way] for way in ("downscale", "upscale")]
    if down not in (NEAREST, LINEAR, AREA) or up not in (NEAREST, LINEAR, CUBIC, AREA):
        return None
    return uniform(EFFECTS.DOWNSCALES, effect_arguments=ways, scale="scale_range")(step)


_noise = partial(of_values, effect="noise")
_by_pixels = partial(_noise, draws_from=frozenset({"image"}))  # photon counts
_compressing = partial(of_values, grids="alike", effect="compression", in_levels=True)
_SHIFTS = dict.fromkeys(("r_shift_limit", "g_shift_limit", "b_shift_limit"), 0)

RECORDS = (
    of_values(
        "RGBShift",
        "pointwise",
        channels=GREY_OR_RGB,
        gain=1.0,
        neutral=_SHIFTS,
        only_draws=(*_SHIFTS,),
        limits=dict.fromkeys(_SHIFTS, (-255, 255)),
        unsigned=(*_SHIFTS,),
        native=_constant,
    ),
    _noise(
        "AdditiveNoise",
        grids="same",
        when={"grids": lambda a: a.get("spatial_mode") == "constant"},
        gain=1.0,
        check=_check_params,
        asks=True,
        native=_constant,
        native_with={"noise_type": "uniform", "spatial_mode": "constant"},
        native_note="`noise_params` of one range, or three",
    ),
    _noise(
        "GaussNoise",
        gain=1.0,
        neutral={"std_range": 0, "mean_range": 0},
        own_noise="counter_noise:CounterGaussNoise",
        when={"own_noise": lambda a: a["noise_scale_factor"] == 1},
        native=_gaussian,
        native_with={"noise_scale_factor": 1},
        native_note="in `exact` also `per_channel` true",
    ),
    _by_pixels(
        "ISONoise",
        channels=RGB,
        own_noise="counter_noise:CounterISONoise",
        native=_iso,
    ),
    _noise("SaltAndPepper", gain=1.0, neutral={"amount": 0}),
    _by_pixels("ShotNoise", above_zero=("scale_range",)),
    _by_pixels("PoissonNoise", neutral={"scale_range": 0}, module="augrecipes.ops.degradations"),
    _compressing(
        "ImageCompression",
        deep="GaussNoise",
        only_draws=("quality_range",),
        native=uniform(EFFECTS.COMPRESSES, DRAWS.WHOLE_NUMBERS, quality="quality_range"),
        native_with={"compression_type": "jpeg", "subsampling": "4:2:0"},
        check=_check_subsampling,
        adds="subsampling",
        module="augrecipes.ops.degradations",
    ),
    _compressing(
        "Downscale",
        deep="GaussianBlur",
        resamples=True,
        gain=downscaled,
        only_draws=("scale_range",),
        limits={"scale_range": (0.01, 1)},
        native=_downscale,
    ),
    of_values(
        "Superpixels",
        in_levels=True,
        neutral={"p_replace": 0},
        limits={"max_size": (16, 1_000_000), "n_segments": (1, 500)},
        fast="fast_steps:superpixels",
    ),
    of_values("ChromaticAberration", channels=RGB, in_levels=True, resamples=True, grids="alike", gain=sampled),
)
