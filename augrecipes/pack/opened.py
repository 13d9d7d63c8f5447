"""Pictures that several rows are made of: opened and decoded once, for as many rows as there are."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from augrecipes.images.encoded import Encoded

_WHOLE = 50_000_000  # px; of larger pictures each row decodes its own window
_KEPT = 256 << 20  # bytes of decoded pictures that a process keeps for rows to come


def decoded(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a pipeline takes of a unit, with its pictures decoded, but for huge ones: for one that is asked often."""
    return {name: value.array() if _is_small(value) else value for name, value in given.items()}


def _is_small(value: Any) -> bool:
    return isinstance(value, Encoded) and value.shape[0] * value.shape[1] <= _WHOLE


class OpenedPictures:
    """The pictures of the last files, by their paths and stamps. Pickles empty: each process opens its own."""

    def __init__(self) -> None:
        self._pictures: OrderedDict[tuple[str, ...], Mapping[str, Any]] = OrderedDict()
        self._bytes = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenedPictures, ()

    def get(self, key: tuple[str, ...]) -> Mapping[str, Any] | None:
        """The pictures of these files by target, where they are here."""
        found = self._pictures.get(key)
        if found is not None:
            self._pictures.move_to_end(key)
        return found

    def keep(self, key: tuple[str, ...], pictures: Mapping[str, Any]) -> None:
        """Keeps the pictures of files, and lets go of others that were not asked for longest."""
        self._pictures[key] = pictures
        self._bytes += _size(pictures)
        while self._bytes > _KEPT:
            self._bytes -= _size(self._pictures.popitem(last=False)[1])


def _size(pictures: Mapping[str, Any]) -> int:
    return sum(int(picture.nbytes) for picture in pictures.values())
