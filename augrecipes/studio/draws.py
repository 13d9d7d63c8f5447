"""Streamed views: samples as the recipe makes them, and one sample after each step."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.compiler.run.clock import SINK, route_steps
from augrecipes.compiler.run.deep_images import VALID, with_nodata
from augrecipes.errors import AugrecipesError
from augrecipes.ops import registry
from augrecipes.preview.display import rgb_of_input, size_text
from augrecipes.preview.rows import images_of
from augrecipes.recipe.model import Step
from augrecipes.recipe.words import in_words
from augrecipes.sources import columns, stored
from augrecipes.sources.sample import Sample
from augrecipes.studio.requests import Refused, ViewRequest
from augrecipes.studio.studio import Emit, Piece, Studio, continue_or_cancel
from augrecipes.studio.view import View, drawn_in, name_of, part_of

_USUAL = {"channels": 3, "dtype": "uint8", "has_range": False}  # defaults of arguments for reading an image
_END = {"path": None, "applied": True, "on": True}  # of the source's and the output's lines, which are no steps


def draws(studio: Studio, request: ViewRequest) -> Iterator[Piece]:
    """Split a request into pieces of work, each of which emits one sample in one epoch.

    A sample that cannot be read, or on which a step fails, is emitted as an `error`; the others are not affected.

    Raises:
        RecipeError, LintError, DataError: as `View`.
    """
    facts = studio.recipe(request.text).facts
    asked = bool(facts.scales or facts.tiles)  # windows of scenes, and draws that tiles share, are shown
    view = View(studio, request, optimize=request.optimize, save_applied_params=asked)
    view.check(*request.indices)

    return (partial(_draw, view, request, index, epoch) for index in request.indices for epoch in request.epochs)


def _draw(view: View, request: ViewRequest, index: int, epoch: int, emit: Emit) -> None:
    line = {"index": index, "epoch": epoch, "name": name_of(view.files, view.recipe, index)}
    try:
        line |= _sample_line(view, request, index, epoch)
    except (AugrecipesError, Refused) as error:
        line |= {"pictures": [], **Refused.of(error).to_json()}
    emit(line)


def _sample_line(view: View, request: ViewRequest, index: int, epoch: int) -> dict[str, Any]:
    """Draw the images of a sample and the line of Python that makes it; for a bag also the draws its tiles share."""
    units, line = view.units(index, epoch), dict[str, Any](pictures=[])
    for unit in units:
        sample = view.sample(unit, epoch)
        out, stretch = sample.run(view.pipeline, epoch), view.stretch(sample)
        for name, words, image, on_it in images_of(out, view.pipeline.outputs):
            shown = {"target": words, **view.output(image, name, on_it, stretch)}
            line["pictures"].append(_with_source(view, sample, out, name, request, shown))
        if unit == units[0]:
            line["python"] = python_of(view, sample, unit, epoch)
            line |= {"shown": stretch.words} if stretch.words else {}
            if view.recipe.facts.tiles:
                drawn = drawn_in(out)
                shared = _shared_labels(view.recipe.section(view.mode) or (), "tile")
                line["words"] = [": ".join(drawn[site]) for site in shared if site in drawn]
                line["more"] = len(view.files.table.units_of(index)) - len(units)
    return line


def _shared_labels(steps: tuple[Step, ...], inherited: str) -> Iterator[str]:
    """Yield the labels of the steps that draw once a bag; steps inherit `share` from their group."""
    for step in steps:
        share = step.share or inherited
        yield from _shared_labels(step.steps, share)
        if share == "bag":
            yield step.site


def _with_source(
    view: View, sample: Sample, out: dict[str, Any], name: str, request: ViewRequest, picture: dict[str, Any]
) -> dict[str, Any]:
    origin = view.pipeline.origins[name]
    if view.recipe.facts.tiles:
        picture["tile"] = sample.tile
    if (window := (out.get("window") or {}).get(origin)) is not None:
        picture["window"] = [int(value) for value in window]
    if request.source:
        picture["source"] = view.source(sample, origin)
    return picture


def python_of(view: View, sample: Sample, unit: int, epoch: int) -> str:
    """Write a line of Python that makes the same sample from the saved recipe."""
    pipeline, files, source = view.pipeline, view.files, os.fspath(view.studio.file or view.studio.name)
    how = f"optimize={pipeline.optimize!r}, seed={pipeline.compiled.seed}"
    if isinstance(files, stored.StoredSource):
        packed = f"ar.Packed({files.folder!r}, {source!r}, {how})"
        if not view.recipe.facts.tiles:
            return f"{packed}[{epoch}, {sample.index}]"
        tile = f"{sample.index}, epoch={epoch}, tile={sample.tile}"
        return f"(ds := {packed}).pipeline.at({tile})(**ds.given({tile}).targets)"
    paths = {name: files.table.paths(unit)[name] for name in sample.images}
    named = isinstance(files.table, columns.ArrayTable) or any("\0" in path or not path for path in paths.values())
    images = {name: name if named else _read_call(path, sample.images[name], files) for name, path in paths.items()}
    rest = {name: name for name in sample.rest}
    table: Any = files.table
    roots = {str(Path(bag).parent) for bag in table.bags} if "stains" in rest and table.folders else ()
    if len(roots) == 1:
        rest["stains"] = f"ar.TileBags({min(roots)!r}, {source!r}).source.stains.of_bag({sample.index})"
    arguments = [f"{name}={value}" for name, value in {**images, **rest}.items()]
    tile = f", tile={sample.tile}" if sample.tile else ""
    at = f"at({sample.index}, epoch={epoch}{tile})"
    return f"ar.load({source!r}).compile({how}).{at}({', '.join(arguments)})"


def _read_call(path: str, image: Any, files: Any) -> str:
    """Write the call that reads an image: decoded, or encoded for a pipeline that decodes only what it needs."""
    how = "read_image" if hasattr(image, "__array_interface__") else "open_encoded"
    arguments = {name: value for name, value in files.decode.items() if value != _USUAL.get(name, value)}
    return f"ar.{how}({path!r}{''.join(f', {name}={value!r}' for name, value in arguments.items())})"


def stages(studio: Studio, request: ViewRequest) -> Iterator[Piece]:
    """Emit a line for the source, one for each step as it runs, and one for the output.

    Raises:
        RecipeError, LintError, DataError: as `View`.
    """
    view = View(studio, request, optimize="none", size=640, path="", save_applied_params=True)
    units = view.units(request.index, request.epoch)

    def work(emit: Emit) -> None:
        try:
            sample = view.sample(units[0], request.epoch)
            name = view.pipeline.targets[0]
            words = f"{size_text(sample.images[name])} px{' in the store' if view.baked else ''}"
            source = view.source(sample, name)
            emit({**_END, "name": "source", "words": [words, view.stretch(sample).words], **source})
            (_scene_stages if view.recipe.facts.scales else _image_stages)(view, sample, request.epoch, source, emit)
        except (AugrecipesError, Refused) as error:
            emit({"path": None, "name": "", "applied": False, **Refused.of(error).to_json()})

    return iter([work])


def _outermost_steps(view: View) -> dict[str, Step]:
    outermost = {step.site for step in part_of(view.written, "").steps}
    return {path: step for path, step in view.steps.items() if step.site in outermost and not path.startswith("eval")}


def _image_stages(view: View, sample: Sample, epoch: int, shown: dict[str, Any], emit: Emit) -> None:
    """Run the steps on an image, and emit each as soon as it has run."""
    drawn: dict[str, str] = {}
    left, stretch = _outermost_steps(view), view.stretch(sample)
    paths = {step.site: path for path, step in left.items()}

    def show(path: str) -> None:
        emit({**_line(view, path, left.pop(path), drawn), **shown})

    def call(label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal shown
        continue_or_cancel()
        path = paths.get(label)
        while path in left and (first := next(iter(left))) != path:
            show(first)  # it did not run
        done = step(*args, **kwargs)
        if params := label != SINK and getattr(step, "params", None):  # only of steps that acted, never of groups
            drawn[label] = in_words(params)
        if path and path in left and isinstance(done, dict) and isinstance(done["image"], np.ndarray):
            plane, inputs = done.get(VALID), view.recipe.inputs
            image = rgb_of_input(with_nodata(np.array(np.atleast_3d(done["image"])), plane, inputs), stretch)
            masks = {name: value for name, value in done.items() if name == "mask"}
            shown = {**view.cache_png(image), "overlay": view.overlay(masks, image.shape[:2])}
            show(path)
        return done

    pipeline = view.pipeline.again()
    route_steps(pipeline, call)
    out = sample.run(pipeline, epoch)
    for path in list(left):
        show(path)
    words = f"{out['image'].dtype} {'×'.join(map(str, out['image'].shape))}"
    emit({**_END, "name": "output", "words": words, **view.output(out["image"], "image", out, stretch)})


def _scene_stages(view: View, sample: Sample, epoch: int, shown: dict[str, Any], emit: Emit) -> None:
    """Run all steps on a scene of several images, then emit each."""
    drawn = {label: words for label, (_, words) in drawn_in(sample.run(view.pipeline, epoch)).items()}
    traced = dict(view.pipeline.stages(sample.index, epoch, sample.tile)(**sample.targets))
    stretch = view.stretch(sample)
    for path, step in _outermost_steps(view).items():
        if step.site in traced:
            after = {name: rgb_of_input(image, stretch) for name, image in traced[step.site].items()}
            images = [{"target": name, **view.cache_png(image)} for name, image in after.items()]
            shown = {"pictures": images, **images[0]}
        emit({**_line(view, path, step, drawn), **shown})


def _line(view: View, path: str, step: Step, drawn: dict[str, str]) -> dict[str, Any]:
    """Describe an outermost step for the page: whether it acted, and what it drew."""
    line: dict[str, Any] = {"path": path, "name": step.name, "applied": True, "on": True}
    if step.site in view.baked:
        return {**line, "words": "in the store already: what is read has it behind it", "baked": True}
    ran = [inner for inner in step.walk() if inner is not step and inner.site in drawn]
    words = drawn.get(step.site) or "; ".join(": ".join(filter(None, (inner.name, drawn[inner.site]))) for inner in ran)
    acted, on, chance = bool(ran) or step.site in drawn, path not in view.variant.off, registry.chance(step)
    words = words or str((registry.arguments(step.name) or {}).get("description", ""))  # nothing drawn can be said
    words = "switched off" if not on else words if acted else f"did not act: p is {chance:g}"
    return {**line, "words": words, "applied": acted and on, "on": on, "p": chance}
