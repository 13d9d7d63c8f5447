"""What the headers of pairs say: which pairs are fine, what is wrong with the others, and what is cropped away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from augrecipes.data.tables.pair_sizes import Size, fits, misfit, size_text
from augrecipes.ops import registry
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Step
from augrecipes.sources.file_headers import MaybeHeader
from augrecipes.sources.formats.header import ImageHeader
from augrecipes.sources.losses import Depth, Frames, lost
from augrecipes.sources.pair_defects import Defect

_TURNED = 5  # EXIF orientations from here on exchange height and width


@dataclass(frozen=True, slots=True)
class Wanted:
    """What pairs must be like.

    Attributes:
        targets: names of the files of a pair, the largest scale first.
        units: pixels of every target in one common cell.
        channels: what pictures are decoded to.
        exif: whether orientations count.
        max_pixels: the most that is decoded.
        depth: whether more than 8 bits a sample may be read; see `augrecipes.sources.losses`.
        frames: whether the first of several pictures may be read.
        min_size: (height, width) that targets must have, by name; empty without.
        crop: rows and columns of common cells that the first crop needs, and its name; None without one.
    """

    targets: tuple[str, ...]
    units: Mapping[str, int]
    channels: int
    exif: Literal["apply", "ignore"]
    max_pixels: int
    depth: Depth | None
    frames: Frames | None
    min_size: Mapping[str, Size]
    crop: tuple[Size, str] | None


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


def check_headers(
    wanted: Wanted, scenes: Sequence[tuple[str, ...]], headers: Mapping[str, MaybeHeader]
) -> tuple[list[int], list[Defect], list[Cropped]]:
    """Positions of the scenes that are fine, what is wrong with the others, and what is cut off those that are fine."""
    defects: list[Defect] = []
    fine: list[int] = []
    known: set[str] = set()
    cuts: dict[str, list[tuple[int, str, Size, Size]]] = {name: [] for name in wanted.targets}
    for position, paths in enumerate(scenes):
        found = _unreadable(wanted, paths, headers)
        if not found:
            sizes = {
                name: upright(headers[path], wanted.exif)  # type: ignore[arg-type]
                for name, path in zip(wanted.targets, paths, strict=True)
            }
            found = [*_sizes(wanted, paths, sizes), *_channels(wanted, paths, headers)]
        if not found:
            fine.append(position)
            _cut(wanted, paths, sizes, cuts)
        # A file that stands in several rows is reported once.
        defects += [defect for defect in found if defect.message not in known]
        known.update(defect.message for defect in found)
    summaries = [_summary(name, cut, len(fine)) for name, cut in cuts.items() if cut]
    return fine, defects, summaries


def upright(header: ImageHeader, exif: str) -> Size:
    """(height, width) as the picture is read."""
    size = (header.height, header.width)
    return size[::-1] if exif == "apply" and header.orientation >= _TURNED else size


def _unreadable(wanted: Wanted, paths: tuple[str, ...], headers: Mapping[str, MaybeHeader]) -> list[Defect]:
    found = []
    for name, path in zip(wanted.targets, paths, strict=True):
        header = headers[path]
        if isinstance(header, ImageHeader):
            pixels = header.width * header.height
            reason = lost(header, wanted.depth, wanted.frames)
            if pixels > wanted.max_pixels:
                reason = f"{pixels:,} pixels are more than the limit of {wanted.max_pixels:,}"
            if not reason:
                continue
        else:
            reason = header
        found.append(Defect("unreadable", paths, f"{path}: {reason} ({name}{_partners(paths, path)})"))
    return found


def _partners(paths: tuple[str, ...], path: str) -> str:
    others = [other for other in paths if other != path]
    return f" of {', '.join(others)}" if others else ""


def _sizes(wanted: Wanted, paths: tuple[str, ...], sizes: Mapping[str, Size]) -> list[Defect]:
    first, *others = wanted.targets
    of = dict(zip(wanted.targets, paths, strict=True))
    found = []
    for name in others:
        why = misfit(first, name, sizes, wanted.units)
        if why:
            two = f"{of[first]} {size_text(sizes[first])} and {of[name]} {size_text(sizes[name])}"
            found.append(Defect("size", (of[first], of[name]), f"{two}: {why}"))
    return found or _too_small(wanted, of, sizes)


def _too_small(wanted: Wanted, of: Mapping[str, str], sizes: Mapping[str, Size]) -> list[Defect]:
    files = " and ".join(f"{of[name]} {size_text(sizes[name])}" for name in of)
    room = fits(sizes, wanted.units)
    if room is None:  # a single target of less than one cell
        return [Defect("size", tuple(of.values()), f"{files}: smaller than one common cell")]
    short = [name for name, least in wanted.min_size.items() if name in of and min(np.subtract(sizes[name], least)) < 0]
    if short:
        least = " and ".join(f"{size_text(wanted.min_size[name])} of {name}" for name in of)
        return [Defect("small", tuple(of.values()), f"{files}: the recipe's inputs ask for {least}")]
    if wanted.crop is None:
        return []
    (rows, columns), step = wanted.crop
    if room[0] >= rows and room[1] >= columns:
        return []
    needs = " and ".join(f"{size_text((rows * wanted.units[n], columns * wanted.units[n]))} of {n}" for n in of)
    return [Defect("small", tuple(of.values()), f"{files}: {step} needs {needs}")]


def _channels(wanted: Wanted, paths: tuple[str, ...], headers: Mapping[str, MaybeHeader]) -> list[Defect]:
    said = [_colour(headers[path], grey_only=wanted.channels == 1) for path in paths]  # type: ignore[arg-type]
    if len(set(said)) < 2:
        return []
    text = " and ".join(f"{path} is {what}" for path, what in zip(paths, said, strict=True))
    return [Defect("channels", paths, text)]


def _colour(header: ImageHeader, *, grey_only: bool) -> str:
    colour = "grey" if header.color == "grey" else "RGB"
    return ("grey" if grey_only else colour) + (" with alpha" if header.alpha else "")


def _cut(
    wanted: Wanted,
    paths: tuple[str, ...],
    sizes: Mapping[str, Size],
    cuts: dict[str, list[tuple[int, str, Size, Size]]],
) -> None:
    rows, columns = fits(sizes, wanted.units) or (0, 0)
    for name, path in zip(wanted.targets, paths, strict=True):
        size, unit = sizes[name], wanted.units[name]
        used = rows * unit, columns * unit
        if used != size:
            cuts[name].append((max(size[0] - used[0], size[1] - used[1]), path, size, used))


def _summary(name: str, cut: list[tuple[int, str, Size, Size]], total: int) -> Cropped:
    _, path, before, after = cut[0]
    return Cropped(name, len(cut), total, max(most for most, *_ in cut), path, before, after)


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
