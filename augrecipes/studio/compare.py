"""Comparisons: the least and the most that a step can do, two recipes, and times with and without optimisation."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from augrecipes.compiler.explain import explain
from augrecipes.compiler.rewrite.rules import rules_for
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.compiler.timing import measure
from augrecipes.diff import diff
from augrecipes.errors import AugrecipesError, DataError
from augrecipes.machine import cores
from augrecipes.ops import groups, registry
from augrecipes.ops.step import Arguments
from augrecipes.preview.display import RgbImage, amplified, resize_to, rgb_of_input, rgb_of_output, within
from augrecipes.recipe.model import UINT8_HWC, Inputs, Output, Step
from augrecipes.studio import editing, file, requests
from augrecipes.studio.studio import Studio, continue_or_cancel
from augrecipes.studio.view import View, drawn_in, part_of, whole

_CORNERS = 16  # combinations of range ends to try for a step; twice as many for a group in total
_DRAWS = 8  # random draws of the unchanged step to try
_COMPARED = 128  # px, the longer side of images that are compared
_MARKS = {"added": "+", "removed": "−", "moved": "›", "changed": "~"}


def range_ends(studio: Studio, request: requests.ViewRequest) -> dict[str, Any]:
    """Show a step's weakest and strongest effect on the image, over combinations of range ends and some draws.

    A OneOf is tried with each of its steps alone, other groups with all their steps at range ends together. Where there
    are several images, the one that the step changes most is shown.

    Raises:
        Refused: there is no such step, or the packed dataset has it already.
        AugrecipesError: the recipe cannot run, or not on this sample.
    """
    path, index, epoch = request.path, request.index, request.epoch
    view = View(studio, request, mode="eval" if path.startswith("eval") else "train", size=640, path=path)
    written = editing.steps_by_path(view.written.in_epoch(epoch))
    step, top = written.get(path), written.get(_outermost(path))
    if step is None or top is None:
        raise requests.no_step(path)
    if top.site in view.baked:
        raise requests.Refused(422, "baked", f"{top.name} is in the store already: nothing of it is drawn here")
    steps, sites = view.recipe.in_epoch(epoch).section(view.mode) or (), sites_before(view, path)
    later = [other for other in steps if other.site not in {*sites, top.site}]
    pipeline = _compile(view, [other for other in steps if other.site in sites], [top, *later])
    sample = studio.data.sample(view.recipe, pipeline, view.units(index, epoch)[0], epoch)
    traced = pipeline.stages(index, epoch, sample.tile)(**sample.targets)
    last = traced[-1][1] if traced else sample.images
    images = {name: whole(image) for name, image in (last if isinstance(last, Mapping) else {"image": last}).items()}
    stretch = view.stretch(sample)
    before = {name: rgb_of_input(image, stretch) for name, image in images.items()}
    # Inside a Degrade the step runs with its siblings and their draws.
    in_degrade = top.name == groups.DEGRADE and step is not top
    every = list(_variants(step))
    variants = [every[k] for k in np.unique(np.linspace(0, len(every) - 1, min(len(every), 2 * _CORNERS)).astype(int))]
    tried = []
    for number, variant in enumerate([*variants, *([step] * (1 if in_degrade else _DRAWS))]):
        continue_or_cancel()
        alone = _substitute(top, step, replace(variant, p=1.0)) if in_degrade else replace(variant, p=1.0)
        pipeline = _compile(view, [alone], later, resumes=True)
        with suppress(DataError):  # the step fails with these arguments
            at = pipeline.at(index, epoch if in_degrade else epoch + number)
            out = at(**{name: images[name] for name in pipeline.targets})
            shown = {name: rgb_of_output(out[name], pipeline.recipe.output, stretch) for name in pipeline.outputs}
            tried.append(_change(step, out, shown, before))
    if not tried:
        raise DataError("the step fails on this sample in every way that was tried", sample.path, step.site)
    tried.sort(key=itemgetter(0))
    return {
        which: {**view.cache_png(image), "words": words, "apart": distance, "target": target}
        for which, (distance, target, image, words) in (("least", tried[0]), ("most", tried[-1]))
    }


def sites_before(view: View, path: str) -> set[str]:
    """Labels of the outermost steps before one, in its section; it may be among those that are switched off."""
    steps, top = part_of(view.written, path).section(view.mode) or (), view.steps[_outermost(path)].site
    return {step.site for step in itertools.takewhile(lambda step: step.site != top, steps)}


def _outermost(path: str) -> str:
    """The path of the outermost step of one: up to the first number.

    >>> _outermost("views.local.steps.2.steps.0"), _outermost("steps.1")
    ('views.local.steps.2', 'steps.1')
    """
    words = path.split(".")
    return ".".join(words[: 1 + next((k for k, word in enumerate(words) if word.isdigit()), 0)])


def _compile(view: View, steps: Sequence[Step], later: Sequence[Step], **more: Any) -> Pipeline:
    """Compile some steps alone; the targets that `later` steps make do not exist yet."""
    inputs = view.recipe.inputs
    output: dict[str, Any] = {"output": Output(layout="hwc") if inputs.is_deep else UINT8_HWC, "outputs": Arguments()}
    if more:
        inputs = Inputs(dtype=inputs.dtype, range=inputs.range, nodata=inputs.nodata)
    part = replace(view.recipe, steps=tuple(steps), eval=None, derived=False, inputs=inputs, **output)
    made_later = frozenset(step.args["target"] for step in later if step.name == groups.DEGRADE)
    seed = view.request.seed
    return view.studio.build_part(part, "train", "none", seed, save_applied_params=True, later=made_later, **more)


def _variants(step: Step) -> Iterator[Step]:
    """Yield the step with its ranges at their ends, in all combinations; for a group, with its steps varied so."""
    children = [list(_variants(child)) or [child] for child in step.steps]
    if step.name == groups.ONE_OF:
        for place, variants in enumerate(children):
            off = [replace(child, p=0.0) for child in step.steps]
            yield from (replace(step, steps=(*off[:place], replace(v, p=1.0), *off[place + 1 :])) for v in variants)
        return
    if step.steps:
        for number in range(max(map(len, children))):
            yield replace(step, steps=tuple(variants[number % len(variants)] for variants in children))
        return
    ends = ([(name, [low, low]), (name, [high, high])] for name, (low, high) in _ranges(step))
    for corner in itertools.islice(itertools.product(*ends), _CORNERS):
        variant = replace(step, args=Arguments({**step.args.plain(), **dict(corner)}))
        with suppress(AugrecipesError):
            registry.construct(variant)
            yield variant


def _substitute(group: Step, old: Step, new: Step) -> Step:
    """Replace one step of a group, at any depth."""
    if group is old:
        return new
    return replace(group, p=1.0, steps=tuple(_substitute(child, old, new) for child in group.steps))


def _ranges(step: Step) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the range arguments of a step with their effective (low, high)."""
    properties = registry.takes(step.name)
    for name, value in registry.effective(step).items():
        part = properties.get(name, {})
        if file.argument_of(name, part)["type"] != "range":
            continue
        symmetric = part.get("x-range") == "symmetric"
        match value:
            case bool() | (bool(), _) | (_, bool()):
                pass
            case (int() | float() as low, int() | float() as high) if low < high:
                yield name, (low, high)
            case int() | float() if symmetric and value:
                yield name, (-abs(value), abs(value))


def _change(
    step: Step, out: dict[str, Any], shown: Mapping[str, RgbImage], before: Mapping[str, RgbImage]
) -> tuple[float, str, RgbImage, str]:
    """Find the image that a step changes most: distance, name, the image, and the drawn parameters in words."""
    largest = max(before.values(), key=lambda image: image.shape[0] * image.shape[1])
    far, name = max((_distance(image, before.get(name, largest)), name) for name, image in shown.items())
    drawn = drawn_in(out)
    acted = [drawn[inner.site] for inner in step.walk() if inner.site in drawn]
    words = "; ".join(": ".join(filter(None, (cls if step.steps else "", text))) for cls, text in acted)
    return far, name, shown[name], words


def _distance(image: RgbImage, source: RgbImage) -> float:
    """Mean absolute difference of two images in levels of 0..255, once both are scaled to the same size."""
    source_shown = within(source, _COMPARED)
    shown = resize_to(within(image, _COMPARED), source_shown.shape[:2])
    return float(np.abs(shown.astype(np.int16) - source_shown).mean())


def compare_recipes(studio: Studio, request: requests.CompareRequest) -> dict[str, Any]:
    """Run two recipes on one sample: both images, their difference, and what `augrecipes diff` says.

    Raises:
        AugrecipesError: a recipe is not valid, or the sample cannot be read.
    """
    a, b = views = [View(studio, request, side, optimize=side.optimize, path="") for side in (request.a, request.b)]
    name = next(iter(a.pipeline.outputs))
    if name not in b.pipeline.outputs:
        raise DataError("A and B have no target in common, so there is nothing to compare")
    b.check(request.index)
    units, tile = a.units(request.index, request.epoch), (request.chosen or [0])[0]
    if tile >= len(units):
        raise requests.Refused(404, "tile", f"there are {len(units)} tiles; the last is number {len(units) - 1}")
    samples = [view.sample(units[tile], request.epoch) for view in views]
    if samples[0].path != samples[1].path:
        raise DataError(f"sample {request.index} of B is another file, {samples[1].path}", samples[0].path)
    answer: dict[str, Any] = {"target": name, "words": _words(a, b)}
    images, is_deep = [], any(view.recipe.inputs.deep_dtype for view in views)
    for key, view, sample in zip("ab", views, samples, strict=True):
        out, stretch = sample.run(view.pipeline, request.epoch), view.stretch(sample, always=is_deep)
        images.append(rgb_of_output(out[name], view.recipe.outputs.get(name, view.recipe.output), stretch))
        answer[key] = view.output(out[name], name, out, stretch)
        answer["words"] += [f"{key.upper()} {stretch.words}"] if stretch.words else []
    if images[0].shape != images[1].shape:
        return {**answer, "difference": None, "largest": None, "mean": None, "times": None}
    distance = np.abs(images[0].astype(np.float32) - images[1].astype(np.float32)).max(axis=-1)
    image, times = amplified(distance)
    difference = {"largest": float(distance.max()), "mean": float(distance.mean()), "times": times}
    return {**answer, "difference": a.cache_png(image), **difference}


def _words(a: View, b: View) -> list[str]:
    difference = diff(a.switched, b.switched)
    lines = [f"{change.key}: {change.text}" for change in difference.settings]
    for change in difference.steps:
        draws = " (other draws)" if change.draws == "changed" else ""
        where = "eval " if change.mode == "eval" else ""
        lines.append(f"{_MARKS[change.what]} {where}{change.site}: {change.text}{draws}")
    if a.pipeline.optimize != b.pipeline.optimize:
        lines.append(f"optimize: {a.pipeline.optimize} → {b.pipeline.optimize}")
    lines = lines or ["the same in effect"]
    return [*lines, *(f"images are those of the first view, {view.name}" for view in a.written.views[:1])]


def costs(studio: Studio, request: requests.ViewRequest) -> dict[str, Any]:
    """Run `augrecipes explain` with times in ms a sample, measured on one thread on the sample shown.

    Raises:
        AugrecipesError: the recipe cannot be compiled, or fails on the sample.
    """
    view = View(studio, request, optimize="none")
    recipe, optimize = view.recipe, request.optimize or view.recipe.optimize
    sample = view.sample(view.units(request.index, 0)[0], 0)
    targets = sample.targets | {name: whole(image) for name, image in sample.images.items()}
    stored = studio.data.store is not None
    measured = measure(
        recipe, targets, optimize=optimize, seed=request.seed, seconds=0.4, resumes=stored, between=continue_or_cancel
    )
    explained = explain(recipe, "train", optimize, "uint8").with_times(measured, "").to_json()
    fired = {rule["rule"] for rule in explained["rules"]}
    idle = [rule for rule in rules_for(recipe, optimize) if rule.name not in fired]
    baked = [step for step in view.written.steps if step.site in view.baked]
    steps = [{"site": step.site, "name": f"{step.name} (in the store)", "depth": 0, "ms": 0.0} for step in baked]
    explained["idle"] = [{"rule": rule.name, "equation": rule.equation} for rule in idle]
    return {**explained, "steps": [*steps, *explained["steps"]], "cores": cores()}
