"""The recipes that are being worked on: read from their text, compiled, and kept for the next request."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augrecipes.compiler.compile import build, steps_of
from augrecipes.compiler.run.instrument import route_steps
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import LintError
from augrecipes.lint import lint
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.recipe.parse import parse_text
from augrecipes.studio.jobs import go_on
from augrecipes.studio.kept import Kept

SHOWN = "recipe.yaml"  # what text without a file is called in messages


@dataclass
class Workbench:
    """Reads and compiles what the page sends.

    Attributes:
        file: of the recipe; what it extends is looked for beside it. None: only the gallery can be extended.
        resumes: recipes are what is left behind the steps of a packed store.
    """

    file: Path | None = None
    resumes: bool = False
    _recipes: Kept[Recipe] = field(default_factory=lambda: Kept(32))
    _pipelines: Kept[Pipeline] = field(default_factory=lambda: Kept(12))

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
        """The same without a look at its lints: of parts and variants of recipes. Steps give way to newer work."""
        more = {"threads": 1, "resumes": self.resumes, **more}
        made = build(recipe, mode, optimize, seed, **more)
        route_steps(made, _between)
        return made


def _between(_: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    go_on()
    return step(*args, **kwargs)


def key_of(recipe: Recipe, mode: Mode, optimize: Optimize | None, seed: int) -> tuple[Hashable, ...]:
    """What decides every sample of a compiled recipe, to the bit."""
    return recipe.digest, recipe.max_bytes, recipe.without_rules, mode, optimize or recipe.optimize, seed
