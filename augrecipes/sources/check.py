"""The files of some data, looked at one by one: every defect is reported, where a dataset stops at the first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from augrecipes.compiler.run.labels import labels_of
from augrecipes.errors import DataError, Lines, counted
from augrecipes.images import encoded, losses, reading
from augrecipes.lint.meaning import mask_hint
from augrecipes.machine import in_threads
from augrecipes.progress import Parts
from augrecipes.recipe import kinds
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources import defects
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import Defect, Findings, Size
from augrecipes.sources.files import read_mask
from augrecipes.sources.sample import RecipeSource, Sample, decode_arguments, other_channels

IMAGE = {"": 1}  # one grid, of one pixel a cell
Faults = Iterator[tuple[str, str]]  # kinds of defects, and their messages


@dataclass(frozen=True)
class Checked:
    """The files of some data, after they were looked at.

    Attributes:
        unit: what a sample is: `image`, `scene` or `bag`.
        listed: how many files each target has.
        fine: samples with which nothing is wrong.
        defects: all that is wrong.
        notes: what is no defect and should be known all the same.
        more: that its kind alone has, as plain values.
        given: by a source, and not in files.
    """

    unit: str
    listed: Mapping[str, int]
    fine: int
    defects: Sequence[Defect] = ()
    notes: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    given: bool = False

    def report(self) -> Lines:
        """All that is wrong, as one text."""
        return defects.report(self.defects, fine=self.fine, targets=list(self.listed), unit=self.unit)


def look_at_files(
    recipe: Recipe, mode: Mode, table: Columns, findings: Findings, advance: Parts, *, content: bool, file: str = ""
) -> set[int]:
    """Look at the headers of all images and masks, and at the boxes and keypoints on them.

    Args:
        recipe: says how large images must be, and what boxes are.
        mode: the section.
        table: of the files.
        findings: takes what is wrong.
        advance: called with what is done, and how much of it.
        content: decode every file that is fine so far.
        file: the CSV file that has the table's `lines`.

    Returns:
        Images with which nothing is wrong.
    """
    images, masks = list(table.images), list(table.masks or ())
    every = list(dict.fromkeys([*images, *masks]))
    headers = dict(zip(every, reading.read_headers(every, partial(advance, "reading headers")), strict=True))
    least, decode = defects.least_sizes(recipe, mode, IMAGE), decode_arguments(recipe.inputs)
    how = {name: value for name, value in decode.items() if name != "exif"}
    counts = {path: header.channels for path, header in headers.items() if not isinstance(header, str)}
    first = next((path for path in images if path in counts), "")

    def by_header(k: int) -> Faults:
        sizes = {}
        for path in (images[k], *masks[k : k + 1]):
            if why := defects.why_unreadable(headers[path], mask=path != images[k], **how):
                yield "unreadable", f"{path}: {why}"
            else:
                sizes[path] = defects.upright(headers[path], "apply")  # type: ignore[arg-type]
        if decode["channels"] is None and images[k] in sizes and counts[images[k]] != counts[first]:
            yield "unreadable", f"{images[k]}: {other_channels(counts[images[k]], first, counts[first])}"
        if (size := sizes.get(images[k])) is None:
            return
        for path, other in sizes.items():
            if other != size:
                texts = defects.size_text(other), defects.size_text(size)
                yield "mask", f"{path} is {texts[0]}, but its image {images[k]} is {texts[1]}"
        if table.recorded is not None:
            for why in _failure(table.recorded.check, k, images[k], size):
                yield "resized", why
        boxes, points = (None if rows is None else rows.rows(k) for rows in (table.boxes, table.keypoints))
        yield from unfit(recipe, images[k], size, least, boxes, points)

    def look(path: str) -> None:
        image = encoded.open_encoded(path, **decode)
        if note := image.note(image.array() if "dtype" in decode else image.stored()):
            ranges[path] = f"has {note}"

    def by_pixels(k: int) -> list[tuple[str, str]]:
        whys = _failure(look, images[k])
        whys += [why for path in masks[k : k + 1] for why in _failure(read_mask, path)]
        if table.targets and not whys:
            whys = _failure(table.parts, k, recipe.inputs, **decode)
        return [("unreadable", why) for why in whys]

    def blame(k: int, faults: Iterable[tuple[str, str]]) -> bool:
        place = "" if table.lines is None else f"{file}:{table.lines[k]}: "
        return findings.blame((images[k], *masks[k : k + 1]), faults, place)

    ranges = dict[str, str]()
    good: dict[int, Any] = {k: headers[path] for k, path in enumerate(images) if not blame(k, by_header(k))}
    # Of more bits the range is told.
    some = [k for k, header in good.items() if content or table.targets or header.bits > 8]
    decoded = zip(some, in_threads(by_pixels, some, advance=partial(advance, "decoding")), strict=True)
    fine = {*good}.difference([k for k, faults in decoded if blame(k, faults)])
    alpha = {images[k]: losses.ALPHA for k, header in good.items() if header.alpha and (decode["channels"] or 4) < 4}
    profiles = {} if recipe.inputs.icc else defects.profile_notes({images[k]: header for k, header in good.items()})
    for notes in filter(None, (alpha, ranges, profiles)):
        findings.notes.append(f"{counted(len(notes), 'image')}, {min(notes)} first: {notes[min(notes)]}")
    few = (masks[k] for k in sorted(fine)[:: len(fine) // 16 + 1] if masks)  # all would take too long for a hint
    said = recipe.inputs.mask_labels
    with suppress(DataError):  # of pixels: --content tells of them
        findings.notes += mask_hint(recipe, (labels_of(read_mask(path), said) for path in few))
    return fine


def look_at_samples(recipe: Recipe, mode: Mode, source: RecipeSource, advance: Parts) -> Checked:
    """Read everything that somebody's own source gives, as a recipe of kind image or pair takes it."""
    listed: dict[str, int] = dict.fromkeys(source.table.images_by_target(), len(source))
    findings, fine, least = Findings(), 0, [] if recipe.facts.scales else defects.least_sizes(recipe, mode, IMAGE)
    for k in range(len(source)):
        path = source.path(k)
        try:
            sample = source.sample(k)
            faults = [*_faults_of(recipe, sample, least)]
            for name in sample.rest.keys() & {"mask", "boxes", "keypoints"}:
                listed[name] = listed.get(name, 0) + 1
        except DataError as error:
            faults = [("unreadable", str(error if error.path else error.with_path(path)))]
        fine += not findings.blame((path,), faults)
        advance("reading", k + 1, len(source))
    return Checked(recipe.facts.unit, listed, fine, findings.defects, given=True)


def _faults_of(recipe: Recipe, sample: Sample, least: Any) -> Faults:
    sizes: dict[str, Size] = {name: image.shape[-3:-1] for name, image in sample.images.items()}
    if recipe.facts.scales:
        yield from kinds.part(recipe.kind, "reader").size_faults(recipe, sample.path, sizes)
    else:
        boxes, points = (sample.rest.get(name) for name in ("boxes", "keypoints"))
        yield from unfit(recipe, sample.path, next(iter(sizes.values())), least, boxes, points)


def unfit(recipe: Recipe, path: str, size: Size, least: Any, boxes: Any, keypoints: Any) -> Faults:
    """Why an image is too small for a recipe, and which of its boxes and keypoints the recipe would refuse."""
    if why := defects.too_small(size, least, IMAGE):
        yield "small", f"{path} {defects.size_text(size)}: {why}"
    for kind, text in defects.wrong_points(recipe.inputs, size, boxes, keypoints):
        yield kind, f"{path} {defects.size_text(size)}: {text}"


def _failure(act: Callable[..., Any], *args: Any, **how: Any) -> list[str]:
    """The DataError of a call; none where there is none."""
    try:
        act(*args, **how)
    except DataError as error:
        return [str(error)]
    return []
