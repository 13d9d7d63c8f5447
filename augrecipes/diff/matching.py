"""Which step of one list is which of the other: in order where possible, else as moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from augrecipes.diff.meaning import Meaning

# What makes two steps the same one, the surest first.
_IN_ORDER = tuple(
    attrgetter(*names) for names in (("step.site", "key"), ("key",), ("step.site", "step.name"), ("step.name",))
)
_ANYWHERE = (_IN_ORDER[0], _IN_ORDER[2], _IN_ORDER[1])


class Matched(NamedTuple):
    """Pairs of places in two lists.

    Attributes:
        kept: in order in both lists.
        moved: the others, by their place in the second list.
    """

    kept: list[tuple[int, int]]
    moved: list[tuple[int, int]]


def match(a: Sequence[Meaning], b: Sequence[Meaning]) -> Matched:
    """Pair the steps of two lists; steps of different classes are never a pair.

    What is in order pairs where it means the same, then between such pairs where it has the same site, then by its
    class. What is left pairs where it means the same or has the same site, and counts as moved.
    """
    kept = sorted(_in_order(list(enumerate(a)), list(enumerate(b)), _IN_ORDER))
    mine, other = {i for i, _ in kept}, {j for _, j in kept}
    moved = pair_off(
        [(i, one) for i, one in enumerate(a) if i not in mine], [(j, one) for j, one in enumerate(b) if j not in other]
    )
    return Matched(kept, sorted(moved, key=itemgetter(1)))


Numbered = Sequence[tuple[int, Meaning]]


def _in_order(a: Numbered, b: Numbered, keys: Sequence[Callable[[Meaning], Any]]) -> Iterator[tuple[int, int]]:
    if not (a and b and keys):
        return
    key, *others = keys
    blocks = SequenceMatcher(None, [key(one) for _, one in a], [key(one) for _, one in b], autojunk=False)
    i = j = 0
    for mine, other, size in blocks.get_matching_blocks():
        yield from _in_order(a[i:mine], b[j:other], others)
        yield from ((a[mine + k][0], b[other + k][0]) for k in range(size))
        i, j = mine + size, other + size


def pair_off(a: Numbered, b: Numbered) -> list[tuple[int, int]]:
    """Pairs of numbered steps of one class with one site, or else with one meaning; each step is in one at most."""
    pairs: list[tuple[int, int]] = []
    for key in _ANYWHERE:
        open_b: dict[Any, list[int]] = {}
        done_a, done_b = {i for i, _ in pairs}, {j for _, j in pairs}
        for j, other in reversed(b):
            if j not in done_b:
                open_b.setdefault(key(other), []).append(j)
        pairs += [(i, open_b[key(one)].pop()) for i, one in a if i not in done_a and open_b.get(key(one))]
    return pairs
