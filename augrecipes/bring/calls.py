"""Transforms as other frameworks write them, on one form: a class's name, arguments, and the transforms inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from augrecipes.recipe.nodes import NOWHERE, Place


@dataclass(frozen=True, slots=True)
class Call:
    """One transform that a config builds.

    Attributes:
        name: of the class, without the package: `RandomCrop`.
        args: its arguments as plain values; lists for tuples.
        children: the transforms of a group, in order; None where it has none.
        place: where it stands.
        package: what the name is of, where the config says so: `albumentations`, `torchvision.transforms.v2`.
        unread: why its arguments cannot be told; empty where they can.
    """

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    children: tuple[Call, ...] | None = None
    place: Place = NOWHERE
    package: str = ""
    unread: str = ""

    def walk(self) -> Iterator[Call]:
        """The call and everything inside it."""
        yield self
        for child in self.children or ():
            yield from child.walk()
