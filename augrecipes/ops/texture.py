"""Steps that blur, sharpen, add noise, compress, or draw weather: each output pixel needs more than its own input."""

from __future__ import annotations

from functools import partial

from augrecipes.ops.amplify import lit, sampled, sampled_twice
from augrecipes.ops.record import NOTHING, OpRecord

_RGB = (3,)
_texture = partial(OpRecord, draws_from=NOTHING)
_alike = partial(_texture, grids="alike")
_compressing = partial(_alike, effect="compression", in_levels=True)
_rgb_levels = partial(_texture, channels=_RGB, in_levels=True)
_noise = partial(_texture, effect="noise")
_noise_by_pixels = partial(_noise, draws_from=frozenset({"image"}))  # photons are counted


RECORDS = (
    # Blur and sharpening.
    _alike("AugMix", channels=(1, 3), displaces=True, in_levels=True),
    _alike("AdvancedBlur", gain=1.0),
    _alike("Blur", gain=1.0, native="pixels:blurred", native_when="`blur_limit` up to 15"),
    _alike("Defocus", gain=1.0),
    _alike("GaussianBlur", gain=1.0, native="pixels:smoothed"),
    _texture("GlassBlur", gain=1.0, fast="glass:glass_blur"),
    _alike("MedianBlur", gain=1.0, in_levels=True, native="pixels:medians"),
    _alike("MotionBlur", gain=1.0, native="pixels:motion_blurred", native_when="`blur_limit` up to 11"),
    _alike("ZoomBlur", gain=1.0),
    _alike("Emboss", native="pixels:embossed", native_when="`strength` up to 266"),
    _alike(
        "Sharpen",
        mend="pixel_mends:GreySharpen",
        native="pixels:sharpened",
        native_when="`method` kernel; `lightness` up to 266",
    ),
    _alike("Sharpness", native="pixels:sharper"),
    _alike("UnsharpMask", fast="unsharp:unsharp_mask"),
    _alike("RingingOvershoot"),
    # Noise and compression.
    _noise(
        "AdditiveNoise",
        grids="same",
        grids_when=lambda a: a.get("spatial_mode") == "constant",
        gain=1.0,
        native="colours:shifted",
        native_when="`noise_type` uniform; `spatial_mode` constant; `noise_params` of one range, or three",
    ),
    _noise(
        "GaussNoise",
        gain=1.0,
        own_noise="counter_noise:CounterGaussNoise",
        own_noise_when=lambda a, _: a["noise_scale_factor"] == 1,
        native="pixels:gaussian",
        native_when="`noise_scale_factor` 1; in `exact` also `per_channel` true",
    ),
    _noise_by_pixels(
        "ISONoise",
        channels=_RGB,
        own_noise="counter_noise:CounterISONoise",
        own_noise_when=lambda _, dtype: dtype == "uint8",
        native="pixels:photons_counted",
    ),
    _noise("SaltAndPepper", gain=1.0),
    _noise_by_pixels("ShotNoise"),
    _compressing("ImageCompression", native="pixels:compressed", native_when="`compression_type` jpeg"),
    _compressing("Downscale", resamples=True, gain=sampled_twice, native="pixels:coarsened"),
    _texture("Superpixels", in_levels=True, fast="superpixels:superpixels"),
    _rgb_levels("ChromaticAberration", resamples=True, grids="alike", gain=sampled),
    # Light and weather.
    _alike("Illumination", gain=lit, mend="pixel_mends:SteadyCorner"),
    _texture("PlasmaBrightnessContrast", statistics="the mean (for its contrast)"),
    _texture("PlasmaShadow", gain=1.0),
    _rgb_levels("RandomFog", gain=1.0, fast="fog:random_fog"),
    _rgb_levels("RandomGravel"),
    _rgb_levels("RandomRain", gain=1.0),
    _texture(
        "RandomShadow",
        gain=1.0,
        in_levels=True,
        native="pixels:shadows",
        native_when="`num_shadows_limit` up to 7; `shadow_dimension` up to 16",
    ),
    _rgb_levels(
        "RandomSnow",
        grids="same",
        grids_when=lambda a: a.get("method") == "bleach",
    ),
    _rgb_levels("RandomSunFlare", fast="flare:sun_flare"),
    _texture("Spatter", channels=_RGB, gain=1.0),
)
