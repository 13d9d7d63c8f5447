"""Which steps of a recipe a store holds already: those that draw nothing, or some epochs of those that cost most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from augrecipes.compiler.compile import steps_of
from augrecipes.compiler.prefix import brief, described, digest_of, draws_nothing, is_light, leading, shared
from augrecipes.errors import RecipeError
from augrecipes.recipe.model import Mode, Recipe, Step


@dataclass(frozen=True)
class BakedSteps:
    """What is baked.

    Attributes:
        recipe: the whole recipe.
        mode: the section that the steps are taken from.
        serves: the sections that begin with them.
        count: how many leading steps.
        epochs: of draws; 0 where none of the steps draws.
        seed: of the draws.
        why: a sentence for people.
    """

    recipe: Recipe
    mode: Mode
    serves: tuple[Mode, ...]
    count: int
    epochs: int
    seed: int
    why: str

    @property
    def steps(self) -> tuple[Step, ...]:
        """The baked steps."""
        return steps_of(self.recipe, self.mode)[: self.count]

    @property
    def times(self) -> int:
        """How often every picture is stored."""
        return max(1, self.epochs)

    def about(self) -> dict[str, Any]:
        """The same as plain data, for a store's index."""
        steps = [described(step) for step in self.steps]
        return {
            "recipe": {"name": self.recipe.name, "digest": self.recipe.digest},
            "steps": steps,
            "scales": self.recipe.scales.plain(),
            "digest": digest_of(steps),
            "serves": list(self.serves),
            "epochs": self.epochs,
            "seed": self.seed if self.epochs else None,
        }

    def lines(self) -> list[str]:
        """The baked steps, one line each."""
        return [brief(described(step)) for step in self.steps]


def plan_pack(
    recipe: Recipe, *, mode: Mode | None = None, epochs: int | None = None, through: str | None = None, seed: int = 0
) -> BakedSteps:
    """Choose the steps.

    Args:
        recipe: of any kind.
        mode: pack for this section alone; None: what both sections begin with, or the only one.
        epochs: bake this many epochs of steps that draw; None: only steps that draw nothing.
        through: the last step to bake, by its id, its label (`Rotate#1`) or its class.
        seed: of the draws.

    Raises:
        RecipeError: no such step or section; draws without `epochs`; epochs of `eval`.
    """
    if epochs is not None:
        if epochs < 1:
            raise RecipeError(f"epochs must be at least 1, got {epochs}")
        if mode == "eval":
            raise RecipeError("epochs are epochs of training: the eval section draws nothing")
        return _with_draws(recipe, epochs, through, seed)
    steps = steps_of(recipe, mode or "train")
    count = shared(recipe) if mode is None else leading(steps)
    if through is not None:
        wanted = _place(steps, through) + 1
        if wanted > leading(steps):
            first = steps[leading(steps)]
            raise RecipeError(f"{first.site} draws anew for every sample: to bake draws, say for how many epochs")
        if mode is None and wanted > count:
            raise RecipeError(f"the eval section does not begin with the steps up to {through}: pack with mode train")
        count = wanted
    both: tuple[Mode, ...] = ("train", "eval") if recipe.eval is not None else ("train",)
    serves = both if mode is None else (mode,)
    where = f"the {mode} section" if mode else "both sections" if len(serves) > 1 else "the recipe"
    why = f"{where} can begin with what draws nothing" if count else _why_none(recipe, steps, mode)
    return BakedSteps(recipe, mode or "train", serves, count, 0, seed, why)


def _why_none(recipe: Recipe, steps: tuple[Step, ...], mode: Mode | None) -> str:
    if not steps:
        return "there are no steps: whole pictures are kept"
    if not draws_nothing(steps[0]):
        return f"{steps[0].site} comes first and draws anew for every sample: whole pictures are kept"
    section = "" if mode else f"; --mode train would bake {steps[0].site} for training alone"
    return f"the sections of {recipe.name!r} begin differently: whole pictures are kept{section}"


def _with_draws(recipe: Recipe, epochs: int, through: str | None, seed: int) -> BakedSteps:
    steps = recipe.steps
    if through is not None:
        count, chosen = _place(steps, through) + 1, f"{through} was asked for as the last step"
    else:
        heavy = [i for i, step in enumerate(steps) if not is_light(step)]
        if not heavy:
            raise RecipeError("every step is light (it cuts, flips or changes colours point by point): nothing to bake")
        count = heavy[-1] + 1
        chosen = f"{steps[count - 1].site} is the last step that is not light"
    left = ", ".join(step.site for step in steps[count:]) or "none"
    draws = not all(draws_nothing(step) for step in steps[:count])
    why = f"{chosen}; left to do in training: {left}"
    return BakedSteps(recipe, "train", ("train",), count, epochs if draws else 0, seed, why)


def _place(steps: tuple[Step, ...], name: str) -> int:
    """The place of the step that is called so: by its label, its id, or its class."""
    for known in ("site", "id", "name"):
        found = [i for i, step in enumerate(steps) if getattr(step, known) == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise RecipeError(f"several steps are called {name}: say {' or '.join(steps[i].site for i in found)}")
    raise RecipeError(f"no step {name!r}; the steps are {', '.join(step.site for step in steps) or 'none'}")
