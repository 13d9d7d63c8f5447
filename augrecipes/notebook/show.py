"""Sheets of a dataset, and of a recipe on the user's image or a drawn one."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.data.checks import as_index
from augrecipes.data.samples import Samples
from augrecipes.demo.photos import CLASSES, render_photo
from augrecipes.demo.tissue import CLASSES as TISSUES
from augrecipes.demo.tissue import LABORATORIES, render_tile
from augrecipes.diff.images import compared
from augrecipes.errors import DataError
from augrecipes.ops import box_formats, records
from augrecipes.ops.matlab_bicubic import imresize
from augrecipes.preview import sheet_of
from augrecipes.preview.rows import SheetRequest
from augrecipes.preview.sheet import Sheet, save_sheet
from augrecipes.recipe import kinds
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.sources.sample import DatasetView

_SIDE_BY_SIDE, _ROWS, _DRAWS = 12, 4, 4
_SIZES = ((288, 384), (768, 1024))  # of drawn images; the larger where steps need more than the smaller has
_TILES = 6
_OF_SLIDES = ("tissue", "stain", "patholog", "slide")


def of_dataset(
    dataset: Any, samples: int | Sequence[int] | None = None, draws: int | None = None, *, stages: bool = False,
    epoch: int | None = None, pairs: int | None = None,
) -> Sheet:  # fmt: skip
    """Show some samples of a dataset; see its `show`."""
    _check_draws(1 if draws is None else draws)
    facts = dataset.recipe.facts
    alone = facts.annotated and not (stages or draws)
    usual = 0 if alone else 2 * _DRAWS if facts.tiles else _DRAWS
    positions, rows = _positions(len(dataset), samples, _SIDE_BY_SIDE if alone else _ROWS)
    first = dataset.epoch if epoch is None else epoch
    view = DatasetView(dataset, positions)
    return sheet_of(dataset.recipe, SheetRequest(view, rows, draws or usual, first, stages, pairs=pairs))


def _check_draws(draws: int) -> None:
    if type(draws) is not int or draws < 1:
        raise ValueError(f"draws must be a positive integer, got {draws!r}")


def _positions(length: int, samples: int | Sequence[int] | None, usual: int) -> tuple[Sequence[int], int]:
    """The positions to choose from, and how many of them to show."""
    if samples is None or (isinstance(samples, int) and not isinstance(samples, bool) and samples > 0):
        return range(length), min(samples or usual, length)
    listed = [] if isinstance(samples, int) else [as_index(index) for index in samples]
    if not listed:
        got = repr(samples) if isinstance(samples, int) else "none"
        raise ValueError(f"show a positive number of samples, or a list of their indices, got {got}")
    return listed, len(listed)


def of_recipe(
    recipe: Recipe, source: Any = None, *, draws: int = 4, stages: bool = False, mode: Mode = "train", seed: int = 0,
    epoch: int = 0, optimize: Optimize | None = None, **targets: Any,
) -> Sheet:  # fmt: skip
    """Show what a recipe does to an image; see `Recipe.show`."""
    _check_draws(draws)
    how: dict[str, Any] = {"mode": mode, "optimize": optimize, "seed": seed}
    tiles, named = recipe.facts.tiles, ", ".join(targets)

    def show(sample: Any, name: str = "a drawn image") -> Sheet:
        with as_data(recipe, sample, name) as data:
            if not tiles:
                view = DatasetView(Samples(data, recipe, **how), [0])
                return sheet_of(recipe, SheetRequest(view, 1, draws, epoch, stages))
            bags = kinds.part(recipe.kind, "dataset").DATASET(data, recipe, cache=False, threads=1, **how)
            return sheet_of(recipe, SheetRequest(DatasetView(bags, [0]), 1, len(sample), epoch, stages))

    if _are_files(source):
        if targets:
            raise TypeError(f"{named} goes with an image as an array; of files give ar.ImageFolder(...)")
        return sheet_of(recipe, SheetRequest(source, _ROWS, draws, epoch, stages, how))
    if source is None and not targets:
        return _on_drawn(recipe, mode, show)
    if tiles and targets:
        raise TypeError(f"{recipe.name} is of kind {recipe.kind}: give a list of tiles, without {named}")
    if tiles:
        return show(list(source) if isinstance(source, list | tuple) else [source], "the image")
    sample = source if isinstance(source, Mapping) else {} if recipe.facts.scales else {"image": source}
    return show({**sample, **targets}, "the image")


def of_difference(a: Recipe, b: Recipe, mode: Mode) -> Sheet:
    """Show both recipes on a drawn sample, and the difference of their results.

    Raises:
        DataError: the recipes are of two kinds, or cannot run on the sample.
    """

    def show(sample: Any) -> Sheet:
        with as_data(a, sample, "a drawn image") as data:
            return compared(a, b, data, mode=mode, rows=1)

    return _on_drawn(a, mode, show)


def _are_files(source: Any) -> bool:
    """Whether a source is a path, or paths by target."""
    values = list(source.values()) if isinstance(source, Mapping) else [source]
    return bool(values) and all(isinstance(value, str | os.PathLike) for value in values)


@contextmanager
def as_data(recipe: Recipe, sample: Any, name: str) -> Iterator[Any]:
    """Provide one sample as data that a recipe reads: a source, or a temporary folder of tiles.

    Args:
        recipe: of any kind.
        sample: the targets; for a bag a list of tiles.
        name: shown in place of a path.
    """
    if not recipe.facts.tiles:
        source = _OneSample([sample])
        source.paths = [name]
        yield source
        return
    with TemporaryDirectory() as folder:
        for k, tile in enumerate(map(np.asarray, sample)):
            if tile.dtype != np.uint8 or tile.ndim != 3 or tile.shape[2] != 3:
                raise DataError(f"a tile is uint8 H×W×3, got {tile.dtype} of shape {tile.shape}")
            save_sheet(tile, Path(folder) / name / f"{k:04d}.png")
        yield folder


class _OneSample(list[Any]):
    """A source of one sample, with a name in place of a path."""

    paths: Sequence[str] = ()


def _on_drawn(recipe: Recipe, mode: Mode, show: Callable[[Any], Sheet]) -> Sheet:
    """Call `show` on a drawn sample: its targets, or for bags a list of tiles; retry at a larger size.

    Raises:
        DataError: the recipe cannot run on it.
    """
    try:
        return show(_sample(recipe, mode, _SIZES[0]))
    except DataError:
        return show(_sample(recipe, mode, _SIZES[1]))


def _sample(recipe: Recipe, mode: Mode, size: tuple[int, int]) -> Any:
    """Draw a landscape, tissue, tiles of a slide, or a scene at each scale that the recipe reads."""
    if recipe.facts.tiles:
        return [_tissue((size[0] // 2, size[0] // 2), number) for number in range(_TILES)]
    if recipe.facts.scales:
        unit = max(recipe.scales.values())
        rows, columns = size[0] // unit, size[1] // unit
        whole, names = _photo(size)[: rows * unit, : columns * unit], recipe.compile(mode).targets
        return {name: imresize(whole, rows * recipe.scales[name], columns * recipe.scales[name]) for name in names}
    slide = any(word in f"{recipe.name} {recipe.about}".lower() for word in _OF_SLIDES)
    return targets_on(recipe, _tissue(size, 0) if slide else _photo(size))


@lru_cache(maxsize=4)
def _photo(size: tuple[int, int]) -> NDArray[np.uint8]:
    return render_photo(CLASSES[1], size, np.random.default_rng(3))


@lru_cache(maxsize=16)
def _tissue(size: tuple[int, int], number: int) -> NDArray[np.uint8]:
    tissue = TISSUES[(number + 2) % len(TISSUES)]
    return render_tile(tissue, size, LABORATORIES[0], np.random.default_rng(number)).image


def targets_on(recipe: Recipe, image: np.ndarray) -> dict[str, Any]:
    """Add to an image, H×W×3 uint8, the targets of the recipe's inputs: a mask, a box, a point."""
    height, width = image.shape[:2]
    targets: dict[str, Any] = {"image": image}
    if recipe.inputs.mask == "required" or any(records.op_record(step.name).needs == "mask" for step in recipe.walk()):
        targets["mask"] = (image[..., 0] > median(image[::16, ::16, 0].ravel().tolist())).astype(np.uint8)
    boxes, points = recipe.inputs.boxes, recipe.inputs.keypoints
    if boxes is not None:
        middle = np.array([[width, height, 3 * width, 3 * height]]) / 4
        targets["boxes"] = box_formats.from_corners_px(middle, boxes.format, height, width)
        targets |= {boxes.labels: [1]} if boxes.labels else {}
    if points is not None:
        targets["keypoints"] = np.array([[width // 3, height // 3, *[1.0] * (len(points.format) - 2)]], np.float32)
        targets |= {points.labels: [1]} if points.labels else {}
    return targets
