"""Packing: a recipe's first steps carried out over all the data, once."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from augrecipes.compiler.prefix import compile_prefix
from augrecipes.data.reading.listing import Data, open_data
from augrecipes.data.tables.table import Columns, GivenTable
from augrecipes.machine import bytes_of
from augrecipes.pack.bake import Baker
from augrecipes.pack.packing import Packing
from augrecipes.pack.part import part_of
from augrecipes.pack.plan import plan_pack
from augrecipes.pack.size import size_of
from augrecipes.pack.store_plan import store_plan_of
from augrecipes.pack.write import bake_rows, refuse_parts, write_part
from augrecipes.progress import Progress
from augrecipes.recipe.loading import Source, as_recipe
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.files import MAX_PIXELS
from augrecipes.sources.remote import place_of
from augrecipes.sources.store import StoreWriter

_QUALITY = 95  # of JPEGs that have to be made


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
    part: str | None = None,
    shard_size: str | int | None = None,
) -> Packing:
    """Look at everything and write nothing; arguments as in `pack`."""
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    parsed = as_recipe(recipe)
    mine = None if part is None else part_of(str(part))
    if mine is not None:
        refuse_parts(format, out)
    most = None if shard_size is None else bytes_of(shard_size)
    plan = plan_pack(parsed, mode=mode, epochs=epochs, through=through, seed=seed)
    pipeline = compile_prefix(parsed, plan.mode, plan.count, seed)
    given = open_data(
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
    size = size_of(baker, rows)
    return Packing(plan, given, place_of(out), rows, baker, size, part=mine, shard_bytes=most)


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

    The shards that are whole when a run is interrupted are taken up by the next run with the same arguments, up to the
    first file that has changed meanwhile (its size, time, or first bytes): from there on all is packed anew. The
    bytes of a store depend on the recipe, the data and the arguments alone, not on `workers` or interruptions.

    Args:
        recipe: of any kind, a Recipe or what `augrecipes.load` takes.
        data: a folder of images or of bags, or several; folders by target for pairs; or a CSV file; or a source, or
            `ar.Samples` over one: pictures, annotations and labels that are integers are kept, nothing else of it.
        out: the store, a folder that does not exist yet; or its address, such as `s3://bucket/store`: each shard is
            sent when it is whole, the index last.
        workers: processes that are started for it, in a script under `if __name__ == "__main__":`; None: one a core;
            0: none but this one.
        on_error: `skip` lists inputs that cannot be read in the store; `raise` stops at the first.
        advance: called with how many rows are done, and of how many.
        options: `format` (`raw`, `lossless`, `jpeg`, `hdf5`), `quality` of jpeg (None: JPEGs that no step changes
            are kept as they are, others written at 95), `mode` (`train` or `eval`: for this section
            alone), `epochs` (bake so many epochs of steps that draw), `through` (the last step to bake), `seed` of the
            draws; `part` (`"3/8"`: the third of eight parts, into a folder of its own in `out`; see
            `augrecipes.merge_parts`), `shard_size` (`"2G"`: the largest file of a target); of the data `masks`,
            `split`, `channels`, `exif`, `max_pixels`, as in the datasets of files.

    Raises:
        RecipeError: the recipe is not valid, or cannot be packed so.
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
    packing: Packing, workers: int | None = None, on_error: str = "skip", advance: Progress | None = None
) -> Packing:
    """Write the store that was prepared; see `pack`. Returns it with what turned out to be unreadable."""
    whole = store_plan_of(packing)
    if packing.part is not None:
        return replace(packing, unreadable=write_part(packing, whole, packing.part, workers, on_error, advance))
    with StoreWriter.open(
        packing.out, **whole.writer, expected_bytes=packing.size.bytes, shard_bytes=packing.shard_bytes
    ) as writer:
        bake_rows(writer, packing.baker, range(packing.rows), workers, on_error, advance)
        columns, about, lost = whole.finished(writer.notes)
        writer.finish(columns, about=about)
    return replace(packing, unreadable=lost)


def _repeat(table: Columns) -> bool:
    """Whether a picture is listed more than once."""
    if isinstance(table, GivenTable):
        return False
    paths = next(iter(table.images_by_target().values()))
    return len({hash(paths.encoded(unit)) for unit in range(len(paths))}) < len(paths)
