"""Steps that blur, sharpen, add noise, compress, or draw weather: each output pixel needs more than its own input."""

from __future__ import annotations

from augrecipes.ops.capability import Capability

_RGB = (3,)

CAPABILITIES = (
    # Blur and sharpening.
    Capability("AdvancedBlur", grids="alike"),
    Capability("Blur", grids="alike"),
    Capability("Defocus", grids="alike"),
    Capability("GaussianBlur", grids="alike"),
    Capability("GlassBlur"),
    Capability("MedianBlur", grids="alike"),
    Capability("MotionBlur", grids="alike"),
    Capability("ZoomBlur", grids="alike"),
    Capability("Emboss", grids="alike"),
    Capability("Sharpen", grids="alike"),
    Capability("UnsharpMask", grids="alike"),
    Capability("RingingOvershoot", grids="alike"),
    # Noise and compression.
    Capability("AdditiveNoise", grids="same", grids_when=lambda a: a.get("spatial_mode") == "constant"),
    Capability("GaussNoise"),
    Capability("ISONoise", channels=_RGB),
    Capability("SaltAndPepper"),
    Capability("ShotNoise"),
    Capability("ImageCompression", grids="alike"),
    Capability("Downscale", resamples=True, grids="alike"),
    Capability("Superpixels"),
    Capability("ChromaticAberration", resamples=True, channels=_RGB, grids="alike"),
    # Light and weather.
    Capability("Illumination", grids="alike"),
    Capability("PlasmaBrightnessContrast", statistics=True),
    Capability("PlasmaShadow"),
    Capability("RandomFog", channels=_RGB),
    Capability("RandomGravel", channels=_RGB),
    Capability("RandomRain", channels=_RGB),
    Capability("RandomShadow"),
    Capability("RandomSnow", channels=_RGB, grids="same", grids_when=lambda a: a.get("method") == "bleach"),
    Capability("RandomSunFlare", channels=_RGB),
    Capability("Spatter", channels=_RGB),
)
