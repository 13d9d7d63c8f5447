"""What is known of the data of one recipe before a picture is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augrecipes.data.annotations.find import is_given_as_data
from augrecipes.data.annotations.table import takes
from augrecipes.data.checks import as_list
from augrecipes.data.tables.source_table import SourceTable, table_of_source
from augrecipes.data.tables.table import Columns
from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe
from augrecipes.sources.pair_roots import Roots

StrPath = str | os.PathLike[str]
Data = StrPath | Mapping[str, Roots] | Any  # of a pair by target; or a source, as `ar.Samples` takes it

_TABLES = (".csv", ".tsv")


@dataclass(frozen=True)
class DataListing:
    """What is known of the data before a picture is read.

    Attributes:
        table: paths, labels, boxes and whatever else is known of each sample.
        decode: arguments of `read_image`.
        left_out: what is wrong with files that are in no sample.
        notes: what else should be known.
    """

    table: Columns
    decode: dict[str, Any]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def source_in(data: Any, recipe: Recipe, targets: Sequence[str]) -> SourceTable | None:
    """The table of data that are a source, or an `ar.Samples` over one; None where they are files.

    Args:
        data: it.
        recipe: that is to read it.
        targets: the pictures of it that are read.
    """
    return table_of_source(data, recipe, targets) if is_source(data) else None


def is_source(data: Any) -> bool:
    """Whether data are a source, and no paths."""
    if isinstance(data, str | bytes | os.PathLike | Mapping):
        return False
    paths = isinstance(data, list | tuple) and all(isinstance(one, str | bytes | os.PathLike) for one in data[:1])
    return not paths


def table_in(data: Data | Sequence[StrPath]) -> StrPath | None:
    """The data where they are a file of columns, by its name."""
    return data if isinstance(data, str | os.PathLike) and Path(data).suffix.lower() in _TABLES else None


def roots_and_files(recipe: Recipe, data: Data | Sequence[StrPath]) -> tuple[Any, Any]:
    """The data as a Dataset takes them: `root`, and `files`.

    Folders and pictures are roots; CSV files are files, and of pictures annotations, too (of a folder see
    `augrecipes.data.annotations.find`). `{"files": ..., "images": ...}` names annotations and where their pictures lie.

    Raises:
        DataError: folders by target for a recipe that has none.
    """
    if isinstance(data, Mapping) and not recipe.facts.scales:
        if recipe.facts.annotated and "files" in data and not set(data) - {"files", "images"}:
            return data.get("images"), data["files"]
        names = ", ".join(f"{name}=" for name in data)
        also = ", or annotations as files=FILE images=FOLDER" if recipe.facts.annotated else ""
        raise DataError(
            f"{recipe.name} is of kind {recipe.kind}: give one folder, or a CSV file, without {names}{also}"
        )
    csv = table_in(data)
    if csv is not None:
        return None, csv
    takes_points = not {"boxes", "keypoints"}.isdisjoint(takes(recipe.inputs))
    if recipe.facts.annotated and isinstance(data, str | os.PathLike) and is_given_as_data(data, points=takes_points):
        return None, data
    return data, None


def words_of(data: Data | Sequence[StrPath], before: str = "") -> str:
    """The data as the command line takes them, each with a word before it.

    >>> words_of({"hr": "a", "lr": ["b", "c"]})
    'hr=a lr=b lr=c'
    >>> words_of("a", "--data ")
    '--data a'
    """
    if is_source(data):
        return f"{before}{getattr(getattr(data, 'table', data), 'name', type(data).__name__)}"
    if not isinstance(data, Mapping):
        return " ".join(f"{before}{os.fsdecode(root)}" for root in as_list(data))
    return " ".join(f"{before}{name}={os.fsdecode(root)}" for name, roots in data.items() for root in as_list(roots))
