"""The pipelines in a Python file, each with the names that lead to it, from several readings of the file.

A reading decides the tests whose value is unknown: for tests that separate training from evaluation there is a reading
for each; any other test is taken as true, and a reading in which it is false shows which pipelines depend on it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.interop import budget, draft, timm, torchvision
from augrecipes.interop.source import statements, transforms
from augrecipes.interop.source.calls import NamedValue
from augrecipes.interop.source.text import role
from augrecipes.interop.source.values import Created, Test, walk
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, GROUPS
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe.history import CLASSES, FLIP
from augrecipes.recipe.nodes import NOWHERE, Place

_USUAL = "train_pipeline"
NAMES = frozenset({*torchvision.PARAMETERS, *CLASSES, *REFUSED, *GROUPS, *OUTPUTS, FLIP, *transforms.CONTAINERS})


@dataclass(frozen=True, slots=True)
class Match:
    """A pipeline of a config, or of Python source.

    Attributes:
        path: keys or names that lead to it, joined by dots.
        place: its start.
        calls: its transforms in order, or one Compose of them.
        settings: further arguments of the Compose.
        missing: its unknown parts.
        assumed: unknown tests, and the assumptions about them, in words.
        has_defaults: whether the file creates it without arguments, or by a function with all its defaults.
    """

    path: str
    place: Place
    calls: tuple[draft.Call, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[draft.LeftOut, ...] = ()
    assumed: tuple[str, ...] = ()
    has_defaults: bool = True


@dataclass(frozen=True, slots=True)
class TestChoice:
    """The decisions of one reading on unknown tests.

    Attributes:
        evaluating: whether tests that separate training from evaluation are decided for evaluation.
        flipped: tests that are taken as false; all others are taken as true.
    """

    evaluating: bool = False
    flipped: tuple[Test, ...] = ()

    def holds(self, test: Test) -> bool:
        """Whether a test is taken as true."""
        if phase := role(test.label):
            return (phase == "eval") == self.evaluating
        return all(test.text != each.text for each in self.flipped)


PathMatches = dict[tuple[str, int], tuple[Match, Test | None]]


def matches(readings: Mapping[TestChoice, statements.Evaluator]) -> Iterator[Match]:
    """Yield every pipeline of a file; those that differ between readings get different paths.

    Args:
        readings: for training, for evaluation if a test separates these, and both with each test flipped.
    """
    found = {reading: _path_matches(evaluator) for reading, evaluator in readings.items()}
    for key in dict.fromkeys(key for each in found.values() for key in each):
        where = [reading for reading in found if key in found[reading]]
        ways: list[tuple[Match, str]] = []
        for reading in [each for each in where if not each.flipped] or where[:1]:
            match, phase = found[reading][key]
            others = [] if reading.flipped else [each for each in where if each.evaluating == reading.evaluating]
            assumed = (
                each.flipped[0] for each in others if len(each.flipped) == 1 and _differ(found[each][key][0], match)
            )
            match = replace(match, assumed=tuple(map(_assumption, assumed)))
            ways.append((match, phase.branch(reading.holds(phase)) if phase else ""))
        if len(ways) > 1 and not _differ(ways[0][0], ways[1][0]):
            ways.pop()
        for match, branch in ways:
            yield replace(match, path=f"{match.path}.{branch}".strip(".")) if len(ways) > 1 else match


def _differ(one: Match, other: Match) -> bool:
    return (one.calls, one.missing) != (other.calls, other.missing)


def _assumption(test: Test) -> str:
    setting = transforms.setting_of(test.roots)
    return f"{transforms.NOT_IN_FILE} `{test.text}` in line {test.at.line}; it was taken as true{setting}"


def _path_matches(evaluator: statements.Evaluator) -> PathMatches:
    """The pipelines of a reading by path and number, each with the last test of a phase before it."""
    result: PathMatches = {}
    names: dict[str, list[str]] = {}
    for each in _pipelines(evaluator):
        match = _match(each.path, each.value)
        before, text = names.setdefault(match.path, []), repr(match.calls)
        if text not in before:
            before.append(text)
            path = match.path if len(before) == 1 else f"{match.path}.{len(before)}"
            result[match.path, len(before)] = replace(match, path=path), each.phase
    return result


def _pipelines(evaluator: statements.Evaluator) -> Iterator[NamedValue]:
    """Yield created values that are not part of another: each Compose, then groups, then lists."""
    holders = [each.value for each in evaluator.created if each.value.name in transforms.CONTAINERS]
    inside = {id(part) for part in walk([[each.args, each.named] for each in holders])}
    alone = [each for each in evaluator.created if id(each.value) not in inside]
    composes = [each for each in alone if each.value.name in transforms.COMPOSES]
    whole = [each for each in alone if each.value.name == timm.CREATE_TRANSFORM and each.value.path.startswith("timm.")]
    mixing = [
        each
        for each in alone
        if each.value.name in {*torchvision.MIXING, *transforms.CONTAINERS}
        and torchvision.mixes(transforms.call_of(each.value))
    ]
    lists = [each for each in evaluator.containers if _is_list(each.value) and inside.isdisjoint(map(id, each.value))]
    listed = {id(part) for each in lists for part in walk(each.value)}
    groups = [each for each in alone if each.value.name in GROUPS and each.value.path.startswith("albumentations")]
    groups = [each for each in groups if id(each.value) not in listed]
    configs = [each for each in evaluator.containers if transforms.is_aug_config(each.path, each.value)]
    for several in ([*composes, *whole, *mixing], groups, [*lists, *configs]):
        seen: set[int] = set()
        for each in several:
            if id(each.value) not in seen:  # otherwise an alias, or part of a longer list
                yield each
            seen.update(map(id, walk(each.value)))


def _is_list(value: Any) -> bool:
    """Whether all items of a list are transforms, and some of them known."""
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
    budget.spend(50)  # includes the cost of comparing it with others
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
    """The pipeline for training, and the pipeline for validation or None.

    Args:
        matches: all pipelines.
        key: the user's path, or its beginning or end; empty: none.
        place: for messages.

    Raises:
        RecipeError: several pipelines match, or none.
    """
    if key:
        named = _match_key(matches, key)
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
    training = _distinct([each for each in training if not _is_other_branch(each, training)])
    if len(training) > 1:
        what = f"several pipelines{f' at {key!r}' if key else ''}"
        raise draft.wrong(f"{what}; name one, as in `--key {training[0].path}`: there are {several(training)}", place)
    rest = [each for each in evaluation if each is not training[0]]
    return training[0], next((each for each in rest if "val" in each.path.lower()), rest[0] if rest else None)


def _with_defaults(match: Match, others: list[Match]) -> Match:
    """The same pipeline created with its function's defaults, if there is one."""
    usual = (each for each in others if each.place == match.place and each.has_defaults)
    return match if match.has_defaults else next(usual, match)


def _match_key(matches: list[Match], key: str) -> list[Match]:
    """The pipelines whose path equals the key, or else begins with it, or else ends with it."""
    whole = [each for each in matches if each.path == key] or [
        each for each in matches if each.path.startswith(f"{key}.")
    ]
    return whole or [each for each in matches if f".{each.path}".endswith(f".{key}")]


def _distinct(matches: list[Match]) -> list[Match]:
    """The pipelines without later duplicates."""
    texts = [[(call.name, call.args, call.unread) for top in each.calls for call in top.walk()] for each in matches]
    return [each for index, each in enumerate(matches) if texts[index] not in texts[:index]]


def _is_other_branch(matches: Match, others: list[Match]) -> bool:
    """Whether a pipeline is from the false branch of an unknown test, and the true branch has one, too."""
    *before, last = matches.path.split(".")
    first = ".".join([*before, last.removeprefix("not_")])
    return last.startswith("not_") and any(f"{each.path}.".startswith(f"{first}.") for each in others)


def name_and_line(matches: Match) -> str:
    """The name and the line of a pipeline."""
    return f"{matches.path or 'the file itself'} (line {matches.place.line})"


def several(matches: list[Match], most: int = 24) -> str:
    """Names and lines of pipelines."""
    more = f" and {len(matches) - most} more" if len(matches) > most else ""
    return f"{', '.join(map(name_and_line, matches[:most]))}{more}"
