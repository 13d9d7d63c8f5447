"""Two recipes, or two settings of one, on the same sample with the same random parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from augrecipes.diff import diff
from augrecipes.errors import DataError
from augrecipes.preview.display import amplified, picture_of_output
from augrecipes.studio.requests import CompareRequest, Refused
from augrecipes.studio.studio import Studio
from augrecipes.studio.view import View

_MARKS = {"added": "+", "removed": "−", "moved": "›", "changed": "~"}


def compared(studio: Studio, request: CompareRequest) -> dict[str, Any]:
    """Both images, how far they are apart, and what `augrecipes diff` says.

    Raises:
        AugrecipesError: a recipe is none, or the sample cannot be read.
    """
    views = [View(studio, request, side, optimize=side.optimize) for side in (request.a, request.b)]
    a, b = views
    if a.recipe.kind != b.recipe.kind:
        raise DataError(f"A is of kind {a.recipe.kind} and B of kind {b.recipe.kind}: nothing is both")
    name = next(iter(a.pipeline.outputs))
    if name not in b.pipeline.outputs:
        raise DataError("A and B have no target in common, so there is nothing to compare")
    b.check(request.index)
    units, tile = a.units(request.index, request.epoch), (request.chosen or [0])[0]
    if tile >= len(units):
        raise Refused(404, "tile", f"there are {len(units)} tiles; the last is number {len(units) - 1}")
    samples = [view.sample(units[tile], request.epoch) for view in views]
    if samples[0].path != samples[1].path:
        raise DataError(f"sample {request.index} of B is another file, {samples[1].path}", samples[0].path)
    found: dict[str, Any] = {"target": name, "words": _words(a, b)}
    images = []
    for key, view, sample in zip("ab", views, samples, strict=True):
        try:
            out = sample.run(view.pipeline, request.epoch)
        except DataError as error:
            raise error if error.path else error.with_path(sample.path) from None
        images.append(picture_of_output(out[name], view.recipe.outputs.get(name, view.recipe.output)))
        shown = {"optimize": view.pipeline.optimize, "overlay": view.overlay(out, images[-1].shape[:2])}
        found[key] = {**view.put(images[-1]), **shown}
    if images[0].shape != images[1].shape:
        return {**found, "difference": None, "largest": None, "mean": None, "times": None}
    apart = np.abs(images[0].astype(np.float32) - images[1].astype(np.float32)).max(axis=-1)
    picture, times = amplified(apart)
    difference = {"largest": float(apart.max()), "mean": float(apart.mean()), "times": times}
    return {**found, "difference": a.put(picture), **difference}


def _words(a: View, b: View) -> list[str]:
    found = diff(a.switched, b.switched)
    lines = [f"{one.key}: {one.text}" for one in found.settings]
    for one in found.steps:
        draws = " (other draws)" if one.draws == "changed" else ""
        where = "eval " if one.mode == "eval" else ""
        lines.append(f"{_MARKS[one.what]} {where}{one.site}: {one.text}{draws}")
    lines += [f"to keep draws: {hint}" for hint in found.hints]
    if a.pipeline.optimize != b.pipeline.optimize:
        lines.append(f"optimize: {a.pipeline.optimize} → {b.pipeline.optimize}")
    return lines or ["the same in effect"]
