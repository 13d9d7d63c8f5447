"""What the checks of images and of bags share: files one by one, by their headers or decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from augrecipes.data.tables.pair_checks import Size, first_crop, size_text, upright
from augrecipes.errors import DataError
from augrecipes.images.format import ImageHeader, lost
from augrecipes.images.reading import MaybeHeader, read_headers
from augrecipes.machine import cores
from augrecipes.progress import Parts
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.defects import Defect
from augrecipes.sources.files import MAX_PIXELS, read_image, read_mask

_DEEP = 8  # bits


@dataclass(slots=True)
class One:
    """A sample before any file is opened.

    Attributes:
        image: its file.
        mask: its mask's file, or None.
        where: the place of its row, for messages; empty without one.
        boxes: (n, 4), or None.
        keypoints: (n, 2), or None.
        fine: whether nothing is wrong with it.
        drawn: its mask is drawn, and so has no file.
        recorded: raises a DataError where (height, width) is not what its annotations are for; None: they do not say.
    """

    image: str
    mask: str | None = None
    where: str = ""
    boxes: Any = None
    keypoints: Any = None
    fine: bool = True
    drawn: bool = False
    recorded: Callable[[Size], None] | None = None


@dataclass(slots=True)
class Audit:
    """Samples, and what is wrong with them.

    Attributes:
        samples: one by one; of bags their tiles.
        defects: what is wrong.
        notes: what else should be known.
    """

    samples: list[One]
    defects: list[Defect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def blame(self, kind: str, one: One, message: str) -> None:
        """Something is wrong with a sample."""
        one.fine = False
        files = (one.image,) if one.mask is None else (one.image, one.mask)
        self.defects.append(Defect(kind, files, message))


def headers_of(found: Audit, advance: Parts) -> dict[str, MaybeHeader]:
    """The header of every file, or why it has none."""
    files = list(dict.fromkeys(file for one in found.samples for file in (one.image, one.mask) if file))
    return dict(zip(files, read_headers(files, lambda k, n: advance("reading headers", k, n)), strict=True))


def size_of(one: One, file: str, headers: Mapping[str, MaybeHeader], found: Audit) -> Size | None:
    """(height, width) of a file as it is read; None, and a defect, where that cannot be had."""
    header = headers[file]
    if isinstance(header, ImageHeader):
        pixels, left_out = header.width * header.height, lost(header, mask=file == one.mask)
        if pixels <= MAX_PIXELS and not left_out:
            return upright(header, "apply")
        reason = left_out or f"{pixels:,} pixels are more than the limit of {MAX_PIXELS:,}"
    else:
        reason = header
    found.blame("unreadable", one, f"{one.where}{file}: {reason}")
    return None


def needs(recipe: Recipe, mode: Mode, size: Size) -> str:
    """Why an image is too small, or nothing."""
    least = recipe.inputs.min_size
    if least and (size[0] < least[0] or size[1] < least[1]):
        return f"the recipe's inputs ask for {size_text(least)}"
    crop = first_crop(recipe.section(mode) or (), {"image": 1})
    if crop and (size[0] < crop[0][0] or size[1] < crop[0][1]):
        return f"{crop[1]} needs {size_text(crop[0])}"
    return ""


def decode(recipe: Recipe, found: Audit, advance: Parts) -> None:
    """Decode what is fine so far."""
    channels = recipe.inputs.channels or 3
    fine = [one for one in found.samples if one.fine]

    def reasons(one: One) -> list[str]:
        return [*_fails(lambda: read_image(one.image, channels=channels)),
                *_fails(lambda: read_mask(one.mask) if one.mask else None)]  # fmt: skip

    with ThreadPoolExecutor(min(8, cores())) as pool:
        for k, (one, wrong) in enumerate(zip(fine, pool.map(reasons, fine), strict=True)):
            for reason in wrong:
                found.blame("unreadable", one, f"{one.where}{reason}")
            advance("decoding", k + 1, len(fine))


def _fails(read: Callable[[], Any]) -> Iterator[str]:
    try:
        read()
    except DataError as error:
        yield str(error)


def unusual(headers: Mapping[str, MaybeHeader]) -> list[str]:
    """Notes of what is read, but not all of it, because that was asked for."""
    read = {file: header for file, header in headers.items() if isinstance(header, ImageHeader) and not lost(header)}
    return [
        *_noted([file for file, header in read.items() if header.bits > _DEEP], "more than 8 bits a sample"),
        *_noted([file for file, header in read.items() if header.frames > 1], "more than one picture in it"),
    ]


def _noted(files: Sequence[str], what: str) -> list[str]:
    count = f"1 file has {what}" if len(files) == 1 else f"{len(files):,} files have {what}"
    return [f"{count} (first: {files[0]})"] if files else []
