"""A recipe as one function of a batch of columns, for Ray Data and whatever else maps batches: it remembers nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import torch

from augrecipes.data.epochs import check_epoch
from augrecipes.data.transform import SampleTransform
from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe
from augrecipes.seeds import site_key
from augrecipes.sources.given import plain_array

_INDEX_NAMES = ("index", "__key__", "path")
_LARGEST = 1 << 40
_BY_CONTENT = 1 << 62  # keys of pictures without an index begin here, beyond every index


class KeysOfEpoch:
    """Keys of draws that depend on nothing but an index, in one epoch.

    Args:
        epoch: it.

    >>> KeysOfEpoch(3).at(7)
    (3, 7)
    """

    def __init__(self, epoch: int) -> None:
        self.epoch = check_epoch(epoch)

    def at(self, index: int | str) -> tuple[int, int]:
        """The epoch and the number of an index, which may be a name."""
        number = site_key(index) % _LARGEST if isinstance(index, str) else int(index)
        if not 0 <= number < _BY_CONTENT << 1:
            raise DataError(f"an index is at least 0, got {number}")
        return self.epoch, number


class BatchTransform:
    """A recipe as one function of a batch, which `Recipe.map_batches` makes.

    It takes a dict of columns, each an array with an entry for each sample, and gives it back with the pictures, masks,
    boxes and keypoints transformed: arrays of n of them where they are of one size, arrays of objects where they are
    not. Other columns stay as they are. It pickles, and gives the same samples in every process and batch.

    Draws are those of (epoch, index): of an integer or a name in a column `index`, `__key__` or `path`, or in the one
    that `index=` names. Where there is none they go by what is in the picture: equal pictures have equal draws.

    Args:
        recipe: of kind image or pair.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        epoch: of the draws, at least 0.
        index: the column that keys draws; None: `index`, `__key__` or `path`, where there is one.
        options: `seed`, `optimize`, `keys`, `axes`, `channels`: see `SampleTransform`.

    Raises:
        LintError, RecipeError: as `Recipe.compile`; and for a recipe of bags.
    """

    def __init__(
        self, recipe: Recipe, mode: Any = "train", *, epoch: int = 0, index: str | None = None, **options: Any
    ) -> None:
        self._index = index
        self._transform = SampleTransform(recipe, mode, calls=KeysOfEpoch(epoch), **options)

    def __repr__(self) -> str:
        return f"batch {self._transform!r}"

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The batch, transformed.

        Args:
            batch: columns by their names, arrays or lists, all of one length.

        Raises:
            DataError: it is not as it should be; names the sample by its index, or its place in the batch.
        """
        if not isinstance(batch, Mapping) or not all(hasattr(column, "__len__") for column in batch.values()):
            raise DataError("a batch is a dict of columns, each an array or a list (batch_format='numpy')")
        lengths = {name: len(column) for name, column in batch.items()}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{name}: {length:,}" for name, length in lengths.items())
            raise DataError(f"columns of a batch have one length; it has {said}")
        if not any(lengths.values()):
            return dict(batch)
        rows = [dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)]
        made = [self._made(row, k) for k, row in enumerate(rows)]
        return {name: _column([one[name] for one in made], batch[name]) for name in batch}

    def _made(self, row: dict[str, Any], place: int) -> dict[str, Any]:
        name = self._name(row)
        try:
            made: dict[str, Any] = self._transform(row, index=self._key(row, name))
        except DataError as error:
            raise error if error.path else error.with_path(f"row {place}" if name is None else f"{row[name]}") from None
        return made

    def _name(self, row: Mapping[str, Any]) -> str | None:
        """The column that keys a row's draws."""
        if self._index is not None and self._index not in row:
            raise DataError(f"has no column {self._index!r}; there is {', '.join(map(repr, row))}")
        names = _INDEX_NAMES if self._index is None else (self._index,)
        return next((name for name in names if name in row), None)

    def _key(self, row: Mapping[str, Any], name: str | None) -> int | str:
        value = self._content(row) if name is None else row[name]
        if isinstance(value, bytes):
            return value.decode(errors="surrogateescape")
        if isinstance(value, str):
            return str(value)
        number = plain_array(value)
        if number.ndim or number.dtype.kind not in "iu":
            raise DataError(f"{name} is {value!r}, and an index is an integer or text")
        return int(number)

    def _content(self, row: Mapping[str, Any]) -> int:
        """A number that goes by the pictures of a row."""
        made = blake2b(digest_size=8)
        for name in self._transform.pictures_of(row):
            value = row[name]
            made.update(value if isinstance(value, bytes) else str(value).encode() if isinstance(value, str)
                        else np.ascontiguousarray(plain_array(value)).data)  # fmt: skip
        return _BY_CONTENT + int.from_bytes(made.digest(), "big") % _LARGEST


def _column(values: Sequence[Any], before: Any) -> Any:
    """The values of a column; those that were not transformed as they came."""
    if not isinstance(values[0], torch.Tensor):
        return before
    arrays = [value.numpy() for value in values]
    if len({(array.shape, array.dtype) for array in arrays}) == 1:
        return np.stack(arrays)
    found = np.empty(len(arrays), object)
    for k, array in enumerate(arrays):  # one by one: arrays of one shape would be taken for rows
        found[k] = array
    return found
