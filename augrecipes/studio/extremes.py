"""The least and the most that a step can do to a sample: its ranges at their ends, and some draws between."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
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
from augrecipes.recipe.model import Inputs, Output, Step
from augrecipes.recipe.words import in_words
from augrecipes.studio.images import shrunk
from augrecipes.studio.jobs import go_on
from augrecipes.studio.requests import Refused, ViewRequest
from augrecipes.studio.studio import Studio
from augrecipes.studio.view import View, whole

_CORNERS = 16  # combinations of the ends of ranges that are tried, of a group twice as many in total
_DRAWS = 8  # of the step as it is written
_COMPARED = 128  # px, the longer side of images that are compared
SIZE = 640

Scene = Mapping[str, NDArray[Any]]  # images by target


@dataclass(frozen=True, slots=True)
class _Try:
    """One way that a step may act, and how far it changes the image that it changes most."""

    apart: float
    target: str
    image: NDArray[Any]
    words: str


def extremes(studio: Studio, request: ViewRequest) -> dict[str, Any]:
    """The image after a step where it does the least, and where it does the most, of all ways that are tried.

    A group acts as its steps do: of a OneOf each of them alone, of other groups all at their ends together. Of several
    images the one that the step changes most is shown.

    Raises:
        Refused: there is no such step, or the packed dataset has it already.
        AugrecipesError: the recipe or the sample is not as it should be.
    """
    path, index, epoch = request.path, request.index, request.epoch
    view = View(studio, request, mode="eval" if path.startswith("eval") else "train", size=SIZE)
    step, top = view.steps.get(path), view.steps.get(".".join(path.split(".")[:2]))
    if step is None or top is None:
        raise Refused(404, "path", f"there is no step {path!r:.80}")
    if top.site in view.baked:
        raise Refused(422, "baked", f"{top.name} is in the store already: nothing of it is drawn here")
    steps, sites = view.recipe.section(view.mode) or (), sites_before(view, path)
    first = [one for one in steps if one.site in sites]
    before = _compiled(view, first, [one for one in steps if one not in first])
    sample = studio.data.sample(view.recipe, before, view.units(index, epoch)[0], epoch)
    traced = before.stages(index, epoch, sample.tile)(**sample.targets)
    last = traced[-1][1] if traced else sample.images
    given = {name: whole(one) for name, one in (last if isinstance(last, Mapping) else {"image": last}).items()}
    behind = [*itertools.dropwhile(lambda one: one.site != top.site, steps)][1:]
    held = top.name == groups.DEGRADE and step is not top  # it makes an image with the others, and with their draws
    ways = list(_ways(step))
    ways = [ways[k] for k in np.unique(np.linspace(0, len(ways) - 1, min(len(ways), 2 * _CORNERS)).astype(int))]
    tried = []
    for number, way in enumerate([*ways, *([step] * (1 if held else _DRAWS))]):
        go_on()
        alone = _instead(top, step, replace(way, p=1.0)) if held else replace(way, p=1.0)
        pipeline = _compiled(view, [alone], behind, inputs=Inputs(), resumes=True)
        if (found := _tried(pipeline, step, index, epoch if held else epoch + number, given)) is not None:
            tried.append(found)
    if not tried:
        raise DataError("the step fails on this sample in every way that was tried", sample.path, step.site)
    tried.sort(key=lambda one: one.apart)
    return {
        name: {**view.put(picture_of_input(one.image)), "words": one.words, "apart": one.apart, "target": one.target}
        for name, one in (("least", tried[0]), ("most", tried[-1]))
    }


def sites_before(view: View, path: str) -> set[str]:
    """Labels of the outermost steps before one, in its section; it may be among those that are switched off."""
    section, number = path.split(".")[:2]
    places = [(where.split("."), step.site) for where, step in view.steps.items()]
    return {site for at, site in places if at[0] == section and len(at) == 2 and int(at[1]) < int(number)}


def _compiled(
    view: View, steps: Sequence[Step], behind: Sequence[Step], inputs: Inputs | None = None, **more: Any
) -> Pipeline:
    """Some steps by themselves; the targets that steps `behind` them make are not there yet."""
    output: dict[str, Any] = {"output": Output(dtype="uint8", layout="hwc"), "outputs": Arguments()}
    part = replace(
        view.recipe, steps=tuple(steps), eval=None, derived=False, inputs=inputs or view.recipe.inputs, **output
    )
    later = frozenset(one.args["target"] for one in behind if one.name == groups.DEGRADE)
    seed = view.request.seed
    return view.studio.bench.built(part, "train", "none", seed, save_applied_params=True, later=later, **more)


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
    ends = ([(name, [low, low]), (name, [high, high])] for name, (low, high) in _ranges(step))
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
        if not any(len(one.get("prefixItems", ())) == 2 for one in part.get("anyOf", [part])):
            continue
        symmetric = part.get("x-range") == "symmetric"
        match value:
            case bool() | (bool(), _) | (_, bool()):
                pass
            case (int() | float() as low, int() | float() as high) if low < high:
                yield name, (low, high)
            case int() | float() if symmetric and value:
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
        ": ".join(part for part in (cls if step.steps else "", text) if part)
        for cls, text in (drawn[one.site] for one in step.walk() if one.site in drawn)
    )
    return _Try(far[name], name, out[name], words)


def _apart(image: NDArray[Any], given: NDArray[Any]) -> float:
    """How different two images look, in levels; of other sizes once both fill the same frame."""
    one, other = shrunk(picture_of_input(image), _COMPARED), shrunk(picture_of_input(given), _COMPARED)
    if one.shape != other.shape:
        one = np.asarray(cv2.resize(one, (other.shape[1], other.shape[0]), interpolation=cv2.INTER_AREA), np.uint8)
    return float(np.abs(one.astype(np.int16) - other).mean())
