"""What tells two recipes apart in effect: steps, arguments, order, draws, output. Without pixels but in `images`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from operator import attrgetter
from typing import Any, NamedTuple

from augrecipes.diff.differences import Change, ComparedRecipe, Difference, Draws, Placed, StepDifference, What
from augrecipes.diff.meaning import Meaning, compared, equal, equivalent, meanings, settings
from augrecipes.recipe.model import Mode, Recipe, canonical
from augrecipes.recipe.parse import Source, as_recipe

__all__ = ["Change", "Difference", "Placed", "StepDifference", "diff"]

_BOTH: tuple[Mode, ...] = ("train", "eval")
# What makes two steps the same one, the surest first.
_KEYS = (("step.site", "key"), ("key",), ("step.site", "step.name"), ("step.name",))
_IN_ORDER = tuple(attrgetter(*names) for names in _KEYS)
_ANYWHERE = (_IN_ORDER[0], _IN_ORDER[2], _IN_ORDER[1])
# Fields of recipes that change no sample, and what is said of both values.
_UNSEEN = {
    "name": "recipe: {} → {}",
    "about": "about: other words",
    "optimize": "optimize: {} → {}: the same recipe and the same draws, planned differently",
    "without_rules": "without_rules: {} → {}: the same recipe and the same draws, planned differently",
    "plugins": "plugins: {} → {}: where classes of steps come from",
    "max_bytes": "max_bytes: {} → {}: the same samples, where they are made",
}

Numbered = Sequence[tuple[int, Meaning]]
Places = list[tuple[int, int]]  # in two lists


class _Pair(NamedTuple):
    """A step of both recipes, or of one."""

    a: Meaning | None
    b: Meaning | None
    moved: bool = False


def diff(a: Recipe | Source, b: Recipe | Source, modes: Sequence[Mode] = _BOTH) -> Difference:
    """What tells two recipes apart in effect.

    Defaults are merged, so that what is written and what is left out are the same where they mean the same. Steps are
    paired by likeness, site and order; a step that stands elsewhere is moved, not removed and added.

    Args:
        a: the first, the one that was: a Recipe, or what `augrecipes.load` takes.
        b: the second, the one that is.
        modes: the sections to compare, `train`, `eval` or both.

    >>> import augrecipes as ar
    >>> found = diff("folder-128", ar.load("folder-128", overrides={"HorizontalFlip.p": 0.2}))
    >>> found.same, found.steps[0].site, found.steps[0].changes, found.steps[0].draws
    (False, 'HorizontalFlip#1', (Change(key='p', a=0.5, b=0.2),), 'kept')
    """
    a, b = as_recipe(a), as_recipe(b)
    chosen = tuple(mode for mode in _BOTH if mode in modes)
    steps: list[StepDifference] = []
    remarks: list[str] = []
    alike = 0
    for mode in chosen:
        pairs = _section(meanings(a, a.listed(mode)), meanings(b, b.listed(mode)))
        judged = [_difference(pair, mode, remarks, with_class=not a.facts.scales) for pair in pairs]
        steps += filter(None, judged)
        alike += judged.count(None)
    changed = settings(a, b, chosen)
    written = _without_effect(a, b, same=not changed and not steps)
    mine, other = (ComparedRecipe(recipe.name, recipe.file, recipe.digest) for recipe in (a, b))
    return Difference(
        mine, other, chosen, changed, tuple(steps), alike, (*written, *dict.fromkeys(remarks)), pictured=(a, b),
    )  # fmt: skip


def _section(a: Sequence[Meaning], b: Sequence[Meaning]) -> list[_Pair]:
    """All steps of a section, paired; the same pairs whichever recipe comes first.

    What is not in one order pairs where it means the same or has the same site. It has moved, unless it went along with
    its group. Steps of different classes are never a pair.
    """
    names_a, names_b = ([(step.key, step.step.site) for step in steps for step in step.walk()] for steps in (a, b))
    swapped = names_a > names_b
    pairs: list[_Pair | None] = [*(_paired(b, a) if swapped else _paired(a, b))]
    stands = {pair.a.placed.place: pair.b.placed.place for pair in pairs if pair and pair.a and pair.b}
    gone = [(number, pair.a) for number, pair in enumerate(pairs) if pair and pair.a and not pair.b]
    come = [(number, pair.b) for number, pair in enumerate(pairs) if pair and pair.b and not pair.a]
    by_number = dict([*gone, *come])
    for i, j in sorted(_pair_off(gone, come)):
        before, after = by_number[i].placed.place, by_number[j].placed.place
        stands[before] = after
        along = stands.get(before[:-1]) == after[:-1] and before[-1] == after[-1]
        pairs[i], pairs[j] = None, _Pair(by_number[i], by_number[j], moved=not along)
    return [_Pair(pair.b, pair.a, pair.moved) if swapped else pair for pair in pairs if pair]


def _in_order(a: Numbered, b: Numbered, keys: Sequence[Callable[[Meaning], Any]]) -> Iterator[tuple[int, int]]:
    """Pair steps that stand in one order: where they mean the same, then between such pairs by site, then by class."""
    if not (a and b and keys):
        return
    key, *others = keys
    blocks = SequenceMatcher(None, [key(step) for _, step in a], [key(step) for _, step in b], autojunk=False)
    i = j = 0
    for mine, other, size in blocks.get_matching_blocks():
        yield from _in_order(a[i:mine], b[j:other], others)
        yield from ((a[mine + k][0], b[other + k][0]) for k in range(size))
        i, j = mine + size, other + size


def _pair_off(a: Numbered, b: Numbered) -> Places:
    """Pairs of numbered steps of one class with one site, or else with one meaning; each step is in one at most."""
    pairs: Places = []
    for key in _ANYWHERE:
        open_b: dict[Any, list[int]] = {}
        done_a, done_b = {i for i, _ in pairs}, {j for _, j in pairs}
        for j, other in reversed(b):
            if j not in done_b:
                open_b.setdefault(key(other), []).append(j)
        pairs += [(i, open_b[key(step)].pop()) for i, step in a if i not in done_a and open_b.get(key(step))]
    return pairs


def _paired(a: Sequence[Meaning], b: Sequence[Meaning]) -> Iterator[_Pair]:
    """The steps of two lists, and of the groups in them, as far as they are in one order; what is gone comes first."""
    paired = [*_in_order(list(enumerate(a)), list(enumerate(b)), _IN_ORDER)]
    gone = come = 0
    for i, j in [*sorted(paired), (len(a), len(b))]:
        yield from (_Pair(inner, None) for step in a[gone:i] for inner in step.walk())
        yield from (_Pair(None, inner) for step in b[come:j] for inner in step.walk())
        for step, other in zip(a[i : i + 1], b[j : j + 1], strict=True):
            yield _Pair(step, other)
            yield from _paired(step.steps, other.steps)
        gone, come = i + 1, j + 1


def _difference(pair: _Pair, mode: Mode, remarks: list[str], *, with_class: bool) -> StepDifference | None:
    """What is to be said of a pair; None where its steps are the same. Equivalent arguments are a remark."""
    a, b, moved = pair
    if a is None or b is None:
        what: What = "removed" if b is None else "added"
        return StepDifference(mode, what, a.placed if a else None, b.placed if b else None)
    changes = _changes(a, b)
    if with_class:
        same = equivalent(a.step, b.step, changes)
        if neutral := [f"{change.key}: {change.text}" for change in changes if change.key in same]:
            # They are equivalent together: one may take the place of another.
            remarks.append(f"{a.step.site}, the same in effect: {', '.join(neutral)}")
        changes = [change for change in changes if change.key not in same]
    draws = _draws(a, b)
    if not (changes or moved or draws == "changed"):
        return None
    return StepDifference(mode, "moved" if moved else "changed", a.placed, b.placed, tuple(changes), draws)


def _changes(a: Meaning, b: Meaning) -> list[Change]:
    changes = compared(a.values, b.values)
    # In a OneOf all weights may be twice as large, and the chances are the same.
    if a.p != b.p and (a.weight is None or a.weight != b.weight):
        changes.append(Change("p", canonical(a.p), canonical(b.p)))
    return changes


def _draws(a: Meaning, b: Meaning) -> Draws:
    if not (a.draws or b.draws):
        return "none"
    same = all(equal(a.values.get(key), b.values.get(key)) for key in ("share", "draws"))
    return "kept" if a.step.site == b.step.site and same else "changed"


def _without_effect(a: Recipe, b: Recipe, *, same: bool) -> Iterator[str]:
    """What differs and changes no sample."""
    for name, said in _UNSEEN.items():
        values = [getattr(recipe, name) for recipe in (a, b)]
        if values[0] != values[1]:
            words = ((", ".join(value) or "none") if isinstance(value, tuple) else value for value in values)
            yield said.format(*words)
    if same and a.digest != b.digest:
        yield "digest: the same in effect, in other words"
