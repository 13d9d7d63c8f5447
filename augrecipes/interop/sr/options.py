"""Values of an option file, with their places, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from augrecipes.errors import Diagnostic, RecipeError
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
        for source in self.sources:
            if key in source.entries:
                return source.at.get(key, source.entries[key].place)
        return self.place

    def node(self, key: str) -> Node | None:
        """What stands at a key."""
        return next((source.entries[key] for source in self.sources if key in source.entries), None)

    def get(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key; what it is otherwise, where the key is missing or empty."""
        node = self.node(key)
        value = None if node is None else plain(node)
        return otherwise if value is None else value

    def wrong(self, key: str, message: str) -> NoReturn:
        """Refuse the file for what a key says."""
        place = self.at(key)
        raise RecipeError(problems=[Diagnostic(message, place.line, place.col, "E603", key, place.file)])

    def number(self, key: str, otherwise: float | None = None) -> float:
        """The number at a key."""
        value = self.get(key, otherwise)
        if not isinstance(value, int | float) or isinstance(value, bool):
            self.wrong(key, f"must be a number, got {self._said(key)}")
        return value

    def whole(self, key: str, otherwise: int | None = None) -> int:
        """The whole number of at least one at a key."""
        value = self.number(key, otherwise)
        if value != int(value) or value < 1:
            self.wrong(key, f"must be a whole number, 1 or more, got {value:g}")
        return int(value)

    def chance(self, key: str, otherwise: float) -> float:
        """The probability at a key."""
        value = self.number(key, otherwise)
        if not 0 <= value <= 1:
            self.wrong(key, f"must be a probability, 0 to 1, got {value:g}")
        return value

    def numbers(self, key: str, count: int | None, otherwise: list[float] | None = None) -> list[float]:
        """The list of so many numbers at a key; of any count, where it is None."""
        value = self.get(key, otherwise)
        fine = isinstance(value, list) and all(isinstance(e, int | float) and not isinstance(e, bool) for e in value)
        if not fine or (count is not None and len(value) != count):
            self.wrong(key, f"must be a list of {count or 'some'} numbers, got {self._said(key)}")
        return list(value)

    def range(self, key: str, otherwise: list[float] | None = None) -> tuple[float, float]:
        """The lower and the upper end at a key."""
        low, high = self.numbers(key, 2, otherwise)
        if low > high:
            self.wrong(key, f"must be a range, the smaller end first, got [{low:g}, {high:g}]")
        return low, high

    def texts(self, key: str, otherwise: list[str] | None = None) -> list[str]:
        """The list of texts at a key; one is a list of one."""
        value = self.get(key, otherwise)
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
            self.wrong(key, f"must be text, or a list of texts, got {self._said(key)}")
        return list(value)

    def _said(self, key: str) -> str:
        node = self.node(key)
        return "nothing" if node is None else describe(node)
