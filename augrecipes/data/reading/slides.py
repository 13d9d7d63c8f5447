"""What is said of slides, by arguments of `SlideBags` or words of the command line, as the windows that are meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from augrecipes.data.checks import count
from augrecipes.data.tables.slide_listing import SlideFiles, Tissue, Windows
from augrecipes.errors import DataError
from augrecipes.sources.files import MAX_PIXELS
from augrecipes.sources.slides.windows import Resolution

MPP = 0.5
"""Micrometres a pixel where nothing is said: what scanners call 20×."""
SLIDES = "slides"
"""Of a mapping that names slides and what is taken of them."""


def _tissue(text: str) -> Tissue:
    try:
        return None if text == "none" else float(text)
    except ValueError:
        return text


# What may stand beside slides=, and what makes a value of its text.
_WORDS: dict[str, Callable[[str], Any]] = {
    "tile": int, "mpp": float, "level": int, "stride": int, "tissue": _tissue, "min_tissue": float, "max_white": float,
    "regions": lambda text: tuple(name.strip() for name in text.split(",")), "slide_mpp": float, "labels": str,
}  # fmt: skip


def windows_of(
    tile: int = 256,
    mpp: float | None = None,
    level: int | None = None,
    stride: int | None = None,
    tissue: Tissue = "otsu",
    min_tissue: float = 0.5,
    max_white: float = 0.8,
    regions: Sequence[str] | None = None,
    slide_mpp: float | None = None,
    max_pixels: int = MAX_PIXELS,
) -> Windows:
    """What `SlideBags` makes of its arguments; ValueError for nonsense."""
    side = count("tile", tile, 1)
    if isinstance(regions, str):
        raise ValueError(f"regions= is a list of names, got {regions!r}")
    return Windows(
        tile=side,
        stride=side if stride is None else count("stride", stride, 1),
        resolution=Resolution(MPP if mpp is None and level is None else mpp, level),
        slide_mpp=slide_mpp,
        tissue=tissue,
        min_tissue=min_tissue,
        max_white=max_white,
        regions=None if regions is None else tuple(regions),
        max_pixels=max_pixels,
    )


def slides_of(named: Mapping[str, Any]) -> SlideFiles:
    """The slides that a mapping names, with arguments of `SlideBags`, each as it is or as text.

    Raises:
        DataError: a name that is none, or a value that makes no sense.

    >>> slides_of({"slides": "a.svs", "mpp": "1", "tissue": "none"}).windows.resolution
    Resolution(mpp=1.0, level=None)
    """
    strange = [name for name in named if name != SLIDES and name not in _WORDS]
    if strange:
        known = ", ".join(f"{name}=" for name in _WORDS)
        raise DataError(f"{', '.join(f'{name}=' for name in strange)}: beside slides= there may be {known}")
    try:
        said = {name: _value(name, value) for name, value in named.items() if name != SLIDES}
        labels = said.pop("labels", None)
        return SlideFiles(named[SLIDES], windows_of(**said), labels)
    except (TypeError, ValueError) as error:
        raise DataError(f"what stands beside slides= makes no sense: {error}") from None


def _value(name: str, value: Any) -> Any:
    """What a word says, of text the value that is meant."""
    try:
        return _WORDS[name](value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(f"{name}={value}, where a number is meant") from None
