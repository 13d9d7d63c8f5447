"""A recipe as a function: of a sample, for `transform=` of other libraries' datasets, or of a batch of columns."""

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
    """A recipe as a function of a sample, made by `Recipe.transform`.

    It takes an image (Pillow, array, tensor, bytes or path) and returns a tensor, or the dict of views for a recipe of
    kind views; a tuple, in which it replaces the image and a mask; a dict, in which it also replaces boxes and
    keypoints; or a dict of lists, Hugging Face's form of a batch. It can be pickled, and is thread-safe.

    Draws are keyed by the index in a dict, or `transform(image, index=7)`; without an index by the worker and the
    number of its call. No call repeats the draws of an earlier one, except by `set_epoch`: then an index has its draws
    of that epoch.

    Args:
        recipe: a recipe of kind image, pair or views.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the random draws.
        optimize: `none`, `exact`, `fast`, or None: as the recipe says.
        keys: the sample's keys by the recipe's names, `{"image": "photo"}`; for a tuple names, `("image", "mask")`, or
            numbers. None: found as by `ar.Samples`.
        index: the key of a dict's index, an integer or text; None: `index` or `__key__`, if present.
        axes: the order of axes of arrays and tensors, `hwc` or `chw`; `auto`: hwc for numpy, chw for torch.
        channels: 1, 3 or 4; None: as the recipe's inputs say, or 3; for 16 bits and floats those of each image.

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
            raise RecipeError(f"{recipe.file}: recipe {recipe.name!r} is of kind {recipe.kind!r}: use ar.TileBags")
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
        """Set the epoch, here and in copies in workers; the draws of a sample with an index are those of the epoch."""
        self._calls.clock.set(epochs.check_epoch(epoch))

    def __call__(self, sample: Any, *rest: Any, index: int | str | None = None) -> Any:
        """Transform a sample; the result has the same form.

        Args:
            sample: an image; a tuple or list; a dict; or a dict of lists, Hugging Face's form of a batch.
            rest: further parts; torchvision's `transforms=` passes image and target so.
            index: the key of the draws.

        Raises:
            DataError: a part of the sample is missing, or has a wrong type, shape or size.
        """
        if rest or isinstance(sample, tuple | list):
            parts, form = ((sample, *rest), tuple) if rest else (sample, type(sample))
            results = self._run(dict(zip(self._tuple_names(parts), parts, strict=True)), self._key(index)).values()
            return form(results) if form in (tuple, list) else form(*results)
        if not isinstance(sample, Mapping):
            name = self.pipeline.targets[0]
            return self._run({name: sample}, self._key(index))[name]
        renamed = self._renamed_keys(sample)
        images = (value for name, value in sample.items() if renamed.get(name, name) in self.pipeline.targets)
        if not isinstance(next(images, None), list):
            return self.of_dict(sample, self._key(self._index_in(sample) if index is None else index))
        rows = [dict(zip(sample, values, strict=False)) for values in zip(*sample.values(), strict=False)]
        batch = [self.of_dict(row, self._key(self._index_in(row))) for row in rows]
        return {name: [each[name] for each in batch] for name in (batch[0] if batch else sample)}

    def of_dict(self, sample: Mapping[str, Any], key: tuple[int, int]) -> dict[str, Any]:
        """Transform a dict with the draws of (epoch, index)."""
        renamed = self._renamed_keys(sample)
        back = {mine: name for name, mine in renamed.items()}
        results = self._run({renamed.get(name, name): value for name, value in sample.items()}, key)
        return {back.get(name, name): value for name, value in results.items()}

    def _key(self, index: int | str | None) -> tuple[int, int]:
        return self._calls.next() if index is None else self._calls.at(index)

    def _tuple_names(self, sample: Sequence[Any]) -> list[str]:
        """The names of a tuple's parts by the recipe; other parts are named by their numbers."""
        others = [f" {k}" for k in range(len(sample))]
        if isinstance(self._keys, Mapping):
            places = {place: name for name, place in self._keys.items()}
            return [str(places.get(k, other)) for k, other in enumerate(others)]
        if self._keys is not None or self.pipeline.targets != ("image",):
            return [*items.RowKeys(self._keys, self.pipeline.targets).named(tuple(others))]
        masked = len(sample) == 2 and sample_inputs.is_image(sample[1]) and self.pipeline.recipe.inputs.mask != "absent"
        return ["image", "mask"] if masked else ["image", *others[1:]]

    def _renamed_keys(self, sample: Mapping[str, Any]) -> dict[str, str]:
        """The recipe's names of the parts that have other keys in the sample."""
        if isinstance(self._keys, Mapping):
            for name in map(str, self._keys.values()):
                _check_key(name, sample)
            return {str(theirs): name for name, theirs in self._keys.items()}
        if "image" in sample or self.pipeline.targets != ("image",):
            return {}
        return dict.fromkeys([name for name in items.IMAGE_KEYS if name in sample][:1], "image")

    def _index_in(self, sample: Mapping[str, Any]) -> int | str | None:
        """The index in a dict, or None."""
        if self._index is not None:
            _check_key(self._index, sample)
        names = _INDEX_NAMES if self._index is None else (self._index,)
        value = next((sample[name] for name in names if name in sample), None)
        if value is None or isinstance(value, str):
            return value
        number = sample_inputs.plain_array(value)
        return int(number) if number.ndim == 0 and number.dtype.kind in "iu" else None

    def _run(self, parts: dict[str, Any], key: tuple[int, int]) -> dict[str, Any]:
        """Run the pipeline; return all parts in their order, with the recipe's inputs replaced."""
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
        scales = pipeline.outputs if pipeline.recipe.facts.scales else ()  # a Degrade may add targets
        return {name: results.get(name, value) for name, value in parts.items()} | {
            name: results[name] for name in scales
        }


def _check_key(name: str, sample: Mapping[str, Any]) -> None:
    if name not in sample:
        raise DataError(f"has no {name!r}; there is {', '.join(map(repr, sample))}")


class BatchTransform:
    """A recipe as a function of a batch, made by `Recipe.map_batches`.

    It takes a dict of columns, arrays or lists with an entry per sample, and returns it with images, masks, boxes and
    keypoints transformed: stacked arrays if all have one size, else arrays of objects. Other columns stay unchanged. It
    can be pickled, and gives the same samples in every process and batch.

    Draws are those of (epoch, index), where the index is an integer or a name in the column `index`, `__key__` or
    `path`, or in the column of `index=`.

    Args:
        recipe: a recipe of kind image or pair.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        epoch: the epoch of the draws, at least 0.
        index: the column of indices; None: `index`, `__key__` or `path`.
        options: `seed`, `optimize`, `keys`, `axes`, `channels`: see `SampleTransform`.

    Raises:
        LintError, RecipeError: as `Recipe.compile`; and for a recipe of bags or views.
    """

    def __init__(
        self, recipe: Recipe, mode: Any = "train", *, epoch: int = 0, index: str | None = None, **options: Any
    ) -> None:
        if recipe.facts.views and mode == "train":
            message = "its views cannot be a column of a batch; use ar.Views or recipe.transform()"
            raise RecipeError(f"{recipe.file}: recipe {recipe.name!r} is of kind {recipe.kind!r}: {message}")
        self._epoch, self._index = epochs.check_epoch(epoch), index
        self._transform = SampleTransform(recipe, mode, **options)

    def __repr__(self) -> str:
        return f"batch {self._transform!r}"

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Transform a batch.

        Args:
            batch: columns by name, arrays or lists, all of one length.

        Raises:
            DataError: a sample cannot be transformed; the message names it by its index.
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
        samples = [self._transformed(row, column) for row in rows]
        return {name: _column([sample[name] for sample in samples], batch[name]) for name in batch}

    def _transformed(self, row: dict[str, Any], column: str) -> dict[str, Any]:
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
    """The column of transformed values; the original column if they were not transformed."""
    if not isinstance(values[0], torch.Tensor):
        return before
    arrays = [value.numpy() for value in values]
    if len({(array.shape, array.dtype) for array in arrays}) == 1:
        return np.stack(arrays)
    objects = np.empty(len(arrays), object)
    for k, array in enumerate(arrays):  # one by one: np.array would stack arrays of one shape
        objects[k] = array
    return objects
