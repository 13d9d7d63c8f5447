"""What is known of the data of one recipe before a picture is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augrecipes.data.annotations.records import AnnotationOptions
from augrecipes.data.annotations.table import is_given_as_data
from augrecipes.data.checks import as_list
from augrecipes.data.tables.slide_table import SLIDES, slides_of
from augrecipes.data.tables.source_table import SourceTable, table_of_source
from augrecipes.data.tables.table import Columns
from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe
from augrecipes.sources.by_path import names_source
from augrecipes.sources.pairs import Roots

StrPath = str | os.PathLike[str]
# Of a pair by target; or files and how they are read, see `as_given`; or a source, as `ar.Samples` takes it.
Data = StrPath | Mapping[str, Roots] | Any

FILES = "files"  # of a mapping that names files and how they are read, not folders by target
OF_FILES = ("split", "columns", "box_classes", "crowds", "outside")  # the first two go with every CSV file
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


def listed_in(data: Any, recipe: Recipe) -> DataListing | None:
    """What a dataset of bags, such as `ar.SlideBags`, has listed already; None where the data are something else."""
    if not recipe.facts.tiles or getattr(data, "kind", None) != recipe.kind or not hasattr(data, "decode"):
        return None  # a packed store's bags are files no more
    if len(data) != len(data.table):
        raise DataError("some of a dataset's bags, or repeats of them: give the dataset itself")
    return DataListing(data.table, data.decode)


def is_source(data: Any) -> bool:
    """Whether data are a source: no paths, or those of tar archives or of arrays."""
    return not _are_paths(data) or names_source(data)


def _are_paths(data: Any) -> bool:
    if isinstance(data, str | bytes | os.PathLike | Mapping):
        return True
    return isinstance(data, list | tuple) and all(isinstance(one, str | bytes | os.PathLike) for one in data[:1])


def table_in(data: Data | Sequence[StrPath]) -> StrPath | None:
    """The data where they are a file of columns, by its name."""
    return data if isinstance(data, str | os.PathLike) and Path(data).suffix.lower() in _TABLES else None


@dataclass(frozen=True)
class DataArguments:
    """The data as a Dataset takes them.

    Attributes:
        root: folders, of a pair by target; with annotations the folder of their pictures; slides; or None.
        files: a CSV file or annotations, or None.
        more: other arguments of the Dataset that go with `files`: `split`, `columns`, and of pictures `box_classes`,
            `crowds` and `outside`.
    """

    root: Any
    files: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)


def as_given(recipe: Recipe, data: Data | Sequence[StrPath]) -> DataArguments:
    """The data as a Dataset takes them.

    Folders and pictures are roots; CSV files are files, and of pictures annotations, too (of a folder see
    `is_given_as_data`). `{"files": ..., "split": ...}` names what a Dataset takes beside its files, and
    by `images` the folder of the pictures of annotations; `{"slides": ..., "mpp": ...}` what `SlideBags` takes.

    Raises:
        DataError: folders by target for a recipe that has none, or other names than these.
    """
    if isinstance(data, Mapping):
        return _by_name(recipe, data)
    csv = table_in(data)
    if csv is not None:
        return DataArguments(None, csv)
    takes_points = not {"boxes", "keypoints"}.isdisjoint(AnnotationOptions(recipe.inputs).takes)
    if recipe.facts.annotated and isinstance(data, str | os.PathLike) and is_given_as_data(data, points=takes_points):
        return DataArguments(None, data)
    return DataArguments(data)


def _by_name(recipe: Recipe, data: Mapping[str, Any]) -> DataArguments:
    known = ("images", *OF_FILES) if recipe.facts.annotated else OF_FILES[:2]
    if FILES in data and FILES not in recipe.scales:
        strange = [name for name in data if name not in (FILES, *known)]
        if strange:
            what = f"a recipe of kind {recipe.kind} takes {', '.join(f'{name}=' for name in known)} beside files="
            raise DataError(f"{', '.join(f'{name}=' for name in strange)}: {what}")
        more = {name: value for name, value in data.items() if name in OF_FILES}
        return DataArguments(data.get("images"), data[FILES], more)
    if SLIDES in data and recipe.facts.tiles:
        return DataArguments(slides_of(data))
    if recipe.facts.scales:
        return DataArguments(data)
    names = ", ".join(f"{name}=" for name in data)
    also = ", or annotations as files=FILE images=FOLDER" if recipe.facts.annotated else ""
    also = ", or whole slides as slides=PATTERN" if recipe.facts.tiles else also
    raise DataError(f"{recipe.name} is of kind {recipe.kind}: give one folder, or a CSV file, without {names}{also}")


def words_of(data: Data | Sequence[StrPath], before: str = "") -> str:
    """The data as the command line takes them, each with a word before it.

    >>> words_of({"hr": "a", "lr": ["b", "c"]})
    'hr=a lr=b lr=c'
    >>> words_of({"files": "a.csv", "columns": {"image": "path"}})
    'files=a.csv columns=image=path'
    >>> words_of("a", "--data ")
    '--data a'
    """
    if not _are_paths(data):
        return f"{before}{getattr(getattr(data, 'table', data), 'name', type(data).__name__)}"
    if not isinstance(data, Mapping):
        return " ".join(f"{before}{os.fsdecode(root)}" for root in as_list(data))
    named = [(name, root) for name, roots in data.items() for root in _several(roots)]
    return " ".join(f"{before}{name}={os.fsdecode(root)}" for name, root in named)


def _several(given: Any) -> list[Any]:
    return [f"{name}={value}" for name, value in given.items()] if isinstance(given, Mapping) else as_list(given)
