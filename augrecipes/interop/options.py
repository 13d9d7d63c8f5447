"""Values of an option file by key, checked, with places; and which of its keys nobody asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from augrecipes.interop.draft import wrong
from augrecipes.recipe.arguments import Schema, check_value
from augrecipes.recipe.grammar import P
from augrecipes.recipe.nodes import MappingNode, Node, Place, from_value, plain

Weighted = list[tuple[str, float]]  # names, each with its share
_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}
_TEXTS = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}


class OptionFile:
    """What one or several mappings of an option file say; the first that has a key counts."""

    def __init__(self, place: Place, *sources: MappingNode) -> None:
        self.place = place
        self._entries = {key: (node, at) for each in reversed(sources) for key, at, node in each.pairs()}
        self._read: set[str] = set()

    def at(self, key: str) -> Place:
        """Where a key stands; where all of it starts, if it does not."""
        return self._entries[key][1] if key in self._entries else self.place

    def node(self, key: str) -> Node | None:
        """What stands at a key."""
        self._read.add(key)
        return self._entries[key][0] if key in self._entries else None

    def unread(self, source: MappingNode) -> list[tuple[str, Place]]:
        """Keys of one of the mappings that nobody asked for, or that stand in one before it, and where."""
        return [
            (key, at) for key, at, node in source.pairs() if key not in self._read or self._entries[key][0] is not node
        ]

    def get(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key; what it is otherwise, where the key is missing or empty."""
        node = self.node(key)
        value = None if node is None else plain(node)
        return otherwise if value is None else value

    def refuse(self, key: str, message: str) -> NoReturn:
        """End the import for what a key says."""
        raise wrong(message, self.at(key), key, "E603")

    def checked(self, key: str, schema: Schema, otherwise: Any = None) -> Any:
        """The value of a key, or what it is otherwise; one that the schema does not accept ends the import."""
        value = self.get(key, otherwise)
        for finding in check_value(schema, from_value(value, self.at(key))):
            self.refuse(key, finding.message)
        return value

    def whole(self, key: str, otherwise: int | None = None) -> int:
        """The whole number of at least one at a key."""
        return int(self.checked(key, {"type": "integer", "minimum": 1}, otherwise))

    def chance(self, key: str, otherwise: float = 0.0) -> float:
        """The probability at a key."""
        return float(self.checked(key, P, otherwise))

    def numbers(self, key: str, count: int | None = None, otherwise: list[float] | None = None) -> list[float]:
        """The list of so many numbers at a key; of any count, where it is None."""
        size = {} if count is None else {"prefixItems": [_NUMBER] * count, "minItems": count, "maxItems": count}
        return list(self.checked(key, {"type": "array", "items": _NUMBER, **size}, otherwise))

    def range(self, key: str, otherwise: list[float] | None = None) -> list[float]:
        """The lower and the upper end at a key."""
        low, high = self.numbers(key, 2, otherwise)
        if low > high:
            self.refuse(key, f"must be a range, the smaller end first, got {[low, high]}")
        return [low, high]

    def texts(self, key: str, otherwise: list[str] | None = None) -> list[str]:
        """The list of texts at a key; one is a list of one."""
        value = self.checked(key, _TEXTS, otherwise)
        return [value] if isinstance(value, str) else list(value)

    def flag(self, key: str, *, otherwise: bool = False) -> bool:
        """Whether a key says so."""
        return bool(self.checked(key, {"type": "boolean"}, otherwise))

    def choice(self, key: str, known: Iterable[str], otherwise: str) -> str:
        """The one of several names at a key."""
        return str(self.checked(key, {"enum": [*known]}, otherwise))

    def shares(self, key: str, otherwise: list[float]) -> list[float]:
        """The weights at a key, as many as they are otherwise, as parts of 1."""
        weights = self.numbers(key, len(otherwise), otherwise)
        if sum(weights) <= 0 or min(weights) < 0:
            self.refuse(key, f"must be weights, of which one is above 0, got {weights}")
        return [weight / sum(weights) for weight in weights]

    def weighted(self, key: str, weights: str, known: Iterable[str], usual: Mapping[str, float]) -> Weighted:
        """The texts at one key, each with its share by the weights at another, or by the usual ones, or alike."""
        names = self.texts(key, list(usual))
        if unknown := [name for name in names if name not in known]:
            self.refuse(key, f"{unknown[0]!r} is none of {', '.join(known)}")
        alike = list(usual.values()) if len(usual) == len(names) else [1.0] * len(names)
        result = dict.fromkeys(names, 0.0)  # a name may be there twice
        for name, share in zip(names, self.shares(weights, alike), strict=True):
            result[name] += share
        return [each for each in result.items() if each[1]]
