"""One sample after each step, and the random parameters of each step in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from augrecipes.compiler.run.instrument import SINK, route_steps
from augrecipes.errors import AugrecipesError
from augrecipes.ops import registry
from augrecipes.preview.display import picture_of_input, picture_of_output
from augrecipes.recipe.model import Step
from augrecipes.recipe.words import in_words
from augrecipes.sources.sample import Sample
from augrecipes.studio.jobs import Piece, Say, go_on
from augrecipes.studio.requests import Refused, ViewRequest
from augrecipes.studio.studio import Studio
from augrecipes.studio.view import View, failure

SIZE = 640  # px, where the request names none


def stages(studio: Studio, request: ViewRequest) -> Iterator[Piece]:
    """The work of a request: a line for the source, one for each step as it has run, and one for the output.

    Raises:
        RecipeError, LintError, DataError: as `View`.
    """
    view = View(studio, request, optimize="none", size=SIZE, save_applied_params=True)
    units = view.units(request.index, request.epoch)

    def work(say: Say) -> None:
        try:
            sample = view.sample(units[min(request.tile, len(units) - 1)], request.epoch)
            name = view.pipeline.targets[0]
            height, width = sample.images[name].shape[:2]
            words = f"{width}×{height} px" + (" in the store" if view.baked else "")
            source = view.source(sample, name)
            say({**_END, "name": "source", "words": words, **source})
            shown = _of_many if view.recipe.facts.scales else _of_one
            shown(view, sample, request.epoch, source, say)
        except (AugrecipesError, Refused) as error:
            say({"path": None, "name": "", "applied": False, "error": failure(error)})

    return iter([work])


_END = {"path": None, "applied": True, "on": True}  # what source and output have in place of a step


def _top(view: View) -> dict[str, Step]:
    section = "steps" if view.mode == "train" else "eval"
    return {path: step for path, step in view.steps.items() if path.startswith(section) and path.count(".") == 1}


def _of_one(view: View, sample: Sample, epoch: int, shown: dict[str, Any], say: Say) -> None:
    """An image: each step is shown as soon as it has run."""
    drawn: dict[str, str] = {}
    left = _top(view)
    paths = {step.site: path for path, step in left.items()}

    def skipped(until: str | None) -> None:
        """Show the steps that did not run before this one."""
        for path in list(left):
            if path == until:
                return
            say({**_line(view, path, left.pop(path), drawn), **shown})

    def call(label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal shown
        go_on()
        path = None if label == SINK else paths.get(label)
        if path in left:
            skipped(path)
        done = step(*args, **kwargs)
        if params := label != SINK and getattr(step, "params", None):  # of steps that acted; groups have none
            drawn[label] = in_words(params)
        if path in left and isinstance(done, dict) and isinstance(done["image"], np.ndarray):
            image = picture_of_input(done["image"])
            masks = {name: value for name, value in done.items() if name == "mask"}
            shown = {**view.put(image), "overlay": view.overlay(masks, image.shape[:2])}
            say({**_line(view, path, left.pop(path), drawn), **shown})
        return done

    pipeline = view.pipeline.again()
    route_steps(pipeline, call)
    out = sample.run(pipeline, epoch)
    skipped(None)
    image = picture_of_output(out["image"], view.recipe.output)
    words = f"{out['image'].dtype} {'×'.join(map(str, out['image'].shape))}"
    shown = {**view.put(image), "overlay": view.overlay(out, image.shape[:2])}
    say({**_END, "name": "output", "words": words, **shown})


def _of_many(view: View, sample: Sample, epoch: int, shown: dict[str, Any], say: Say) -> None:
    """A scene of several images: all steps run, then each is shown."""
    applied = sample.run(view.pipeline, epoch)["applied"]
    drawn = {label: in_words(params) for label, _, params in applied}
    traced = dict(view.pipeline.stages(sample.index, epoch, sample.tile)(**sample.targets))
    shown = {}
    for path, step in _top(view).items():
        if step.site in traced:
            images = [{"target": name, **view.put(picture_of_input(one))} for name, one in traced[step.site].items()]
            shown = {"pictures": images, **images[0]}
        say({**_line(view, path, step, drawn), **shown})


def _line(view: View, path: str, step: Step, drawn: dict[str, str]) -> dict[str, Any]:
    """What the page shows of an outermost step: whether it acted, and what it drew."""
    line: dict[str, Any] = {"path": path, "name": step.name, "label": step.site, "applied": True, "on": True}
    if step.site in view.baked:
        return {**line, "words": "in the store already: what is read has it behind it", "baked": True}
    ran = [
        {"path": where, "name": one.name, "words": drawn[one.site]}
        for where, one in view.steps.items()
        if where.startswith(f"{path}.") and one.site in drawn
    ]
    words = drawn.get(step.site) or "; ".join(": ".join(filter(None, (one["name"], one["words"]))) for one in ran)
    acted, on, chance = bool(ran) or step.site in drawn, path not in view.variant.off, registry.chance(step)
    if not words:  # it has drawn nothing that could be said
        words = str((registry.arguments(step.name) or {}).get("description", ""))
    words = "switched off" if not on else words if acted else f"did not act: p is {chance:g}"
    return {**line, "words": words, "applied": acted and on, "on": on, "p": chance, "inner": ran}
