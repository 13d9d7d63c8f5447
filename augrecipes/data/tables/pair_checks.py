"""What the headers of pairs say: which pairs are fine, what is wrong with the others, and what is cropped away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from augrecipes.compiler.run.grid import cells, unit
from augrecipes.errors import DataError
from augrecipes.images.format import Depth, Frames, ImageHeader, lost
from augrecipes.images.reading import MaybeHeader
from augrecipes.ops import registry
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Mode, Recipe, Step
from augrecipes.sources.defects import Defect
from augrecipes.sources.files import MAX_PIXELS, Exif

Size = tuple[int, int]  # height, width
_TURNED = 5  # EXIF orientations from here on exchange height and width
_LARGEST_RATIO = 16


def size_text(size: Size) -> str:
    """A size as people say it, width first.

    >>> size_text((300, 451))
    '451×300'
    """
    return f"{size[1]}×{size[0]}"


def upright(header: ImageHeader, exif: str) -> Size:
    """(height, width) as the picture is read."""
    size = (header.height, header.width)
    return size[::-1] if exif == "apply" and header.orientation >= _TURNED else size


def first_crop(steps: Sequence[Step], units: Mapping[str, int]) -> tuple[Size, str] | None:
    """What the crop in front needs, in cells; None where something else comes first, or the crop pads."""
    for step in steps:
        if step.target and len(step.target) < len(units):
            continue  # the steps of one target leave its size alone
        if not claims(step.name).cuts_sides:
            return None
        values = registry.effective(step)
        if values.get("pad_if_needed") or values["p"] < 1:
            return None
        at = units[step.at or min(units, key=lambda name: units[name])]
        return (-(-values["height"] // at), -(-values["width"] // at)), step.site or step.name
    return None


@dataclass(frozen=True, slots=True)
class Cropped:
    """What is cut off the images of one target, because they are larger than the scales allow.

    Attributes:
        target: its name.
        count: images that are cut.
        total: images that were looked at.
        most: the most pixels that are cut off a side.
        first: path of the first such image.
        before: its (height, width).
        after: what is used of it, at the top left.
    """

    target: str
    count: int
    total: int
    most: int
    first: str
    before: Size
    after: Size

    def __str__(self) -> str:
        images = f"{self.count} of {self.total} {self.target} images"
        are, px = ("is" if self.count == 1 else "are"), f"{'up to ' if self.count > 1 else ''}{self.most} px"
        return (
            f"{images} {are} {px} larger than the scales allow: the top left is used "
            f"(first: {self.first} {size_text(self.before)} → {size_text(self.after)}, width×height)"
        )


class PairChecks:
    """What the pictures of pairs must be like, for a recipe and how they are decoded.

    Args:
        recipe: of kind pair.
        mode: its section.
        targets: names of the files of a pair, the largest scale first.
        channels, exif, max_pixels, depth, frames: as `PairedImages` has them.
    """

    def __init__(
        self,
        recipe: Recipe,
        mode: Mode,
        targets: tuple[str, ...],
        *,
        channels: int | None = None,
        exif: Exif = "apply",
        max_pixels: int = MAX_PIXELS,
        depth: Depth | None = None,
        frames: Frames | None = None,
    ) -> None:
        self.targets, self.units = targets, unit(dict(recipe.scales))
        self._grey = (channels or recipe.inputs.channels) == 1
        self._exif, self._max_pixels, self._depth, self._frames = exif, max_pixels, depth, frames
        self._least: list[tuple[Size, str]] = []  # in common cells, and who asks for that
        if least := recipe.inputs.min_size:  # of the coarsest target
            coarsest = min(self.units.values())
            self._least.append(((-(-least[0] // coarsest), -(-least[1] // coarsest)), "the recipe's inputs ask for"))
        if crop := first_crop(recipe.section(mode) or (), self.units):
            self._least.append((crop[0], f"{crop[1]} needs"))

    def look(
        self, scenes: Sequence[tuple[str, ...]], headers: Mapping[str, MaybeHeader]
    ) -> tuple[list[int], list[Defect], list[Cropped]]:
        """Positions of the scenes that are fine, what is wrong with the others, and what is cut off the fine ones."""
        defects: dict[str, Defect] = {}  # a file that stands in several rows is reported once
        fine: list[int] = []
        cuts: dict[str, list[tuple[str, Size, Size]]] = {name: [] for name in self.targets}
        for position, paths in enumerate(scenes):
            wrong = [defect for k in range(len(paths)) for defect in self._unreadable(paths, k, headers[paths[k]])]
            if not wrong:
                read: list[ImageHeader] = [headers[path] for path in paths]  # type: ignore[misc]
                sizes = {name: upright(header, self._exif) for name, header in zip(self.targets, read, strict=True)}
                wrong = [*self._sizes(paths, sizes), *self._channels(paths, read)]
            defects |= {defect.message: defect for defect in wrong if defect.message not in defects}
            if wrong:
                continue
            fine.append(position)
            rows, columns = cells(sizes, self.units)
            for name, path in zip(self.targets, paths, strict=True):
                used = rows * self.units[name], columns * self.units[name]
                if used != sizes[name]:
                    cuts[name].append((path, sizes[name], used))
        cropped = []
        for name, cut in cuts.items():
            if cut:
                most = max(max(a[0] - b[0], a[1] - b[1]) for _, a, b in cut)
                cropped.append(Cropped(name, len(cut), len(fine), most, *cut[0]))
        return fine, list(defects.values()), cropped

    def _unreadable(self, paths: tuple[str, ...], k: int, header: MaybeHeader) -> Iterator[Defect]:
        reason: str | None = header if isinstance(header, str) else lost(header, self._depth, self._frames)
        if isinstance(header, ImageHeader) and (pixels := header.width * header.height) > self._max_pixels:
            reason = f"{pixels:,} pixels are more than the limit of {self._max_pixels:,}"
        if reason:
            others = ", ".join(path for path in paths if path != paths[k])
            of = f" of {others}" if others else ""
            yield Defect("unreadable", paths, f"{paths[k]}: {reason} ({self.targets[k]}{of})")

    def _sizes(self, paths: tuple[str, ...], sizes: Mapping[str, Size]) -> Iterator[Defect]:
        texts = [f"{path} {size_text(sizes[name])}" for name, path in zip(self.targets, paths, strict=True)]
        misfits = [(k, misfit(self.targets[0], self.targets[k], sizes, self.units)) for k in range(1, len(paths))]
        for k, why in misfits:
            if why:
                yield Defect("size", (paths[0], paths[k]), f"{texts[0]} and {texts[k]}: {why}")
        if any(why for _, why in misfits):
            return
        files = " and ".join(texts)
        room = _cells(sizes, self.units)
        if room is None:  # a single target of less than one cell
            yield Defect("size", paths, f"{files}: smaller than one common cell")
            return
        for (rows, columns), who in self._least:
            if room[0] < rows or room[1] < columns:
                needs = ((n, self.units[n]) for n in self.targets)
                text = " and ".join(f"{size_text((rows * k, columns * k))} of {name}" for name, k in needs)
                yield Defect("small", paths, f"{files}: {who} {text}")
                return

    def _channels(self, paths: tuple[str, ...], read: Sequence[ImageHeader]) -> Iterator[Defect]:
        said = [
            ("grey" if self._grey or header.color == "grey" else "RGB") + (" with alpha" if header.alpha else "")
            for header in read
        ]
        if len({*said}) > 1:
            text = " and ".join(f"{path} is {what}" for path, what in zip(paths, said, strict=True))
            yield Defect("channels", paths, text)


def misfit(large: str, small: str, sizes: Mapping[str, Size], units: Mapping[str, int]) -> str | None:
    """Why two targets do not fit, and what they look like; None where they do.

    >>> misfit("hr", "lr", {"hr": (300, 451), "lr": (150, 225)}, {"hr": 4, "lr": 1})
    'lr should be 112×75 at ×4; this looks like ×2'
    """
    a, b = sizes[large], sizes[small]
    if _cells({large: a, small: b}, units) is not None:
        return None
    if tiny := [name for name in (large, small) if min(sizes[name]) < units[name]]:
        return f"{tiny[0]} is smaller than one common cell of {units[tiny[0]]} px"
    ratio = Fraction(units[large], units[small])
    height, width = (n // units[large] * units[small] for n in a)
    more = f" (or up to {units[small] - 1} px more)" if units[small] > 1 else ""
    wanted = f"{small} should be {size_text((height, width))}{more} at ×{float(ratio):g}"
    times = next((k for k in range(2, _LARGEST_RATIO + 1) if (a[0] // k, a[1] // k) == b), None)
    if a == b:
        looks = "both have one size: was it enlarged already?"
    elif _cells({large: b, small: a}, units) is not None:
        looks = f"the two look swapped: {small} is the larger one"
    elif b[0] >= a[0] and b[1] >= a[1]:
        looks = f"{small} is larger than {large}: are they swapped?"
    elif _cells({large: a, small: b[::-1]}, units) is not None:
        looks = "it fits when one of them is turned by a quarter (an EXIF orientation?)"
    elif times is not None:
        looks = f"this looks like ×{times}"
    elif all(b[i] in (a[i] // ratio, -(-a[i] // ratio)) for i in (0, 1)):
        looks = "it was rounded up"
    else:
        return wanted
    return f"{wanted}; {looks}"


def _cells(sizes: Mapping[str, Size], units: Mapping[str, int]) -> Size | None:
    """Rows and columns of common cells, or None where the targets do not fit each other."""
    try:
        return cells(sizes, units)
    except DataError:
        return None
