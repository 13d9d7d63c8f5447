"""Checks of the datasets' arguments."""

import os
from collections.abc import Mapping
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar, Literal, Self, TypedDict

import numpy as np
import numpy.typing as npt

from augrecipes.errors import RecipeError
from augrecipes.images.losses import Depth, Frames
from augrecipes.recipe import kinds, model
from augrecipes.sources.columns import Classes


class RunSettings(TypedDict, total=False):
    """Arguments of every dataset, see `RecipeDataset`."""

    mode: model.Mode
    seed: int
    optimize: model.Optimize | None
    on_error: Literal["raise", "skip"]
    weights: Any
    samples_per_epoch: int | None
    classes: Classes | None
    save_applied_params: bool


class Settings(RunSettings, total=False):
    """Arguments of every dataset of image files."""

    exif: Literal["apply", "ignore"]
    channels: int | None
    max_pixels: int
    depth: Depth | None
    frames: Frames | None


def as_recipe(recipe: Any, kind: kinds.Kind | None = None) -> model.Recipe:
    """A Recipe of `kind` from a Recipe, a gallery name or a path; RecipeError for another kind."""
    if isinstance(recipe, str | os.PathLike | Mapping):
        from augrecipes.recipe.parse import load

        recipe = load(recipe)
    if recipe is None:
        example = f'{kinds.facts(kind).dataset}(root, "a-recipe")' if kind else 'Packed(store, "a-recipe")'
        raise TypeError(f"a recipe is needed: {example}, or recipe= a Recipe or a path")
    if not isinstance(recipe, model.Recipe):
        package, name = type(recipe).__module__.partition(".")[0], type(recipe).__name__
        what = {
            "albumentations": f"albumentations' {name}: ar.from_albumentations(it) makes a recipe of it",
            "torchvision": f"torchvision's {name}: `augrecipes import FILE.py:NAME` makes a recipe of it",
        }.get(package, name)
        raise TypeError(f"recipe must be a Recipe, a gallery name or a path, got {what}")
    if kind is not None and recipe.kind != kind:
        raise RecipeError(
            f"{recipe.file}: recipe {recipe.name!r} is of kind {recipe.kind!r}, for ar.{recipe.facts.dataset}; "
            f"ar.{kinds.facts(kind).dataset} takes recipes of kind {kind!r}"
        )
    return recipe


_RECIPE = "give a recipe, or `ar.from_albumentations(transform)`"
_INSTEAD = {  # hints for arguments of other libraries' datasets
    **dict.fromkeys(("transform", "transforms", "augment", "augmentations", "joint_transform"), _RECIPE),
    "target_transform": "labels come as they are; map them in the training step, or in a source of ar.Samples",
    **dict.fromkeys(("exif", "channels", "max_pixels", "depth", "frames"), "it says how image files are read"),
    "train": "mode='train' runs the recipe's steps and mode='eval' its eval section; folders are given as they are",
    "download": "nothing is downloaded; ar.Samples takes a dataset of torchvision's as it is",
}


class TakesSettings:
    """Base of datasets with `**how: Unpack[takes]`: shows these settings in `help` and in notebooks.

    Refuses arguments of other libraries' datasets with a hint what to write instead.
    """

    _takes: ClassVar[Any] = Settings

    def __init_subclass__(cls, takes: Any = None) -> None:
        cls._takes = takes or cls._takes
        *inherited, own = [signature(kind.__init__).parameters for kind in cls.__mro__[-2::-1]]  # type: ignore[misc]
        shown = [arg for name, arg in own.items() if name != "self" and arg.kind is not Parameter.VAR_KEYWORD]
        if len(shown) < len(own) - 1:
            known = {name: arg for each in inherited for name, arg in each.items()}
            shown += [arg for name, arg in known.items() if name in cls._takes.__annotations__ and name not in own]
        cls.__signature__ = Signature(shown)  # type: ignore[attr-defined]

    def __new__(cls, *_: Any, **named: Any) -> Self:
        """Create an instance; TypeError for an argument that the class does not take."""
        takes, ours = signature(cls).parameters, cls.__module__.startswith("augrecipes.")
        for word in named:
            if word not in takes and (ours or word in _INSTEAD):
                raise TypeError(
                    f"{cls.__name__} takes no {word}=" + (f": {_INSTEAD[word]}" if word in _INSTEAD else "")
                )
        return super().__new__(cls)


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


def position_of(index: int, n: int) -> int:
    """An index of `n` samples as a position; negative ones count from the end. IndexError where it is out of range."""
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of range for {n} samples")
    return index % n


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
    for wrong in array[(array < -n) | (array >= n)][:1]:
        raise IndexError(f"index {wrong} is out of range for {n} samples")
    return np.asarray(array % n, np.int64)
