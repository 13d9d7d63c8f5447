"""Images, and their masks, labels, boxes and keypoints, looked at file by file; every defect is reported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.data.annotations.faults import Faults
from augrecipes.data.annotations.find import is_annotated
from augrecipes.data.annotations.table import noted_table
from augrecipes.data.audit.files import Audit, One, decode, headers_of, needs, size_of, unusual
from augrecipes.data.audit.found import Checked
from augrecipes.data.audit.points import wrong_boxes, wrong_keypoints
from augrecipes.data.checks import NO_BOX_CLASSES, NO_COLUMNS, annotation_options, presence_of, source_of, untaken
from augrecipes.data.reading.listing import as_given
from augrecipes.data.tables.csvfile import CsvRows, choose_split, read_rows
from augrecipes.data.tables.mask_match import mask_files, match_masks
from augrecipes.data.tables.pair_checks import size_text
from augrecipes.data.tables.problems import Problem
from augrecipes.data.tables.ragged import read_ragged
from augrecipes.data.tables.table import ImageTable, columns_of
from augrecipes.errors import DataError, counted
from augrecipes.progress import Parts
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.defects import Defect
from augrecipes.sources.file_headers import MaybeHeader
from augrecipes.sources.listing import list_folders
from augrecipes.sources.paths import PathTable
from augrecipes.sources.remote.known import is_folder, is_there
from augrecipes.store import is_store

_NAMES = {"mask": "masks"}
_POINTS = {"boxes": 4, "keypoints": 2}  # numbers of each


def check(
    recipe: Recipe,
    mode: Mode,
    data: Any,
    *,
    masks: str | None,
    split: str | None,
    content: bool,
    advance: Parts,
    **_: Any,
) -> Checked:
    """Look at everything that a recipe of kind image would read.

    Args:
        recipe: says which targets it takes, and how large images must be.
        mode: the section.
        data: a folder, an image, a CSV file, or annotations, and the folder of their pictures.
        masks: with a folder: a folder of masks.
        split: of a CSV file, or of annotations; where `data` does not say it.
        content: decode every file; otherwise their headers and ends are read.
        advance: called with what is done, and how much of it.

    Raises:
        DataError: there is nothing to look at.
    """
    if isinstance(data, str) and is_store(data):
        raise DataError("this is a packed store: `augrecipes verify-store` checks it", data)
    given = as_given(recipe, data)
    root, files, more = given.root, given.files, {"split": split, **given.more}
    if files is not None and is_annotated(files):
        found = _of_annotations(recipe, root, files, more)
    elif files is not None:
        found = _of_csv(recipe, files, more)
    elif is_folder(root) or not is_there(root):
        found = _of_folder(recipe, root, masks)
    else:
        found = Audit([One(root)])
    _presence(recipe, found)
    headers = headers_of(found, advance)
    for one in found.samples:
        _check(recipe, mode, one, headers, found)
    if content:
        decode(recipe, found, advance)
    found.notes += unusual(headers)
    listed = {"image": len(found.samples)}
    for name in ("mask", *_POINTS):
        count = sum(getattr(one, name) is not None for one in found.samples)
        listed |= {name: count} if count else {}
    looked = ", ".join(["headers", "sizes", *(_NAMES.get(name, name) for name in listed if name != "image")])
    looked += "; every picture decoded" if content else ""
    fine = sum(one.fine for one in found.samples)
    return Checked("image", listed, fine, looked, tuple(found.defects), tuple(found.notes))


def _of_folder(recipe: Recipe, data: str, masks: str | None) -> Audit:
    listing = list_folders([data], cache=False)
    images = listing.paths
    found = Audit([One(images[i]) for i in range(len(images))])
    if listing.labels is not None and listing.classes is not None:
        counts = np.bincount(listing.labels, minlength=len(listing.classes))
        empty = [name for name, count in zip(listing.classes, counts, strict=True) if not count]
        found.notes.append(_classes(counts))
        if empty:
            found.notes.append(f"classes without images: {', '.join(empty)}")
    if masks is not None:
        keep, given = mask_files(images, [data], [masks], cache=False)
        found.samples = [found.samples[i] for i in keep]
        chosen, problems = match_masks(images.take(keep), given)
        for i, (one, k) in enumerate(zip(found.samples, chosen, strict=True)):
            one.mask = None if k is None else given.paths[k]
            if i in problems:
                found.blame("missing", one, problems[i])
        left = len(given.paths) - len({k for k in chosen if k is not None})
        if left:
            found.notes.append(f"{counted(left, 'file')} in {masks} without an image")
    return found


def _classes(counts: Any) -> str:
    least, most = int(counts.min()), int(counts.max())
    several = f"{least} images each" if least == most else f"{least} to {most} images"
    return f"{counted(len(counts), 'class')}, of {several}"


def _of_csv(recipe: Recipe, data: str, more: Mapping[str, Any]) -> Audit:
    wrong: list[Problem] = []
    if more.get("box_classes") is not None:
        raise DataError(NO_BOX_CLASSES, data)
    every = read_rows(data, problems=wrong, renamed=more.get("columns"))
    keep = choose_split(every, more["split"])
    rows = every.select(keep)
    columns_of(every, np.array(keep, np.int64), wrong)
    images = PathTable.from_paths(rows.columns["image"], root=Path(rows.path).parent)
    found = Audit([One(images[i], where=f"{data}:{line}: ") for i, line in enumerate(rows.lines)])
    takes = {"mask", "boxes", "keypoints"} & set(rows.columns) - untaken(recipe)
    if "mask" in takes:
        masks = PathTable.from_paths(rows.columns["mask"], root=Path(rows.path).parent)
        for i, one in enumerate(found.samples):
            one.mask = masks[i] if rows.columns["mask"][i] else None
            if one.mask is None:
                found.blame("missing", one, f"{one.where}{one.image}: no mask")
    for name in takes & set(_POINTS):
        for i, one in enumerate(found.samples):
            setattr(one, name, _points(rows, i, name, wrong))
    bad = {line for line, _ in wrong}
    for one, line in zip(found.samples, rows.lines, strict=True):
        one.fine = one.fine and line not in bad
    found.defects += [Defect("row", (data,), f"{data}:{line}: {what}") for line, what in sorted(wrong)]
    return found


def _of_annotations(recipe: Recipe, root: Any, files: str, more: Mapping[str, Any]) -> Audit:
    """Samples of annotations, with what is left of their boxes; what is wrong with records is a defect."""
    faults = Faults()
    if more.get("columns") is not None:
        raise DataError(NO_COLUMNS, files)
    wanted = annotation_options(recipe, root, check=False, **{k: v for k, v in more.items() if k != "columns"})
    table, notes = noted_table(files, wanted, faults)
    found = Audit([_one(table, i) for i in range(len(table))], notes=list(notes))
    for name in _POINTS:
        values = getattr(table, name)
        for i, one in enumerate(found.samples if values is not None else ()):
            setattr(one, name, values.rows(i))
    for where, what in faults.kept:
        found.defects.append(Defect("record", (files,), f"{where}: {what}"))
    if faults.count > len(faults.kept):
        found.notes.append(f"{counted(faults.count - len(faults.kept), 'record')} more with defects")
    return found


def _one(table: ImageTable, i: int) -> One:
    path, recorded = table.images[i], table.recorded
    return One(
        path,
        drawn=table.outlines is not None,
        recorded=None if recorded is None else lambda size: recorded.check(i, path, size),
    )


def _points(rows: CsvRows, i: int, name: str, wrong: list[Problem]) -> Any:
    """The boxes or keypoints of a row; None where they cannot be read."""
    try:
        return read_ragged(rows.select([i]), name, _POINTS[name], labelled=name == "boxes").rows(0)
    except DataError as error:
        wrong.append((rows.lines[i], error.reason))
        return None


def _presence(recipe: Recipe, found: Audit) -> None:
    """What the recipe requires and the data has not, once."""
    for name, presence in presence_of(recipe.inputs).items():
        drawn = name == "mask" and any(one.drawn for one in found.samples)
        if presence == "required" and not drawn and all(getattr(one, name) is None for one in found.samples):
            for one in found.samples:
                one.fine = False
            text = f"the recipe requires {name}, and the data has none: give {source_of(name)}"
            found.defects.append(Defect("absent", (), text))
        if presence == "optional" and name != "mask" and all(getattr(one, name) is None for one in found.samples):
            found.notes.append(f"the recipe declares {name}, and the data has none")
        if presence == "absent" and name == "mask" and any(one.mask is not None for one in found.samples):
            found.notes.append("the recipe does not take masks (`mask: absent`): a dataset refuses them")


def _check(recipe: Recipe, mode: Mode, one: One, headers: Mapping[str, MaybeHeader], found: Audit) -> None:
    """One sample's headers, sizes, boxes and keypoints."""
    size = size_of(one, one.image, headers, found)
    if one.mask is not None:
        of_mask = size_of(one, one.mask, headers, found)
        if size and of_mask and size != of_mask:
            found.blame(
                "mask", one, f"{one.mask} is {size_text(of_mask)}, but its image {one.image} is {size_text(size)}"
            )
    if size is None:
        return
    if one.recorded is not None:
        try:
            one.recorded(size)
        except DataError as error:
            found.blame("resized", one, str(error))
    short = needs(recipe, mode, size)
    if short:
        found.blame("small", one, f"{one.image} {size_text(size)}: {short}")
    place = f"{one.where}{one.image} {size_text(size)}"
    boxes, keypoints = recipe.inputs.boxes, recipe.inputs.keypoints
    wrong: list[tuple[str, Any, int, str]] = []
    if one.boxes is not None and boxes is not None:
        wrong += [("box", one.boxes, k, why) for k, why in wrong_boxes(one.boxes, boxes, *size)]
    if one.keypoints is not None and keypoints is not None:
        wrong += [("keypoint", one.keypoints, k, why) for k, why in wrong_keypoints(one.keypoints, keypoints, *size)]
    for kind, points, k, why in wrong:
        values = ", ".join(f"{value:g}" for value in points[k])
        found.blame(kind, one, f"{place}: {kind} {k + 1}, [{values}]: {why}")
