"""Colour profiles (ICC): their names, and conversion of values to sRGB with Pillow's ImageCms (LittleCMS)."""

from __future__ import annotations

import zlib
from functools import lru_cache
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.images.format import ImageHeader, UnreadableError

PROFILE = "the colour profile {!r}, which is not applied: to convert values to sRGB, say `inputs: {{icc: srgb}}`"
_MOST = 1 << 24  # bytes of a profile
_COLOURS = 3


def foreign_profile(header: ImageHeader) -> str:
    """The name of a file's profile if it is not sRGB; else empty."""
    return _name(header.profile, header.format) if header.profile else ""


def to_srgb(image: NDArray[np.uint8], header: ImageHeader) -> NDArray[np.uint8]:
    """Convert an image H×W×C, with or without alpha, from the file's profile to sRGB. Raises UnreadableError."""
    from PIL import Image

    count = 1 if image.shape[2] < _COLOURS else _COLOURS
    values = Image.fromarray(np.ascontiguousarray(image[..., 0] if count == 1 else image[..., :count]))
    converted = np.asarray(_transform(header.profile, header.format, values.mode).apply(values))
    return np.dstack([converted[..., :count], image[..., count:]])


@lru_cache(64)
def _name(profile: bytes, file_format: str) -> str:
    from PIL import ImageCms

    try:
        name = str(ImageCms.getProfileDescription(_opened(profile, file_format)))
    except Exception as error:  # PyCMSError, and whatever its library raises
        name = f"of which Pillow says {error}"
    return "" if "srgb" in name.lower() else name.strip() or "without a name"


@lru_cache(64)
def _transform(profile: bytes, file_format: str, mode: str) -> Any:
    from PIL import ImageCms

    try:
        return ImageCms.buildTransform(_opened(profile, file_format), ImageCms.createProfile("sRGB"), mode, "RGB")
    except Exception as error:  # PyCMSError, and whatever its library raises
        raise UnreadableError(f"its colour profile cannot be applied to {mode}: {error}") from None


def _opened(profile: bytes, file_format: str) -> Any:
    """Open a profile with ImageCms; in a PNG it is deflated after its name."""
    from PIL import ImageCms

    if file_format == "png":
        profile = zlib.decompressobj().decompress(profile[profile.find(b"\0") + 2 :], _MOST)
    return ImageCms.ImageCmsProfile(BytesIO(profile))
