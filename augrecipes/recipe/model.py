"""The recipe as data: frozen, comparable, picklable. Parsing, checking and compiling live elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from augrecipes.display import Displayed
from augrecipes.ops import schedule
from augrecipes.ops.bounds import MOST_BYTES
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.groups import GROUPS
from augrecipes.ops.step import NOWHERE, UNSAID, Position, Step, label
from augrecipes.recipe import grammar
from augrecipes.recipe.canonical import HOW, canonical
from augrecipes.recipe.grammar import Bag, Boxes, Inputs, Keypoints, NamedView, Normalize, Optimize, Output, RuleName
from augrecipes.recipe.kinds import Facts, Kind, facts
from augrecipes.recipe.methods import RecipeMethods

Mode = Literal["train", "eval"]

__all__ = [
    "GROUPS", "NOWHERE", "Arguments", "Bag", "Boxes", "Inputs", "Keypoints", "Kind", "Mode", "NamedView", "Normalize",
    "Optimize", "Output", "Position", "Recipe", "RuleName", "Step", "canonical", "label",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recipe(Displayed, RecipeMethods):
    """A parsed and checked recipe: frozen, comparable by value, picklable.

    Comparison and `digest` speak of what the recipe does: places, comments and key order do not count.

    Attributes:
        name: the `recipe:` line, `[a-z0-9-]`.
        about: one sentence for people.
        kind: `image`, `pair` or `bag`.
        optimize: the recipe's own choice, `exact` unless it says otherwise.
        without_rules: names of rules that the optimiser leaves out.
        plugins: names of plugins of installed packages, which register classes of steps.
        inputs: what arrives.
        steps: training steps.
        eval: validation steps, or None where the recipe has none.
        output: what leaves; for pairs the default of targets that `outputs` does not name.
        outputs: output by target (kind pair).
        scales: relative grid of each target (kind pair).
        bag: tile picking (kind bag).
        tta: the views of test-time augmentation, if the recipe says some: see `augrecipes.tta`.
        batch: steps that mix the samples of a training batch.
        views: what is made of the image behind `steps`, which all of them share (kind views).
        correspondence: add the matrix from each view to the image (kind views).
        allow_resampling: let shared pair geometry resample.
        max_bytes: of the largest image that a step may make, in memory; None: of any. A larger one is an error of the
            check where arguments say so, and where random parameters do a DataError, before memory is asked for.
        file: where the recipe was read, for messages.
        derived: `eval` is what `eval: derived` makes of `steps`.
    """

    name: str
    about: str = ""
    kind: Kind = "image"
    optimize: Optimize = "exact"
    without_rules: tuple[RuleName, ...] = ()
    plugins: tuple[str, ...] = ()
    inputs: Inputs = field(default_factory=Inputs)
    steps: tuple[Step, ...] = ()
    eval: tuple[Step, ...] | None = None
    output: Output = field(default_factory=Output)
    outputs: Arguments = field(default_factory=Arguments)
    scales: Arguments = field(default_factory=Arguments)
    bag: Bag | None = None
    tta: grammar.TtaViews | None = field(default=None, metadata=UNSAID)
    batch: tuple[Step, ...] = field(default=(), metadata=UNSAID)
    views: tuple[NamedView, ...] = field(default=(), metadata=UNSAID)
    correspondence: bool = field(default=False, metadata=UNSAID)
    allow_resampling: bool = False
    max_bytes: int | None = MOST_BYTES
    file: str = field(default="<recipe>", compare=False)
    derived: bool = field(default=False, compare=False)

    def __repr__(self) -> str:
        return f"<Recipe {self.name}, {self.kind}, {self.optimize}: {named(self.steps)}>"

    @property
    def facts(self) -> Facts:
        """What is known of the recipe's kind."""
        return facts(self.kind)

    @property
    def digest(self) -> str:
        """64 hex digits that name what the recipe does; equal recipes have equal digests.

        The name, `about`, `optimize`, `without_rules`, `plugins` and `max_bytes` do not count: they say how, not what.
        """
        meaning = {k: v for k, v in canonical(self).items() if k not in HOW}
        return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()

    def walk(self) -> Iterator[Step]:
        """Every step of both sections and of views, groups before their children, in file order."""
        for step in (*self.listed("train"), *(self.eval or ())):
            yield from step.walk()

    def listed(self, mode: Mode) -> tuple[Step, ...]:
        """The steps of `mode` as the file lists them, those of all views behind what they share; none without it."""
        of_views = [step for view in self.views for step in view.steps] if mode == "train" else ()
        return (*(self.section(mode) or ()), *of_views)

    def section(self, mode: Mode) -> tuple[Step, ...] | None:
        """The steps of `mode`, or None where the recipe has no such section."""
        return self.steps if mode == "train" else self.eval

    @property
    def last_epoch(self) -> int:
        """The epoch from which on no number of a step changes, but those of `batch:`; 0 where none is scheduled."""
        return max((schedule.last_epoch(step.schedule) for step in self.walk() if step.schedule), default=0)

    def in_epoch(self, epoch: int) -> Recipe:
        """The recipe with the numbers that its steps have in an epoch; the very recipe where none is scheduled.

        Raises:
            RecipeError: the epoch is no whole number from 0.

        >>> import augrecipes as ar
        >>> step = {"Rotate": {"limit": {"from": 0, "to": 30, "epochs": 10}, "p": 1.0}}
        >>> recipe = ar.load({"version": 1, "recipe": "grows", "steps": [step], "eval": []})
        >>> recipe.in_epoch(5).steps[0].args["limit"], recipe.steps[0].args["limit"]
        (15.0, 30)
        """

        def now(steps: tuple[Step, ...]) -> tuple[Step, ...]:
            return tuple(schedule.in_epoch(step, epoch) for step in steps)

        epoch = schedule.epoch_number(epoch)
        views = tuple(replace(view, steps=now(view.steps)) for view in self.views)
        eval_ = self.eval and now(self.eval)
        found = replace(self, steps=now(self.steps), views=views, eval=eval_, batch=now(self.batch))
        return self if found == self else found

    def view(self, name: str, *, shares: bool = False) -> Recipe:
        """One view of a recipe of kind views as a recipe of kind image, whose sample is view 0 of that name.

        Its steps keep the labels that key their draws; written as YAML they are labelled anew. `shares`: steps that all
        views share draw for all tiles as one, so that tile k is view k.

        Raises:
            KeyError: there is no such view.
        """
        found = {view.name: view for view in self.views}[name]
        before = self.view(found.of, shares=True) if found.of else replace(
            self, kind="image", views=(), correspondence=False, derived=False,
            steps=tuple(replace(step, share="bag") for step in self.steps),
        )  # fmt: skip
        made = replace(before, name=f"{self.name}-{name}", steps=(*before.steps, *found.steps))
        return made if shares else replace(made, steps=tuple(step.unshared() for step in made.steps))

    def parts(self) -> tuple[Recipe, ...]:
        """The recipe by itself or, of kind views, one recipe of kind image for each view."""
        return tuple(self.view(view.name) for view in self.views) or (self,)


_NAMED = 6  # steps of a `repr`


def named(steps: Sequence[Step]) -> str:
    """Steps by their labels, in a line; of many the first.

    >>> named(())
    'no steps'
    """
    more = [f"and {len(steps) - _NAMED} more"] if len(steps) > _NAMED else []
    return ", ".join([*(step.site for step in steps[:_NAMED]), *more]) or "no steps"
