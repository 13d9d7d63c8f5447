"""Recipes that are being worked on: read from their text, compiled, and cached for the next request."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from augrecipes.compiler.compile import build, steps_of
from augrecipes.compiler.run.instrument import route_steps
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import LintError
from augrecipes.lint import lint
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.recipe.parse import parse_text
from augrecipes.studio.jobs import go_on

SHOWN = "recipe.yaml"  # what text without a file is called in messages
T = TypeVar("T")


class LruCache(Generic[T]):
    """So many items, or items of so many bytes; the least recently used goes first. Each is made once, by one thread.

    >>> cache = LruCache(most=2)
    >>> [cache.get(key, lambda key=key: key * 10) for key in (1, 2, 3)], cache.peek(1), cache.total
    ([10, 20, 30], None, 2)
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda item: 1) -> None:
        self._most, self._size = most, size
        self.total = 0  # the sum of the sizes
        self._items: OrderedDict[Hashable, T] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def peek(self, key: Hashable) -> T | None:
        """The item of a key; None where it is not cached."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def forget(self, key: Hashable) -> None:
        """Let the next `get` make it anew."""
        with self._lock:
            if key in self._items:
                self.total -= self._size(self._items.pop(key))

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The item of a key; made where it is not cached, and what making it raises is raised."""
        if (found := self.peek(key)) is not None:
            return found
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            if (found := self.peek(key)) is not None:
                return found
            try:
                item = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            self.forget(key)
            with self._lock:
                self._items[key] = item
                self.total += self._size(item)
                while self.total > self._most and len(self._items) > 1:
                    self.total -= self._size(self._items.popitem(last=False)[1])
            return item


@dataclass
class Workbench:
    """Reads and compiles what the page sends.

    Attributes:
        file: of the recipe; what it extends is looked for in its folder. None: only the gallery can be extended.
        resumes: recipes are what is left after the steps of a packed dataset.
    """

    file: Path | None = None
    resumes: bool = False
    _recipes: LruCache[Recipe] = field(default_factory=lambda: LruCache(32))
    _pipelines: LruCache[Pipeline] = field(default_factory=lambda: LruCache(12))

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return SHOWN if self.file is None else self.file.name

    def recipe(self, text: str) -> Recipe:
        """The recipe of a text, which runs no plugin. Raises RecipeError with everything that is wrong."""
        root = None if self.file is None else self.file.parent
        if "extends" in text:  # what it extends may have been written anew
            return parse_text(text, file=self.name, root=root, plugins=False)
        return self._recipes.get(text, lambda: parse_text(text, file=self.name, root=root, plugins=False))

    def pipeline(
        self, recipe: Recipe, mode: Mode = "train", optimize: Optimize | None = None, seed: int = 0, **more: Any
    ) -> Pipeline:
        """The compiled recipe, as `Recipe.compile` makes it; the page shows what that logs.

        Raises:
            LintError: a lint error that the recipe does not silence.
            RecipeError: the recipe has no such section.
        """
        key = (*key_of(recipe, mode, optimize, seed), tuple(sorted(more.items())))

        def compiled() -> Pipeline:
            steps_of(recipe, mode)
            if errors := tuple(found for found in lint(recipe) if found.severity == "error"):
                raise LintError(problems=errors)
            return self.built(recipe, mode, optimize, seed, **more)

        return self._pipelines.get(key, compiled)

    def built(self, recipe: Recipe, mode: Mode, optimize: Optimize | None, seed: int, **more: Any) -> Pipeline:
        """The same without its lints: of parts and variants of recipes. Steps give way to newer work."""
        made = build(recipe, mode, optimize, seed, **{"threads": 1, "resumes": self.resumes, **more})
        route_steps(made, _between)
        return made


def _between(_: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    go_on()
    return step(*args, **kwargs)


def key_of(recipe: Recipe, mode: Mode, optimize: Optimize | None, seed: int) -> tuple[Hashable, ...]:
    """Everything that decides the samples of a compiled recipe."""
    return recipe.digest, recipe.max_bytes, recipe.without_rules, mode, optimize or recipe.optimize, seed
