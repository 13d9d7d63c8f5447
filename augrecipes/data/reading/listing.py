"""What is known of the data of one recipe before a picture is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augrecipes.data.checks import as_list
from augrecipes.data.tables.source_table import SourceTable, table_of_source
from augrecipes.data.tables.table import Columns
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
