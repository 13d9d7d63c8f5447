"""A step of a recipe as data: a class by name, its arguments as written, and where they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from augrecipes.ops.frozen import Arguments
from augrecipes.ops.groups import GROUPS


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a recipe file: 1-based line and column.

    Attributes:
        line: in the file that was asked for; where a variant says `extends:`, for what stands in another file.
        col: the same.
        origin: file, line and column of what stands in another file; `<overrides>` for the caller's own changes.
    """

    line: int = 0
    col: int = 0
    origin: tuple[str, int, int] | None = None


NOWHERE = Position()


# Of a field that says nothing where it is empty, and so is no part of a recipe's digest then.
OMIT_EMPTY = {"omit_empty": True}


@dataclass(frozen=True, slots=True)
class Step:
    """One step, or one group of steps.

    Attributes:
        name: the class's name, or a group's (`OneOf`, ...).
        args: the class's arguments as written, without the reserved keys.
        p: probability as written; None where the recipe leaves it to the class (a group: 1).
        id: explicit name of the step's draws.
        target: names of the targets that the step is limited to; empty means all (kind pair).
        at: the target whose pixels the numbers count (kind pair); None is the coarsest.
        share: `tile` or `bag` (kind bag); None inherits, and at the top means `tile`.
        channels: numbers of those whose values it changes, in its order; empty: all. A group says it of its steps.
        steps: the children of a group (or of Degrade).
        schedule: those arguments, and `p`, that change from epoch to epoch, as written (`augrecipes.ops.schedule`);
            `args` and `p` have what they are in the end.
        site: label that keys the step's draws: its id, or group path, class name and ordinal.
        position: where the step stands in its file.
        places: where each argument stands, by its name.
        ignored: lint codes silenced on the step's line.
        files: that it reads, as the argument names them, from `folder` on.
        folder: of the recipe's file.
        written: of a group that stands for a policy, the policy's name and arguments as a step; else None.
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
        """The step, and all inside it, without what they share with other tiles or views."""
        return replace(self, share=None, steps=tuple(step.unshared() for step in self.steps))

    def walk(self) -> Iterator[Step]:
        """The step and everything inside it, in file order."""
        yield self
        for child in self.steps:
            yield from child.walk()


def label(steps: Sequence[Step], group: str = "") -> tuple[Step, ...]:
    """The steps with `site` filled in, inside groups too.

    A step with an `id` has that id as its site, wherever it stands. Otherwise its site is its group's site, its class
    and its ordinal (from 1) among the steps of that class without id in the same group: adding an unlike step changes
    no other step's site.

    >>> blur = Step("GaussianBlur")
    >>> [step.site for step in label([Step("HorizontalFlip"), Step("OneOf", steps=(blur,)), Step("HorizontalFlip")])]
    ['HorizontalFlip#1', 'OneOf#1', 'HorizontalFlip#2']
    >>> label([Step("OneOf", id="noise", steps=(blur,))])[0].steps[0].site
    'noise/GaussianBlur#1'
    """
    if not steps:
        return ()
    seen: Counter[str] = Counter()
    result = []
    prefix = f"{group}/" if group else ""
    for step in steps:
        seen[step.name] += step.id is None
        site = f"{prefix}{step.name}#{seen[step.name]}" if step.id is None else step.id
        result.append(replace(step, site=site, steps=label(step.steps, site)))
    return tuple(result)
