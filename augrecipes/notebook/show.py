"""Sheets of a dataset, and of a recipe on a picture of one's own or on a drawn one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from augrecipes import kinds
from augrecipes.data.checks import as_index
from augrecipes.data.samples import Samples
from augrecipes.errors import DataError
from augrecipes.notebook.drawn import on_drawn
from augrecipes.preview import sheet_of
from augrecipes.preview.rows import SheetRequest
from augrecipes.preview.sheet import Sheet, save_sheet
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.sources.held import Held

_SIDE_BY_SIDE, _ROWS, _DRAWS = 12, 4, 4


def of_dataset(
    dataset: Any, samples: int | Sequence[int] | None = None, draws: int | None = None, *, stages: bool = False,
    epoch: int | None = None, most_pixels: int | None = None,
) -> Sheet:  # fmt: skip
    """Some samples of a dataset; see its `show`. `most_pixels`: of a file that is read."""
    if draws is not None and (type(draws) is not int or draws < 1):
        raise ValueError(f"draws must be a positive integer, got {draws!r}")
    facts = dataset.recipe.facts
    alone = facts.annotated and not (stages or draws)
    positions, rows = _positions(len(dataset), samples, _SIDE_BY_SIDE if alone else _ROWS)
    held, first = Held(dataset, positions, most_pixels), dataset.epoch if epoch is None else epoch
    usual = 0 if alone else 2 * _DRAWS if facts.tiles else _DRAWS
    return sheet_of(dataset.recipe, SheetRequest(held, rows, draws or usual, first, stages))


def _positions(length: int, samples: int | Sequence[int] | None, usual: int) -> tuple[Sequence[int], int]:
    """Positions to choose from, and how many of them are shown."""
    if samples is None or isinstance(samples, int):
        if samples is not None and (isinstance(samples, bool) or samples < 1):
            raise ValueError(f"show a positive number of samples, or a list of their indices, got {samples!r}")
        return range(length), min(samples or usual, length)
    listed = [as_index(one) for one in samples]
    if not listed:
        raise ValueError("show a positive number of samples, or a list of their indices, got none")
    return listed, len(listed)


def of_recipe(
    recipe: Recipe, picture: Any = None, *, draws: int = 4, stages: bool = False, mode: Mode = "train", seed: int = 0,
    epoch: int = 0, optimize: Optimize | None = None, **targets: Any,
) -> Sheet:  # fmt: skip
    """What a recipe does to a picture; see `Recipe.show`."""
    if type(draws) is not int or draws < 1:
        raise ValueError(f"draws must be a positive integer, got {draws!r}")
    how: dict[str, Any] = {"mode": mode, "optimize": optimize, "seed": seed}
    look = draws, epoch, stages
    if _are_files(picture):
        if targets:
            raise TypeError(f"{', '.join(targets)} goes with a picture as an array; of files give ar.ImageFolder(...)")
        return sheet_of(recipe, SheetRequest(picture, _ROWS, draws, epoch, stages, how))
    if picture is None and not targets:
        return on_drawn(recipe, mode, lambda sample: _of_sample(recipe, sample, how, look, "a drawn picture"))
    if recipe.facts.tiles:
        if targets:
            raise TypeError(
                f"{recipe.name} is of kind {recipe.kind}: give a list of tiles, without {', '.join(targets)}"
            )
        sample: Any = list(picture) if isinstance(picture, list | tuple) else [picture]
    elif recipe.facts.scales:
        sample = {**(picture if isinstance(picture, Mapping) else {}), **targets}
    else:
        sample = {**(picture if isinstance(picture, Mapping) else {"image": picture}), **targets}
    return _of_sample(recipe, sample, how, look, "the picture")


def _are_files(picture: Any) -> bool:
    """Whether it is a path, or paths by target."""
    values = list(picture.values()) if isinstance(picture, Mapping) else [picture]
    return bool(values) and all(isinstance(value, str | os.PathLike) for value in values)


def _of_sample(recipe: Recipe, sample: Any, how: Mapping[str, Any], look: tuple[int, int, bool], name: str) -> Sheet:
    with as_data(recipe, sample, name) as data:
        dataset: Any = Samples(data, recipe, **how) if not recipe.facts.tiles else None
        if recipe.facts.tiles:
            look = (len(sample), *look[1:])
            dataset = kinds.part(recipe.kind, "dataset").DATASET(data, recipe, cache=False, threads=1, **how)
        return sheet_of(recipe, SheetRequest(Held(dataset, [0]), 1, *look))


@contextmanager
def as_data(recipe: Recipe, sample: Any, name: str) -> Iterator[Any]:
    """One sample as data that a recipe reads: a source, or while it lasts a folder, of tiles.

    Args:
        recipe: of any kind.
        sample: the targets; of a bag a list of tiles.
        name: stands for its path.
    """
    if not recipe.facts.tiles:
        yield _OneSample([sample], name)
        return
    with TemporaryDirectory() as folder:
        for k, tile in enumerate(sample):
            save_sheet(_pixels(tile), Path(folder) / name / f"{k:04d}.png")
        yield folder


class _OneSample(list[Any]):
    """A source of one sample, with a name in place of a path."""

    def __init__(self, items: list[Any], name: str) -> None:
        super().__init__(items)
        self.paths = [name]


def _pixels(tile: Any) -> Any:
    found = np.asarray(tile)
    if found.dtype != np.uint8 or found.ndim != 3 or found.shape[2] != 3:
        raise DataError(f"a tile is uint8 H×W×3, got {found.dtype} of shape {found.shape}")
    return found
