"""Steps that blur, sharpen, add noise, compress, or draw weather: each output pixel needs more than its own input."""

from __future__ import annotations

from augrecipes.ops.capability import Capability

_RGB = (3,)

CAPABILITIES = (
    # Blur and sharpening.
    Capability("AdvancedBlur"),
    Capability("Blur"),
    Capability("Defocus"),
    Capability("GaussianBlur"),
    Capability("GlassBlur"),
    Capability("MedianBlur"),
    Capability("MotionBlur"),
    Capability("ZoomBlur"),
    Capability("Emboss"),
    Capability("Sharpen"),
    Capability("UnsharpMask"),
    Capability("RingingOvershoot"),
    # Noise and compression.
    Capability("AdditiveNoise"),
    Capability("GaussNoise"),
    Capability("ISONoise", channels=_RGB),
    Capability("SaltAndPepper"),
    Capability("ShotNoise"),
    Capability("ImageCompression"),
    Capability("Downscale", resamples=True),
    Capability("Superpixels"),
    Capability("ChromaticAberration", resamples=True, channels=_RGB),
    # Light and weather.
    Capability("Illumination"),
    Capability("PlasmaBrightnessContrast", statistics=True),
    Capability("PlasmaShadow"),
    Capability("RandomFog", channels=_RGB),
    Capability("RandomGravel", channels=_RGB),
    Capability("RandomRain", channels=_RGB),
    Capability("RandomShadow"),
    Capability("RandomSnow", channels=_RGB),
    Capability("RandomSunFlare", channels=_RGB),
    Capability("Spatter", channels=_RGB),
)
