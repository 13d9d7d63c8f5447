"""One sample after each step, and what each step drew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from augrecipes.compiler.run.instrument import SINK, route_steps
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import AugrecipesError
from augrecipes.ops import registry
from augrecipes.preview.display import picture_of_input, picture_of_output
from augrecipes.recipe.model import Step
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.studio.asked import Refused, RequestBody
from augrecipes.studio.drawing import classes_of, failure, source_of
from augrecipes.studio.jobs import Piece, Say, go_on
from augrecipes.studio.outline import steps_by_path
from augrecipes.studio.overlays import overlay_of
from augrecipes.studio.studio import Studio
from augrecipes.studio.wanted import WantedDraws, check_index, units_of
from augrecipes.studio.words import in_words

SIZE = 640  # px, where nothing is said


def stages(studio: Studio, body: RequestBody) -> Iterator[Piece]:
    """The work of a request: a line for the source, one for each step as it has run, and one for the output.

    Raises:
        RecipeError, LintError, DataError: as `draws`.
    """
    wanted = WantedDraws.of(studio, body, size=SIZE)
    index, epoch, tile = body.integer("index"), body.integer("epoch"), body.integer("tile")
    plain = studio.bench.pipeline(wanted.recipe, wanted.mode, "none", wanted.seed, save_applied_params=True)
    files = studio.shelf.files(wanted.recipe, plain)
    view = _StageView(studio, wanted, plain, files, epoch)
    check_index(files, index)
    units = units_of(wanted, files, index, epoch)

    def work(say: Say) -> None:
        try:
            sample = studio.shelf.sample(wanted.recipe, plain, units[min(tile, len(units) - 1)], epoch)
            view.run(sample, say)
        except (AugrecipesError, Refused) as error:
            say({"path": None, "name": "", "applied": False, "error": failure(error)})

    return iter([work])


class _StageView:
    """Runs a sample step by step, and says what each has done."""

    def __init__(
        self, studio: Studio, wanted: WantedDraws, pipeline: Pipeline, files: RecipeSource, epoch: int
    ) -> None:  # fmt: skip
        self.studio, self.wanted, self.pipeline, self.files = studio, wanted, pipeline, files
        self.off, self.epoch = wanted.off, epoch
        section = "steps" if wanted.mode == "train" else "eval"
        known = steps_by_path(wanted.as_written)
        self.steps = {path: step for path, step in known.items() if path.partition(".")[0] == section}
        self.top = {path: step for path, step in self.steps.items() if path.count(".") == 1}

    def run(self, sample: Sample, say: Say) -> None:
        """One sample."""
        first = self.pipeline.targets[0]
        source = source_of(self.studio, self.wanted, sample, first, self.files)
        height, width = sample.images[first].shape[:2]
        words = f"{width}×{height} px" + (" in the store" if self.wanted.baked else "")
        say({"path": None, "name": "source", "words": words, "applied": True, "on": True, **source})
        lines = self._of_many(sample) if self.wanted.recipe.facts.scales else self._of_one(sample, source, say)
        for line in lines:
            say(line)

    def _of_one(self, sample: Sample, source: dict[str, Any], say: Say) -> Iterator[dict[str, Any]]:
        """A picture: each step is shown as soon as it has run."""
        drawn: dict[str, str] = {}
        left = dict(self.top)
        shown = dict(source)

        def line(path: str, step: Step, acted: bool, found: dict[str, Any]) -> dict[str, Any]:
            return {**self._line(path, step, acted=acted, drawn=drawn), **found}

        def passed_over(until: str | None) -> None:
            """Steps that did not run before this one."""
            for path in list(left):
                if left[path].site == until:
                    return
                say(line(path, left.pop(path), acted=False, found=shown))

        def call(label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            go_on()
            if label == SINK:
                return step(*args, **kwargs)
            here = next((path for path, one in self.top.items() if one.site == label), None)
            if here in left:
                passed_over(label)
            done = step(*args, **kwargs)
            if params := getattr(step, "params", None):  # of steps that acted; groups have none
                drawn[label] = in_words(params)
            if here is not None and here in left and isinstance(done, dict):
                acted = any(inner.site in drawn for inner in left[here].walk())
                shown.clear()
                shown.update(self._shown(done))
                say(line(here, left.pop(here), acted=acted, found=shown))
            return done

        pipeline = self.pipeline.again()
        route_steps(pipeline, call)
        out = sample.run(pipeline, self.epoch)
        passed_over(None)
        yield self._output(out)

    def _shown(self, data: dict[str, Any]) -> dict[str, Any]:
        image = data["image"]
        if not isinstance(image, np.ndarray):
            return {}
        picture = picture_of_input(image)
        found = self.studio.pictures.put(picture, self.wanted.size)
        found["overlay"] = overlay_of(
            {name: value for name, value in data.items() if name == "mask"}, self.wanted.recipe, picture.shape[:2],
            self.studio.pictures, shown=self.wanted.size, classes=classes_of(self.files),
        )  # fmt: skip
        return found

    def _of_many(self, sample: Sample) -> Iterator[dict[str, Any]]:
        """A scene of several pictures: all steps run, then each is shown."""
        applied = {
            label: in_words(params) for label, _, params in sample.run(self.pipeline, self.epoch).get("applied", ())
        }
        traced = dict(self.pipeline.stages(sample.index, self.epoch, sample.tile)(**sample.targets))
        shown: dict[str, Any] = {}
        for path, step in self.top.items():
            acted = any(inner.site in applied for inner in step.walk()) or step.site in applied
            if step.site in traced:
                shown = {"pictures": [
                    {"target": name, **self.studio.pictures.put(picture_of_input(image), self.wanted.size)}
                    for name, image in traced[step.site].items()
                ]}  # fmt: skip
                shown |= {key: shown["pictures"][0][key] for key in ("url", "width", "height")}
            yield {**self._line(path, step, acted=acted, drawn=applied), **shown}

    def _output(self, out: dict[str, Any]) -> dict[str, Any]:
        """What leaves the pipeline, as draws show it."""
        recipe = self.wanted.recipe
        image = out["image"]
        picture = picture_of_output(image, recipe.output)
        overlay = overlay_of(
            out, recipe, picture.shape[:2], self.studio.pictures, shown=self.wanted.size, classes=classes_of(self.files)
        )
        words = f"{image.dtype} {'×'.join(map(str, image.shape))}"
        shown = {**self.studio.pictures.put(picture, self.wanted.size), "overlay": overlay}
        return {"path": None, "name": "output", "words": words, "applied": True, "on": True, **shown}

    def _line(self, path: str, step: Step, *, acted: bool, drawn: dict[str, str]) -> dict[str, Any]:
        if step.site in self.wanted.baked:
            words, known = "in the store already: what is read has it behind it", {"applied": True, "on": True}
            return {"path": path, "name": step.name, "label": step.site, "words": words, "baked": True, **known}
        on = path not in self.off
        inner = {where: one for where, one in self.steps.items() if where.startswith(f"{path}.")}
        ran: list[dict[str, Any]] = [{"path": where, "name": one.name, "words": drawn[one.site], "applied": True}
               for where, one in inner.items() if one.site in drawn]  # fmt: skip
        words = drawn.get(step.site, "") or "; ".join(
            f"{one['name']}: {one['words']}" if one["words"] else one["name"] for one in ran
        )
        chance = registry.chance(step)
        if not on:
            words = "switched off"
        elif not acted:
            words = f"did not act: p is {chance:g}"
        return {
            "path": path, "name": step.name, "label": step.site, "words": words or about(step.name),
            "applied": acted and on, "on": on, "p": chance, "inner": ran,
        }  # fmt: skip


def about(name: str) -> str:
    """What a class does, where it has drawn nothing that could be said."""
    schema = registry.arguments(name)
    return str((schema or {}).get("description", ""))
