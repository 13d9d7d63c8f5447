"""Open a trial's data under each of its recipes, and under each recipe without augmentation."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from augrecipes.bench.sides import Setting, dataset_of
from augrecipes.bench.timing import spread_out
from augrecipes.cache import file_stamp
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import BenchError
from augrecipes.ops.records import op_record
from augrecipes.recipe.derive import derive, steps_of
from augrecipes.recipe.model import Recipe
from augrecipes.sources.columns import ArrayTable
from augrecipes.trials.tasks import split
from augrecipes.trials.training import Trainee

MOST_TILES = 24  # of a bag
_READ_FIRST = 8  # samples read to test an arm
_STAMPED = 500  # files or tiles whose stamps show whether the data have changed


@dataclass
class Trainees:
    """The recipes of a trial, and the unaugmented baselines of affinity and diversity.

    Attributes:
        recipes: by display name.
        clean: digest of each recipe without augmentation, by name.
        by_digest: what is trained: every distinct recipe once, baselines included.
        shared: number of validation files that are also training files.
    """

    recipes: dict[str, Recipe]
    clean: dict[str, str]
    by_digest: dict[str, Trainee]
    shared: int

    def score(self, positions: Sequence[int]) -> None:
        """Restrict validation to these positions."""
        for key, one in self.by_digest.items():
            augmented = {name: dataset.subset(positions) for name, dataset in one.augmented.items()}
            self.by_digest[key] = replace(one, valid=one.valid.subset(positions), augmented=augmented)

    def fingerprint(self) -> list[Any]:
        """Identify the recipes and the current state of the files, for the cache key."""
        one = next(iter(self.by_digest.values()))
        names = [[each.train.fingerprint(), each.valid.fingerprint()] for each in self.by_digest.values()]
        return [*names, *_stamps(one.train), *_stamps(one.valid)]


def read_some(recipe: Recipe, data: Any, masks: Any = None) -> None:
    """Read eight samples spread over the data.

    Raises:
        DataError: a step fails on one.
    """
    dataset = dataset_of(_ready(recipe), Setting(data, masks=masks))
    for k in spread_out(len(dataset), _READ_FIRST):
        dataset[k]


def open_trainees(
    recipes: Mapping[str, Recipe], data: Any, valid: Any = None, masks: Any = None, valid_masks: Any = None
) -> Trainees:
    """Open the data under each recipe.

    Raises:
        BenchError: recipes are of several kinds, or read different samples.
        DataError: the data cannot be read.
    """
    named = {name: _ready(recipe) for name, recipe in recipes.items()}
    if len(kinds := sorted({recipe.kind for recipe in named.values()})) > 1:
        raise BenchError(f"recipes must be of one kind, and these are of kinds {' and '.join(kinds)}")
    clean = {name: without_augmentation(recipe) for name, recipe in named.items()}
    places = (data, masks), (data, masks) if valid is None else (valid, valid_masks)
    datasets: dict[tuple[str, int], RecipeDataset] = {}

    def opened(recipe: Recipe, place: int) -> RecipeDataset:
        key = recipe.digest, 0 if valid is None else place
        if key not in datasets:
            where, its_masks = places[place]
            datasets[key] = dataset_of(recipe, Setting(where, masks=its_masks, recipes=(*named.values(),)))
            if place and valid is not None and first.class_to_idx and datasets[key].class_to_idx:
                datasets[key].table = datasets[key].table.with_classes([*first.class_to_idx])
        return datasets[key]

    first = opened(next(iter(named.values())), 0)
    train_rows, valid_rows = split(first) if valid is None else (np.arange(len(first)), None)

    def scored(recipe: Recipe, mode: Any) -> RecipeDataset:
        dataset = opened(recipe, 1)
        return dataset.subset(np.arange(len(dataset)) if valid_rows is None else valid_rows, mode=mode)

    by_digest: dict[str, Trainee] = {}
    for recipe in (*named.values(), *clean.values()):
        train = opened(recipe, 0)
        if len(train) != len(first):
            counts = f"{len(first)} and {len(train)}"
            raise BenchError(f"recipes must learn from the same samples, and {recipe.name} reads others: {counts}")
        by_digest.setdefault(recipe.digest, Trainee(train.subset(train_rows), scored(recipe, "eval")))
    for name, recipe in named.items():
        key = clean[name].digest
        augmented = {**by_digest[key].augmented, recipe.digest: scored(replace(recipe, batch=()), "train")}
        by_digest[key] = replace(by_digest[key], augmented=augmented)
    one = by_digest[next(iter(named.values())).digest]
    files = [
        {os.path.realpath(ds.path(k)) for k in range(len(ds)) if not isinstance(ds.table, ArrayTable)}
        for ds in (one.train, one.valid)
    ]
    return Trainees(named, {name: recipe.digest for name, recipe in clean.items()}, by_digest, len(files[0] & files[1]))


def without_augmentation(recipe: Recipe) -> Recipe:
    """Replace the training steps by their evaluation counterparts; crops of pairs stay."""
    rows = derive(recipe.steps, recipe.scales.plain())
    if recipe.facts.scales:
        rows = tuple(replace(row, becomes=(row.step,)) if op_record(row.step.name).crops else row for row in rows)
    return replace(recipe, steps=steps_of(rows), batch=())


def _ready(recipe: Recipe) -> Recipe:
    """Give the recipe an eval section (`eval: derived` where it has none), and cap the tiles of a bag."""
    if recipe.eval is None:
        recipe = replace(recipe, eval=steps_of(derive(recipe.steps, recipe.scales.plain())))
    if recipe.bag is None:
        return recipe
    most = min(recipe.bag.max_tiles or MOST_TILES, MOST_TILES)
    return replace(recipe, bag=replace(recipe.bag, max_tiles=max(most, recipe.bag.min_tiles)))


def _stamps(dataset: RecipeDataset) -> Iterator[str]:
    """Yield stamps of samples spread over the data, which change with files, masks or pixels."""
    table, rows = dataset.table, dataset.sample_keys.rows_of_samples().tolist()
    units = [unit for row in rows for unit in table.units_of(row)]
    for unit in (units[k] for k in spread_out(len(units), min(len(units), _STAMPED))):
        if isinstance(table, ArrayTable):
            yield f"{table.stamp(unit)} {table.label_of(unit)}"
        else:
            for paths in table.sources().values():
                with suppress(OSError, ValueError):  # of a store, or on a server
                    yield file_stamp(os.stat(paths[unit]))  # noqa: PTH116  it may be bytes
