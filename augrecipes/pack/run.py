"""Packing: a recipe's first steps carried out over all the data, once."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.compiler.prefix import compile_prefix
from augrecipes.data.packed_match import declared
from augrecipes.data.reading.find import list_data
from augrecipes.data.reading.listing import Data, DataListing
from augrecipes.data.tables.packed_table import POINTS, Unreadable, columns_of, columns_of_points, layout_of
from augrecipes.data.tables.table import Columns, GivenTable
from augrecipes.errors import DataError
from augrecipes.machine import cores
from augrecipes.pack.bake import Baker
from augrecipes.pack.plan import BakedSteps, plan_pack
from augrecipes.pack.size import StoreSize, size_of
from augrecipes.pack.workers import baked
from augrecipes.progress import Progress
from augrecipes.recipe.loading import Source, as_recipe
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.files import MAX_PIXELS
from augrecipes.sources.store import StoreWriter
from augrecipes.versions import made_with

_QUALITY = 95  # of JPEGs that have to be made


@dataclass(frozen=True)
class Packing:
    """A store that is going to be written, or was.

    Attributes:
        plan: which steps are baked.
        given: the data.
        out: the store's folder.
        rows: pictures, scenes or tiles, times the epochs that are baked.
        baker: makes the rows.
        size: on disk.
        unreadable: inputs without pixels; filled by `write`.
    """

    plan: BakedSteps
    given: DataListing
    out: Path
    rows: int
    baker: Baker
    size: StoreSize
    unreadable: tuple[Unreadable, ...] = ()


def prepare(
    recipe: Recipe | Source,
    data: Data,
    out: str | os.PathLike[str],
    *,
    format: str = "raw",
    mode: Mode | None = None,
    epochs: int | None = None,
    through: str | None = None,
    seed: int = 0,
    masks: Any = None,
    split: str | None = None,
    on_error: str = "skip",
    quality: int | None = None,
    channels: int | None = None,
    exif: str = "apply",
    max_pixels: int = MAX_PIXELS,
) -> Packing:
    """Look at everything and write nothing; arguments as in `pack`."""
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    parsed = as_recipe(recipe)
    plan = plan_pack(parsed, mode=mode, epochs=epochs, through=through, seed=seed)
    pipeline = compile_prefix(parsed, plan.mode, plan.count, seed)
    given = list_data(
        parsed,
        pipeline.targets,
        data,
        mode=plan.mode,
        masks=masks,
        split=split,
        strict=on_error == "raise",
        headers=True,
        channels=channels,
        exif=exif,
        max_pixels=max_pixels,
    )
    roles = dict.fromkeys(pipeline.outputs, "image")
    if given.table.masked:
        roles["mask"] = "mask"
    keeps = format == "jpeg" and quality is None and plan.count == 0
    baker = Baker(
        pipeline, given.table, given.decode, roles, format, quality or _QUALITY, keeps, plan.times, _repeat(given.table)
    )
    rows = given.table.units * plan.times
    return Packing(plan, given, Path(out), rows, baker, size_of(baker, rows))


def pack(
    recipe: Recipe | Source,
    data: Data,
    out: str | os.PathLike[str],
    *,
    workers: int | None = 0,
    on_error: str = "skip",
    advance: Progress | None = None,
    **options: Any,
) -> Packing:
    """Carry out the first steps of a recipe over all the data, and keep the pictures in a store for `ar.Packed`.

    What is staged when a run is interrupted is taken up by the next run with the same arguments, up to the first file
    that has changed meanwhile (its size, time, or first bytes): from there on all is packed anew. The bytes of a store
    depend on the recipe, the data and the arguments alone, not on `workers` or interruptions.

    Args:
        recipe: of any kind, a Recipe or what `augrecipes.load` takes.
        data: a folder of images or of bags, or several; folders by target for pairs; or a CSV file; or a source, or
            `ar.Samples` over one: pictures, annotations and labels that are integers are kept, nothing else of it.
        out: the store, a folder that does not exist yet.
        workers: processes that are started for it, in a script under `if __name__ == "__main__":`; None: one a core;
            0: none but this one.
        on_error: `skip` lists inputs that cannot be read in the store; `raise` stops at the first.
        advance: called with how many rows are done, and of how many.
        options: `format` (`raw`, `jpeg`, `hdf5`), `quality` of jpeg (None: JPEGs that no step changes are kept as they
            are, others written at 95), `mode` (`train` or `eval`: for this section
            alone), `epochs` (bake so many epochs of steps that draw), `through` (the last step to bake), `seed` of the
            draws; of the data `masks`, `split`, `channels`, `exif`, `max_pixels`, as in the datasets of files.

    Raises:
        RecipeError: the recipe is not valid, or cannot be packed so.
        DataError: nothing to pack, or with `raise` an input that cannot be read.
        StoreError: the store exists, is being packed by another process, or the disk is full.

    >>> import tempfile, cv2, numpy as np
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "photos").mkdir()
    >>> cv2.imwrite(str(folder / "photos" / "1.png"), np.zeros((200, 300, 3), np.uint8))
    True
    >>> pack("folder-128", folder / "photos", folder / "store").rows
    1
    """
    return write(prepare(recipe, data, out, on_error=on_error, **options), workers, on_error, advance)


def write(
    packing: Packing, workers: int | None = None, on_error: str = "skip", advance: Progress | None = None
) -> Packing:
    """Write the store that was prepared; see `pack`. Returns it with what turned out to be unreadable."""
    baker = packing.baker
    count = cores() if workers is None else workers
    with StoreWriter.open(
        packing.out,
        format=baker.format,
        kind=packing.plan.recipe.kind,
        targets=baker.roles,
        rows=packing.rows,
        about=_about(packing),
        quality=baker.quality,
        expected_bytes=packing.size.bytes,
    ) as writer:
        writer.keep(_unchanged(baker, writer))
        rows = range(writer.done, packing.rows)
        for row, made in zip(rows, baked(baker, rows, count), strict=True):
            if not made.items and on_error == "raise":
                lost = json.loads(made.note)
                raise DataError(lost["reason"], lost["path"])
            writer.add(row, made.items, note=made.note)
            if advance is not None:
                advance(row + 1, packing.rows)
        notes = {row: parts for row, note in writer.notes.items() if len(parts := json.loads(note)) > 1}  # than stamps
        lost_rows = [Unreadable(row, note["path"], note["reason"]) for row, note in notes.items() if "reason" in note]
        about = {"unreadable": [asdict(one) for one in lost_rows]}
        writer.finish(_columns(packing, notes), about=about)
    return replace(packing, unreadable=tuple(lost_rows))


def _repeat(table: Columns) -> bool:
    """Whether a picture is listed more than once."""
    if isinstance(table, GivenTable):
        return False
    paths = next(iter(table.images_by_target().values()))
    return len({hash(paths.encoded(unit)) for unit in range(len(paths))}) < len(paths)


def _unchanged(baker: Baker, writer: StoreWriter) -> int:
    """How many rows at the beginning were made of the very files that are there now."""
    notes = writer.notes
    for row in range(writer.done):
        if json.loads(notes.get(row, "{}")).get("stamp") != baker.stamp(row):
            return row
    return writer.done


def _about(packing: Packing) -> dict[str, Any]:
    table, decode = packing.given.table, packing.given.decode
    boxes = table.boxes
    return {
        "packed": layout_of(packing.plan.times),
        **packing.plan.about(),
        "units": table.units,
        "data": table.digest(),
        "decode": decode,
        "keeps_files": packing.baker.keeps,
        "inputs": declared(packing.plan.recipe.inputs),
        "channels": packing.size.channels,
        "classes": None if table.classes is None else list(table.classes),
        "class_to_idx": table.class_to_idx,
        "box_classes": None if boxes is None or boxes.classes is None else list(boxes.classes),
        "left_out": list(packing.given.left_out),
        "versions": made_with(),
    }


def _columns(packing: Packing, notes: dict[int, Any]) -> dict[str, Any]:
    """The columns of the store; boxes and keypoints from the rows' notes."""
    table = packing.given.table
    found, times = columns_of(table), packing.plan.times
    labels = {row // times: note["label"] for row, note in notes.items() if "label" in note}
    if labels:
        known = np.full(table.units, -1, np.int64) if table.labels is None else table.labels
        found["label"] = np.array([labels.get(unit, known[unit]) for unit in range(table.units)], np.int64)
    takes = declared(packing.plan.recipe.inputs)
    for name, given in zip(POINTS, (table.boxes, table.keypoints), strict=True):
        if given is not None and takes[name] is not None:
            rows = {row: _points(note[name]) for row, note in notes.items() if name in note and note[name][1]}
            found |= columns_of_points(name, rows, packing.rows)
    return found


def _points(parts: list[Any]) -> tuple[Any, Any]:
    dtype, values, labels = parts
    return np.array(values, dtype), np.array(labels, np.int64)
