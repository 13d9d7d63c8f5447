"""The pipelines among what a file creates, each with the names that lead to it, and as each test has them.

A test that tells training from evaluation makes two of a pipeline that depends on it. Any other is taken as true, and
that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.interop import budget, draft, timm, torchvision
from augrecipes.interop.source import statements, transforms
from augrecipes.interop.source.text import role
from augrecipes.interop.source.values import MISSING, Created, Either, Listed, Mapped, Test, walk
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, GROUPS
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe.history import CLASSES, FLIP
from augrecipes.recipe.nodes import NOWHERE, Place

_USUAL = "train_pipeline"
NAMES = frozenset({*torchvision.PARAMETERS, *CLASSES, *REFUSED, *GROUPS, *OUTPUTS, FLIP, *transforms.HOLDING})


@dataclass(frozen=True, slots=True)
class Match:
    """A pipeline of a config, or of Python source.

    Attributes:
        path: keys or names that lead to it, joined by dots.
        place: where it starts.
        calls: its transforms in order, or one Compose of them.
        settings: what the Compose is given next to them.
        missing: what of it is not known.
        assumed: tests that cannot be told, and what was assumed, in words.
        has_defaults: it is as the file, or its function where nothing is said, creates it.
    """

    path: str
    place: Place
    calls: tuple[draft.Call, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[draft.LeftOut, ...] = ()
    assumed: tuple[str, ...] = ()
    has_defaults: bool = True


class Phase:
    """Values as they are in training, or in evaluation: each choice is one of its two."""

    def __init__(self, *, evaluating: bool = False, choices: bool = True) -> None:
        self.evaluating, self.choices = evaluating, choices
        self._known: dict[int, tuple[Any, Any, dict[str, Test]]] = {}

    def takes(self, test: Test) -> bool:
        """Whether a test is taken for true; of those that say nothing of training or evaluation, that it is."""
        phase = role(test.label)
        return not phase or (phase == "eval") == self.evaluating

    def value(self, value: Any) -> tuple[Any, dict[str, Test]]:
        """A value without choices, and the tests, by their text, that it depends on."""
        if not self.choices or not isinstance(value, Either | list | tuple | dict | Created):
            return value, {}
        if id(value) not in self._known:
            self._known[id(value)] = value, value, {}  # of one that holds itself
            tests: dict[str, Test] = {}
            self._known[id(value)] = value, self._built(value, tests), tests
            budget.spend(len(tests))
        return self._known[id(value)][1:]

    def _built(self, value: Any, tests: dict[str, Test]) -> Any:
        def inner(part: Any) -> Any:
            known, more = self.value(part)
            tests.update(more)
            return known

        match value:
            case Either(test=test):
                tests[test.text] = test
                return inner(value.side(self.takes(test)))
            case dict():
                budget.spend(len(value))
                pairs = {key: known for key, each in value.items() if (known := inner(each)) is not MISSING}
                if all(pairs.get(key, MISSING) is value[key] for key in value):
                    return value
                return Mapped(pairs, getattr(value, "at", NOWHERE), getattr(value, "keys_at", {}))
            case Created():
                args, named, extra = inner(value.args), inner(value.named), inner(value.extra)
                if args is value.args and named is value.named and extra is value.extra:
                    return value
                return replace(value, args=args, named=named, extra=None if extra is MISSING else extra)
        budget.spend(len(value))
        items: list[Any] = []
        for each in value:
            known = inner(each)
            items += known if isinstance(each, Either) and each.spliced and isinstance(known, list | tuple) else [known]
        if len(items) == len(value) and all(map(lambda one, other: one is other, items, value)):
            return value
        return tuple(items) if isinstance(value, tuple) else Listed(items, getattr(value, "at", NOWHERE))


def matches(evaluator: statements.Evaluator) -> Iterator[Match]:
    """Every pipeline of a file, each that differs by a name of its own."""
    readings = [Phase(evaluating=each, choices=evaluator.has_choices) for each in (False, True)]
    names: dict[str, set[str]] = {}
    for path, value in _pipelines(evaluator, readings[0]):
        for match in _variants(path, value, readings):
            before = names.setdefault(match.path, set())
            if (text := repr(match.calls)) not in before:
                before.add(text)
                yield match if len(before) == 1 else replace(match, path=f"{match.path}.{len(before)}")


def _pipelines(evaluator: statements.Evaluator, reading: Phase) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What was created and is part of nothing else: each Compose; else groups and lists; else lone transforms."""
    holders = [each for _, each in evaluator.created if each.name in transforms.HOLDING]
    inside = {id(part) for part in walk([[each.args, each.named] for each in holders])}
    alone = [(path, each) for path, each in evaluator.created if id(each) not in inside]
    composes = [pair for pair in alone if pair[1].name in transforms.COMPOSES]
    whole = [pair for pair in alone if pair[1].name == timm.WHOLE and pair[1].path.startswith("timm.")]
    mixing = [
        pair
        for pair in alone
        if pair[1].name in {*torchvision.MIXING, *transforms.HOLDING}
        and torchvision.mixes(transforms.call_of(reading.value(pair[1])[0]))
    ]
    containers = [(path, each, reading.value(each)[0]) for path, each in evaluator.containers]
    lists = [(path, each) for path, each, value in containers if _is_list(value) and inside.isdisjoint(_ids(each))]
    listed = {id(part) for _, each in lists for part in walk(each)}
    groups = [pair for pair in alone if pair[1].name in GROUPS and pair[1].path.startswith("albumentations")]
    groups = [pair for pair in groups if id(pair[1]) not in listed]
    configs = [(path, each) for path, each, value in containers if transforms.is_aug_config(path, value)]
    for several in ([*composes, *whole, *mixing], groups, [*lists, *configs]):
        seen: set[int] = set()
        for path, each in several:
            if id(each) not in seen:  # else it is the same list under another name, or a part of a longer one
                yield path, each
            seen.update(map(id, walk(each)))


def _ids(value: Any) -> Iterator[int]:
    """Ids of the items of a list, or of both lists of a choice."""
    yield from map(id, value) if isinstance(value, list | tuple) else map(id, walk(value))


def _variants(path: tuple[str, ...], value: Any, readings: Sequence[Phase]) -> Iterator[Match]:
    """A pipeline; where a test tells training from evaluation, as it is in each."""
    (training, tests), (evaluating, others) = (each.value(value) for each in readings)
    tests = {**tests, **others}
    phase = next((each for each in tests.values() if role(each.label)), None)
    matches = [("", _match(path, training))]
    if phase is not None and (other := _match(path, evaluating)) != matches[0][1]:
        matches = [*zip((phase.branch(each.takes(phase)) for each in readings), (matches[0][1], other), strict=True)]
    open_tests = (each for each in tests.values() if not role(each.label))
    what = f"{transforms.UNTOLD} `{{}}` in line {{}}; it was taken as true{{}}"
    assumed = tuple(what.format(each.text, each.at.line, transforms.setting_of(each.roots)) for each in open_tests)
    for branch, match in matches:
        yield replace(match, path=".".join(filter(None, (match.path, branch))), assumed=assumed)


def _is_list(value: Any) -> bool:
    """Whether a list is one of transforms, and of nothing else."""
    if not isinstance(value, list | tuple):
        return False
    budget.spend(len(value))
    created = [item for item in value if isinstance(item, Created)]
    known = any(_is_ours(item) for item in created)
    return len(created) == len(value) and known and not any(item.name in transforms.COMPOSES for item in created)


def _is_ours(created: Created) -> bool:
    """Whether a class is one of albumentations or torchvision, by its module, or by its name where it has none."""
    if created.path.startswith(("albumentations.", "torchvision.transforms.", "timm.")):
        return True
    return created.path == created.name and (created.name in NAMES or registry.arguments(created.name) is not None)


def _match(path: tuple[str, ...], value: Any) -> Match:
    budget.spend(50)  # what it costs to compare it with others, too
    missing: list[draft.LeftOut] = []
    if isinstance(value, Created):
        call = transforms.call_of(value, missing)
    elif transforms.is_aug_config(path, value):
        call = transforms.aug_config_compose(value)
    else:
        place = getattr(value, "at", NOWHERE)
        place = place if place.line or not value else getattr(value[0], "at", place)
        call = draft.Call(COMPOSE, {}, transforms.children_of(value, place, missing), place)
    names = ".".join(name for name in path if name != statements.NO_DEFAULTS)
    return Match(names, call.place, (call,), {}, tuple(missing), has_defaults=statements.NO_DEFAULTS not in path)


def chosen(matches: list[Match], key: str, place: Place) -> tuple[Match, Match | None]:
    """The pipeline for training, and the one for validation where there is one.

    Args:
        matches: all of them.
        key: the path that the user named, or the beginning or the end of it; empty: none.
        place: for messages.

    Raises:
        RecipeError: several could be meant, or none has the name.
    """
    if key:
        named = _named(matches, key)
        if len(named) == 1:
            return named[0], None
        if not named:
            raise draft.wrong(f"no pipeline at {key!r}; there are {several(matches)}", place)
        matches = named
    by_role: dict[str, list[Match]] = {}
    for each in matches:
        by_role.setdefault(role(each.path), []).append(each)
    evaluation = by_role.get("eval", [])
    training = by_role.get("train") or by_role.get("augment") or by_role.get("") or evaluation
    training = [each for each in training if each.path == _USUAL] or training
    training = training if key else [_with_defaults(each, matches) for each in training]
    budget.spend(len(training) ** 2 // 4)
    training = _different([each for each in training if not _is_otherwise(each, training)])
    if len(training) > 1:
        what = f"several pipelines{f' at {key!r}' if key else ''}"
        raise draft.wrong(f"{what}; name one, as in `--key {training[0].path}`: there are {several(training)}", place)
    rest = [each for each in evaluation if each is not training[0]]
    return training[0], next((each for each in rest if "val" in each.path.lower()), rest[0] if rest else None)


def _with_defaults(match: Match, others: list[Match]) -> Match:
    """A pipeline as its function creates it where nothing is said, if it does."""
    usual = (each for each in others if each.place == match.place and each.has_defaults)
    return match if match.has_defaults else next(usual, match)


def _named(matches: list[Match], key: str) -> list[Match]:
    """Those whose path is the key; else begins with it, or ends with it."""
    whole = [each for each in matches if each.path == key] or [
        each for each in matches if each.path.startswith(f"{key}.")
    ]
    return whole or [each for each in matches if f".{each.path}".endswith(f".{key}")]


def _different(matches: list[Match]) -> list[Match]:
    """Without those that say the same as one before them."""
    said = [[(call.name, call.args, call.unread) for one in each.calls for call in one.walk()] for each in matches]
    return [each for index, each in enumerate(matches) if said[index] not in said[:index]]


def _is_otherwise(matches: Match, others: list[Match]) -> bool:
    """Whether it is the other way of a test that cannot be told, beside the one where it holds."""
    *before, last = matches.path.split(".")
    first = ".".join([*before, last.removeprefix("not_")])
    return last.startswith("not_") and any(f"{each.path}.".startswith(f"{first}.") for each in others)


def listed(matches: Match) -> str:
    """The name and the line of a pipeline."""
    return f"{matches.path or 'the file itself'} (line {matches.place.line})"


def several(matches: list[Match], most: int = 24) -> str:
    """Names and lines of pipelines."""
    more = f" and {len(matches) - most} more" if len(matches) > most else ""
    return f"{', '.join(map(listed, matches[:most]))}{more}"
