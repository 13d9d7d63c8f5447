"""The valid name with the nearest spelling."""

from __future__ import annotations

from collections.abc import Iterable


def hint(name: str, valid: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest of `valid`, or an empty text when nothing is near."""
    near = nearest(name, valid)
    return f"; did you mean {near!r}?" if near else ""


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name with the nearest spelling; letter case and underscores count least.

    >>> nearest("hieght", ["height", "width"]), nearest("zzz", ["height"])
    ('height', None)
    """
    if len(name) > 60:
        return None
    best, best_distance = None, max(1, (len(name) + 1) // 3) + 0.5
    folded = _fold(name)
    for candidate in valid:
        other = _fold(candidate)
        if other == folded:
            return candidate
        if abs(len(other) - len(folded)) >= best_distance:
            continue
        found = distance(folded, other)
        if found < best_distance:
            best, best_distance = candidate, found
    return best


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def distance(a: str, b: str) -> int:
    """Edits between two words; swapping two neighbours is one (optimal string alignment).

    >>> distance("hieght", "height"), distance("sise", "size"), distance("", "ab")
    (1, 1, 2)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
