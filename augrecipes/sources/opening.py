"""What is given as data, by users and on the command line: listed as the Datasets do, before an image is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.errors import DataError
from augrecipes.recipe import kinds, model
from augrecipes.remote import is_file
from augrecipes.sources import items, opened, paths
from augrecipes.sources.arguments import as_given, as_list, table_in
from augrecipes.sources.files import MAX_PIXELS, read_image
from augrecipes.sources.sample import RecipeSource, Sample, decode_arguments

StrPath = str | os.PathLike[str]
# Of a pair by target; or files and how they are read, see `as_given`; or a source, as `ar.Samples` takes it.
Data = StrPath | Mapping[str, paths.Roots] | Any


def is_source(data: Any) -> bool:
    """Whether data are a source: no paths, or those of tar archives or of arrays."""
    return not _are_paths(data) or opened.names_source(data)


def _are_paths(data: Any) -> bool:
    if isinstance(data, str | bytes | os.PathLike | Mapping):
        return True
    return isinstance(data, list | tuple) and all(isinstance(one, str | bytes | os.PathLike) for one in data[:1])


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


def _several(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [f"{name}={inner}" for name, inner in value.items()]
    return [str(value).lower()] if isinstance(value, bool) else as_list(value)


def open_data(
    recipe: model.Recipe,
    targets: Sequence[str],
    data: Data | Sequence[StrPath],
    masks: Any = None,
    *,
    mode: model.Mode = "train",
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
    wanted = channels or recipe.inputs.stored_channels
    decode = decode_arguments(recipe.inputs, channels, exif=exif, max_pixels=max_pixels)
    if is_source(data):
        if masks is not None or split is not None:
            raise DataError("masks and splits are of files; a source gives each sample with its mask")
        # Of a dataset such as `ar.SlideBags`; bags of a packed store are files no more.
        if recipe.facts.tiles and getattr(data, "kind", None) == recipe.kind and not hasattr(data, "store"):
            bags: Any = data
            if len(bags) != len(bags.table):
                raise DataError("some of a dataset's bags, or repeats of them: give the dataset itself")
            decode = bags.source.decode | ({"channels": wanted} if wanted else {})
            return RecipeSource(bags.table, recipe.inputs, decode).for_recipe(recipe)
        return RecipeSource(items.table_of_source(data, recipe, targets), recipe.inputs, decode)
    arguments = as_given(recipe, data)
    if split is not None:
        arguments = replace(arguments, more={**arguments.more, "split": split})
    try:
        source: RecipeSource = kinds.part(recipe.kind, "reader").find(
            recipe, targets, arguments, mode=mode, masks=masks, strict=strict, headers=headers, decode=decode
        )
    except ValueError as error:  # of words that do not go together, each right by itself
        raise DataError(str(error)) from error
    return source


def read_first(recipe: model.Recipe, targets: Sequence[str], data: Data, masks: StrPath | None = None) -> Sample:
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
    of_files = recipe.facts.tiles or recipe.facts.scales  # an image in the place of a folder is found as one of it
    if not of_files or isinstance(data, Mapping) != recipe.facts.scales or not all(map(_is_image, files.values())):
        return open_data(recipe, targets, data, masks).sample(0)
    if recipe.facts.scales:
        kinds.part(recipe.kind, "reader").check_roots(recipe, targets, files)
    images = {name: read_image(path, **decode_arguments(recipe.inputs)) for name, path in files.items()}
    return Sample(0, 0, os.fsdecode(files[targets[0]]), images)


def _is_image(path: Any) -> bool:
    return isinstance(path, str | os.PathLike) and table_in(path) is None and is_file(path)
