"""The least and the most that a step can do to a sample: its ranges at their ends, and some draws between."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import AugrecipesError, DataError
from augrecipes.ops import groups, registry
from augrecipes.ops.frozen import Arguments
from augrecipes.preview.display import picture_of_input
from augrecipes.recipe.model import Inputs, Mode, Output, Recipe, Step
from augrecipes.sources.sample import Sample
from augrecipes.studio.asked import Refused, RequestBody
from augrecipes.studio.jobs import go_on
from augrecipes.studio.outline import steps_by_path
from augrecipes.studio.pictures import shrunk
from augrecipes.studio.studio import Studio
from augrecipes.studio.wanted import WantedDraws, check_index, units_of
from augrecipes.studio.words import in_words
from augrecipes.studio.working import Workbench

_CORNERS = 16  # combinations of the ends of ranges that are tried, of a group twice as many in all
_DRAWS = 8  # of the step as it is written
_COMPARED = 128  # px, the longer side of pictures that are compared
_AS_IT_IS = Output(dtype="uint8", layout="hwc")
SIZE = 640

Scene = Mapping[str, NDArray[Any]]  # pictures by target


@dataclass(frozen=True, slots=True)
class _Try:
    """One way that a step may act, and how far that takes the picture that it changes most."""

    apart: float
    target: str
    picture: NDArray[Any]
    words: str


def extremes(studio: Studio, body: RequestBody) -> dict[str, Any]:
    """The picture behind a step where it does the least, and where it does the most, of all ways that are tried.

    A group acts as its steps do: of a OneOf each of them alone, of other groups all at their ends together. Of several
    pictures the one that the step changes most is shown.

    Raises:
        Refused: there is no such step, or the store has it already.
        AugrecipesError: the recipe or the sample is not as it should be.
    """
    path = body.text("path")
    section = path.partition(".")[0]
    wanted = WantedDraws.of(studio, body, SIZE, "eval" if section == "eval" else "train")
    known = steps_by_path(wanted.as_written)
    step, top = known.get(path), known.get(".".join(path.split(".")[:2]))
    if step is None or top is None:
        raise Refused(404, "path", f"there is no step {path!r:.80}")
    if top.site in wanted.baked:
        raise Refused(422, "baked", f"{top.name} is in the store already: nothing of it is drawn here")
    part = _Compiling(studio.bench, wanted.recipe, wanted.mode, wanted.seed)
    beside = [one.site for where, one in known.items() if where.partition(".")[0] == section and where.count(".") == 1]
    before = part.before(top, beside)
    files = studio.shelf.files(wanted.recipe, wanted.pipeline(studio))
    index, epoch = body.integer("index"), body.integer("epoch")
    check_index(files, index)
    sample = studio.shelf.sample(wanted.recipe, before, units_of(wanted, files, index, epoch)[0], epoch)
    given = _last(before, sample, epoch)
    held = top.name == groups.DEGRADE and step is not top  # it makes a picture with the others, and with their draws
    ways = list(_ways(step))
    ways = [ways[k] for k in np.unique(np.linspace(0, len(ways) - 1, min(len(ways), 2 * _CORNERS)).astype(int))]
    tried = []
    for number, way in enumerate([*ways, *([step] * (1 if held else _DRAWS))]):
        go_on()
        one = replace(way, p=1.0)
        alone = part.alone(_instead(top, step, one) if held else one)
        if (found := _tried(alone, step, index, epoch if held else epoch + number, given)) is not None:
            tried.append(found)
    if not tried:
        raise DataError("the step fails on this sample in every way that was tried", sample.path, step.site)
    least, most = min(tried, key=lambda one: one.apart), max(tried, key=lambda one: one.apart)
    return {
        name: {
            **studio.pictures.put(picture_of_input(one.picture), wanted.size), "words": one.words,
            "apart": round(one.apart, 3), "target": one.target,
        }
        for name, one in (("least", least), ("most", most))
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Compiling:
    """Compiles parts of a recipe."""

    bench: Workbench
    recipe: Recipe
    mode: Mode
    seed: int

    def before(self, top: Step, order: list[str]) -> Pipeline:
        """The steps that run before one; it may be among those that are switched off."""
        sites = set(order[: order.index(top.site)])
        steps = self.recipe.section(self.mode) or ()
        first = tuple(step for step in steps if step.site in sites)
        later = [step for step in steps if step.name == groups.DEGRADE and step not in first]
        return self._built(first, later)

    def alone(self, step: Step) -> Pipeline:
        """One step, which is given whatever pictures the others have left."""
        steps = self.recipe.section(self.mode) or ()
        behind = itertools.dropwhile(lambda one: one.site != step.site, steps)
        later = [one for one in behind if one.name == groups.DEGRADE and one.site != step.site]
        return self._built((step,), later, inputs=Inputs(), resumes=True)

    def _built(self, steps: tuple[Step, ...], later: list[Step], inputs: Inputs | None = None, **more: Any) -> Pipeline:
        made = replace(self.recipe, steps=steps, eval=None, derived=False, inputs=inputs or self.recipe.inputs)
        made = replace(made, output=_AS_IT_IS, outputs=Arguments())
        targets = frozenset(step.args["target"] for step in later)
        return self.bench.built(made, "train", "none", self.seed, save_applied_params=True, later=targets, **more)


def _last(pipeline: Pipeline, sample: Sample, epoch: int) -> Scene:
    """The pictures as the last step leaves them."""
    traced = pipeline.stages(sample.index, epoch, sample.tile)(**sample.targets)
    last = traced[-1][1] if traced else sample.images
    found = last if isinstance(last, Mapping) else {"image": last}
    return {name: one if isinstance(one, np.ndarray) else np.asarray(one.array()) for name, one in found.items()}


def _ways(step: Step) -> Iterator[Step]:
    """The step with its ranges at their ends in all combinations; of a group, the ways of its steps."""
    children = [list(_ways(child)) or [child] for child in step.steps]
    if step.name == groups.ONE_OF:
        for place, ways in enumerate(children):
            off = [replace(child, p=0.0) for child in step.steps]
            yield from (replace(step, steps=(*off[:place], replace(way, p=1.0), *off[place + 1 :])) for way in ways)
        return
    if step.steps:
        for number in range(max(map(len, children))):
            yield replace(step, steps=tuple(ways[number % len(ways)] for ways in children))
        return
    ranges = dict(_ranges(step))
    ends = ([(name, [low, low]), (name, [high, high])] for name, (low, high) in ranges.items())
    for corner in itertools.islice(itertools.product(*ends), _CORNERS):
        made = replace(step, args=Arguments({**step.args.plain(), **dict(corner)}))
        try:
            registry.construct(made)
        except AugrecipesError:
            continue
        yield made


def _instead(group: Step, old: Step, new: Step) -> Step:
    """A group with another step in the place of one."""
    if group is old:
        return new
    return replace(group, p=1.0, steps=tuple(_instead(child, old, new) for child in group.steps))


def _ranges(step: Step) -> Iterator[tuple[str, tuple[float, float]]]:
    """Arguments of two numbers, from and to, as they take effect."""
    properties = (registry.arguments(step.name) or {"properties": {}})["properties"]
    for name, value in registry.effective(step).items():
        part = properties.get(name, {})
        pair = any(len(one.get("prefixItems", ())) == 2 for one in part.get("anyOf", [part]))
        numbers = (
            isinstance(value, list | tuple)
            and len(value) == 2
            and all(isinstance(one, int | float) and not isinstance(one, bool) for one in value)
        )
        if pair and numbers and value[0] < value[1]:
            yield name, (value[0], value[1])
        elif pair and part.get("x-range") == "symmetric" and isinstance(value, int | float) and value:
            yield name, (-abs(value), abs(value))


def _tried(pipeline: Pipeline, step: Step, index: int, epoch: int, given: Scene) -> _Try | None:
    """One way; None where the step fails."""
    try:
        out = pipeline.at(index, epoch)(**{name: given[name] for name in pipeline.targets})
    except DataError:
        return None
    largest = max(given.values(), key=lambda one: one.shape[0] * one.shape[1])
    far = {name: _apart(out[name], given.get(name, largest)) for name in pipeline.outputs}
    name = max(far, key=lambda one: far[one])
    drawn = {site: (cls, in_words(params)) for site, cls, params in out["applied"]}
    words = "; ".join(
        ": ".join(part for part in (cls if step.steps else "", said) if part)
        for cls, said in (drawn[one.site] for one in step.walk() if one.site in drawn)
    )
    return _Try(far[name], name, out[name], words)


def _apart(image: NDArray[Any], given: NDArray[Any]) -> float:
    """How different two pictures look, in levels; of other sizes once both fill the same frame."""
    one, other = shrunk(picture_of_input(image), _COMPARED), shrunk(picture_of_input(given), _COMPARED)
    if one.shape != other.shape:
        one = np.asarray(cv2.resize(one, (other.shape[1], other.shape[0]), interpolation=cv2.INTER_AREA), np.uint8)
    return float(np.abs(one.astype(np.int16) - other).mean())
