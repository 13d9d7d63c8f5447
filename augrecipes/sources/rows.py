"""What somebody's own source gives for a sample, by the names that recipes have for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from augrecipes.errors import DataError
from augrecipes.sources.sample_inputs import is_image

# What images are called in the rows of Hugging Face, WebDataset and others.
IMAGE_KEYS = (
    "image", "img", "jpg", "jpeg", "png", "webp", "picture", "tif", "tiff", "bmp", "ppm", "pgm", "gif", "jp2", "avif",
)  # fmt: skip
LABEL_NAMES = ("label", "cls")

Key = str | int
Keys = Mapping[str, Key] | Sequence[str]


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
        found = dict(row)
        for wanted, names in (("image", IMAGE_KEYS), ("label", LABEL_NAMES)):
            if wanted in found or (wanted == "image" and "image" not in self.images):
                continue
            name = next((name for name in names if name in found), None)
            if name is not None:
                found[wanted] = found.pop(name)
        return found

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
