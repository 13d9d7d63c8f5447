"""The data that is packed: found and listed as the Datasets do it; no torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augrecipes.data.checks import as_list, as_table, check_targets
from augrecipes.data.tables.bag_table import bags_of_csv, bags_of_folders
from augrecipes.data.tables.pair_find import find, wanted_by
from augrecipes.data.tables.pair_report import report
from augrecipes.data.tables.pair_table import checked
from augrecipes.data.tables.table import Columns, Table
from augrecipes.errors import DataError
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.files import MAX_PIXELS

Data = Any  # a path, several paths, or paths by target


@dataclass(frozen=True)
class Given:
    """The data of one recipe.

    Attributes:
        table: what is known of it before a picture is read.
        decode: arguments of `read_image`.
        left_out: what is wrong with files that are in no sample.
        notes: what else should be known.
    """

    table: Columns
    decode: dict[str, Any]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find_data(
    recipe: Recipe,
    mode: Mode,
    targets: tuple[str, ...],
    data: Data,
    *,
    masks: Any = None,
    split: str | None = None,
    skip: bool = True,
    channels: int | None = None,
    exif: str = "apply",
    max_pixels: int = MAX_PIXELS,
) -> Given:
    """List the data.

    Args:
        recipe: of any kind.
        mode: the section that reads it.
        targets: of a pair, those that are read.
        data: a folder or several; of a pair folders by target; or a CSV file.
        masks: folders of masks, for images.
        split: of a CSV file.
        skip: go on without samples that are defective before they are read; otherwise they are an error.
        channels: 1, 3 or 4; None takes what the recipe's inputs say, or 3.
        exif: `apply` or `ignore`.
        max_pixels: larger images are refused.

    Raises:
        DataError: there is nothing to pack, or it is not as it should be.
    """
    decode: dict[str, Any] = {
        "channels": channels or recipe.inputs.channels or 3,
        "exif": exif,
        "max_pixels": max_pixels,
    }
    if recipe.kind != "pair" and isinstance(data, Mapping):
        raise DataError(f"{recipe.name} is of kind {recipe.kind}: give one folder, or a CSV file")
    csv = str(data) if _is_csv(data) else None
    folders = None if csv else data
    match recipe.kind:
        case "pair":
            return _pairs(recipe, mode, targets, folders, csv, split, decode, skip=skip)
        case "bag":
            table: Columns = (
                bags_of_csv(csv, split, check=not skip) if csv else bags_of_folders(as_list(data), cache=False)
            )
        case _:
            table = as_table(recipe, folders, csv, masks, split, check=not skip, cache=False, layout="auto")
            assert isinstance(table, Table)
            check_targets(recipe, table)
    return Given(table, decode)


def _is_csv(data: Data) -> bool:
    return not isinstance(data, Mapping | list | tuple) and Path(str(data)).suffix.lower() == ".csv"


def _pairs(
    recipe: Recipe,
    mode: Mode,
    targets: tuple[str, ...],
    folders: Any,
    csv: str | None,
    split: str | None,
    decode: dict[str, Any],
    *,
    skip: bool,
) -> Given:
    if folders is not None and not isinstance(folders, Mapping):
        wanted = " ".join(f"{name}=FOLDER" for name in targets)
        raise DataError(f"recipe {recipe.name!r} is of kind pair: give a folder for each target, {wanted}")
    found = find(recipe, targets, folders, csv, split=split, cache=False)
    found = checked(found, wanted_by(recipe, mode, found.targets, **decode), "headers")
    if found.defects and (not skip or not found.scenes):
        raise DataError(report(found.defects, fine=len(found.scenes), targets=found.targets))
    if not found.scenes:
        raise DataError("no pairs were found")
    left_out = tuple(defect.message for defect in found.defects)
    return Given(found.table(), decode, left_out, tuple(found.notes()))
