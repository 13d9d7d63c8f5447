"""Reads a sample of a dataset of bags: picks tiles, reads them, and runs them through the pipeline."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch

from augrecipes.data.batching import allocate_in_batch
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.epochs import Skipped, current
from augrecipes.errors import DataError, as_lines, logger
from augrecipes.kinds.bag.pipeline import BagResult, default_threads
from augrecipes.kinds.bag.table import BagTable
from augrecipes.kinds.bag.tiles import tiles_of
from augrecipes.sources.stored import StoredSource


def read_bag(ds: RecipeDataset, row: int, epoch: int, virtual: int) -> dict[str, Any]:
    """Pick tiles of bag `row` of the source, read them, and run them through the pipeline: one sample."""
    source = ds.source
    table: BagTable = cast("BagTable", source.table)
    rule, baked = ds.rule, epoch + virtual // len(table)
    # A tile file is small: reading all of it takes no longer than reading a part.
    undecoded = ds.pipeline.reads and (table.on_slides or isinstance(source, StoredSource))
    start, stop = table.offsets[row : row + 2].tolist()
    if stop - start < rule.min_tiles:
        raise DataError(f"the bag has {stop - start} tiles, fewer than min_tiles={rule.min_tiles}{table.about(row)}")
    picked = tiles_of(rule, stop - start, ds.mode, seed=ds.seed, epoch=epoch, index=virtual)
    tiles = (start + picked).tolist()
    name = table.bags.name(row)
    unread: dict[int, DataError] = {}

    def read_picked(k: int) -> Any:
        try:
            return source.parts(tiles[k], baked, undecoded=undecoded)[0]["image"]
        except DataError as error:
            unread[k] = error
            raise

    reading, threads = current(), None
    if reading is not None and reading.readers > 1 and ds.pipeline.compiled.threads is None:
        threads = max(1, default_threads() // reading.readers)  # other threads read other bags
    try:
        pipeline: Any = ds.pipeline
        bag: BagResult = pipeline.bag(
            virtual,
            epoch,
            picked.tolist(),
            read_picked,
            threads=threads,
            skip=ds.on_error == "skip",
            allocate=allocate_in_batch("image") or np.empty,
            name=lambda k: table.images[tiles[k]],
            stains=None if source.stains is None else source.stains.of_bag(row),
        )
    except DataError:
        if ds.on_error == "skip" and unread:
            _report_dropped([unread[k] for k in sorted(unread)], name, epoch, virtual)
        raise
    if bag.dropped:
        _report_dropped([error for _, error in bag.dropped], name, epoch, virtual)
        if len(bag.kept) < rule.min_tiles:
            raise DataError(
                f"{len(bag.kept)} of {len(bag.kept) + len(bag.dropped)} tiles can be used, fewer than "
                f"min_tiles={rule.min_tiles}; the first that cannot: {bag.dropped[0][1]}"
            )
    sample = {
        "image": torch.from_numpy(bag.image),
        "coords": torch.from_numpy(table.places(row, picked[list(bag.kept)])),
        "bag": name,
    }
    if bag.applied is not None:
        sample["applied"] = bag.applied
    return sample


def _report_dropped(errors: Sequence[DataError], name: str, epoch: int, virtual: int) -> None:
    """Tell the loader, or the log, which tiles were left out of a bag."""
    reading = current()
    if reading is not None and reading.left_out is not None:
        reading.left_out.extend(
            Skipped(error.path or "", error.reason_in_step, epoch, virtual, bag=name) for error in errors
        )
    else:
        logger.warning("bag %s: %d tiles are left out:%s", name, len(errors), as_lines(str(error) for error in errors))
