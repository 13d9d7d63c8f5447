"""What is given as data, by users and on the command line: listed as the Datasets do, before an image is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from augrecipes import kinds
from augrecipes.errors import DataError
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.remote import is_file
from augrecipes.sources.annotations.records import AnnotationOptions
from augrecipes.sources.annotations.table import is_given_as_data
from augrecipes.sources.arguments import as_list
from augrecipes.sources.files import MAX_PIXELS, read_image
from augrecipes.sources.items import table_of_source
from augrecipes.sources.pair_checks import check_roots
from augrecipes.sources.pairs import Roots
from augrecipes.sources.rows import names_source
from augrecipes.sources.sample import DataArguments, RecipeSource, Sample
from augrecipes.sources.slide_bags import SLIDES, slides_of

StrPath = str | os.PathLike[str]
# Of a pair by target; or files and how they are read, see `as_given`; or a source, as `ar.Samples` takes it.
Data = StrPath | Mapping[str, Roots] | Any

FILES = "files"  # of a mapping that names files and how they are read, not folders by target
OF_FILES = ("split", "columns", "outside", "box_classes", "crowds")  # the first three go with every CSV file


def table_in(data: Any) -> Any:
    """The data where they are a file of columns, by its name."""
    return data if isinstance(data, str | os.PathLike) and Path(data).suffix.lower() in (".csv", ".tsv") else None


def is_source(data: Any) -> bool:
    """Whether data are a source: no paths, or those of tar archives or of arrays."""
    return not _are_paths(data) or names_source(data)


def _are_paths(data: Any) -> bool:
    if isinstance(data, str | bytes | os.PathLike | Mapping):
        return True
    return isinstance(data, list | tuple) and all(isinstance(one, str | bytes | os.PathLike) for one in data[:1])


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
    known = ("images", *OF_FILES) if recipe.facts.annotated else OF_FILES[:3]
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
    >>> words_of({"files": "a.csv", "columns": {"image": "path"}, "outside": True})
    'files=a.csv columns=image=path outside=true'
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
    if isinstance(given, bool):
        return [str(given).lower()]
    return [f"{name}={value}" for name, value in given.items()] if isinstance(given, Mapping) else as_list(given)


def open_data(
    recipe: Recipe,
    targets: Sequence[str],
    data: Data | Sequence[StrPath],
    masks: Any = None,
    *,
    mode: Mode = "train",
    split: str | None = None,
    strict: bool = False,
    headers: bool = False,
    channels: int | None = None,
    exif: str = "apply",
    max_pixels: int = MAX_PIXELS,
) -> RecipeSource:
    """List the data as the Datasets do; of images no more than their headers is read.

    Args:
        recipe: of any kind.
        targets: of a pair, those that are read.
        data: a folder or several, a CSV file, annotations, or one image; of a pair folders by target, or a CSV file; or
            a mapping of files and how they are read (see `as_given`); or a source, or a dataset of bags.
        masks: folders of masks, for images.
        mode: the section that reads it.
        split: of a CSV file.
        strict: files that are missing, and pairs that are defective, are an error now, not when they are read.
        headers: look at those of pairs, too: what does not fit is left out.
        channels: 1, 3 or 4; None takes what the recipe's inputs say, or 3.
        exif: `apply` or `ignore`.
        max_pixels: larger images are refused.

    Raises:
        DataError: there is nothing, or it is not as it should be.
    """
    wanted = channels or recipe.inputs.channels
    decode: dict[str, Any] = {"channels": wanted or 3, "exif": exif, "max_pixels": max_pixels}
    # Of a dataset such as `ar.SlideBags`; bags of a packed store are files no more.
    listed = recipe.facts.tiles and getattr(data, "kind", None) == recipe.kind and not hasattr(data, "store")
    bags: Any = data if listed else None
    if is_source(data) and (masks is not None or split is not None):
        raise DataError("masks and splits are of files; a source gives each sample with its mask")
    if bags is not None:
        if len(bags) != len(bags.table):
            raise DataError("some of a dataset's bags, or repeats of them: give the dataset itself")
        return RecipeSource(bags.table, recipe.inputs, bags.decode | ({"channels": wanted} if wanted else {}))
    if is_source(data):
        return RecipeSource(table_of_source(data, recipe, targets), recipe.inputs, decode)
    given = as_given(recipe, data)
    if split is not None:
        given = replace(given, more={**given.more, "split": split})
    try:
        found: RecipeSource = kinds.part(recipe.kind, "reader").find(
            recipe, targets, given, mode=mode, masks=masks, strict=strict, headers=headers, decode=decode
        )
    except ValueError as error:  # of words that do not go together, each right by itself
        raise DataError(str(error)) from error
    return found


def read_first(recipe: Recipe, targets: Sequence[str], data: Data, masks: StrPath | None = None) -> Sample:
    """One sample to try a recipe on: the files themselves (a pair's by target, a bag's tile), or the first of a folder.

    Args:
        recipe: of any kind.
        targets: of a pair, those that are read.
        data: as `open_data` has it; a file in the place of a folder is read as it is.
        masks: a folder of masks that match the images' names.

    Raises:
        DataError: it cannot be read, or is not what the recipe needs.
    """
    files: Mapping[str, Any] = data if isinstance(data, Mapping) else {targets[0]: data}
    of_files = recipe.facts.tiles or recipe.facts.scales  # a picture in the place of a folder is found as one of it
    if not of_files or isinstance(data, Mapping) != recipe.facts.scales or not all(map(_is_picture, files.values())):
        return open_data(recipe, targets, data, masks).read(0)
    if recipe.facts.scales:
        check_roots(recipe, targets, files)
    channels = recipe.inputs.channels or 3
    images = {name: read_image(path, channels=channels) for name, path in files.items()}
    return Sample(0, 0, os.fsdecode(files[targets[0]]), images)


def _is_picture(path: Any) -> bool:
    return isinstance(path, str | os.PathLike) and table_in(path) is None and is_file(path)
