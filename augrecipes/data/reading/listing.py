"""What is known of the data of one recipe before a picture is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augrecipes.data.checks import as_list
from augrecipes.data.tables.table import Columns
from augrecipes.sources.pair_roots import Roots

StrPath = str | os.PathLike[str]
Data = StrPath | Mapping[str, Roots]  # of a pair by target

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
    if not isinstance(data, Mapping):
        return " ".join(f"{before}{os.fsdecode(root)}" for root in as_list(data))
    return " ".join(f"{before}{name}={os.fsdecode(root)}" for name, roots in data.items() for root in as_list(roots))
