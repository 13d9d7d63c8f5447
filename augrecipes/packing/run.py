"""Run a recipe's first steps once over all the data, into a store; resume an interrupted run."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from augrecipes import machine, progress
from augrecipes.compiler.prefix import compile_prefix
from augrecipes.errors import DataError, StoreError
from augrecipes.packing.bake import Baker, StorePlan, unreadable_in
from augrecipes.packing.parts import WHOLE, notes_of, parse_part
from augrecipes.packing.plan import Packing, estimate_size, plan_pack, store_plan
from augrecipes.packing.workers import bake_rows
from augrecipes.recipe import model, parse
from augrecipes.remote import Place, place_of
from augrecipes.sources import opening, packed_columns, stacks
from augrecipes.sources.files import MAX_PIXELS
from augrecipes.store import StoreWriter, open_store
from augrecipes.store.disk import store_errors
from augrecipes.store.index import NAME, to_json

_QUALITY = 95  # of JPEGs that are encoded, not copied


def prepare(
    recipe: model.Recipe | parse.Source,
    data: opening.Data,
    out: str | os.PathLike[str],
    *,
    format: str = "raw",
    mode: model.Mode | None = None,
    epochs: int | None = None,
    seed: int = 0,
    masks: Any = None,
    split: str | None = None,
    on_error: str = "skip",
    quality: int | None = None,
    channels: int | None = None,
    exif: str = "apply",
    max_pixels: int = MAX_PIXELS,
    part: str | None = None,
    shard_size: str | int | None = None,
) -> Packing:
    """Check the recipe and the data, and plan the store; write nothing. Arguments as in `pack`."""
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    parsed = parse.as_recipe(recipe)
    stacks.refuse_stacks(parsed, "which packed datasets do not hold: train from the files, by ar.ImageFolder")
    chosen = None if part is None else parse_part(str(part))
    most = None if shard_size is None else machine.parse_size(shard_size)
    plan = plan_pack(parsed, mode=mode, epochs=epochs, seed=seed)
    pipeline = compile_prefix(parsed, plan.mode, plan.count, seed)
    how: dict[str, Any] = {"channels": channels, "exif": exif, "max_pixels": max_pixels, "masks": masks, "split": split}
    strict = on_error == "raise"
    source = opening.open_data(parsed, pipeline.targets, data, mode=plan.mode, strict=strict, headers=True, **how)
    if source.table.instances is not None:
        raise DataError("`masks` of several files an image are in no packed dataset: read these as files")
    files = source.table.images_by_target()
    roles = dict.fromkeys(
        (name for name in pipeline.outputs if name in files or name not in pipeline.optional), "image"
    )
    roles |= dict.fromkeys(files, "image") if parsed.facts.scales else {}  # versions, too
    if source.table.masked:
        roles["mask"] = "mask"
    roles |= {name: "image" if parsed.targets[name].is_image else "mask" for name in source.table.targets}
    keeps_jpegs = format == "jpeg" and quality is None and plan.count == 0
    baker = Baker(pipeline, source.table, source.decode, roles, format, quality or _QUALITY, keeps_jpegs, plan.times)
    if source.stains is not None:
        baker = replace(baker, stains=source.stains.all())
    rows = source.table.units * plan.times
    return Packing(plan, source, place_of(out), rows, baker, *estimate_size(baker, rows), part=chosen, shard_bytes=most)


def pack(
    recipe: model.Recipe | parse.Source,
    data: opening.Data,
    out: str | os.PathLike[str],
    *,
    workers: int | None = 0,
    on_error: str = "skip",
    advance: progress.Progress | None = None,
    **options: Any,
) -> Packing:
    """Run the first steps of a recipe once over all the data, and keep the images in a store for `ar.Packed`.

    After an interruption, the next run with the same arguments keeps the complete shards, up to the first file that has
    changed meanwhile (its size, time, or first bytes); it packs the rest anew. The bytes of a store depend on the
    recipe, the data and the arguments alone, not on `workers` or interruptions.

    Args:
        recipe: a Recipe of any kind, or what `augrecipes.load` takes.
        data: a folder of images or of bags, or several; folders by target for pairs; or a CSV file; or a source, or
            `ar.Samples` over one, of which only images, annotations and integer labels are kept.
        out: the store: a folder that does not exist yet; or an address, such as `s3://bucket/store`: it is packed in
            the cache folder and uploaded in the end.
        workers: the number of worker processes, which a script starts under `if __name__ == "__main__":`; None: one
            per core; 0: pack in this process.
        on_error: `skip` records unreadable inputs in the store; `raise` stops at the first.
        advance: called with the rows that are done, and their total.
        options: `format` (`raw`, `lossless`, `jpeg`); `quality` of jpeg (None: copy JPEGs that no step changes, encode
            others at 95); `mode` (`train` or `eval`: pack for this section alone); `epochs` (bake this many epochs of
            random steps); `seed` of the random parameters; `part` (`"3/8"`: the third of eight parts, into its own
            folder in `out`; see `augrecipes.merge_parts`); `shard_size` (`"2G"`: the largest file of a target); and
            `masks`, `split`, `channels`, `exif`, `max_pixels`, as in the datasets of files.

    Raises:
        RecipeError: the recipe is not valid, or cannot be packed with these arguments.
        DataError: nothing to pack, or with `raise` an input that cannot be read.
        StoreError: the store exists, is being packed by another process, or the disk is full.

    >>> import tempfile, cv2, numpy as np
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "photos").mkdir()
    >>> cv2.imwrite(str(folder / "photos" / "1.png"), np.zeros((200, 300, 3), np.uint8))
    True
    >>> pack("folder-128", folder / "photos", folder / "store").rows
    1
    """
    return write(prepare(recipe, data, out, on_error=on_error, **options), workers, on_error, advance)


def write(
    packing: Packing, workers: int | None = None, on_error: str = "skip", advance: progress.Progress | None = None
) -> Packing:
    """Write a prepared packing; see `pack`. Return it with `unreadable` filled."""
    return replace(packing, unreadable=write_rows(packing, store_plan(packing), workers, on_error, advance))


def write_rows(
    packing: Packing, plan: StorePlan, workers: int | None, on_error: str, advance: progress.Progress | None = None
) -> tuple[packed_columns.Unreadable, ...]:
    """Write a store, or one part of it into a folder in `out`; an existing part is checked and kept.

    A part is a store of its rows. It also holds their notes, and the `about` of the whole store; the first part holds
    the columns of the whole.

    Returns:
        The inputs that could not be read.

    Raises:
        DataError: an input cannot be read, and `on_error` is `raise`.
        StoreError: the existing part is of another packing, or its files have changed; or the parts are merged already.
    """
    baker, rows, place, about = packing.baker, packing.own_rows, packing.place, plan.arguments["about"]
    columns: Mapping[str, Any] = {}
    if packing.part is not None:
        about = {**about, "part": [*packing.part], "points": plan.points}
        columns = plan.columns if packing.part.number == 1 else {}
    arguments = {**plan.arguments, "rows": len(rows), "about": about, "shard_bytes": packing.shard_bytes}
    if packing.part is not None:
        if _is_there(packing.out, place):
            with suppress(StoreError):  # the writer removes the staging folder of a run that was killed in the end
                StoreWriter(place, **arguments)
            return unreadable_in(rows, _finished_notes(place, about, baker, rows))
        refuse_published(packing.out)
    with StoreWriter(place, **arguments, expected_bytes=packing.expected) as writer:
        writer.keep(_count_unchanged(baker, writer, rows))
        pending = rows[writer.done :]
        results = bake_rows(baker, pending, machine.cores() if workers is None else workers)
        for number, result in zip(range(writer.done, len(rows)), results, strict=True):
            if not result.items and on_error == "raise":
                defect = json.loads(result.note)
                raise DataError(defect["reason"], defect["path"])
            writer.add(number, result.items, note=result.note)
            if advance is not None:
                advance(number + 1, len(rows))
        notes = writer.notes
        if packing.part is not None:
            writer.finish({"note": notes, **{WHOLE + name: column for name, column in columns.items()}})
        else:
            columns, more, _ = plan.with_notes(notes)
            writer.finish(columns, about=more)
    return unreadable_in(rows, notes)


def refuse_published(out: Place) -> None:
    """Raise StoreError where the parts in a folder have been merged already."""
    with store_errors(out):
        there = (out / NAME).exists()
    if there:
        raise StoreError(
            f"is a store by now, and a published store is never modified: remove its {NAME} before a part is packed "
            "again, and merge afterwards",
            str(out),
        )


def _is_there(out: Place, part: Place) -> bool:
    """Whether a part exists; a local folder gets its name only once it is complete."""
    if not isinstance(part, Path):
        with store_errors(part):
            return (part / NAME).exists()
    folder = Path(str(out))
    if not folder.absolute().parent.is_dir():
        raise StoreError("the folder that it should be in does not exist; make it first", path=str(out))
    with store_errors(folder):
        folder.mkdir(exist_ok=True)
    return os.path.lexists(part)


def _finished_notes(folder: Place, about: dict[str, Any], baker: Baker, rows: range) -> list[str]:
    """Return the notes of an existing part; StoreError unless it is what would be written now."""
    store, about = open_store(folder, part=True), to_json(about)
    if store.about != about:
        what = "there is such a part of another packing; take another folder, or remove it"
        raise StoreError(what, str(folder))
    notes = list(notes_of(store))
    for row, note in zip(rows, notes, strict=True):
        if row % baker.times == 0 and json.loads(note).get("stamp") != baker.stamp(row):
            path = next(iter(baker.table.paths(row // baker.times).values()))
            raise StoreError(f"was made before {path} changed; remove it, and run again", str(folder))
    return notes


def _count_unchanged(baker: Baker, writer: StoreWriter, rows: range) -> int:
    """Count the leading staged rows whose files have not changed."""
    stamp = None
    for number, (row, note) in enumerate(zip(rows, writer.notes, strict=False)):
        if number == 0 or row % baker.times == 0:
            stamp = baker.stamp(row)
        if json.loads(note).get("stamp") != stamp:
            return number
    return writer.done
