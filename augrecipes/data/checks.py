"""What the datasets make of their arguments, and what it says of those that make no sense."""

from __future__ import annotations

import logging
import os
from collections.abc import Container, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from augrecipes.data.annotations.records import AnnotationOptions, Crowds
from augrecipes.data.annotations.table import is_annotated, table_of_annotations
from augrecipes.data.order import check_weights
from augrecipes.data.tables.images import table_of_csv, table_of_folders
from augrecipes.data.tables.table import Columns, Findings
from augrecipes.errors import DataError, RecipeError
from augrecipes.kinds import Kind, facts
from augrecipes.paths import is_archive
from augrecipes.recipe.model import Inputs, Presence, Recipe
from augrecipes.sources.files import Exif
from augrecipes.sources.listing import Layout
from augrecipes.sources.paths import PathLike

_log = logging.getLogger("augrecipes")


def as_recipe(recipe: Any, kind: Kind | None = None) -> Recipe:
    """A Recipe of `kind` from a Recipe, a gallery name or a path; RecipeError where it is of another kind."""
    if isinstance(recipe, str | os.PathLike | Mapping):
        from augrecipes.recipe import load

        recipe = load(recipe)
    if recipe is None:
        example = f'{facts(kind).dataset}(root, "a-recipe")' if kind else 'Packed(store, "a-recipe")'
        raise TypeError(f"a recipe is needed: {example}, or recipe= a Recipe or a path")
    if not isinstance(recipe, Recipe):
        raise TypeError(f"recipe must be a Recipe, a gallery name or a path, got {_what(recipe)}")
    if kind is not None and recipe.kind != kind:
        raise RecipeError(
            f"{recipe.file}: recipe {recipe.name!r} is of kind {recipe.kind!r}, for ar.{recipe.facts.dataset}; "
            f"ar.{facts(kind).dataset} takes recipes of kind {kind!r}"
        )
    return recipe


def _what(given: Any) -> str:
    """What was given in place of a recipe, and how it becomes one."""
    package, name = type(given).__module__.partition(".")[0], type(given).__name__
    if package == "albumentations":
        return f"albumentations' {name}: ar.from_albumentations(it) makes a recipe of it"
    if package == "torchvision":
        return f"torchvision's {name}: `augrecipes import FILE.py:NAME` makes a recipe of it"
    return name


_RECIPE = "give a recipe, or `ar.from_albumentations(transform)`"
_OURS = {
    **dict.fromkeys(("transform", "transforms", "augment", "augmentations", "joint_transform"), _RECIPE),
    "target_transform": "labels come as they are; map them in the training step, or in a source of ar.Samples",
    "train": "mode='train' runs the recipe's steps and mode='eval' its eval section; folders are given as they are",
    "download": "nothing is downloaded; ar.Samples takes a dataset of torchvision's as it is",
}


class RefusesWords:
    """Refuses what other libraries' datasets take with what is written instead; Python would say that it is unknown."""

    def __new__(cls, *_: Any, **named: Any) -> Self:
        """A new one; TypeError where such a word, which the class does not take, is among the arguments."""
        for word in named:
            if word in _OURS and word not in signature(cls).parameters:
                raise TypeError(f"{cls.__name__} takes no {word}=: {_OURS[word]}")
        return super().__new__(cls)


def as_table(
    recipe: Recipe,
    root: PathLike | Sequence[PathLike] | None,
    files: PathLike | None,
    masks: PathLike | Sequence[PathLike] | None,
    split: str | None = None,
    *,
    check: bool,
    cache: bool,
    layout: Layout,
    exif: Exif = "apply",
    columns: Mapping[str, str] | None = None,
    box_classes: Sequence[str] | None = None,
    crowds: Crowds = "drop",
    outside: bool = False,
    findings: Findings | None = None,
) -> Columns:
    """The samples in `root` or in `files`, with the targets that `recipe` takes; see `Findings` for what is checked."""
    if archives := [path for path in map(os.fsdecode, as_list(root)) if is_archive(path)]:
        raise DataError("is a tar archive, whose samples ar.Samples takes", archives[0])
    annotated = files is not None and is_annotated(files)
    check_source(None if annotated else root, files, split, masks=masks, columns=columns)
    if files is None:
        return table_of_folders(as_list(root), as_list(masks), cache=cache, layout=layout, findings=findings)
    if not annotated:
        if box_classes is not None:
            raise ValueError("box_classes= goes with annotations; this CSV file has one row an image")
        how: dict[str, Any] = {"renamed": columns, "outside": outside, "findings": findings}
        return table_of_csv(files, split, check=check, ignore=untaken(recipe), **how)
    if columns is not None:
        raise ValueError("columns= says what a CSV file calls its columns, and these are annotations")
    if crowds not in ("drop", "keep"):
        raise ValueError(f"crowds must be 'drop' or 'keep', got {crowds!r}")
    if isinstance(box_classes, str):
        raise ValueError(f"box_classes= is a list of names, got {box_classes!r}")
    if root is not None and not isinstance(root, str | bytes | os.PathLike):
        raise ValueError("root= with annotations is the one folder that their pictures lie in")
    names = None if box_classes is None else [str(name) for name in box_classes]
    wanted = AnnotationOptions(recipe.inputs, root, split, names, crowds, exif, check, outside)
    return table_of_annotations(files, wanted, findings)


def check_source(root: Any, files: Any, split: str | None, **beside: Any) -> None:
    """ValueError unless one of `root` and `files` is given, and with it only what goes with it."""
    if (root is None) == (files is None):
        raise ValueError("give either root= (a folder, or a list of folders) or files= (a CSV file, or annotations)")
    if files is None and split is not None:
        raise ValueError(f"split= goes with files=; for folders give the split's own, such as root/{split}")
    if files is None and beside.get("columns") is not None:
        raise ValueError("columns= goes with files=: it says what a CSV file calls its columns")
    for name, value in beside.items():
        if files is not None and value is not None and name != "columns":
            raise ValueError(f"{name}= goes with root=; a CSV file has a column `{name.removesuffix('s')}`")


def as_list(paths: PathLike | Sequence[PathLike] | None) -> list[PathLike]:
    """One path, or several, as a list; none as an empty one."""
    if paths is None:
        return []
    found: list[PathLike] = [paths] if isinstance(paths, str | bytes | os.PathLike) else list(paths)
    if not found:
        raise ValueError("an empty list of folders")
    return found


def untaken(recipe: Recipe) -> frozenset[str]:
    """The targets that `recipe` does not take; a CSV file may have them for another recipe."""
    return frozenset(name for name, presence in presence_of(recipe.inputs).items() if presence == "absent")


def presence_of(inputs: Inputs) -> dict[str, Presence]:
    """Whether a sample has a mask, boxes and keypoints, as a recipe's inputs say."""
    return {
        "mask": inputs.mask,
        "boxes": inputs.boxes.presence if inputs.boxes else "absent",
        "keypoints": inputs.keypoints.presence if inputs.keypoints else "absent",
    }


def check_targets(recipe: Recipe, table: Columns) -> None:
    """DataError where the recipe asks for a target that the data has not, or masks were given that it cannot take."""
    own = {"mask": table.masked or None, "boxes": table.boxes, "keypoints": table.keypoints}
    given = {name for name, values in own.items() if values is not None}
    for text in wrong_targets(recipe, given):
        raise DataError(text)
    tell_of_absent(recipe, given)


def wrong_targets(recipe: Recipe, given: Container[str]) -> Iterator[str]:
    """What the data has not and the recipe requires, or has and the recipe refuses."""
    for name, presence in presence_of(recipe.inputs).items():
        if presence == "required" and name not in given:
            source = (
                "masks (masks=, --masks), a CSV column `mask`, or annotations with polygons or masks (files=, --data)"
            )
            if name != "mask":
                source = f"annotations (files=, --data: COCO, YOLO, ...), or a CSV column `{name}`"
            yield f"recipe {recipe.name!r} requires {name}, and the data has none: give {source}"
        if presence == "absent" and name in given:
            text = f"recipe {recipe.name!r} does not take {name} (its `inputs:` say `{name}: absent`)"
            yield f"{text}: change the recipe, or leave out masks="


def absent_targets(recipe: Recipe, given: Container[str]) -> list[str]:
    """Boxes and keypoints that the recipe declares and the data has not."""
    declared = presence_of(recipe.inputs)
    return [name for name in ("boxes", "keypoints") if declared[name] == "optional" and name not in given]


def tell_of_absent(recipe: Recipe, given: Container[str]) -> None:
    """One line in the log where the recipe declares boxes or keypoints, and the data has none."""
    if absent := absent_targets(recipe, given):
        _log.warning(
            "recipe %r declares %s, and the data has none: samples come without. Give annotations, or a CSV file "
            "with a column for them, or write `presence: required` to make this an error",
            recipe.name,
            " and ".join(absent),
        )


def given_weights(weights: Any, table: Columns) -> npt.NDArray[np.float64] | None:
    """The weights that were given, or else the table's."""
    return table.weights if weights is None else check_weights(weights, len(table))


def count(name: str, value: Any, least: int) -> int:
    """`value` as an int of at least `least`, or ValueError."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value.__index__())


def as_index(key: Any) -> int:
    """A Python, numpy or torch integer as an int; TypeError for anything else."""
    try:
        return int(key.__index__())
    except (AttributeError, TypeError):
        raise TypeError(f"an index is an integer or (epoch, index), got {key!r}; for more use ds.subset") from None


def check_indices(indices: Any, n: int) -> npt.NDArray[np.int64]:
    """Positions 0..n-1 from integers (negative ones count from the end) or from n booleans."""
    array = np.asarray(indices if hasattr(indices, "__array__") else list(indices))
    if array.size == 0:
        raise ValueError("a subset needs at least one index")
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise TypeError(f"indices must be a list of integers or booleans, got {array.dtype} of shape {array.shape}")
    if array.dtype.kind == "b":
        if len(array) != n:
            raise IndexError(f"{len(array)} booleans for {n} samples")
        array = np.flatnonzero(array)
    wrong = np.flatnonzero((array < -n) | (array >= n))
    if len(wrong):
        raise IndexError(f"index {array[wrong[0]]} is out of range for {n} samples")
    return np.asarray(array % n, np.int64)
