"""What a message says of the way out: the valid name with the nearest spelling, and edits of the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Fix:
    """What may mend a problem, at the place of the problem.

    Attributes:
        action: `word`, `value`, `entry` or `step`: the word (in its quotes), the value, the key with its value, or the
            step there becomes `text`; `set`: the step there gets the argument `text`; `key`: the recipe gets the key
            `text`; `remove`: the argument or the step there is removed; `silence`: the step there gets a comment that
            silences the lint `text`.
        text: YAML.
    """

    action: Literal["word", "value", "entry", "step", "set", "key", "remove", "silence"]
    text: str = ""


class Hint(NamedTuple):
    """What a message says of the way out, and the edits that go it."""

    text: str = ""
    fixes: tuple[Fix, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text or self.fixes)


NO_HINT = Hint()


def near(name: str, valid: Iterable[str]) -> Hint:
    """The hint at the nearest of `valid`: it takes the place of `name`; empty when nothing is near."""
    found = nearest(name, valid)
    return meant(found, repr(found)) if found else NO_HINT


def meant(name: str, shown: str = "") -> Hint:
    """The hint at one name."""
    return Hint(f"; did you mean {shown or name}?", (Fix("word", name),))


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
