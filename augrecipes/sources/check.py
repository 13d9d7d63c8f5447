"""Checks of all the files of some data: they report every defect, where a dataset stops at the first."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from augrecipes.compiler.run.input_values import labels_of
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

IMAGE = {"": 1}  # one grid, with one pixel per cell
KindsAndMessages = Iterator[tuple[str, str]]  # of defects


@dataclass(frozen=True)
class CheckReport:
    """The result of checking some data.

    Attributes:
        unit: what a sample is: `image`, `scene` or `bag`.
        listed: the number of files of each target.
        fine: the number of samples without defects.
        defects: all defects.
        notes: remarks on what is odd but no defect.
        more: facts of this kind of recipe alone, as plain values.
        given: whether the samples come from a source, not from files.
    """

    unit: str
    listed: Mapping[str, int]
    fine: int
    defects: Sequence[Defect] = ()
    notes: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    given: bool = False

    def report(self) -> Lines:
        """All defects as one text."""
        return defects.report(self.defects, fine=self.fine, targets=list(self.listed), unit=self.unit)


def check_files(
    recipe: Recipe, mode: Mode, table: Columns, findings: Findings, advance: Parts, *, content: bool, file: str = ""
) -> set[int]:
    """Check the headers of all images and masks, and the boxes and keypoints on them.

    Args:
        recipe: says how large images must be, and the format of boxes.
        mode: the section.
        table: lists the files.
        findings: receives defects and notes.
        advance: called with the stage, and how far it is.
        content: whether to decode every file whose header is fine.
        file: the CSV file that the table's `lines` count in.

    Returns:
        The positions of the images without defects.
    """
    images, masks = list(table.images), list(table.masks or ())
    every = list(dict.fromkeys([*images, *masks]))
    headers = dict(zip(every, reading.read_headers(every, partial(advance, "reading headers")), strict=True))
    least, decode = defects.least_sizes(recipe, mode, IMAGE), decode_arguments(recipe.inputs)
    how = {name: value for name, value in decode.items() if name != "exif"}
    counts = {path: header.channels for path, header in headers.items() if not isinstance(header, str)}
    first = next((path for path in images if path in counts), "")

    def by_header(k: int) -> KindsAndMessages:
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
        yield from sample_problems(recipe, images[k], size, least, boxes, points)

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

    def add_defects(k: int, faults: Iterable[tuple[str, str]]) -> bool:
        place = "" if table.lines is None else f"{file}:{table.lines[k]}: "
        return findings.add_defects((images[k], *masks[k : k + 1]), faults, place)

    ranges = dict[str, str]()
    good: dict[int, Any] = {k: headers[path] for k, path in enumerate(images) if not add_defects(k, by_header(k))}
    # Images of more than 8 bits are decoded for a note on their range.
    some = [k for k, header in good.items() if content or table.targets or header.bits > 8]
    decoded = zip(some, in_threads(by_pixels, some, advance=partial(advance, "decoding")), strict=True)
    fine = {*good}.difference([k for k, faults in decoded if add_defects(k, faults)])
    alpha = {images[k]: losses.ALPHA for k, header in good.items() if header.alpha and (decode["channels"] or 4) < 4}
    profiles = {} if recipe.inputs.icc else defects.profile_notes({images[k]: header for k, header in good.items()})
    for notes in filter(None, (alpha, ranges, profiles)):
        findings.notes.append(f"{counted(len(notes), 'image')}, {min(notes)} first: {notes[min(notes)]}")
    few = (masks[k] for k in sorted(fine)[:: len(fine) // 16 + 1] if masks)  # all would take too long for a hint
    mapping = recipe.inputs.mask_labels
    with suppress(DataError):  # undecodable masks are defects with --content only
        findings.notes += mask_hint(recipe, (labels_of(read_mask(path), mapping) for path in few))
    return fine


def check_samples(recipe: Recipe, mode: Mode, source: RecipeSource, advance: Parts) -> CheckReport:
    """Read and check every sample of a user's own source, for a recipe of kind image or pair."""
    listed: dict[str, int] = dict.fromkeys(source.table.images_by_target(), len(source))
    findings, fine, least = Findings(), 0, [] if recipe.facts.scales else defects.least_sizes(recipe, mode, IMAGE)
    for k in range(len(source)):
        path = source.path(k)
        try:
            sample = source.sample(k)
            faults = [*_source_problems(recipe, sample, least)]
            for name in sample.rest.keys() & {"mask", "boxes", "keypoints"}:
                listed[name] = listed.get(name, 0) + 1
        except DataError as error:
            faults = [("unreadable", str(error if error.path else error.with_path(path)))]
        fine += not findings.add_defects((path,), faults)
        advance("reading", k + 1, len(source))
    return CheckReport(recipe.facts.unit, listed, fine, findings.defects, given=True)


def _source_problems(recipe: Recipe, sample: Sample, least: Any) -> KindsAndMessages:
    sizes: dict[str, Size] = {name: image.shape[-3:-1] for name, image in sample.images.items()}
    if recipe.facts.scales:
        yield from kinds.part(recipe.kind, "reader").size_faults(recipe, sample.path, sizes)
    else:
        boxes, points = (sample.rest.get(name) for name in ("boxes", "keypoints"))
        yield from sample_problems(recipe, sample.path, next(iter(sizes.values())), least, boxes, points)


def sample_problems(recipe: Recipe, path: str, size: Size, least: Any, boxes: Any, keypoints: Any) -> KindsAndMessages:
    """Defects of a sample: an image too small for the recipe, and boxes and keypoints that the recipe would refuse."""
    if why := defects.too_small(size, least, IMAGE):
        yield "small", f"{path} {defects.size_text(size)}: {why}"
    for kind, text in defects.point_problems(recipe.inputs, size, boxes, keypoints):
        yield kind, f"{path} {defects.size_text(size)}: {text}"


def _failure(act: Callable[..., Any], *args: Any, **how: Any) -> list[str]:
    """The message of the DataError that a call raises; empty if it raises none."""
    try:
        act(*args, **how)
    except DataError as error:
        return [str(error)]
    return []
