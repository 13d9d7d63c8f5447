"""Views as branches of a tree: what several of them begin with is made once a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compiler.compile import build
from augrecipes.compiler.kernels.sink import Allocate, Sink
from augrecipes.compiler.prefix import suffix_recipe
from augrecipes.compiler.rewrite import Compiled, Plan
from augrecipes.compiler.rewrite.nodes import Steps, action_of, singles
from augrecipes.compiler.run import program_run, program_runner
from augrecipes.compiler.run.targets import MASKS, arrival_of
from augrecipes.flow import Arrival
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.recipe.model import UINT8_HWC, Recipe, Step

_FREE = ("identity", "dihedral")  # programs put these off until somebody reads pixels
ALL = ""  # the stem of all views
View = Callable[[str, int, Allocate], dict[str, Any]]


def built(compiled: Compiled, recipe: Recipe, **part: Any) -> ImagePipeline:
    """What runs some of a compiled recipe's steps, compiled as the whole is but for `part`."""
    how: dict[str, Any] = {"resumes": compiled.resumes, "threads": compiled.threads, "added": compiled.added}
    how |= {"save_applied_params": compiled.save_applied_params, **part}
    pipeline: Any = build(recipe, compiled.mode, compiled.optimize, compiled.seed, **how)
    return pipeline


class _AsItIs(Sink):
    """Leaves images of floats as they are, too."""

    def __call__(
        self, image: np.ndarray, allocate: Allocate = np.empty, caller_arrays: Any = None, valid: Any = None
    ) -> np.ndarray:
        return super().__call__(image, allocate, caller_arrays, valid) if image.dtype == np.uint8 else image


class Stem(ImagePipeline):
    """Steps that several views begin with: a sample leaves as other steps take it."""

    def __init__(self, compiled: Compiled, arrival: Arrival = "uint8") -> None:
        super().__init__(compiled, arrival)
        self.sinks = {"image": _AsItIs(compiled.recipe.output)}


class Branch(NamedTuple):
    """Steps behind those of the stem `of`; None: there are none before them."""

    of: str | None
    pipeline: ImagePipeline


class Branches:
    """The views of a recipe: where they part, and what makes them.

    In `none` and `exact` views part behind what they share, and behind the steps of a view that others are made of. In
    `fast`, whose rules join steps, they part where that joins none of those with others, and keep their bits.

    Args:
        of: the compiled recipe.
        whole: by name what makes a view from its first step to its last.
    """

    def __init__(self, compiled: Compiled, whole: Mapping[str, ImagePipeline]) -> None:
        self._compiled, self._whole, self._fast = compiled, whole, compiled.optimize == "fast"
        self.stems: dict[str, Branch] = {}
        self.ends: dict[str, Branch] = {}
        sources = {view.of for view in compiled.recipe.views if not self._fast}
        parted: dict[str | None, tuple[str | None, int]] = {None: (None, 0)}  # the last stem of each, and where it ends
        if count := self._shared():
            parted[None] = ALL, count
            self.stems[ALL] = Branch(None, self._stem(next(iter(whole)), 0, count))
        for view in compiled.recipe.views:
            steps, (stem, begin) = whole[view.name].recipe.steps, parted[view.of]
            if view.name in sources and self._costs(steps[begin:]):
                self.stems[view.name] = Branch(stem, self._stem(view.name, begin, len(steps)))
                stem, begin = view.name, len(steps)
            parted[view.name] = stem, begin
            last = whole[view.name] if stem is None else self._part(view.name, begin, len(steps))
            self.ends[view.name] = Branch(stem, last)

    def sample(self, epoch: int, index: int, inputs: Mapping[str, Any]) -> View:
        """What makes the views of a sample: from a name, a number and memory to all that comes out of a view."""
        mask, others = inputs.get("mask"), next(iter(self._whole.values())).likes
        whole = (mask is not None and np.asarray(mask).dtype not in MASKS) or not others.keys().isdisjoint(inputs)
        whole |= self._fast and arrival_of(inputs.get("image"), self._compiled.recipe.inputs) != "uint8"
        whole |= self._compiled.recipe.inputs.nodata is not None  # which pixels hold data, no stem hands on
        results: dict[tuple[str, int], dict[str, Any] | None] = {}

        def before(stem: str | None, k: int) -> dict[str, Any] | None:
            if stem is None:
                return dict(inputs)
            place = stem, k if stem else 0
            if place not in results:
                results[place] = run(self.stems[stem], *place[1:], np.empty)
            return None if (result := results[place]) is None else dict(result)

        def run(branch: Branch, k: int, allocate: Allocate) -> dict[str, Any] | None:
            """None: in `fast`, where it is no program that makes a part, none makes the whole."""
            if (targets := before(branch.of, k)) is None:
                return None
            seen = [] if branch.of is None else targets.pop("applied", [])
            result = self._made(branch.pipeline.for_this_thread(epoch), (epoch, index, k), targets, allocate)
            if result is not None and self._compiled.save_applied_params:
                result["applied"] = [*seen, *result["applied"]]
            return result

        def view(name: str, k: int, allocate: Allocate) -> dict[str, Any]:
            result = None if whole or self.ends[name].of is None else run(self.ends[name], k, allocate)
            if result is None:
                result = self._whole[name].for_this_thread(epoch).sample(epoch, index, k, dict(inputs), allocate)
            return result

        return view

    def _made(self, part: ImagePipeline, key: program_runner.Key, targets: dict[str, Any], allocate: Allocate) -> Any:
        """What comes out of a part of the steps; None: in `fast`, where no program makes it."""
        if not self._fast:
            return part.sample(*key, targets, allocate)
        try:
            return part.program_runner.run(key, targets, allocate)
        except program_run.PythonFallback:
            return None

    def _shared(self) -> int:
        """Of how many shared steps there is a stem."""
        steps = self._compiled.recipe.steps
        counts = (count for count in range(len(steps), 0, -1) if self._costs(steps[:count]))
        return next((count for count in counts if not self._fast or self._nodes(count)), 0)

    def _costs(self, steps: Sequence[Step]) -> bool:
        """Whether something is saved where steps run once."""
        free = all(action_of(leaf) in _FREE for step in steps for leaf in singles(step))
        return bool(steps) and (self._compiled.optimize == "none" or not free)

    def _nodes(self, count: int) -> Steps:
        """What the plans of all views begin with, where these are so many shared steps; else ()."""
        sites = {leaf.site for step in self._compiled.recipe.steps[:count] for leaf in step.walk()}
        beginnings: list[Steps] = []
        for nodes in (whole.compiled.plans["uint8"].steps for whole in self._whole.values()):
            shared = [{leaf.site in sites for leaf in singles(node)} for node in nodes]
            stop = shared.count({True})
            beginnings.append(nodes[:stop] if all(sides == {k < stop} for k, sides in enumerate(shared)) else ())
        return beginnings[0] if beginnings.count(beginnings[0]) == len(beginnings) else ()

    def _stem(self, name: str, begin: int, end: int) -> Stem:
        left = {"output": UINT8_HWC}
        return Stem(self._part(name, begin, end, left, pauses=True).compiled)

    def _part(self, name: str, begin: int, end: int, of_recipe: Mapping[str, Any] = {}, **how: Any) -> ImagePipeline:
        whole = self._whole[name]
        recipe = replace(suffix_recipe(whole.recipe, "train", begin), steps=whole.recipe.steps[begin:end], **of_recipe)
        pipeline = built(self._compiled, recipe, resumes=self._compiled.resumes or begin > 0, **how)
        if self._fast:  # alone, neither part would know what the other bears
            nodes, stop = whole.compiled.plans["uint8"].steps, len(self._nodes(begin or end))
            plan = Plan(nodes[stop:] if begin else nodes[:stop])
            pipeline = pipeline.again(replace(pipeline.compiled, plans={**pipeline.compiled.plans, "uint8": plan}))
        return pipeline
