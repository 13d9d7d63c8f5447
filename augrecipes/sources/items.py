"""The table of a user's own source, whose samples are read from the source, not from files."""

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
_WITH_SAMPLES = columns.Ragged(np.zeros((0, 4), np.float32), np.zeros(1, np.int64))  # a column that samples bring along


@dataclass(frozen=True)
class RowKeys:
    """Where to find the parts of a sample in an item of a source.

    Attributes:
        keys: the item's key for each of the recipe's names (`"objects.bbox"` for a nested one, a number for a place in
            a tuple), or the names of a tuple's places; None: the recipe's names are the item's keys.
        images: the images that the recipe takes.
    """

    keys: Keys | None
    images: tuple[str, ...]

    def named(self, row: Any) -> dict[str, Any]:
        """The parts of an item by the recipe's names.

        Raises:
            DataError: a part is missing.

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
        names = self.keys or self._tuple_names(row)
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

    def _tuple_names(self, row: Sequence[Any]) -> tuple[str, ...]:
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
class SourceTable(columns.ArrayTable):
    """The table of a source's samples; see `augrecipes.data.samples.Samples` for the arguments.

    Attributes:
        source: yields the items.
        rows: where to find the parts of a sample in an item.
        axes: the order of axes of arrays and tensors.
        length: the number of items.
    """

    source: OpenedSource
    rows: RowKeys
    axes: Axes
    length: int

    @property
    def name(self) -> str:
        """The source's name, for messages."""
        return self.source.name

    def read_for(self, recipe: Recipe, targets: Sequence[str]) -> Self:
        """The same samples for a recipe; `targets`: the images to read."""
        table = replace(self, rows=RowKeys(self.rows.keys, tuple(targets)))
        present = table.present_targets(recipe.inputs)
        return replace(
            table,
            masks=table._names if "mask" in present else None,
            targets=dict.fromkeys([name for name in recipe.targets if name in present], table._names),
            boxes=_WITH_SAMPLES if "boxes" in present else None,
            keypoints=_WITH_SAMPLES if "keypoints" in present else None,
        )

    def present_targets(self, inputs: Inputs) -> set[str]:
        """The targets (mask, boxes, keypoints, further ones) that a recipe takes and the first sample has."""
        wanted = {*inputs.taken, *inputs.targets}
        try:
            parts = self.rows.named(self.source.read(0)) if wanted else {}
        except DataError:  # reading the sample raises it again
            return set()
        return {name for name in wanted if parts.get(name) is not None}

    def __len__(self) -> int:
        return self.length

    def images_by_target(self) -> dict[str, PathTable]:
        """As in `Columns`; the paths are names of samples."""
        return dict.fromkeys(self.rows.images, self._names)

    @cached_property
    def _names(self) -> PathTable:
        paths = getattr(self.source.open(), "paths", None)
        return paths if isinstance(paths, PathTable) else PathTable.from_paths(map(self.path, range(self.length)))

    def path(self, unit: int) -> str:
        """The source's own path of a sample, or else `name[unit]`."""
        return self.source.path(unit)

    def paths(self, unit: int) -> dict[str, str]:
        """The images of a unit by target."""
        return dict.fromkeys(self.rows.images, self.path(unit))

    def digest(self) -> str:
        """16 hex digits that identify the list of samples, as far as it is known without reading images."""
        return columns.digest_of(f"{self.name} {self.length}{self.source.digest()}".encode(), self.labels)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_names", "_last")}

    def label_of(self, unit: int) -> int | None:
        """As in `Columns`; None for a label that is not an integer."""
        label = plain("label", self._parts(unit).get("label"))
        return label if isinstance(label, int) else None

    def stamp(self, unit: int) -> str:
        """A fingerprint of the pixels of a sample, which differs when they change."""
        try:
            parts = self._parts(unit)
            values = [parts[name] for name in (*self.rows.images, "mask", *self.targets) if name in parts]
            return columns.digest_of(*(value if isinstance(value, bytes) else plain_array(value) for value in values))
        except (DataError, TypeError, ValueError):
            return "gone"

    # -- samples ------------------------------------------------------------------------------------------------------

    def parts(self, unit: int, inputs: Inputs, **how: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The pipeline's inputs of a sample, and its other fields."""
        return files.split_scene(self.rows.named(self.source.read(unit)), inputs, self.rows.images, self.axes, **how)

    def read(self, unit: int, inputs: Inputs, **how: Any) -> dict[str, Any]:
        """The pipeline's inputs of a sample; repeated calls for the same sample read it once."""
        return files.split_scene(self._parts(unit), inputs, self.rows.images, self.axes, **how)[0]

    def _parts(self, unit: int) -> dict[str, Any]:
        """The parts of a sample, kept until another sample is read."""
        key, parts = self.__dict__.get("_last", (None, {}))
        if key != unit:
            parts = self.rows.named(self.source.read(unit))
            self.__dict__["_last"] = unit, parts
        return dict(parts)


def table_of_source(
    data: Any, recipe: Recipe, targets: Sequence[str], keys: Keys | None = None, axes: Axes = "auto",
    labels: Any = None, name: str | None = None,
) -> SourceTable:  # fmt: skip
    """The table of a source, of an `ar.Samples` over one, or of a source named in the user's Python file.

    Raises:
        DataError: the source is empty, or `labels` are not one integer per sample.
        RecipeError: the recipe is for bags.
        TypeError: `data` is not a source.
    """
    value = data.resolve() if isinstance(data, NamedSource) else data
    table = value if isinstance(value, SourceTable) else getattr(value, "table", None)
    if isinstance(table, SourceTable):
        if isinstance(data, NamedSource):  # each process opens it by its name
            table = replace(table, source=OpenedSource(data, table.name))
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
