"""Anything with a length and items, and a recipe, as a torch Dataset."""

from __future__ import annotations

import weakref
from typing import Any, Literal

import numpy as np

from augrecipes.compiler.run.native_batches import NativeBatches
from augrecipes.data.batching import SomeFailedError, Take, native_batch
from augrecipes.data.checks import as_recipe, tell_of_absent
from augrecipes.data.dataset import SampleDataset
from augrecipes.data.memory import room, rooms
from augrecipes.data.order import Indices
from augrecipes.data.read import decoding, marks_of
from augrecipes.data.sample import as_torch, ragged_keys
from augrecipes.data.tables.parts import split_parts
from augrecipes.data.tables.rows import Keys
from augrecipes.data.tables.source_table import SourceTable, table_of_source
from augrecipes.images.format import Depth, Frames
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.sources.files import MAX_PIXELS
from augrecipes.sources.given import Axes
from augrecipes.sources.paths import PathLike


class Samples(SampleDataset):
    """Samples of a source of your own, run through a recipe: a dataset of Hugging Face or torchvision, arrays, HDF5.

    A sample is a pure function of (what the source gives, recipe, seed, epoch, index): the dict that ImageFolder makes,
    or PairedImages where the recipe is of kind pair, and beside it what else the item has, as it is. `label` is an int
    where it is an integer. Sources that draw by themselves (torchvision's `transform=`) are to be left without.

    An item of the source is a picture, a tuple (picture, label), (picture, mask) or as `keys` says, or a dict of
    `image` (or `img`, `jpg`, `png`, ...), `mask`, `boxes` and `keypoints` with their labels under the recipe's names,
    `label`, and anything else. A picture is one of Pillow (as it stands, whatever its EXIF says), an array H×W×C or
    H×W, a tensor C×H×W, of uint8 or of floats 0..1; or encoded, as bytes or a path. Annotations that the recipe does
    not take are left out.

    Args:
        source: it (or the Samples of another recipe over it), or a function without arguments that opens it, which each
            process calls for itself: HDF5 and LMDB want that; or a folder of `.npy` files (folders in it are classes),
            or one `.npy` file of N×H×W×C; or tar archives as WebDataset lays them out (a path, a pattern with `*` or
            braces, a folder, or a list); or columns by their names, of one length (a dict of arrays, an HDF5 file).
        recipe: a Recipe of kind image or pair, the name of a gallery recipe, or the path of a recipe file.
        keys: what the parts of an item are called in it, by the recipe's names: `{"image": "photo", "boxes":
            "objects.bbox", "box_labels": "objects.category"}`, and nothing else is taken; of tuples numbers, or a tuple
            of names: `("image", "mask")`.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the draws.
        optimize: `none`, `exact`, `fast`, or None for what the recipe says.
        on_error: `raise` a DataError for a sample that cannot be read or transformed, or `skip` it, as in ImageFolder.
        labels: one integer a sample, for `ds.labels` and `weights="balanced"`; None: the source's column or `targets`,
            where it has some. A sample's own label is what its item says.
        axes: how arrays and tensors of pictures lie, `hwc` or `chw`; `auto`: those of numpy hwc, those of torch chw.
        name: of the source, for `path`, which is `name[index]`, and messages; None: that of its class.
        weights: one number a sample, kept as `ds.weights`.
        samples_per_epoch: length of the dataset, when it is not that of the source.
        channels: 1, 3 or 4; None takes what the recipe's inputs say, or 3.
        exif, max_pixels, depth, frames: of encoded pictures, as ImageFolder has them; `depth` of arrays of uint16, too.
        save_applied_params: add `applied` to every sample.

    Attributes:
        classes: class names, where the source has some, or None.
        pipeline: the compiled recipe.

    Raises:
        DataError: an empty source; while reading: a sample that is not as it should be.
        RecipeError: the recipe is not valid, for bags, or has no section for `mode`.
        TypeError: the source has no length or no items.

    >>> import numpy as np
    >>> pictures = np.zeros((5, 200, 300, 3), np.uint8)
    >>> ds = Samples([(picture, 7) for picture in pictures], "folder-128", seed=1)
    >>> len(ds), ds[1]["image"].shape, ds[1]["label"], ds[1]["path"]
    (5, torch.Size([3, 128, 128]), 7, 'list[1]')
    """

    _table: SourceTable

    def __init__(
        self,
        source: Any,
        recipe: Recipe | PathLike,
        *,
        keys: Keys | None = None,
        mode: Mode = "train",
        seed: int = 0,
        optimize: Optimize | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        labels: Any = None,
        axes: Axes = "auto",
        name: str | None = None,
        weights: Any = None,
        samples_per_epoch: int | None = None,
        exif: Literal["apply", "ignore"] = "apply",
        channels: int | None = None,
        max_pixels: int = MAX_PIXELS,
        depth: Depth | None = None,
        frames: Frames | None = None,
        save_applied_params: bool = False,
    ) -> None:
        parsed = as_recipe(recipe)
        self.kind = parsed.kind
        super().__init__(parsed, mode, seed, optimize, on_error, save_applied_params)
        table = table_of_source(source, parsed, self.pipeline.targets, keys, axes, labels, name)
        tell_of_absent(parsed, table.annotations(parsed.inputs))
        self._decode = decoding(parsed, exif, channels, max_pixels, depth, frames)
        self._hold(table, weights, samples_per_epoch)

    @property
    def ragged_keys(self) -> frozenset[str]:
        """Keys of a sample that have a row for each box or point."""
        return ragged_keys(self.recipe.inputs) if self.recipe.facts.annotated else frozenset()

    def _marks(self) -> dict[str, Any]:
        return marks_of(self._decode)

    def _path(self, row: int) -> str:
        return self._table.path(row)

    def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        pipeline = self.pipeline
        targets, beside = self._parts(row)
        buffers = rooms(pipeline.outputs) if self.recipe.facts.scales else room("image")
        out = pipeline.at(index=virtual, epoch=epoch)(**targets, out=buffers)
        sample = as_torch(out, self.ragged_keys)
        return sample | {name: value for name, value in beside.items() if name not in sample}

    def _parts(self, row: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the pipeline takes of a row, and what travels beside it."""
        pipeline, table = self.pipeline, self._table
        parts = table.rows.named(table.source.row(row))
        names = pipeline.targets if self.recipe.facts.scales else None
        return split_parts(
            parts, self.recipe.inputs, table.rows.pictures, table.axes, undecoded=pipeline.reads, names=names,
            **self._decode,
        )  # fmt: skip

    def _batch(self, rows: Indices, epoch: int, virtual: Indices, take: Take) -> dict[str, Any] | None:
        if not self._runs_at_once():
            return None
        alike: set[tuple[frozenset[str], frozenset[str]]] = set()
        beside: dict[int, dict[str, Any]] = {}
        seen: Seen = {}

        def read(k: int) -> dict[str, Any]:
            row = int(rows[k])
            targets, beside[k] = self._parts(row)
            alike.add((frozenset(targets), frozenset(beside[k])))
            written_again = [_is_anothers(value, row, seen) for value in targets.values()]
            if len(alike) > 1 or any(written_again):
                raise _UnlikeError
            return targets

        try:
            found = native_batch(self.pipeline, read, epoch, virtual, take, self.ragged_keys)
        except _UnlikeError:
            return None
        except SomeFailedError as some:
            some.batch |= _columns(beside, len(rows), some.batch)
            raise
        return None if found is None else found | _columns(beside, len(rows), found)

    @property
    def gathers(self) -> bool:
        """Whether several samples are read at once: where all steps run natively, and so do their masks."""
        return super().gathers and self._runs_at_once()

    def _runs_at_once(self) -> bool:
        if self.recipe.facts.scales or not isinstance(self.pipeline, NativeBatches):
            return False
        return self.pipeline.kept_apart({"mask"} if self._table.masks is not None else set()) is None


class _UnlikeError(Exception):
    """Samples of a batch have not the same parts, or a source writes them to the same array: each is made by itself."""


# By its address, what arrays of a batch were given there last: the row, and the array while somebody has it.
Seen = dict[int, tuple[int, "weakref.ref[np.ndarray]"]]


def _is_anothers(value: Any, row: int, seen: Seen) -> bool:
    """Whether an array lies where one of another row does that is still to be made; it is among the `seen` then."""
    if not (isinstance(value, np.ndarray) and value.size):
        return False
    at = value.__array_interface__["data"][0]
    of, before = seen.get(at, (row, None))
    seen[at] = row, weakref.ref(value)
    return of != row and before is not None and before() is not None


def _columns(beside: dict[int, dict[str, Any]], count: int, found: dict[str, Any]) -> dict[str, Any]:
    """What travels beside the samples of a batch, by name: labels as int64, other values as they are.

    >>> _columns({0: {"label": 3, "at": "here"}, 1: {"label": 4, "at": "there"}}, 2, {})
    {'label': array([3, 4]), 'at': ['here', 'there']}
    """
    first = next(iter(beside.values()), {})
    columns: dict[str, Any] = {}
    for name in first:
        if name not in found:
            values = [beside.get(k, first)[name] for k in range(count)]
            labels = np.array(values) if name == "label" and all(type(value) is int for value in values) else None
            columns[name] = values if labels is None or labels.dtype != np.int64 else labels
    return columns
