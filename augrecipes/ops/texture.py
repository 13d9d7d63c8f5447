"""Steps that blur, sharpen, add noise, compress, or draw weather: each output pixel needs more than its own input."""

from __future__ import annotations

from functools import partial

from augrecipes.ops.amplify import lit, sampled, sampled_twice
from augrecipes.ops.capability import NOTHING, Capability

_RGB = (3,)
_texture = partial(Capability, draws_from=NOTHING)
_noise = partial(_texture, effect="noise")
_noise_by_pixels = partial(_noise, draws_from=frozenset({"image"}))  # photons are counted

CAPABILITIES = (
    # Blur and sharpening.
    _texture("AdvancedBlur", grids="alike", gain=1.0),
    _texture("Blur", grids="alike", gain=1.0),
    _texture("Defocus", grids="alike", gain=1.0),
    _texture("GaussianBlur", grids="alike", gain=1.0),
    _texture("GlassBlur", gain=1.0),
    _texture("MedianBlur", grids="alike", gain=1.0, in_levels=True),
    _texture("MotionBlur", grids="alike", gain=1.0),
    _texture("ZoomBlur", grids="alike", gain=1.0),
    _texture("Emboss", grids="alike", twin="convolved:TWIN"),
    _texture("Sharpen", grids="alike", twin="convolved:TWIN"),
    _texture("UnsharpMask", grids="alike"),
    _texture("RingingOvershoot", grids="alike"),
    # Noise and compression.
    _noise("AdditiveNoise", grids="same", grids_when=lambda a: a.get("spatial_mode") == "constant", gain=1.0),
    _noise("GaussNoise", gain=1.0),
    _noise_by_pixels("ISONoise", channels=_RGB),
    _noise("SaltAndPepper", gain=1.0),
    _noise_by_pixels("ShotNoise"),
    _texture("ImageCompression", grids="alike", effect="compression", twin="jpeg_native:TWIN"),
    _texture("Downscale", resamples=True, grids="alike", gain=sampled_twice, in_levels=True, effect="compression"),
    _texture("Superpixels"),
    _texture("ChromaticAberration", resamples=True, channels=_RGB, grids="alike", gain=sampled, in_levels=True),
    # Light and weather.
    _texture("Illumination", grids="alike", gain=lit),
    _texture("PlasmaBrightnessContrast", statistics="the mean (for its contrast)"),
    _texture("PlasmaShadow", gain=1.0),
    _texture("RandomFog", channels=_RGB, gain=1.0, in_levels=True),
    _texture("RandomGravel", channels=_RGB),
    _texture("RandomRain", channels=_RGB, gain=1.0, in_levels=True),
    _texture("RandomShadow", gain=1.0, in_levels=True),
    _texture("RandomSnow", channels=_RGB, grids="same", grids_when=lambda a: a.get("method") == "bleach"),
    _texture("RandomSunFlare", channels=_RGB),
    _texture("Spatter", channels=_RGB, gain=1.0),
)
