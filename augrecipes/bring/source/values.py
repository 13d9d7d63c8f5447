"""What an expression of Python source is, as far as it can be told without running anything.

Plain values are themselves: numbers, text, None, tuples, dicts, and lists as `Listed`. The rest is here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from augrecipes.recipe.nodes import NOWHERE, Place

_MOST_WALKED = 20_000
MOST_WAYS = 16  # values that one name may have, by tests that nobody can tell


class Missing:
    """No value yet."""


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class UnknownValue:
    """A value that only running the source would tell.

    Attributes:
        text: the expression.
        at: where it stands.
        roots: names in it that are not known either; with these the value could be told.
    """

    text: str
    at: Place = NOWHERE
    roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Test:
    """A condition that cannot be told: its text, a name for the way where it holds, and its place."""

    text: str
    label: str = field(compare=False)
    at: Place = field(compare=False)

    def way(self, holds: bool) -> str:
        """The name of one of the two ways.

        >>> Test("phase == 'train'", "train", NOWHERE).way(False)
        'not_train'
        """
        return self.label if holds else f"not_{self.label}"


Conditions = tuple[tuple[Test, bool], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """One of two values, by a test."""

    test: Test
    yes: Any
    no: Any
    ways: int = 2


@dataclass(frozen=True, slots=True, eq=False)
class Maybe:
    """An item of a list that is there under conditions."""

    conditions: Conditions
    item: Any


class Listed(list[Any]):
    """A list, and under how many conditions it was made: what is put in under more is `Maybe` there."""

    __slots__ = ("at", "born")

    def __init__(self, items: Any = (), at: Place = NOWHERE, born: int = 0) -> None:
        super().__init__(items)
        self.at, self.born = at, born


class Mapped(dict[Any, Any]):
    """A mapping, where it stands, and under how many conditions it was made."""

    __slots__ = ("at", "born")

    def __init__(self, items: Any = (), at: Place = NOWHERE, born: int = 0) -> None:
        super().__init__(items)
        self.at, self.born = at, born


@dataclass(frozen=True, slots=True)
class OutsideName:
    """A name of a module, or of what is in one: `albumentations.pytorch.ToTensorV2`."""

    path: str
    bound: bool = True  # by an import; else nothing in the file says what it is

    @property
    def last(self) -> str:
        """The name without its module."""
        return self.path.rpartition(".")[2]


@dataclass(slots=True, eq=False)
class Made:
    """What calling a class of a module would make."""

    path: str
    args: list[Any]
    named: dict[str, Any]
    node: ast.Call
    extra: Any = None  # arguments that are spread in from what is not known

    @property
    def name(self) -> str:
        """The class without its module."""
        return self.path.rpartition(".")[2]


@dataclass(slots=True, eq=False)
class NameScope:
    """Names of a module, a function or a class, and the scope around it."""

    outer: NameScope | None = None
    names: dict[str, Any] = field(default_factory=dict)
    born: int = 0  # conditions under which it came to be
    shared: set[str] = field(default_factory=set)  # `global` and `nonlocal`

    def chain(self) -> Iterator[NameScope]:
        """It, and those around it."""
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer


@dataclass(slots=True, eq=False)
class Function:
    """A function or a lambda of the file."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: NameScope
    name: str
    defaults: dict[str, Any]
    owner: Any = None  # the instance or class that it is taken from

    @property
    def is_property(self) -> bool:
        """Whether taking it as an attribute calls it."""
        decorated = getattr(self.node, "decorator_list", [])
        return any(
            getattr(each, "id", getattr(each, "attr", "")) in ("property", "cached_property") for each in decorated
        )


@dataclass(slots=True, eq=False)
class Partial:
    """A call some of whose arguments are given."""

    function: Any
    args: list[Any]
    named: dict[str, Any]


@dataclass(slots=True, eq=False)
class Class:
    """A class of the file."""

    name: str
    scope: NameScope
    bases: list[Any]
    fields: list[str]  # annotated names, in order: what a data class takes
    node: ast.ClassDef

    def get(self, name: str, depth: int = 8) -> Any:
        """An attribute, its own or that of a base; MISSING where there is none that is known."""
        if name in self.scope.names:
            return self.scope.names[name]
        for base in self.bases if depth else []:
            if isinstance(base, Class) and (found := base.get(name, depth - 1)) is not MISSING:
                return found
        return MISSING


@dataclass(slots=True, eq=False)
class Instance:
    """An object of a class of the file."""

    cls: Class
    scope: NameScope  # its attributes


@dataclass(slots=True, eq=False)
class Parser:
    """An argparse.ArgumentParser: the defaults of its arguments."""

    defaults: dict[str, Any] = field(default_factory=dict)


class KeptValue:
    """What was made, or given a name, with the names that lead there and the conditions that held."""

    __slots__ = ("conditions", "path", "value")

    def __init__(self, path: tuple[str, ...], value: Any, conditions: Conditions) -> None:
        self.path, self.value, self.conditions = path, value, conditions


def callable_value(value: Any) -> bool:
    """Whether a value can be called."""
    return isinstance(value, Function | Class | Partial | OutsideName)


def given_value(value: Any) -> Any:
    """A value that the user gave, as one of the source."""
    if isinstance(value, list):
        return Listed([given_value(item) for item in value])
    return Mapped({key: given_value(item) for key, item in value.items()}) if isinstance(value, dict) else value


def either(test: Test, yes: Any, no: Any) -> Any:
    """One of two values; what is the same, or there once only, is itself."""
    if yes is no or no is MISSING:
        return yes
    if yes is MISSING:
        return no
    if type(yes) is type(no) and isinstance(yes, str | int | float) and yes == no:
        return yes
    ways = sum(value.ways if isinstance(value, Either) else 1 for value in (yes, no))
    return Either(test, yes, no, ways) if ways <= MOST_WAYS else UnknownValue(f"one of {ways} values", test.at)


def under(value: Any, conditions: Conditions) -> Any:
    """A value where conditions hold."""
    if not isinstance(value, Either):
        return value
    for test, holds in conditions:
        if test == value.test:
            return under(value.yes if holds else value.no, conditions)
    yes, no = under(value.yes, conditions), under(value.no, conditions)
    return value if yes is value.yes and no is value.no else either(value.test, yes, no)


def instead(value: Any, conditions: Conditions, old: Any) -> Any:
    """A value where conditions hold, and the old one where they do not."""
    for test, holds in reversed(conditions):
        other = under(old, ((test, not holds),))
        value = either(test, value, other) if holds else either(test, other, value)
    return value


def walk(value: Any, *, inside: bool = False) -> Iterator[Any]:
    """A value, and everything in its lists, mappings, ways and conditions, in order; `inside` of what is made, too.

    Each list and each mapping once; a value that is too large is not gone through to its end.
    """
    left, seen, count = [value], set[int](), 0
    while left and count < _MOST_WALKED:
        each, count = left.pop(), count + 1
        yield each
        inner: list[Any] = []
        match each:
            case list() | tuple():
                inner = list(each)
            case dict():
                inner = list(each.values())
            case Maybe(item=item):
                inner = [item]
            case Either(yes=yes, no=no):
                inner = [yes, no]
            case Made(args=args, named=named) if inside:
                inner = [*args, *named.values()]
        if inner and id(each) not in seen:
            seen.add(id(each))
            left += inner[::-1]
