"""Two recipes compared: what takes effect in both, and how their draws are keyed. No pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from augrecipes.diff import settings
from augrecipes.diff.differences import Change, ComparedRecipe, Difference, Draws, Placed, StepDifference
from augrecipes.diff.equivalent import equivalent
from augrecipes.diff.matching import match, pair_off
from augrecipes.diff.meaning import Meaning, equal, meanings, plain
from augrecipes.diff.words import of_change
from augrecipes.recipe.loading import Source, as_recipe
from augrecipes.recipe.model import Mode, Recipe

_BOTH: tuple[Mode, ...] = ("train", "eval")


@dataclass(frozen=True, slots=True)
class _Pair:
    """A step of both recipes, or of one."""

    a: Meaning | None
    b: Meaning | None
    moved: bool = False

    def mirrored(self) -> _Pair:
        return _Pair(self.b, self.a, self.moved)


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
    hints: list[str] = []
    remarks: list[str] = []
    alike = 0
    for mode in chosen:
        pairs = _section(meanings(a, a.section(mode) or ()), meanings(b, b.section(mode) or ()))
        compared = [(pair, _difference(pair, mode, remarks, with_class=not a.facts.scales)) for pair in pairs]
        hints += _hints([(pair, one) for pair, one in compared if one is not None])
        steps += [one for _, one in compared if one is not None]
        alike += sum(one is None for _, one in compared)
    changed = settings.changes(a, b, chosen)
    written = _without_effect(a, b, same=not changed and not steps)
    return Difference(
        _side(a), _side(b), chosen, changed, tuple(steps), alike, tuple(dict.fromkeys(hints)),
        (*written, *dict.fromkeys(remarks)), pictured=(a, b),
    )  # fmt: skip


def _side(recipe: Recipe) -> ComparedRecipe:
    return ComparedRecipe(recipe.name, recipe.file, recipe.digest)


def _section(a: tuple[Meaning, ...], b: tuple[Meaning, ...]) -> list[_Pair]:
    """All steps of a section, paired; the same pairs whichever recipe comes first."""
    swapped = _in_words(a) > _in_words(b)
    pairs = list(_paired(b, a) if swapped else _paired(a, b))
    gone = [(number, pair.a) for number, pair in enumerate(pairs) if pair.a is not None and pair.b is None]
    come = [(number, pair.b) for number, pair in enumerate(pairs) if pair.b is not None and pair.a is None]
    stands = {pair.a.place: pair.b.place for pair in pairs if pair.a is not None and pair.b is not None}
    merged: dict[int, _Pair | None] = {}
    for i, j in sorted(pair_off(gone, come)):
        one, other = pairs[i].a, pairs[j].b
        if one is not None and other is not None:
            stands[one.place] = other.place
            along = stands.get(one.place[:-1]) == other.place[:-1] and one.place[-1] == other.place[-1]
            merged[i], merged[j] = None, _Pair(one, other, moved=not along)
    all_pairs = [merged.get(number, pair) for number, pair in enumerate(pairs)]
    return [pair.mirrored() if swapped else pair for pair in all_pairs if pair is not None]


def _in_words(steps: tuple[Meaning, ...]) -> list[tuple[str, str]]:
    return [(one.key, one.step.site) for step in steps for one in step.walk()]


def _paired(a: Sequence[Meaning], b: Sequence[Meaning]) -> Iterator[_Pair]:
    """The steps of two lists and of the groups in them, in the order of the second; what is gone before what came."""
    kept, moved = match(a, b)
    here = {j: (i, False) for i, j in kept} | {j: (i, True) for i, j in moved}
    stay = {i for i, _ in (*kept, *moved)}
    gone, come = 0, 0
    for i, j in [*kept, (len(a), len(b))]:
        for k in range(gone, i):
            if k not in stay:
                yield from (_Pair(inner, None) for inner in a[k].walk())
        for k in range(come, min(j + 1, len(b))):
            if k in here:
                number, elsewhere = here[k]
                yield _Pair(a[number], b[k], elsewhere)
                yield from _paired(a[number].steps, b[k].steps)
            else:
                yield from (_Pair(None, inner) for inner in b[k].walk())
        gone, come = i + 1, j + 1


def _difference(pair: _Pair, mode: Mode, remarks: list[str], *, with_class: bool) -> StepDifference | None:
    """What is to be said of a pair; None where its steps are the same. Equivalent arguments are a remark."""
    a, b = pair.a, pair.b
    if a is None or b is None:
        return StepDifference(mode, "removed" if b is None else "added", _placed(a), _placed(b))
    changes = _changes(a, b)
    if with_class:
        same = equivalent(a.step, b.step, changes)
        if neutral := [change for change in changes if change.key in same]:
            remarks.append(_equivalence(a, neutral))
        changes = [change for change in changes if change.key not in same]
    draws = _draws(a, b)
    if not (changes or pair.moved or draws == "changed"):
        return None
    return StepDifference(mode, "moved" if pair.moved else "changed", _placed(a), _placed(b), tuple(changes), draws)


def _placed(meaning: Meaning | None) -> Placed | None:
    if meaning is None:
        return None
    step = meaning.step
    arguments = {**plain(meaning.values), "p": plain(meaning.p)}
    return Placed(step.site, step.name, meaning.place, meaning.behind, step.position.line, arguments)


def _changes(a: Meaning, b: Meaning) -> list[Change]:
    found = settings.compared(a.values, b.values)
    # In a OneOf all weights may be twice as large, and the chances are the same.
    if a.p != b.p and (a.weight is None or a.weight != b.weight):
        found.append(Change("p", plain(a.p), plain(b.p)))
    return found


def _draws(a: Meaning, b: Meaning) -> Draws:
    if not (a.draws or b.draws):
        return "none"
    return "kept" if a.step.site == b.step.site and equal(a.values.get("share"), b.values.get("share")) else "changed"


def _equivalence(meaning: Meaning, changes: Sequence[Change]) -> str:
    """The changes are equivalent together: one may take the place of another."""
    written = ", ".join(f"{change.key}: {of_change(change)}" for change in changes)
    return f"{meaning.step.site}, the same in effect: {written}"


def _hints(compared: list[tuple[_Pair, StepDifference]]) -> Iterator[str]:
    """How to keep draws; steps whose group has other draws follow its `id`."""
    changed = {one.b.place for _, one in compared if one.b is not None and one.draws == "changed"}
    for pair, one in compared:
        a, b = pair.a, pair.b
        if a is None or b is None or one.draws != "changed" or a.step.site == b.step.site or b.place[:-1] in changed:
            continue
        if a.step.id is None and b.step.id is not None:
            yield f"{a.step.site} of A: `id: {b.step.id}` gives it the draws that it has in B"
        elif b.step.id is None and a.step.id is not None:
            yield f"{b.step.site} of B: `id: {a.step.id}` gives it the draws that it has in A"
        else:
            yield f"{one.site}: one `id` for it in both recipes, and it draws the same wherever it stands"


def _without_effect(a: Recipe, b: Recipe, *, same: bool) -> Iterator[str]:
    """What differs and changes no sample."""
    if a.name != b.name:
        yield f"recipe: {a.name} → {b.name}"
    if a.about != b.about:
        yield "about: other words"
    if a.optimize != b.optimize:
        yield f"optimize: {a.optimize} → {b.optimize}: the same recipe and the same draws, planned differently"
    if a.without_rules != b.without_rules:
        rules = (", ".join(one.without_rules) or "none" for one in (a, b))
        yield f"without_rules: {' → '.join(rules)}: the same recipe and the same draws, planned differently"
    if a.plugins != b.plugins:
        names = (", ".join(one.plugins) or "none" for one in (a, b))
        yield f"plugins: {' → '.join(names)}: where classes of steps come from"
    if a.max_bytes != b.max_bytes:
        yield f"max_bytes: {a.max_bytes} → {b.max_bytes}: the same samples, where they are made"
    if same and a.digest != b.digest:
        yield "digest: the same in effect, in other words"
