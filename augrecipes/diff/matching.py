"""Which step of one list is which of the other: in order where possible, else as moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from augrecipes.diff.meaning import Meaning, word

_MOST_PAIRS = 100_000
_CLASS, _LIKE, _SITE, _ID = 1.0, 1.4, 0.5, 2.0
_EQUAL = _CLASS + _LIKE + _SITE + 0.1  # steps that mean the same belong together, whatever their sites


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

    Equal steps at the two ends are paired first. Between them the pairs are the common subsequence of the greatest
    weight: the class, the share of equal arguments and children, the site. What is left pairs where it means the same
    or has the same site, and counts as moved.
    """
    head = 0
    while head < min(len(a), len(b)) and _identical(a[head], b[head]):
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and _identical(a[-1 - tail], b[-1 - tail]):
        tail += 1
    first, second = a[head : len(a) - tail], b[head : len(b) - tail]
    # Beyond so many pairs of steps the pairs by site are all there are, and count as moved.
    kept = _heaviest(first, second) if len(first) * len(second) <= _MOST_PAIRS else []
    moved = _left_over(first, second, kept)
    shifted = [(i + head, j + head) for i, j in kept]
    ends = [(len(a) - tail + k, len(b) - tail + k) for k in range(tail)]
    return Matched(
        [*((k, k) for k in range(head)), *shifted, *ends],
        sorted(((i + head, j + head) for i, j in moved), key=itemgetter(1)),
    )


def _identical(a: Meaning, b: Meaning) -> bool:
    return a.key == b.key and a.step.site == b.step.site


def _weight(a: Meaning, b: Meaning, mine: frozenset[str], other: frozenset[str]) -> float:
    """How much speaks for two steps being the same one, given their words; 0: nothing."""
    if a.step.name != b.step.name:
        return 0.0
    site = _SITE if a.step.site == b.step.site else 0.0
    named = _ID if a.step.id is not None and a.step.id == b.step.id else 0.0
    if a.key == b.key:
        return _EQUAL + site + named
    return _CLASS + _LIKE * len(mine & other) / max(len(mine), len(other)) + site + named


def _words(meaning: Meaning) -> frozenset[str]:
    """What a step says: its arguments one by one, the steps inside it, and the classes of those."""
    said = [f"{name}: {word(value)}" for name, value in (*meaning.values.items(), ("p", meaning.p))]
    said += [text for child in meaning.steps for text in (child.key, child.step.name)]
    times: Counter[str] = Counter()
    numbered = []
    for text in said:
        times[text] += 1
        numbered.append(f"{text} {times[text]}")
    return frozenset(numbered)


def _heaviest(a: Sequence[Meaning], b: Sequence[Meaning]) -> list[tuple[int, int]]:
    """The common subsequence of the greatest weight."""
    mine, others = [_words(one) for one in a], [_words(other) for other in b]
    weights = [
        [_weight(one, other, words, its) for other, its in zip(b, others, strict=True)]
        for one, words in zip(a, mine, strict=True)
    ]
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            paired = weights[i][j] + best[i + 1][j + 1] if weights[i][j] else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    found, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if weights[i][j] and best[i][j] == weights[i][j] + best[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _left_over(a: Sequence[Meaning], b: Sequence[Meaning], kept: list[tuple[int, int]]) -> list[tuple[int, int]]:
    taken_a, taken_b = {i for i, _ in kept}, {j for _, j in kept}
    return pair_off(
        [(i, one) for i, one in enumerate(a) if i not in taken_a],
        [(j, other) for j, other in enumerate(b) if j not in taken_b],
    )


def pair_off(a: Sequence[tuple[int, Meaning]], b: Sequence[tuple[int, Meaning]]) -> list[tuple[int, int]]:
    """Pairs of numbered steps of one class with one site, or else with one meaning; each step is in one at most."""
    pairs: list[tuple[int, int]] = []
    for key in (attrgetter("step.site", "key"), attrgetter("step.site", "step.name"), attrgetter("key")):
        open_b: dict[Any, list[int]] = {}
        done_a, done_b = {i for i, _ in pairs}, {j for _, j in pairs}
        for j, other in reversed(b):
            if j not in done_b:
                open_b.setdefault(key(other), []).append(j)
        pairs += [(i, open_b[key(one)].pop()) for i, one in a if i not in done_a and open_b.get(key(one))]
    return pairs
