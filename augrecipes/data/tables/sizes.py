"""Whether an image can be read, and whether it is large enough for a recipe, by its header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from augrecipes.images.format import Depth, Frames, ImageHeader, lost
from augrecipes.images.reading import MaybeHeader
from augrecipes.ops import registry
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Mode, Recipe, Step
from augrecipes.sources.files import MAX_PIXELS

Size = tuple[int, int]  # height, width
Least = Sequence[tuple[Size, str]]  # in common cells, and who asks for that
_TURNED = 5  # EXIF orientations from here on exchange height and width


def size_text(size: Size) -> str:
    """A size as people say it, width first.

    >>> size_text((300, 451))
    '451×300'
    """
    return f"{size[1]}×{size[0]}"


def upright(header: ImageHeader, exif: str) -> Size:
    """(height, width) as the image is read."""
    size = (header.height, header.width)
    return size[::-1] if exif == "apply" and header.orientation >= _TURNED else size


def why_unreadable(
    header: MaybeHeader,
    *,
    max_pixels: int = MAX_PIXELS,
    depth: Depth | None = None,
    frames: Frames | None = None,
    mask: bool = False,
) -> str:
    """Why a file of this header cannot be read; empty where it can."""
    if isinstance(header, str):
        return header
    pixels = header.width * header.height
    if pixels > max_pixels:
        return f"{pixels:,} pixels are more than the limit of {max_pixels:,}"
    return lost(header, depth, frames, mask=mask)


def least_sizes(recipe: Recipe, mode: Mode, units: Mapping[str, int]) -> Least:
    """What the recipe's inputs and its first crop need, in common cells of so many pixels a target, and who asks."""
    found: list[tuple[Size, str]] = []
    if least := recipe.inputs.min_size:  # of the coarsest target
        coarsest = min(units.values())
        found.append(((-(-least[0] // coarsest), -(-least[1] // coarsest)), "the recipe's inputs ask for"))
    if crop := _first_crop(recipe.section(mode) or (), units):
        found.append(crop)
    return found


def _first_crop(steps: Sequence[Step], units: Mapping[str, int]) -> tuple[Size, str] | None:
    """What the crop in front needs; None where something else comes first, or the crop pads."""
    for step in steps:
        if step.target and len(step.target) < len(units):
            continue  # the steps of one target leave its size alone
        if not claims(step.name).cuts_sides:
            return None
        values = registry.effective(step)
        if values.get("pad_if_needed") or values["p"] < 1:
            return None
        at = units[step.at or min(units, key=lambda name: units[name])]
        return (-(-values["height"] // at), -(-values["width"] // at)), f"{step.site or step.name} needs"
    return None


def too_small(cells: Size, least: Least, units: Mapping[str, int]) -> str:
    """Who needs more common cells than there are, and what; empty where nobody does.

    >>> too_small((30, 40), [((32, 32), "RandomCrop#1 needs")], {"lr": 1, "hr": 4})
    'RandomCrop#1 needs 32×32 of lr and 128×128 of hr'
    """
    for (rows, columns), who in least:
        if cells[0] < rows or cells[1] < columns:
            sizes = {name: size_text((rows * unit, columns * unit)) for name, unit in units.items()}
            return f"{who} {' and '.join(f'{size} of {name}' if name else size for name, size in sizes.items())}"
    return ""
