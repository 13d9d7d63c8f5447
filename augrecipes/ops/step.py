"""A step of a recipe as immutable data: a class by name, its arguments as written, and their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.ops.groups import GROUPS


class Arguments(Mapping[str, Any]):
    """An immutable, hashable mapping: the arguments of a step as written.

    Lists become tuples and nested mappings become Arguments, so that two recipes compare by value.

    >>> a = Arguments({"size": [224, 224]})
    >>> a["size"], a == {"size": (224, 224)}
    ((224, 224), True)
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        self._items = {key: _freeze(value) for key, value in (items or {}).items()}

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"Arguments({self._items})"

    def __reduce__(self) -> tuple[type[Arguments], tuple[dict[str, Any]]]:
        return Arguments, (self._items,)

    def plain(self) -> dict[str, Any]:
        """A new dict of plain lists and dicts, as in YAML."""
        return {key: _thaw(value) for key, value in self._items.items()}


def _freeze(value: Any) -> Any:
    if isinstance(value, Arguments):
        return value
    if isinstance(value, Mapping):
        return Arguments(value)
    return tuple(_freeze(v) for v in value) if isinstance(value, list | tuple) else value


def _thaw(value: Any) -> Any:
    if isinstance(value, Arguments):
        return value.plain()
    return [_thaw(v) for v in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a recipe file: 1-based line and column.

    Attributes:
        line: line in the recipe's own file; that of its `extends:` for steps of another file.
        col: column, likewise.
        origin: file, line and column in another file; `<overrides>` for the caller's changes; None: the own file.
    """

    line: int = 0
    col: int = 0
    origin: tuple[str, int, int] | None = None


NOWHERE = Position()


# Metadata of a field that is not part of a recipe's digest where it is empty.
OMIT_EMPTY = {"omit_empty": True}


@dataclass(frozen=True, slots=True)
class Step:
    """One step, or one group of steps.

    Attributes:
        name: the class's name, or a group's (`OneOf`, ...).
        args: the class's arguments as written, without the reserved keys.
        p: probability as written; None where the recipe leaves it to the class (a group: 1).
        id: the name under which the step draws, in place of its class and ordinal.
        target: names of the targets that the step is limited to; empty: all (kind pair).
        at: the target in whose pixels arguments count (kind pair); None: the coarsest.
        share: `tile` or `bag` (kind bag); None inherits, and at the top means `tile`.
        channels: numbers of the channels that it changes, in its order; empty: all. A group's apply to its steps.
        steps: the children of a group (or of Degrade).
        schedule: scheduled arguments and `p`, as written (`augrecipes.ops.schedule`); `args` and `p` have their final
            values.
        site: label that keys the step's draws: its id, or group path, class name and ordinal.
        position: position of the step in its file.
        places: position of each argument, by name.
        ignored: lint codes silenced on the step's line.
        files: the files that it reads, relative to `folder`.
        folder: the folder of the recipe's file.
        written: for a group that a policy stands for, the policy as a step; else None.
    """

    name: str
    args: Arguments = field(default_factory=Arguments)
    p: float | None = None
    id: str | None = None
    target: tuple[str, ...] = ()
    at: str | None = None
    share: str | None = None
    steps: tuple[Step, ...] = ()
    schedule: Arguments = field(default_factory=Arguments, metadata=OMIT_EMPTY)
    channels: tuple[int, ...] = field(default=(), metadata=OMIT_EMPTY)
    site: str = ""
    position: Position = field(default=NOWHERE, compare=False)
    places: Arguments = field(default_factory=Arguments, compare=False)
    ignored: frozenset[str] = field(default=frozenset(), compare=False)
    files: tuple[str, ...] = field(default=(), metadata=OMIT_EMPTY)
    folder: str = field(default="", compare=False)
    written: Step | None = field(default=None, compare=False)

    @property
    def is_group(self) -> bool:
        """Whether the step is one of the four groups of steps."""
        return self.name in GROUPS

    def unshared(self) -> Step:
        """The step and its children without `share`."""
        return replace(self, share=None, steps=tuple(step.unshared() for step in self.steps))

    def walk(self) -> Iterator[Step]:
        """Yield the step and all its descendants, in file order."""
        yield self
        for child in self.steps:
            yield from child.walk()


def label(steps: Sequence[Step], group: str = "") -> tuple[Step, ...]:
    """The steps with `site` filled in, inside groups too.

    The site of a step is its `id`, if it has one, wherever it is. Otherwise it is the group's site, the class and the
    ordinal (from 1) among the steps of that class without id in the same group, so that adding a step of another class
    changes no site.

    >>> blur = Step("GaussianBlur")
    >>> [step.site for step in label([Step("HorizontalFlip"), Step("OneOf", steps=(blur,)), Step("HorizontalFlip")])]
    ['HorizontalFlip#1', 'OneOf#1', 'HorizontalFlip#2']
    >>> label([Step("OneOf", id="noise", steps=(blur,))])[0].steps[0].site
    'noise/GaussianBlur#1'
    """
    if not steps:
        return ()
    counts: Counter[str] = Counter()
    result = []
    prefix = f"{group}/" if group else ""
    for step in steps:
        counts[step.name] += step.id is None
        site = f"{prefix}{step.name}#{counts[step.name]}" if step.id is None else step.id
        result.append(replace(step, site=site, steps=label(step.steps, site)))
    return tuple(result)
