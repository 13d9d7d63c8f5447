"""Compares two recipes by effect: steps, arguments, order, draws, output. `diff.images` compares their results."""

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
# Keys by which steps are paired, the surest first.
_KEYS = (("step.site", "key"), ("key",), ("step.site", "step.name"), ("step.name",))
_IN_ORDER = tuple(attrgetter(*names) for names in _KEYS)
_ANYWHERE = (_IN_ORDER[0], _IN_ORDER[2], _IN_ORDER[1])
# Fields of recipes that change no sample, with the text for both values.
_REMARKS = {
    "name": "recipe: {} → {}",
    "about": "about: other words",
    "optimize": "optimize: {} → {}: the same recipe and the same draws, planned differently",
    "without_rules": "without_rules: {} → {}: the same recipe and the same draws, planned differently",
    "plugins": "plugins: {} → {}: where classes of steps come from",
    "max_bytes": "max_bytes: {} → {}: the same samples, unless the limit refuses them",
}

Numbered = Sequence[tuple[int, Meaning]]
Places = list[tuple[int, int]]  # in two lists


class _Pair(NamedTuple):
    """A step of both recipes, or of one."""

    a: Meaning | None
    b: Meaning | None
    moved: bool = False


def diff(a: Recipe | Source, b: Recipe | Source, modes: Sequence[Mode] = _BOTH) -> Difference:
    """Compare two recipes by effect.

    Defaults are merged: an argument at its default equals one that is left out. Steps are paired by likeness, label and
    order; a step in another place is moved, not removed and added.

    Args:
        a: the old recipe: a Recipe, or what `augrecipes.load` takes.
        b: the new recipe.
        modes: the sections to compare, `train`, `eval` or both.

    Returns:
        Settings and steps that differ; `same` says whether both recipes make the same samples.

    Raises:
        RecipeError: a recipe is not valid.

    >>> import augrecipes as ar
    >>> found = diff("folder-128", ar.load("folder-128", overrides={"HorizontalFlip.p": 0.2}))
    >>> found.same, found.steps[0].site, found.steps[0].changes, found.steps[0].draws
    (False, 'HorizontalFlip#1', (Change(key='p', a=0.5, b=0.2),), 'kept')
    """
    a, b = as_recipe(a), as_recipe(b)
    chosen = tuple(mode for mode in _BOTH if mode in modes)
    steps: list[StepDifference] = []
    remarks: list[str] = []
    equal_steps = 0
    for mode in chosen:
        pairs = _section(meanings(a, a.listed(mode)), meanings(b, b.listed(mode)))
        differences = [_difference(pair, mode, remarks, with_class=not a.facts.scales) for pair in pairs]
        steps += filter(None, differences)
        equal_steps += differences.count(None)
    changed = settings(a, b, chosen)
    written = _without_effect(a, b, same=not changed and not steps)
    old, new = (ComparedRecipe(recipe.name, recipe.file, recipe.digest) for recipe in (a, b))
    notes = (*written, *dict.fromkeys(remarks))
    return Difference(old, new, chosen, changed, tuple(steps), equal_steps, notes, pictured=(a, b))


def _section(a: Sequence[Meaning], b: Sequence[Meaning]) -> list[_Pair]:
    """Pair all steps of a section; the pairs do not depend on which recipe is first.

    Steps that are not in the same order are paired if they have the same meaning or label. They have moved, unless they
    moved with their group. Steps of different classes are never paired.
    """
    names_a, names_b = ([(step.key, step.step.site) for step in steps for step in step.walk()] for steps in (a, b))
    swapped = names_a > names_b
    pairs: list[_Pair | None] = [*(_pair_steps(b, a) if swapped else _pair_steps(a, b))]
    new_places = {pair.a.placed.place: pair.b.placed.place for pair in pairs if pair and pair.a and pair.b}
    removed = [(number, pair.a) for number, pair in enumerate(pairs) if pair and pair.a and not pair.b]
    added = [(number, pair.b) for number, pair in enumerate(pairs) if pair and pair.b and not pair.a]
    by_number = dict([*removed, *added])
    for i, j in sorted(_pair_off(removed, added)):
        before, after = by_number[i].placed.place, by_number[j].placed.place
        new_places[before] = after
        with_group = new_places.get(before[:-1]) == after[:-1] and before[-1] == after[-1]
        pairs[i], pairs[j] = None, _Pair(by_number[i], by_number[j], moved=not with_group)
    return [_Pair(pair.b, pair.a, pair.moved) if swapped else pair for pair in pairs if pair]


def _in_order(a: Numbered, b: Numbered, keys: Sequence[Callable[[Meaning], Any]]) -> Iterator[tuple[int, int]]:
    """Pair steps in the same order: first by meaning, then between such pairs by label, then by class."""
    if not (a and b and keys):
        return
    key, *others = keys
    blocks = SequenceMatcher(None, [key(step) for _, step in a], [key(step) for _, step in b], autojunk=False)
    i = j = 0
    for start_a, start_b, size in blocks.get_matching_blocks():
        yield from _in_order(a[i:start_a], b[j:start_b], others)
        yield from ((a[start_a + k][0], b[start_b + k][0]) for k in range(size))
        i, j = start_a + size, start_b + size


def _pair_off(a: Numbered, b: Numbered) -> Places:
    """Pair numbered steps of the same class and label, or else of the same meaning; each step at most once."""
    pairs: Places = []
    for key in _ANYWHERE:
        open_b: dict[Any, list[int]] = {}
        paired_a, paired_b = {i for i, _ in pairs}, {j for _, j in pairs}
        for j, other in reversed(b):
            if j not in paired_b:
                open_b.setdefault(key(other), []).append(j)
        pairs += [(i, open_b[key(step)].pop()) for i, step in a if i not in paired_a and open_b.get(key(step))]
    return pairs


def _pair_steps(a: Sequence[Meaning], b: Sequence[Meaning]) -> Iterator[_Pair]:
    """Pair the steps of two lists and their groups as far as they are in the same order; removed before added."""
    paired = [*_in_order(list(enumerate(a)), list(enumerate(b)), _IN_ORDER)]
    next_a = next_b = 0
    for i, j in [*sorted(paired), (len(a), len(b))]:
        yield from (_Pair(inner, None) for step in a[next_a:i] for inner in step.walk())
        yield from (_Pair(None, inner) for step in b[next_b:j] for inner in step.walk())
        for step, other in zip(a[i : i + 1], b[j : j + 1], strict=True):
            yield _Pair(step, other)
            yield from _pair_steps(step.steps, other.steps)
        next_a, next_b = i + 1, j + 1


def _difference(pair: _Pair, mode: Mode, remarks: list[str], *, with_class: bool) -> StepDifference | None:
    """The difference of a pair of steps; None where they are the same. Equivalent arguments become a remark."""
    a, b, moved = pair
    if a is None or b is None:
        what: What = "removed" if b is None else "added"
        return StepDifference(mode, what, a.placed if a else None, b.placed if b else None)
    changes = _changes(a, b)
    if with_class:
        same = equivalent(a.step, b.step, changes)
        if neutral := [f"{change.key}: {change.text}" for change in changes if change.key in same]:
            # Only together are they equivalent: one argument may replace another.
            remarks.append(f"{a.step.site}, the same in effect: {', '.join(neutral)}")
        changes = [change for change in changes if change.key not in same]
    draws = _draws(a, b)
    if not (changes or moved or draws == "changed"):
        return None
    return StepDifference(mode, "moved" if moved else "changed", a.placed, b.placed, tuple(changes), draws)


def _changes(a: Meaning, b: Meaning) -> list[Change]:
    changes = compared(a.values, b.values)
    # Proportional weights of a OneOf give the same probabilities.
    if a.p != b.p and (a.weight is None or a.weight != b.weight):
        changes.append(Change("p", canonical(a.p), canonical(b.p)))
    return changes


def _draws(a: Meaning, b: Meaning) -> Draws:
    if not (a.draws or b.draws):
        return "none"
    same = all(equal(a.values.get(key), b.values.get(key)) for key in ("share", "draws"))
    return "kept" if a.step.site == b.step.site and same else "changed"


def _without_effect(a: Recipe, b: Recipe, *, same: bool) -> Iterator[str]:
    """Remarks on differences that change no sample."""
    for name, remark in _REMARKS.items():
        values = [getattr(recipe, name) for recipe in (a, b)]
        if values[0] != values[1]:
            words = ((", ".join(value) or "none") if isinstance(value, tuple) else value for value in values)
            yield remark.format(*words)
    if same and a.digest != b.digest:
        yield "digest: the same in effect, in other words"
