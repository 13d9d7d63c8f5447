"""An immutable mapping, so that recipes can be compared, hashed and shared."""

from collections.abc import Iterator, Mapping
from typing import Any


class Arguments(Mapping[str, Any]):
    """An immutable, hashable mapping: the arguments of a step as written.

    Lists become tuples and nested mappings become Arguments, so that two recipes compare by value.

    >>> a = Arguments({"size": [224, 224]})
    >>> a["size"], a == {"size": (224, 224)}
    ((224, 224), True)
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        self._items = {key: _freeze(value) for key, value in (items or {}).items()}

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"Arguments({self._items})"

    def __reduce__(self) -> "tuple[type[Arguments], tuple[dict[str, Any]]]":
        return Arguments, (self._items,)

    def plain(self) -> dict[str, Any]:
        """A new dict of plain lists and dicts, as in YAML."""
        return {key: _thaw(value) for key, value in self._items.items()}


def _freeze(value: Any) -> Any:
    if isinstance(value, Arguments):
        return value
    if isinstance(value, Mapping):
        return Arguments(value)
    return tuple(_freeze(v) for v in value) if isinstance(value, list | tuple) else value


def _thaw(value: Any) -> Any:
    if isinstance(value, Arguments):
        return value.plain()
    return [_thaw(v) for v in value] if isinstance(value, tuple) else value
