"""Parts of slides by OpenSlide, for all that it knows and is no TIFF of JPEG tiles."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np

from augrecipes.errors import DataError
from augrecipes.images.watch import stage
from augrecipes.sources.slides.level import WHITE, Part, Pixels, levels_of, needed

_CACHED = 32 << 20  # bytes of decoded tiles, of all slides of a process together


class ByOpenSlide:
    """Reads parts of a slide.

    Args:
        path: of the file.
    """

    def __init__(self, path: str) -> None:
        self.path, self._handle = path, (handle := opened(path))
        self.levels, self.mpp = levels_of(handle.level_dimensions), mpp_of(handle)
        ground = handle.properties.get("openslide.background-color", "ffffff")
        self._ground = np.array(list(bytes.fromhex(ground)), np.float32)

    def reduces(self, level: int, most: int) -> int:
        """As `Pyramid`: not at all."""
        del level, most
        return 1

    def read(self, level: int, part: Part, reduce: int = 1) -> Pixels:
        """As `Pyramid`."""
        if reduce != 1:
            raise ValueError(f"OpenSlide reads at 1, not 1/{reduce}")
        here = self.levels[level]
        there = part.inside(here.width, here.height)
        if there.empty:
            return np.full((part.height, part.width, 3), WHITE, np.uint8)
        # In pixels of level 0, which OpenSlide counts all levels by.
        corner = round(there.x * here.downsample), round(there.y * here.downsample)
        try:
            with stage("decode"):
                found = np.asarray(self._handle.read_region(corner, level, (there.width, there.height)))
        except needed("openslide").OpenSlideError as error:
            self._handle = opened(self.path)  # a handle repeats its first error for ever
            what = f"{there.width}×{there.height} px at x={there.x}, y={there.y} of level {level}"
            raise DataError(f"OpenSlide cannot read {what}: {error}", self.path) from None
        pixels = _on_ground(found, self._ground)
        if there == part:
            return pixels
        out = np.full((part.height, part.width, 3), WHITE, np.uint8)
        y, x = there.y - part.y, there.x - part.x
        out[y : y + there.height, x : x + there.width] = pixels
        return out


def mpp_of(handle: Any) -> tuple[float, float] | None:
    """Micrometres a pixel, across and down, as OpenSlide has it."""
    try:
        across, down = (float(handle.properties[f"openslide.mpp-{axis}"]) for axis in "xy")
    except (KeyError, ValueError):
        return None
    return (across, down) if 0 < across < np.inf and 0 < down < np.inf else None


def _on_ground(pixels: Any, ground: Any) -> Pixels:
    """RGB of RGBA that is laid on a colour: parts that were not scanned are transparent."""
    alpha = pixels[:, :, 3:]
    if alpha.min() == WHITE:
        return np.ascontiguousarray(pixels[:, :, :3])
    share = alpha.astype(np.float32) / WHITE
    return np.rint(pixels[:, :, :3] * share + ground * (1 - share)).astype(np.uint8)


def opened(path: str) -> Any:
    """A slide, opened by OpenSlide; DataError where that cannot."""
    openslide = needed("openslide")
    try:
        handle = openslide.OpenSlide(path)
    except openslide.OpenSlideError as error:
        raise DataError(f"is no slide that OpenSlide can open: {error}", path) from None
    handle.set_cache(_tiles_kept(os.getpid()))
    return handle


@cache
def _tiles_kept(process: int) -> Any:
    """Of this process: after a fork, the parent's may be locked for ever."""
    del process
    return needed("openslide").OpenSlideCache(_CACHED)
