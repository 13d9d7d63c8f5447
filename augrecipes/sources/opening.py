"""Opening of data that users name in Python or on the command line: lists it as the Datasets do, decodes nothing."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.errors import DataError
from augrecipes.recipe import kinds, model
from augrecipes.remote import is_file
from augrecipes.sources import items, opened, paths
from augrecipes.sources.arguments import as_list, csv_path, data_arguments
from augrecipes.sources.files import MAX_PIXELS, read_image
from augrecipes.sources.sample import RecipeSource, Sample, decode_arguments

StrPath = str | os.PathLike[str]
# A path; roots by target, or files and how to read them (see `data_arguments`); or a source, as `ar.Samples` takes it.
Data = StrPath | Mapping[str, paths.Roots] | Any


def is_source(data: Any) -> bool:
    """Whether data is a source: not paths, or paths of tar archives or `.npy` files."""
    return not _are_paths(data) or opened.is_source_path(data)


def _are_paths(data: Any) -> bool:
    if isinstance(data, str | bytes | os.PathLike | Mapping):
        return True
    return isinstance(data, list | tuple) and all(isinstance(path, str | bytes | os.PathLike) for path in data[:1])


def words_of(data: Data | Sequence[StrPath], before: str = "") -> str:
    """The data as arguments of the command line, each preceded by the option `before`.

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
    """List the data as the Datasets do, reading at most the headers of images.

    Args:
        recipe: a recipe of any kind.
        targets: the targets to read, for pairs.
        data: a folder or several, a CSV file, annotations, or one image; for pairs folders by target, or a CSV file; or
            a mapping of files and how to read them (see `data_arguments`); or a source, or a dataset of bags.
        masks: folders of masks, for images.
        mode: the section of the recipe.
        split: the split of a CSV file.
        strict: raise for missing files and defective pairs now, not when they are read.
        headers: check the headers of pairs too, and leave out scenes that do not fit.
        channels: 1, 3 or 4; None: as the recipe's inputs say, or 3.
        exif: `apply` or `ignore`.
        max_pixels: the largest image allowed.

    Raises:
        DataError: the data is empty or cannot be used.
    """
    wanted = channels or recipe.inputs.stored_channels
    decode = decode_arguments(recipe.inputs, channels, exif=exif, max_pixels=max_pixels)
    if is_source(data):
        if masks is not None or split is not None:
            raise DataError("masks and splits are of files; a source gives each sample with its mask")
        # A dataset such as `ar.SlideBags` has its tiles in files; bags in a packed store no longer do.
        if recipe.facts.tiles and getattr(data, "kind", None) == recipe.kind and not hasattr(data, "store"):
            bags: Any = data
            if len(bags) != len(bags.table):
                raise DataError("some of a dataset's bags, or repeats of them: give the dataset itself")
            decode = bags.source.decode | ({"channels": wanted} if wanted else {})
            return RecipeSource(bags.table, recipe.inputs, decode).for_recipe(recipe)
        return RecipeSource(items.table_of_source(data, recipe, targets), recipe.inputs, decode)
    arguments = data_arguments(recipe, data)
    if split is not None:
        arguments = replace(arguments, more={**arguments.more, "split": split})
    try:
        source: RecipeSource = kinds.part(recipe.kind, "reader").find(
            recipe, targets, arguments, mode=mode, masks=masks, strict=strict, headers=headers, decode=decode
        )
    except ValueError as error:  # arguments that exclude each other
        raise DataError(str(error)) from error
    return source


def read_first(recipe: model.Recipe, targets: Sequence[str], data: Data, masks: StrPath | None = None) -> Sample:
    """One sample to try a recipe on: the named files (a pair's by target, a bag's tile), or the first of a folder.

    Args:
        recipe: a recipe of any kind.
        targets: the targets to read, for pairs.
        data: as for `open_data`; a single file may stand in place of a folder.
        masks: a folder of masks that match the images' names.

    Raises:
        DataError: the sample cannot be read, or does not suit the recipe.
    """
    files: Mapping[str, Any] = data if isinstance(data, Mapping) else {targets[0]: data}
    reads_files = recipe.facts.tiles or recipe.facts.scales  # `open_data` takes a single file for images only
    if not reads_files or isinstance(data, Mapping) != recipe.facts.scales or not all(map(_is_image, files.values())):
        return open_data(recipe, targets, data, masks).sample(0)
    if recipe.facts.scales:
        kinds.part(recipe.kind, "reader").check_roots(recipe, targets, files)
    images = {name: read_image(path, **decode_arguments(recipe.inputs)) for name, path in files.items()}
    return Sample(0, 0, os.fsdecode(files[targets[0]]), images)


def _is_image(path: Any) -> bool:
    return isinstance(path, str | os.PathLike) and csv_path(path) is None and is_file(path)
