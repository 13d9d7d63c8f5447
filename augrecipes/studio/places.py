"""PageText in a text as the page counts them: lines from 1, columns from 0 in UTF-16 units, as browsers have text."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

from augrecipes.recipe.spans import TextSpan

_BREAK = re.compile("\r\n|[\n\r]")
_YAML_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


class PageText:
    """Offsets of a text as lines and columns, of the page and of YAML.

    >>> places = PageText("a: é\\nb: 𝄞x")
    >>> places.of(9), places.offset(2, 5), places.between(TextSpan(5, 9))
    ([2, 5], 9, {'from': [2, 0], 'to': [2, 5]})
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in _BREAK.finditer(text))]
        self._yaml = [0, *(found.end() for found in _YAML_BREAK.finditer(text))]

    def of(self, offset: int) -> list[int]:
        """Line and column of an offset, for the page."""
        line = bisect_right(self._starts, offset)
        before = self.text[self._starts[line - 1] : offset]
        return [line, len(before) + sum(ord(c) > 0xFFFF for c in before)]

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column as messages have them: both from 1, in characters."""
        start = self._yaml[min(max(line, 1), len(self._yaml)) - 1]
        return min(start + max(column, 1) - 1, len(self.text))

    def between(self, span: TextSpan) -> dict[str, Any]:
        """`from` and `to` of a span."""
        return {"from": self.of(span.start), "to": self.of(span.end)}
