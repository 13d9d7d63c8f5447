"""The least and the most that a step can do to a sample: its ranges at their ends, and some draws between."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.compile import build
from augrecipes.data.reading.sample import Sample
from augrecipes.errors import AugrecipesError, DataError
from augrecipes.ops import registry
from augrecipes.ops.frozen import Arguments
from augrecipes.preview.display import picture_of_input
from augrecipes.recipe.model import Inputs, Mode, Recipe, Step
from augrecipes.studio.asked import Refused, RequestBody
from augrecipes.studio.drawing import WantedDraws, check_index, units_of
from augrecipes.studio.outline import steps_by_path
from augrecipes.studio.pictures import shrunk
from augrecipes.studio.studio import Studio
from augrecipes.studio.words import in_words

_CORNERS = 16  # combinations of the ends of ranges that are tried
_DRAWS = 8  # of the step as it is written
_COMPARED = 128  # px, the longer side of pictures that are compared
SIZE = 640


@dataclass(frozen=True, slots=True)
class _Try:
    """One way that a step may act, and how far that takes the picture."""

    apart: float
    picture: NDArray[np.uint8]
    words: str


def extremes(studio: Studio, body: RequestBody) -> dict[str, Any]:
    """The picture behind a step where it does the least, and where it does the most, of all ways that are tried.

    Raises:
        Refused: there is no such step, or it is a group.
        AugrecipesError: the recipe or the sample is not as it should be.
    """
    wanted, path = WantedDraws.of(studio, body, size=SIZE), body.text("path")
    recipe = wanted.recipe
    step = steps_by_path(recipe).get(path)
    if step is None:
        raise Refused(404, "path", f"there is no step {path!r:.80}")
    if step.steps:
        raise Refused(422, "group", f"{step.name} holds steps: choose one of them")
    if recipe.facts.scales:
        raise Refused(422, "pair", "the steps of a pair act on several pictures: see Stages")
    mode: Mode = "train" if path.startswith("steps") else "eval"
    before = build(_before(recipe, path), mode, "none", wanted.seed)
    files = studio.shelf.files(recipe, before)
    index, epoch = body.integer("index"), body.integer("epoch")
    check_index(files, index)
    sample = studio.shelf.sample(recipe, before, units_of(wanted, files, index, epoch)[0])
    given = _last(before, sample, epoch)
    ways = ((_alone(recipe, replace(one, p=1.0)), epoch + number) for number, one in enumerate(_ways(step)))
    tried = [found for one, key in ways if (found := _tried(one, wanted.seed, index, key, given)) is not None]
    if not tried:
        raise DataError("the step fails on this sample in every way that was tried", sample.path, step.site)
    least, most = min(tried, key=lambda one: one.apart), max(tried, key=lambda one: one.apart)
    return {
        name: {**studio.pictures.put(one.picture, wanted.size), "words": one.words, "apart": round(one.apart, 3)}
        for name, one in (("least", least), ("most", most))
    }


def _before(recipe: Recipe, path: str) -> Recipe:
    section, number, *_ = path.split(".")
    steps = (recipe.steps if section == "steps" else recipe.eval or ())[: int(number)]
    return replace(recipe, steps=steps) if section == "steps" else replace(recipe, eval=steps)


def _last(pipeline: Any, sample: Sample, epoch: int) -> NDArray[Any]:
    """The picture as the last step leaves it."""
    traced = pipeline.stages(sample.index, epoch, sample.tile)(**sample.targets)
    image = traced[-1][1] if traced else sample.images["image"]
    return np.asarray(image if isinstance(image, np.ndarray) else image.array())


def _ways(step: Step) -> Iterator[Step]:
    """The step with its ranges at their ends in all combinations, and as it is written."""
    ranges = dict(_ranges(step))
    ends = ([(name, [low, low]), (name, [high, high])] for name, (low, high) in ranges.items())
    for corner in itertools.islice(itertools.product(*ends), _CORNERS):
        made = replace(step, args=Arguments({**step.args.plain(), **dict(corner)}))
        try:
            registry.construct(made)
        except AugrecipesError:
            continue
        yield made
    for _ in range(_DRAWS):
        yield step


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


def _alone(recipe: Recipe, step: Step) -> Recipe:
    """A recipe of one step, which is given whatever picture the others have left."""
    return replace(recipe, steps=(step,), eval=None, derived=False, inputs=Inputs())


def _tried(recipe: Recipe, seed: int, index: int, epoch: int, given: NDArray[Any]) -> _Try | None:
    """One way; None where the step fails."""
    pipeline = build(recipe, "train", "none", seed, save_applied_params=True)
    try:
        ((_, image),) = pipeline.stages(index, epoch)(image=given)
        applied = pipeline.at(index, epoch)(image=given)["applied"]
    except DataError:
        return None
    words = ", ".join(in_words(params) for _, _, params in applied)
    return _Try(_apart(image, given), picture_of_input(image), words)


def _apart(image: NDArray[Any], given: NDArray[Any]) -> float:
    """How different two pictures look, in levels; of other sizes once both fill the same frame."""
    one, other = shrunk(picture_of_input(image), _COMPARED), shrunk(picture_of_input(given), _COMPARED)
    if one.shape != other.shape:
        one = np.asarray(cv2.resize(one, (other.shape[1], other.shape[0]), interpolation=cv2.INTER_AREA), np.uint8)
    return float(np.abs(one.astype(np.int16) - other).mean())
