"""Samples to batches: stack what fits, refuse, list or pad what does not.

A sample is a dict. In the batch

- tensors and arrays are stacked (`default`), kept as a list (`list`), or padded at the bottom and right, bags by tiles
  at their end (`pad`);
- numbers become one tensor (`label`, `index`: int64);
- text, boxes, keypoints, their labels and anything else become lists with one entry a sample: they differ in length.

A recipe's `batch:` steps mix the batch then, of our loader or of torch's own DataLoader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import torch
from torch.utils.data import default_collate
from torch.utils.data.dataloader import default_convert

from augrecipes.data.batching import BatchRows, empty, ragged_keys
from augrecipes.data.epochs import Reading, leaves, reading
from augrecipes.errors import CollateError
from augrecipes.mixtures.run import mix
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import as_recipe

AnyCollate = Callable[[list[Any]], Any]
Ragged = Literal["default", "list", "pad"]
Layout = Literal["chw", "hwc"]

# One entry a sample, because their number of rows says how many boxes or points a sample has.
RAGGED_KEYS = frozenset({"boxes", "box_labels", "keypoints", "keypoint_labels", "masks", "applied"})
# Label of padded mask pixels: `ignore_index` of torch's losses by default, and never a label of a file.
MASK_PADDING = -100
_STACKS = ("images", "masks")  # keys of frames, and of their masks
# Coordinates of tiles that are not there, as of tiles whose place is not known.
NO_PLACE = -1


@dataclass(frozen=True)
class Collate:
    """Turns a list of samples into a batch.

    Args:
        ragged: what happens to tensors of different sizes: `default` raises CollateError, `list` keeps all tensors as
            lists, `pad` enlarges them to the largest height and width. Images are padded with 0 and get a bool tensor
            `padding` (n, H, W), True where there is no image; int64 masks are padded with -100, which torch's losses
            ignore, masks of uint8 with 255. Bags get as many tiles as the largest, zeros with coordinates -1,
            and `padding` is (n, tiles).
        layout: of the images, for `pad`.
        ragged_keys: keys that always become lists.
        after: what is done to each batch; None: nothing.

    >>> import torch
    >>> batch = Collate("default")([{"image": torch.zeros(3, 4, 4), "label": k, "path": "a.png"} for k in (0, 1)])
    >>> batch["image"].shape, batch["label"], batch["path"]
    (torch.Size([2, 3, 4, 4]), tensor([0, 1]), ['a.png', 'a.png'])
    """

    ragged: Ragged = "default"
    layout: Layout = "chw"
    ragged_keys: frozenset[str] = RAGGED_KEYS
    after: Callable[[Any], Any] | None = None

    def __call__(self, samples: list[Any], rows: BatchRows | None = None) -> Any:
        """The batch; CollateError where samples do not fit together. What lies in `rows` already is not moved."""
        if not samples or not isinstance(samples[0], Mapping):
            try:  # samples of a user's own dataset
                return self.finished(default_collate(samples))
            except (RuntimeError, TypeError) as error:
                raise CollateError(f"samples do not fit into one batch: {error}; give collate= a function") from error
        _check_keys(samples)
        batch: dict[str, Any] = {}
        for key in samples[0]:
            values = [sample[key] for sample in samples]
            if key in self.ragged_keys:
                batch[key] = values
            elif isinstance(values[0], torch.Tensor | np.ndarray):
                tensors = [torch.as_tensor(v) for v in values]
                batch |= {key: tensors} if self.ragged == "list" else self._tensors(key, tensors, samples, rows)
            else:
                numbers = all(isinstance(v, bool | int | float | np.number | np.bool_) for v in values)
                batch[key] = torch.as_tensor(values) if numbers else values
        return self.finished(batch)

    def finished(self, batch: Any) -> Any:
        """A batch of stacked samples, as it is handed out."""
        return batch if self.after is None else self.after(batch)

    def _tensors(
        self, key: str, values: list[torch.Tensor], samples: list[Any], rows: BatchRows | None
    ) -> dict[str, torch.Tensor]:
        """One tensor of all; with `pad` also the padding of images and tiles."""
        first, bags = values[0], "bag" in samples[0]
        is_mask = first.ndim == 2 or key == "masks"
        axes: tuple[int, ...] = ()  # along which `pad` enlarges: tiles of a bag; height and width
        if self.ragged == "pad" and bags:
            axes = (0,) if first.ndim else ()
        elif self.ragged == "pad" and first.ndim > 1:
            top = first.ndim - 2 - (self.layout == "hwc" and not is_mask)
            axes = (0, top, top + 1) if key in _STACKS else (top, top + 1)
        fits = [(v.dtype, v.ndim, [size for axis, size in enumerate(v.shape) if axis not in axes]) for v in values]
        if (odd := next((i for i, fit in enumerate(fits) if fit != fits[0]), None)) is not None:
            raise _unequal_error(key, values, samples, odd)
        whole = None if rows is None else rows.whole(key, values)
        if whole is None and any(v.shape != first.shape for v in values):
            shape = tuple(map(max, zip(*(v.shape for v in values), strict=True)))
            whole = empty((len(values), *shape), first.dtype)
            whole.fill_(NO_PLACE * (key == "coords") if bags else _fill_value(first, is_mask=is_mask))
            for row, value in zip(whole, values, strict=True):
                row[tuple(map(slice, value.shape))] = value
        if whole is None:
            # A bag's tensor belongs to nobody else, and there may be no room for it twice.
            whole = first.unsqueeze(0) if bags and len(values) == 1 else default_collate(values)
        if not axes or (key != "image" if bags else is_mask):
            return {key: whole}
        padding = torch.ones((len(values), *(whole.shape[1 + axis] for axis in axes)), dtype=torch.bool)
        for row, value in zip(padding, values, strict=True):
            row[tuple(slice(value.shape[axis]) for axis in axes)] = False
        return {key: whole, "padding" if key in ("image", "images") else f"padding_{key}": padding}


def _fill_value(value: torch.Tensor, *, is_mask: bool) -> int:
    """What stands behind an image, 0, or behind a mask: a label that losses ignore, where the type has one."""
    if not is_mask or value.dtype.is_floating_point or value.dtype == torch.bool:
        return 0
    return 255 if value.dtype == torch.uint8 else MASK_PADDING


def _check_keys(samples: list[Any]) -> None:
    for i, sample in enumerate(samples):
        odd = set(samples[0]) ^ set(sample) if isinstance(sample, Mapping) else {"..."}
        if odd:
            key = min(odd, key=str)
            has, lacks = (0, i) if key in samples[0] else (i, 0)
            raise CollateError(
                f"{_name(samples, has)} has {key!r}, {_name(samples, lacks)} has not: "
                "every sample of a batch is a dict of the same keys",
                _path(samples[lacks]),
            )


def _unequal_error(key: str, values: list[torch.Tensor], samples: list[Any], odd: int) -> CollateError:
    first, said = values[0], []
    for k in (0, odd):
        size = "×".join(map(str, values[k].shape)) or "a scalar"
        of_type = f" of {values[k].dtype}" * (first.dtype != values[odd].dtype)
        said.append(f"{size}{of_type} in {_name(samples, k)}")
    remedy = "end the recipe in a crop of fixed size"
    if first.shape[1:] == values[odd].shape[1:] and (key in _STACKS or "bag" in samples[odd]):
        remedy = f"{'stacks' if key in _STACKS else 'bags'} differ in size: load them with batch_size=1"
    return CollateError(
        f'{key!r} is {said[0]}, but {said[1]}; {remedy}, or with collate="pad" (enlarges, adds a padding mask) or '
        'collate="list"',
        _path(samples[odd]),
    )


def _name(samples: list[Any], i: int) -> str:
    index = samples[i].get("index") if isinstance(samples[i], Mapping) else None
    name = f"sample {index}" if index is not None else f"sample {i} of the batch"
    return f"{name} ({path})" if (path := _path(samples[i])) else name


def _path(sample: Any) -> str | None:
    path = sample.get("path") if isinstance(sample, Mapping) else None
    return path if isinstance(path, str) else None


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
        return cast("Collate", collate_for(collate, of, classes=classes, seed=seed))
    recipe = as_recipe(of)
    plain = Collate(collate, ragged_keys=_ragged_keys([recipe]))
    return _mixing(plain, BatchMixer(recipe, seed or 0, classes) if recipe.batch else None)


def _ragged_keys(recipes: Sequence[Recipe]) -> frozenset[str]:
    """Keys that always become lists; of stacks `masks` are the frames', and no list."""
    frames = {key for recipe in recipes if recipe.inputs.stack for key in _STACKS}
    return RAGGED_KEYS.union(*map(ragged_keys, recipes)) - frames


def collate_for(choice: Any, dataset: Any, *, classes: int | None = None, seed: int | None = None) -> AnyCollate:
    """The function behind `collate=` of a loader: of a name by the recipes of a dataset, with their `batch:` steps."""
    if callable(choice):
        function = cast("AnyCollate", choice)
    elif choice in ("default", "list", "pad"):
        recipes = [leaf.recipe for leaf in leaves(dataset) if isinstance(getattr(leaf, "recipe", None), Recipe)]
        layouts = {_layout(recipe) for recipe in recipes} if len(recipes) == len(leaves(dataset)) else {"chw"}
        keys = _ragged_keys(recipes)
        function = Collate(choice, "hwc" if layouts == {"hwc"} else "chw", keys)
    else:
        raise ValueError(f"collate must be 'default', 'list', 'pad' or a function, got {choice!r}")
    mixing = [leaf for leaf in leaves(dataset) if getattr(leaf, "mixes", False)]
    if not mixing or getattr(function, "after", None) is not None:
        return function
    if len({_mixing_settings(leaf) for leaf in leaves(dataset)}) > 1:
        raise ValueError("batches hold samples of several datasets: give these one recipe with `batch:`, and one seed")
    known = [1 + max(leaf.class_to_idx.values()) for leaf in mixing if leaf.class_to_idx]
    count = max(known, default=None) if classes is None else classes
    return _mixing(function, BatchMixer(mixing[0].recipe, mixing[0].seed if seed is None else seed, count, dataset))


def _layout(recipe: Recipe) -> Layout:
    """Of the images, for padding: of a pair's targets, where they agree."""
    layouts = {recipe.outputs.get(name, recipe.output).layout for name in recipe.scales or ("image",)}
    return "hwc" if layouts == {"hwc"} else "chw"


def _mixing_settings(leaf: Any) -> Any:
    """What datasets must share to be mixed."""
    recipe = leaf.recipe if getattr(leaf, "mixes", False) else None
    return recipe and (recipe.batch, recipe.inputs, recipe.output, recipe.outputs, recipe.scales, leaf.seed)


def _mixing(function: AnyCollate, mixer: BatchMixer | None) -> Any:
    if mixer is not None and getattr(function, "ragged", "") != "default":
        raise ValueError(
            f'`batch:` in {mixer.recipe.file} mixes samples of one size, stacked by collate="default": leave collate '
            "out, or leave `batch:` out; a collate function of yours would leave it out silently"
        )
    return function if mixer is None else replace(function, after=mixer)  # type: ignore[type-var]


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
        source = (None, 0) if self.dataset is None else (read, len(self.dataset))
        mixed = mix(self.recipe, values, (self.seed, epoch, number), self.classes, *source)
        # Images and masks were written where they lie.
        convert: Any = default_convert
        return {n: convert(mixed[n]) if n == "label" or isinstance(v, list) else v for n, v in batch.items()}


def _array(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_array, value)]
    return value.numpy() if isinstance(value, torch.Tensor) else value
