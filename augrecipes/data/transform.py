"""A recipe as one function of a sample, for `transform=` of other people's datasets, or of a batch of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from augrecipes.data import batching, epochs, sample_keys
from augrecipes.errors import DataError, RecipeError
from augrecipes.mixtures import warn_unmixed
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.seeds import site_key
from augrecipes.sources import files, items, sample_inputs
from augrecipes.sources.sample import decode_arguments

_INDEX_NAMES = ("index", "__key__")
_LARGEST, _LARGEST_NAME = 1 << 62, 1 << 40


class SampleTransform:
    """A recipe as one function, which `Recipe.transform` makes.

    It takes an image (of Pillow, an array, a tensor, bytes or a path) and gives a tensor, of a recipe of kind views the
    dict of the views; a tuple, of which the image, and a mask, are replaced; a dict, the same by names, boxes and
    keypoints too; a dict of lists, as Hugging Face gives a batch. It pickles, and may be called from many threads.

    Draws are keyed by the index that a dict holds, or that is given: `transform(image, index=7)`; without one by the
    worker and the number of its call. No call repeats the draws of an earlier one, unless `set_epoch` says so: then an
    index has the draws that it has in that epoch.

    Args:
        recipe: of kind image, pair or views.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the draws.
        optimize: `none`, `exact`, `fast`, or None for what the recipe says.
        keys: what the parts are called in a dict, by the recipe's names, `{"image": "photo"}`; of a tuple their names,
            `("image", "mask")`, or numbers. None: as `ar.Samples` finds them.
        index: the part of a dict that is its index, an integer or text; None: `index` or `__key__`, if there.
        axes: how arrays and tensors lie, `hwc` or `chw`; `auto`: those of numpy hwc, those of torch chw.
        channels: 1, 3 or 4; None takes what the recipe's inputs say, or 3; of 16 bits and floats those that come.

    Attributes:
        pipeline: the compiled recipe.

    Raises:
        LintError, RecipeError: as `Recipe.compile`; and for a recipe of bags.
    """

    def __init__(
        self,
        recipe: Recipe,
        mode: Mode = "train",
        *,
        seed: int = 0,
        optimize: Optimize | None = None,
        keys: items.Keys | None = None,
        index: str | None = None,
        axes: sample_inputs.Axes = "auto",
        channels: int | None = None,
    ) -> None:
        if recipe.facts.tiles:
            raise RecipeError(
                f"{recipe.file}: recipe {recipe.name!r} is of kind {recipe.kind!r}: a bag is no one image"
            )
        if axes not in sample_inputs.AXES:
            raise ValueError(f"axes must be {', '.join(map(repr, sample_inputs.AXES))}, got {axes!r}")
        warn_unmixed(recipe, mode)
        self.pipeline = recipe.compile(mode, optimize, seed)
        self._keys, self._index, self._axes = keys, index, axes
        self._decode = decode_arguments(recipe.inputs, channels)
        self._calls = sample_keys.CallKeys()

    def __repr__(self) -> str:
        recipe = self.pipeline.recipe
        return f"transform of recipe {recipe.name!r}, mode {self.pipeline.mode!r}"

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, here and in copies that workers have: a sample with an index is that of (epoch, index)."""
        self._calls.clock.set(epochs.check_epoch(epoch))

    def __call__(self, sample: Any, *rest: Any, index: int | str | None = None) -> Any:
        """The sample, transformed, in the form that it came in.

        Args:
            sample: an image; a tuple or list; a dict; or a dict of lists, a batch of Hugging Face's.
            rest: further parts: torchvision's `transforms=` gives image and target so.
            index: what keys its draws.

        Raises:
            DataError: it is not as it should be.
        """
        if rest or isinstance(sample, tuple | list):
            parts, form = ((sample, *rest), tuple) if rest else (sample, type(sample))
            results = self._run(dict(zip(self._places(parts), parts, strict=True)), self._key(index)).values()
            return form(results) if form in (tuple, list) else form(*results)
        if not isinstance(sample, Mapping):
            name = self.pipeline.targets[0]
            return self._run({name: sample}, self._key(index))[name]
        called = self._called(sample)
        images = (value for name, value in sample.items() if called.get(name, name) in self.pipeline.targets)
        if not isinstance(next(images, None), list):
            return self.of_dict(sample, self._key(self._index_in(sample) if index is None else index))
        rows = [dict(zip(sample, values, strict=False)) for values in zip(*sample.values(), strict=False)]
        batch = [self.of_dict(row, self._key(self._index_in(row))) for row in rows]
        return {name: [each[name] for each in batch] for name in (batch[0] if batch else sample)}

    def of_dict(self, sample: Mapping[str, Any], key: tuple[int, int]) -> dict[str, Any]:
        """A dict transformed, with the draws of an epoch and an index."""
        called = self._called(sample)
        back = {mine: name for name, mine in called.items()}
        results = self._run({called.get(name, name): value for name, value in sample.items()}, key)
        return {back.get(name, name): value for name, value in results.items()}

    def _key(self, index: int | str | None) -> tuple[int, int]:
        return self._calls.next() if index is None else self._calls.at(index)

    def _places(self, sample: Sequence[Any]) -> list[str]:
        """What the places of a tuple are called; those that are of no recipe's by their numbers."""
        others = [f" {k}" for k in range(len(sample))]
        if isinstance(self._keys, Mapping):
            places = {place: name for name, place in self._keys.items()}
            return [str(places.get(k, other)) for k, other in enumerate(others)]
        if self._keys is not None or self.pipeline.targets != ("image",):
            return [*items.RowKeys(self._keys, self.pipeline.targets).named(tuple(others))]
        masked = len(sample) == 2 and sample_inputs.is_image(sample[1]) and self.pipeline.recipe.inputs.mask != "absent"
        return ["image", "mask"] if masked else ["image", *others[1:]]

    def _called(self, sample: Mapping[str, Any]) -> dict[str, str]:
        """The recipe's name of each part that is called otherwise in the sample."""
        if isinstance(self._keys, Mapping):
            for name in map(str, self._keys.values()):
                _there(name, sample)
            return {str(theirs): name for name, theirs in self._keys.items()}
        if "image" in sample or self.pipeline.targets != ("image",):
            return {}
        return dict.fromkeys([name for name in items.IMAGE_KEYS if name in sample][:1], "image")

    def _index_in(self, sample: Mapping[str, Any]) -> int | str | None:
        """What a dict says of its index."""
        if self._index is not None:
            _there(self._index, sample)
        names = _INDEX_NAMES if self._index is None else (self._index,)
        value = next((sample[name] for name in names if name in sample), None)
        if value is None or isinstance(value, str):
            return value
        number = sample_inputs.plain_array(value)
        return int(number) if number.ndim == 0 and number.dtype.kind in "iu" else None

    def _run(self, parts: dict[str, Any], key: tuple[int, int]) -> dict[str, Any]:
        """The parts in their order, those that the recipe takes transformed."""
        pipeline, inputs = self.pipeline, self.pipeline.recipe.inputs
        if stray := sorted((sample_inputs.ANNOTATIONS & parts.keys()) - inputs.taken):
            raise DataError(f"the recipe takes no {stray[0]}, which would no longer fit its image: leave it out")
        how = {"undecoded": pipeline.reads, **self._decode}
        targets, extra = files.split_scene(parts, inputs, pipeline.targets, self._axes, **how)
        epoch, index = key
        out = pipeline.at(index, epoch)(**targets)
        views = pipeline.outputs if pipeline.recipe.facts.views else ()
        ragged = batching.ragged_keys(pipeline.recipe)
        arrays = {name: np.asarray(v) if name in ragged else v for name, v in out.items()}
        results = batching.as_tensors(arrays, pipeline.recipe, views)
        results |= {name: value for name, value in extra.items() if name not in results}
        if views and "image" not in results:
            results["image"] = {name: value for name, value in results.items() if name not in parts}
        made = pipeline.outputs if pipeline.recipe.facts.scales else ()  # by a Degrade
        return {name: results.get(name, value) for name, value in parts.items()} | {
            name: results[name] for name in made
        }


def _there(name: str, sample: Mapping[str, Any]) -> None:
    if name not in sample:
        raise DataError(f"has no {name!r}; there is {', '.join(map(repr, sample))}")


class BatchTransform:
    """A recipe as one function of a batch, which `Recipe.map_batches` makes.

    It takes a dict of columns, each an array with an entry for each sample, and gives it back with the images, masks,
    boxes and keypoints transformed: arrays of n of them where they are of one size, arrays of objects where they are
    not. Other columns stay as they are. It pickles, and gives the same samples in every process and batch.

    Draws are those of (epoch, index): of an integer or a name in a column `index`, `__key__` or `path`, or in the one
    that `index=` names.

    Args:
        recipe: of kind image or pair.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        epoch: of the draws, at least 0.
        index: the column that keys draws; None: `index`, `__key__` or `path`.
        options: `seed`, `optimize`, `keys`, `axes`, `channels`: see `SampleTransform`.

    Raises:
        LintError, RecipeError: as `Recipe.compile`; and for a recipe of bags or views.
    """

    def __init__(
        self, recipe: Recipe, mode: Any = "train", *, epoch: int = 0, index: str | None = None, **options: Any
    ) -> None:
        if recipe.facts.views and mode == "train":
            message = "its views are no column of a batch; use ar.Views or recipe.transform()"
            raise RecipeError(f"{recipe.file}: recipe {recipe.name!r} is of kind {recipe.kind!r}: {message}")
        self._epoch, self._index = epochs.check_epoch(epoch), index
        self._transform = SampleTransform(recipe, mode, **options)

    def __repr__(self) -> str:
        return f"batch {self._transform!r}"

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The batch, transformed.

        Args:
            batch: columns by their names, arrays or lists, all of one length.

        Raises:
            DataError: it is not as it should be; names the sample by its index.
        """
        try:
            rows = [dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)]
        except (AttributeError, TypeError, ValueError) as error:
            what = f"a batch is a dict of columns of one length, arrays or lists (batch_format='numpy'): {error}"
            raise DataError(what) from None
        if not rows:
            return dict(batch)
        names = (*_INDEX_NAMES, "path") if self._index is None else (self._index,)
        if (column := next((name for name in names if name in batch), None)) is None:
            raise DataError(
                f"has no column {' or '.join(map(repr, names))}, which says what each sample draws (index= names "
                f"another, and Ray's read_images has include_paths=True); there is {', '.join(map(repr, batch))}"
            )
        samples = [self._made(row, column) for row in rows]
        return {name: _column([sample[name] for sample in samples], batch[name]) for name in batch}

    def _made(self, row: dict[str, Any], column: str) -> dict[str, Any]:
        try:
            return self._transform.of_dict(row, (self._epoch, self._number(row[column], column)))
        except DataError as error:
            raise error if error.path else error.with_path(f"{row[column]}") from None

    def _number(self, value: Any, column: str) -> int:
        if isinstance(value, bytes):
            value = value.decode(errors="backslashreplace")
        if isinstance(value, str):
            return site_key(value) % _LARGEST_NAME
        index = sample_inputs.plain_array(value)
        if index.ndim or index.dtype.kind not in "iu":
            raise DataError(f"{column} is {value!r}, and an index is an integer or text")
        if not 0 <= int(index) <= _LARGEST:
            raise DataError(f"an index is at least 0, got {index}")
        return int(index)


def _column(values: Sequence[Any], before: Any) -> Any:
    """The values of a column; those that were not transformed as they came."""
    if not isinstance(values[0], torch.Tensor):
        return before
    arrays = [value.numpy() for value in values]
    if len({(array.shape, array.dtype) for array in arrays}) == 1:
        return np.stack(arrays)
    objects = np.empty(len(arrays), object)
    for k, array in enumerate(arrays):  # one by one: arrays of one shape would be taken for rows
        objects[k] = array
    return objects
