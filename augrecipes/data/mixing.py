"""A recipe's `batch:` steps on the batches of a DataLoader, ours or torch's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import torch

from augrecipes.data.collate import RAGGED_KEYS, AnyCollate, Collate, Ragged, collate_for
from augrecipes.data.epochs import Reading, leaves, reading
from augrecipes.errors import CollateError
from augrecipes.mixtures.run import mix
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import as_recipe


def collate(of: Any, *, classes: int | None = None, seed: int | None = None, collate: Ragged = "default") -> Collate:
    """The `collate_fn` of a torch DataLoader whose batches a recipe's `batch:` section mixes; `ar.loader` has its own.

    A batch's random numbers are a function of (seed, epoch, index of its first sample), which the samples of our
    datasets bring along. So a plain DataLoader gives the batches of `ar.loader` wherever it has the same samples, and
    `ar.collate(ds)([ds[epoch, i] for i in indices])` gives a batch again.

    Args:
        of: the dataset that is read, ours, or torch's Subset or ConcatDataset of ours; Mosaic and CopyPaste draw
            samples of it. Or a recipe, of whose steps none does.
        classes: how many there are; None: as many as the dataset has.
        seed: of the random numbers; None: the dataset's, or 0.
        collate: as of `ar.loader`; `list` and `pad` for recipes without `batch:` alone.

    Raises:
        CollateError: while batches are made: a step cannot act on these samples; names the step and its line.
        ValueError: datasets with different `batch:` sections; or samples that are not stacked.

    >>> import numpy as np, augrecipes as ar
    >>> mixed = {"version": 1, "recipe": "mixed", "steps": [], "batch": ["MixUp"]}
    >>> ds = ar.Samples([(np.full((8, 8, 3), k, np.uint8), k % 2) for k in range(4)], mixed)
    >>> batch = ar.collate(ds, classes=2)([ds[0, k] for k in range(4)])
    >>> batch["label"].shape, batch["label"].sum(1).tolist()
    (torch.Size([4, 2]), [1.0, 1.0, 1.0, 1.0])
    """
    if not isinstance(of, Recipe | str | Mapping):
        return cast("Collate", collating(collate, of, classes=classes, seed=seed))
    recipe = as_recipe(of)
    plain = Collate(collate, ragged_keys=RAGGED_KEYS | recipe.inputs.row_keys)
    return _mixing(plain, BatchMixer(recipe, seed or 0, classes) if recipe.batch else None)


def collating(choice: Any, dataset: Any, *, classes: int | None = None, seed: int | None = None) -> AnyCollate:
    """The function behind `collate=` of a loader; see `collate`."""
    found = collate_for(choice, dataset)
    ours = [leaf for leaf in leaves(dataset) if getattr(leaf, "mixes", False)]
    if not ours or getattr(found, "after", None) is not None:
        return found
    if len({_alike(leaf) for leaf in leaves(dataset)}) > 1:
        raise ValueError("batches hold samples of several datasets: give these one recipe with `batch:`, and one seed")
    known = [1 + max(leaf.class_to_idx.values()) for leaf in ours if leaf.class_to_idx]
    count = max(known, default=None) if classes is None else classes
    return _mixing(found, BatchMixer(ours[0].recipe, ours[0].seed if seed is None else seed, count, dataset))


def _alike(leaf: Any) -> Any:
    """What datasets must share to be mixed."""
    recipe = leaf.recipe if getattr(leaf, "mixes", False) else None
    return recipe and (recipe.batch, recipe.inputs, recipe.output, recipe.outputs, recipe.scales, leaf.seed)


def _mixing(found: AnyCollate, mixer: BatchMixer | None) -> Any:
    if mixer is not None and getattr(found, "ragged", "") != "default":
        raise ValueError(
            f'`batch:` in {mixer.recipe.file} mixes samples of one size, stacked by collate="default": leave collate '
            "out, or leave `batch:` out; a collate function of yours would leave it out silently"
        )
    return found if mixer is None else replace(found, after=mixer)  # type: ignore[type-var]


@dataclass(frozen=True)
class BatchMixer:
    """Mixes a batch that is stacked: images and masks in place.

    Attributes:
        recipe: of the samples.
        seed: of the random numbers.
        classes: how many there are, or None.
        dataset: that is read, or None.
    """

    recipe: Recipe
    seed: int
    classes: int | None = None
    dataset: Any = None

    def __call__(self, batch: Any) -> dict[str, Any]:
        """The batch, mixed; CollateError where a step cannot act on it."""
        if not isinstance(batch, Mapping) or not {"index", "epoch"} <= batch.keys():
            raise CollateError("`batch:` steps need the `index` and `epoch` that samples of our datasets bring along")
        epoch, number = int(batch["epoch"][0]), int(batch["index"][0])

        def read(position: int) -> dict[str, Any]:
            with reading(Reading(epoch)):
                return {name: _array(value) for name, value in self.dataset[position].items()}

        values = {name: _array(value) for name, value in batch.items()}
        there = (None, 0) if self.dataset is None else (read, len(self.dataset))
        mixed = mix(self.recipe, values, (self.seed, epoch, number), self.classes, *there)
        # Images and masks were written where they lie.
        convert: Any = torch.utils.data.default_convert
        return {n: convert(mixed[n]) if n == "label" or isinstance(v, list) else v for n, v in batch.items()}


def _array(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_array, value)]
    return value.numpy() if isinstance(value, torch.Tensor) else value
