"""The data of one recipe: found and listed as the Datasets do it, before a picture is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from augrecipes import kinds
from augrecipes.data.reading.listing import Data, DataListing, StrPath, as_given, listed_in, source_in
from augrecipes.errors import DataError
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.files import MAX_PIXELS


def list_data(
    recipe: Recipe,
    targets: Sequence[str],
    data: Data | Sequence[StrPath],
    *,
    mode: Mode = "train",
    masks: Any = None,
    split: str | None = None,
    strict: bool = False,
    headers: bool = False,
    channels: int | None = None,
    exif: str = "apply",
    max_pixels: int = MAX_PIXELS,
) -> DataListing:
    """List the data; of pictures no more than their headers is read.

    Args:
        recipe: of any kind.
        targets: of a pair, those that are read.
        data: a folder or several, a CSV file, annotations, or one image; of a pair folders by target, or a CSV file; or
            a mapping of files and how they are read (see `augrecipes.data.reading.listing.as_given`); or a source.
        mode: the section that reads it.
        masks: folders of masks, for images.
        split: of a CSV file.
        strict: files that are missing, and pairs that are defective, are an error now, not when they are read.
        headers: look at those of pairs, too: what does not fit is left out.
        channels: 1, 3 or 4; None takes what the recipe's inputs say, or 3.
        exif: `apply` or `ignore`.
        max_pixels: larger images are refused.

    Raises:
        DataError: there is nothing, or it is not as it should be.
    """
    decode: dict[str, Any] = {
        "channels": channels or recipe.inputs.channels or 3,
        "exif": exif,
        "max_pixels": max_pixels,
    }
    if (held := listed_in(data, recipe)) is not None:
        if masks is not None or split is not None:
            raise DataError("masks and splits are of files; this dataset has listed its own")
        wanted = channels or recipe.inputs.channels or held.decode["channels"]
        return replace(held, decode={**held.decode, "channels": wanted})
    if (table := source_in(data, recipe, targets)) is not None:
        if masks is not None or split is not None:
            raise DataError(f"{table.name}: masks and splits are of files; a source gives each sample with its mask")
        return DataListing(table, decode)
    given = as_given(recipe, data)
    if split is not None:
        given = replace(given, more={**given.more, "split": split})
    find = kinds.part(recipe.kind, "reader").find
    found: DataListing = find(
        recipe, targets, given, mode=mode, masks=masks, strict=strict, headers=headers, decode=decode
    )
    return found
