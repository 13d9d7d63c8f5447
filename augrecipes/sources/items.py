"""Samples that somebody's own source gives, as a table: read from it, not from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from augrecipes.errors import DataError, RecipeError
from augrecipes.recipe.model import Inputs, Recipe
from augrecipes.sources import columns, files
from augrecipes.sources.opened import NamedSource, OpenedSource, column_of, known_columns
from augrecipes.sources.paths import PathTable
from augrecipes.sources.sample_inputs import AXES, Axes, is_image, plain, plain_array

# What images are called in the rows of Hugging Face, WebDataset and others.
IMAGE_KEYS = (
    "image", "img", "jpg", "jpeg", "png", "webp", "picture", "tif", "tiff", "bmp", "ppm", "pgm", "gif", "jp2", "avif",
)  # fmt: skip
LABEL_NAMES = ("label", "cls")

Key = str | int
Keys = Mapping[str, Key] | Sequence[str]
_NOTHING = columns.Ragged(np.zeros((0, 4), np.float32), np.zeros(1, np.int64))  # stands for what comes with the samples


@dataclass(frozen=True)
class RowKeys:
    """Where the parts of a sample stand in an item.

    Attributes:
        keys: by the recipe's name the item's own (`"objects.bbox"` for what lies deeper, a number for a place in a
            tuple), or the names of a tuple's places; None: as they are called in it.
        images: that the recipe takes.
    """

    keys: Keys | None
    images: tuple[str, ...]

    def named(self, row: Any) -> dict[str, Any]:
        """The parts of an item by the recipe's names.

        Raises:
            DataError: there is no such part.

        >>> RowKeys({"image": "img", "boxes": "objects.bbox"}, ("image",)).named({"img": 1, "objects": {"bbox": [2]}})
        {'image': 1, 'boxes': [2]}
        >>> RowKeys(("image", "mask"), ("image",)).named((1, 2))
        {'image': 1, 'mask': 2}
        """
        if isinstance(self.keys, Mapping):
            return {name: _part(row, key) for name, key in self.keys.items()}
        if isinstance(row, Mapping):
            return self._renamed(row)
        if not isinstance(row, tuple | list):
            row = (row,)
        names = self.keys or self._places(row)
        if len(names) != len(row):
            raise DataError(f"{len(row)} parts, and keys= names {len(names)}: {', '.join(names)}")
        return dict(zip(names, row, strict=True))

    def _renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        parts = dict(row)
        for ours, names in (("image", IMAGE_KEYS), ("label", LABEL_NAMES)):
            if ours in parts or (ours == "image" and "image" not in self.images):
                continue
            name = next((name for name in names if name in parts), None)
            if name is not None:
                parts[ours] = parts.pop(name)
        return parts

    def _places(self, row: Sequence[Any]) -> tuple[str, ...]:
        if len(row) == 1:
            return self.images[:1]
        if len(row) == 2 and self.images == ("image",):
            return ("image", "mask" if is_image(row[1]) else "label")
        raise DataError(f'a tuple of {len(row)} parts: say what they are, as in keys=("image", "mask")')


def _part(row: Any, key: Key) -> Any:
    try:
        if isinstance(key, int) or key in row:
            return row[key]
        for name in key.split("."):
            row = row[name]
        return row
    except (KeyError, IndexError, TypeError):
        there = ", ".join(map(repr, row)) if isinstance(row, Mapping) else f"a {type(row).__name__}"
        raise DataError(f"has no {key!r}; there is {there}") from None


@dataclass(frozen=True, eq=False)
class SourceTable(columns.GivenTable):
    """The samples of a source; see `augrecipes.data.samples.Samples` for the arguments.

    Attributes:
        source: gives the items.
        rows: where their parts stand in them.
        axes: of arrays and tensors.
        length: how many there are.
    """

    source: OpenedSource
    rows: RowKeys
    axes: Axes
    length: int

    @property
    def name(self) -> str:
        """The source's, for messages."""
        return self.source.name

    def read_for(self, recipe: Recipe, targets: Sequence[str]) -> Self:
        """The same samples for a recipe, and the images of it that are read."""
        table = replace(self, rows=RowKeys(self.rows.keys, tuple(targets)))
        there = table.targets_there(recipe.inputs)
        return replace(
            table,
            masks=table._names if "mask" in there else None,
            targets=dict.fromkeys([name for name in recipe.targets if name in there], table._names),
            boxes=_NOTHING if "boxes" in there else None,
            keypoints=_NOTHING if "keypoints" in there else None,
        )

    def targets_there(self, inputs: Inputs) -> set[str]:
        """Which of mask, boxes, keypoints and further targets a recipe takes and the first sample has."""
        wanted = {*inputs.taken, *inputs.targets}
        try:
            parts = self.rows.named(self.source.read(0)) if wanted else {}
        except DataError:  # told when it is read
            return set()
        return {name for name in wanted if parts.get(name) is not None}

    def __len__(self) -> int:
        return self.length

    def images_by_target(self) -> dict[str, PathTable]:
        """As every table; the paths are names."""
        return dict.fromkeys(self.rows.images, self._names)

    @cached_property
    def _names(self) -> PathTable:
        paths = getattr(self.source.open(), "paths", None)
        return paths if isinstance(paths, PathTable) else PathTable.from_paths(map(self.path, range(self.length)))

    def path(self, unit: int) -> str:
        """What the source says of a sample, or its name and the number."""
        return self.source.path(unit)

    def paths(self, unit: int) -> dict[str, str]:
        """The images of a unit by target."""
        return dict.fromkeys(self.rows.images, self.path(unit))

    def digest(self) -> str:
        """16 hex digits that name the list of samples, as far as it can be known: the images are not looked at."""
        return columns.digest_of(f"{self.name} {self.length}{self.source.digest()}".encode(), self.labels)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_names", "_last")}

    def label_of(self, unit: int) -> int | None:
        """As every table; a label that is no integer is left out."""
        label = plain("label", self._parts(unit).get("label"))
        return label if isinstance(label, int) else None

    def stamp(self, unit: int) -> str:
        """What tells the pixels of a sample from others that are given for it another day."""
        try:
            parts = self._parts(unit)
            values = [parts[name] for name in (*self.rows.images, "mask", *self.targets) if name in parts]
            return columns.digest_of(*(value if isinstance(value, bytes) else plain_array(value) for value in values))
        except (DataError, TypeError, ValueError):
            return "gone"

    # -- samples ------------------------------------------------------------------------------------------------------

    def parts(self, unit: int, inputs: Inputs, **how: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a pipeline takes of a sample, and what else belongs to it; errors of both."""
        return files.split_scene(self.rows.named(self.source.read(unit)), inputs, self.rows.images, self.axes, **how)

    def read(self, unit: int, inputs: Inputs, **how: Any) -> dict[str, Any]:
        """What a pipeline takes of a sample, which is had once for all who ask for it one after another."""
        return files.split_scene(self._parts(unit), inputs, self.rows.images, self.axes, **how)[0]

    def _parts(self, unit: int) -> dict[str, Any]:
        """The parts of a sample, once for all who ask for them one after another."""
        key, parts = self.__dict__.get("_last", (None, {}))
        if key != unit:
            parts = self.rows.named(self.source.read(unit))
            self.__dict__["_last"] = unit, parts
        return dict(parts)


def table_of_source(
    data: Any, recipe: Recipe, targets: Sequence[str], keys: Keys | None = None, axes: Axes = "auto",
    labels: Any = None, name: str | None = None,
) -> SourceTable:  # fmt: skip
    """The table of a source, of an `ar.Samples` over one, or of what has a name in a file of the user's.

    Raises:
        DataError: nothing in it, or labels that are not one integer for each.
        RecipeError: the recipe is for bags.
        TypeError: it is no source.
    """
    given = data.resolve() if isinstance(data, NamedSource) else data
    table = given if isinstance(given, SourceTable) else getattr(given, "table", None)
    if isinstance(table, SourceTable):
        opens = isinstance(data, NamedSource)  # in each process by its name
        table = replace(table, source=OpenedSource(data, table.name)) if opens else table
        return table.read_for(recipe, targets)
    if recipe.facts.tiles:
        what = f"is of kind {recipe.kind!r}, whose tiles are files: ar.{recipe.facts.dataset} takes it"
        raise RecipeError(f"{recipe.file}: recipe {recipe.name!r} {what}")
    if axes not in AXES:
        raise ValueError(f"axes must be {', '.join(map(repr, AXES))}, got {axes!r}")
    source = OpenedSource(data, name)
    if not (n := len(source)):
        raise DataError("the source is empty")
    known = known_columns(source.open(), str(keys.get("label", "label") if isinstance(keys, Mapping) else "label"))
    if labels is not None:
        known["labels"] = column_of("label", labels, n)
    rows = RowKeys(keys, tuple(targets))
    return SourceTable(source=source, rows=rows, axes=axes, length=n, **known).read_for(recipe, targets)
