"""Samples as the recipe makes them, one piece of work for each sample and epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from augrecipes.errors import AugrecipesError, DataError
from augrecipes.recipe.model import Step
from augrecipes.recipe.words import in_words
from augrecipes.sources.columns import GivenTable
from augrecipes.sources.sample import Sample
from augrecipes.sources.stored import StoredSource
from augrecipes.studio.images import shown_of
from augrecipes.studio.jobs import Piece, Say
from augrecipes.studio.requests import MOST_DRAWS, Refused, ViewRequest
from augrecipes.studio.studio import Studio
from augrecipes.studio.view import View, failure, name_of
from augrecipes.studio.workbench import key_of


def draws(studio: Studio, request: ViewRequest) -> Iterator[Piece]:
    """The pieces of work of a request: each reports what the page shows of one sample in one epoch.

    A sample that cannot be read, or that a step fails on, is reported as `error`; the others go on.

    Raises:
        RecipeError, LintError, DataError: as `View`.
    """
    facts = studio.bench.recipe(request.text).facts
    asked = facts.scales or facts.tiles  # for windows, and what tiles share
    view = View(studio, request, optimize=request.optimize, save_applied_params=bool(asked))
    if len(request.indices) * len(request.epochs) > MOST_DRAWS:
        raise Refused(400, "too-many", f"at most {MOST_DRAWS} draws in one request")
    view.check(*request.indices)
    key = key_of(view.recipe, view.mode, request.optimize, request.seed)
    key += view.number, view.size, request.tiles, tuple(request.chosen), request.source

    def drawn(index: int, epoch: int) -> dict[str, Any]:
        found = studio.drawn.get((*key, index, epoch), lambda: _draw(view, request, index, epoch))
        if all(studio.images.has(one["url"]) for one in found["pictures"]):
            return found
        studio.drawn.forget((*key, index, epoch))  # its images are no longer cached
        return studio.drawn.get((*key, index, epoch), lambda: _draw(view, request, index, epoch))

    def piece(index: int, epoch: int) -> Piece:
        def work(say: Say) -> None:
            line = {"index": index, "epoch": epoch, "name": name_of(view.files, view.recipe, index)}
            try:
                line |= drawn(index, epoch)
            except (AugrecipesError, Refused) as error:
                line |= {"pictures": [], "error": failure(error)}
            say(line)

        return work

    return (piece(index, epoch) for index in request.indices for epoch in request.epochs)


def _draw(view: View, request: ViewRequest, index: int, epoch: int) -> dict[str, Any]:
    """The images of a sample, and the line of Python that makes it; of a bag also what its tiles share."""
    units, line = view.units(index, epoch), dict[str, Any](pictures=[])
    for unit in units:
        sample = view.sample(unit, epoch)
        try:
            out = sample.run(view.pipeline, epoch)
        except DataError as error:
            raise (error if error.path else error.with_path(sample.path)) from error.__cause__
        line["pictures"] += [_shown(view, sample, out, name, request) for name in view.pipeline.outputs]
        if unit == units[0]:
            line["python"] = python_of(view, sample, unit, epoch)
            if view.recipe.facts.tiles:
                drawn = {label: (name, in_words(params)) for label, name, params in out["applied"]}
                shared = [step.site for step in _shared(view.recipe.section(view.mode) or (), "tile")]
                line["words"] = [": ".join(drawn[site]) for site in shared if site in drawn]
                line["more"] = len(view.files.table.units_of(index)) - len(units)
    return line


def _shared(steps: tuple[Step, ...], inherited: str) -> Iterator[Step]:
    """The steps that draw once a bag; what a group says holds for its steps."""
    for step in steps:
        share = step.share or inherited
        if step.steps:
            yield from _shared(step.steps, share)
        elif share == "bag":
            yield step


def _shown(view: View, sample: Sample, out: dict[str, Any], name: str, request: ViewRequest) -> dict[str, Any]:
    output = view.recipe.outputs.get(name, view.recipe.output)
    size = out[name].shape[1:] if output.layout == "chw" else out[name].shape[:2]
    one = {"target": name, **view.put(shown_of(out[name], output, view.size), size), "overlay": view.overlay(out, size)}
    origin = view.pipeline.origins[name]
    if view.recipe.facts.tiles:
        one["tile"] = sample.tile
    if (window := (out.get("window") or {}).get(origin)) is not None:
        one["window"] = [int(value) for value in window]
    if request.source:
        one["source"] = view.source(sample, origin)
    return one


def python_of(view: View, sample: Sample, unit: int, epoch: int) -> str:
    """A line of Python that makes the same sample, for someone who has saved the recipe."""
    pipeline, files, source = view.pipeline, view.files, view.studio.source
    how = [f"mode={pipeline.mode!r}"] if pipeline.mode != "train" else []
    how += [f"optimize={pipeline.optimize!r}", f"seed={pipeline.compiled.seed}"]
    if isinstance(files, StoredSource):
        packed = f"ar.Packed({files.folder!r}, {source!r}, {', '.join(how)})"
        if not view.recipe.facts.tiles:
            return f"{packed}[{epoch}, {sample.index}]"
        tile = f"{sample.index}, epoch={epoch}, tile={sample.tile}"
        return f"(ds := {packed}).pipeline.at({tile})(**ds.given({tile}).targets)"
    table = files.table
    paths = {name: table.paths(unit)[name] for name in sample.images}
    named = isinstance(table, GivenTable) or any("\0" in path or not path for path in paths.values())
    given = {name: name if named else _read(path, sample.images[name], files) for name, path in paths.items()}
    arguments = [f"{name}={value}" for name, value in {**given, **{name: name for name in sample.rest}}.items()]
    tile = f", tile={sample.tile}" if sample.tile else ""
    at = f"at({sample.index}, epoch={epoch}{tile})"
    return f"ar.load({source!r}).compile({', '.join(how)}).{at}({', '.join(arguments)})"


def _read(path: str, image: Any, files: Any) -> str:
    """How an image is read: decoded, or as a file of which the plan decodes what it needs."""
    how = "read_image" if hasattr(image, "__array_interface__") else "open_encoded"
    channels = files.decode["channels"]
    return f"ar.{how}({path!r}{'' if channels == 3 else f', channels={channels}'})"
