"""Values of an option file, with their places, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from augrecipes.interop.draft import wrong
from augrecipes.recipe.nodes import MappingNode, Node, Place, describe, plain


@dataclass(frozen=True, slots=True)
class OptionFile:
    """What one or several mappings of an option file say; the first that has a key counts.

    Attributes:
        sources: the mappings.
        place: where they start.
    """

    sources: tuple[MappingNode, ...]
    place: Place

    def at(self, key: str) -> Place:
        """Where a key stands; where all of it starts, if it does not."""
        return next(
            (each.at.get(key, each.entries[key].place) for each in self.sources if key in each.entries), self.place
        )

    def node(self, key: str) -> Node | None:
        """What stands at a key."""
        return next((each.entries[key] for each in self.sources if key in each.entries), None)

    def get(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key; what it is otherwise, where the key is missing or empty."""
        node = self.node(key)
        value = None if node is None else plain(node)
        return otherwise if value is None else value

    def wrong(self, key: str, message: str, got: bool = False) -> NoReturn:
        """Refuse the file for what a key says; `got` adds what that is."""
        place, node = self.at(key), self.node(key)
        message += f", got {'nothing' if node is None else describe(node)}" * got
        raise wrong(message, place, key, "E603")

    def number(self, key: str, otherwise: float | None = None) -> float:
        """The number at a key."""
        value = self.get(key, otherwise)
        if not _is_number(value):
            self.wrong(key, "must be a number", got=True)
        found: float = value
        return found

    def whole(self, key: str, otherwise: int | None = None) -> int:
        """The whole number of at least one at a key."""
        value = self.number(key, otherwise)
        if value % 1 or not value >= 1:
            self.wrong(key, f"must be a whole number, 1 or more, got {value:g}")
        return int(value)

    def chance(self, key: str, otherwise: float = 0.0) -> float:
        """The probability at a key."""
        value = self.number(key, otherwise)
        if not 0 <= value <= 1:
            self.wrong(key, f"must be a probability, 0 to 1, got {value:g}")
        return value

    def numbers(self, key: str, count: int | None, otherwise: list[float] | None = None) -> list[float]:
        """The list of so many numbers at a key; of any count, where it is None."""
        value = self.get(key, otherwise)
        fine = isinstance(value, list) and all(map(_is_number, value))
        if not fine or (count is not None and len(value) != count):
            self.wrong(key, f"must be a list of {count or 'some'} numbers", got=True)
        return list(value)

    def range(self, key: str, otherwise: list[float] | None = None) -> list[float]:
        """The lower and the upper end at a key."""
        low, high = self.numbers(key, 2, otherwise)
        if low > high:
            self.wrong(key, f"must be a range, the smaller end first, got [{low:g}, {high:g}]")
        return [low, high]

    def texts(self, key: str, otherwise: list[str] | None = None) -> list[str]:
        """The list of texts at a key; one is a list of one."""
        value = self.get(key, otherwise)
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
            self.wrong(key, "must be text, or a list of texts", got=True)
        return list(value)

    def weighted(
        self, key: str, weights: str, usual: list[str], known: Iterable[str], shares: list[float] | None = None
    ) -> list[tuple[str, float]]:
        """The texts at one key, each with its share by the weights at another: without those `shares`, or alike."""
        names = self.texts(key, usual)
        given = self.numbers(weights, len(names), shares or [1 / len(names)] * len(names))
        if unknown := [name for name in names if name not in known]:
            self.wrong(key, f"{unknown[0]!r} is none of {', '.join(known)}")
        total = sum(given) or 1.0
        return [(name, weight / total) for name, weight in zip(names, given, strict=True) if weight]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
