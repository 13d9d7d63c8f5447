"""Collation of samples into batches: values of one size are stacked, others refused, listed or padded.

A sample is a dict. In the batch

- tensors and arrays are stacked (`default`), kept as a list (`list`), or padded at the bottom and right, bags by tiles
  at their end (`pad`);
- numbers become one tensor (`label`, `index`: int64);
- text, boxes, keypoints, their labels and anything else become lists with one entry per sample: they differ in length.

Then a recipe's `batch:` steps mix the batch, of our loader or of torch's own DataLoader.
"""

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

# Lists with one entry per sample: the number of rows is that of a sample's boxes or keypoints.
RAGGED_KEYS = frozenset({"boxes", "box_labels", "keypoints", "keypoint_labels", "masks", "applied"})
# Label of padded mask pixels: the default `ignore_index` of torch's losses, never a label in a file.
MASK_PADDING = -100
_STACKS = ("images", "masks")  # keys of frames, and of their masks
# Coordinates of padding tiles, and of tiles of unknown position.
NO_PLACE = -1


@dataclass(frozen=True)
class Collate:
    """Turns a list of samples into a batch.

    Args:
        ragged: what happens to tensors of different sizes: `default` raises CollateError, `list` keeps all tensors as
            lists, `pad` enlarges them to the largest height and width. Images are padded with 0, and a bool tensor
            `padding` (n, H, W) is True where there is no image; int64 masks are padded with -100, which torch's losses
            ignore, masks of uint8 with 255. Bags are padded to the most tiles, with zeros and coordinates -1, and
            `padding` is (n, tiles).
        layout: layout of the images, for `pad`.
        ragged_keys: keys that always become lists.
        after: a function of the finished batch, or None.

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
        """The batch; CollateError where samples do not fit together. Values that lie in `rows` are not copied."""
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
        """Apply `after` to a collated batch."""
        return batch if self.after is None else self.after(batch)

    def _tensors(
        self, key: str, values: list[torch.Tensor], samples: list[Any], rows: BatchRows | None
    ) -> dict[str, torch.Tensor]:
        """The stacked or padded tensor of a key; with `pad` also the padding mask of images and tiles."""
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
            # A bag owns its tensor, which may be too large to copy.
            whole = first.unsqueeze(0) if bags and len(values) == 1 else default_collate(values)
        if not axes or (key != "image" if bags else is_mask):
            return {key: whole}
        padding = torch.ones((len(values), *(whole.shape[1 + axis] for axis in axes)), dtype=torch.bool)
        for row, value in zip(padding, values, strict=True):
            row[tuple(slice(value.shape[axis]) for axis in axes)] = False
        return {key: whole, "padding" if key in ("image", "images") else f"padding_{key}": padding}


def _fill_value(value: torch.Tensor, *, is_mask: bool) -> int:
    """The padding of an image, 0, or of a mask: a label that losses ignore, if the dtype has one."""
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
    """The `collate_fn` of a torch DataLoader that applies a recipe's `batch:` section; `ar.loader` does so by itself.

    A batch's random numbers are a function of (seed, epoch, index of its first sample), which the samples of our
    datasets carry. So a plain DataLoader yields the batches of `ar.loader` if it has the same samples, and
    `ar.collate(ds)([ds[epoch, i] for i in indices])` reproduces a batch.

    Args:
        of: the dataset: ours, or torch's Subset or ConcatDataset of ours; Mosaic and CopyPaste draw further samples
            from it. Or a recipe without such steps.
        classes: the number of classes; None: that of the dataset.
        seed: of the random numbers; None: the dataset's, or 0.
        collate: as of `ar.loader`; `list` and `pad` only for recipes without `batch:`.

    Raises:
        CollateError: when a batch is collated: a step cannot act on these samples; the message names step and line.
        ValueError: datasets with different `batch:` sections; or `batch:` with samples that are not stacked.

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
    """Keys that always become lists; `masks` of stacks belong to the frames and do not."""
    frames = {key for recipe in recipes if recipe.inputs.stack for key in _STACKS}
    return RAGGED_KEYS.union(*map(ragged_keys, recipes)) - frames


def collate_for(choice: Any, dataset: Any, *, classes: int | None = None, seed: int | None = None) -> AnyCollate:
    """The function for a loader's `collate=`; a name becomes a Collate for the dataset's recipes and `batch:` steps."""
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
    """The layout of a recipe's images, for padding; `hwc` only if all targets of a pair have it."""
    layouts = {recipe.outputs.get(name, recipe.output).layout for name in recipe.scales or ("image",)}
    return "hwc" if layouts == {"hwc"} else "chw"


def _mixing_settings(leaf: Any) -> Any:
    """The settings that datasets must share if their samples are mixed in one batch."""
    recipe = leaf.recipe if getattr(leaf, "mixes", False) else None
    return recipe and (recipe.batch, recipe.inputs, recipe.output, recipe.outputs, recipe.scales, leaf.seed)


def _mixing(function: AnyCollate, mixer: "BatchMixer | None") -> Any:
    if mixer is not None and getattr(function, "ragged", "") != "default":
        raise ValueError(
            f'`batch:` in {mixer.recipe.file} mixes samples of one size, stacked by collate="default": leave collate '
            "out, or leave `batch:` out; a collate function of yours would leave it out silently"
        )
    return function if mixer is None else replace(function, after=mixer)  # type: ignore[type-var]


@dataclass(frozen=True)
class BatchMixer:
    """Applies a recipe's `batch:` steps to a stacked batch; images and masks are changed in place.

    Attributes:
        recipe: the samples' recipe.
        seed: of the random numbers.
        classes: the number of classes, or None.
        dataset: the dataset, for steps that draw further samples; or None.
    """

    recipe: Recipe
    seed: int
    classes: int | None = None
    dataset: Any = None

    def __call__(self, batch: Any) -> dict[str, Any]:
        """Mix the batch; CollateError where a step cannot act on it."""
        if not isinstance(batch, Mapping) or not {"index", "epoch"} <= batch.keys():
            raise CollateError("`batch:` steps need the `index` and `epoch` that samples of our datasets bring along")
        epoch, number = int(batch["epoch"][0]), int(batch["index"][0])

        def read(position: int) -> dict[str, Any]:
            with reading(Reading(epoch)):
                return {name: _array(value) for name, value in self.dataset[position].items()}

        values = {name: _array(value) for name, value in batch.items()}
        source = (None, 0) if self.dataset is None else (read, len(self.dataset))
        mixed = mix(self.recipe, values, (self.seed, epoch, number), self.classes, *source)
        # `mix` wrote images and masks in place.
        convert: Any = default_convert
        return {n: convert(mixed[n]) if n == "label" or isinstance(v, list) else v for n, v in batch.items()}


def _array(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_array, value)]
    return value.numpy() if isinstance(value, torch.Tensor) else value
