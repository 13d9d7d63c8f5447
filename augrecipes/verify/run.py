"""`verify`: a recipe as it is written against the plan that the optimiser made of it; its worst samples as an image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.compile import build as build_pipeline
from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.preview.cells import SheetRow
from augrecipes.preview.display import levels_of
from augrecipes.preview.rows import comparison_row, difference_group
from augrecipes.preview.sheet import Sheet
from augrecipes.preview.stretch import stretch_of
from augrecipes.progress import Progress
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.recipe.sections import refuse_views
from augrecipes.sources.opening import Data, StrPath, open_data
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.sources.stacks import refuse_stacks
from augrecipes.verify.compare import Build, Comparison
from augrecipes.verify.contract import (
    LAWS,
    WORST,
    Metrics,
    Promise,
    SampleRef,
    Verification,
    Worst,
    combined,
    number,
    promise_of,
)

_SPARE_TRIES = 50  # broken files that are passed over before nothing more is tried


class Replay(NamedTuple):
    """One sample again.

    Attributes:
        given: as it was read.
        plain: what the recipe as written makes of it.
        fast: what the plan makes of it.
    """

    given: Sample
    plain: dict[str, Any]
    fast: dict[str, Any]


def verify(
    recipe: Recipe | Source,
    data: Data,
    *,
    mode: Mode = "train",
    optimize: Optimize = "fast",
    seed: int = 0,
    samples: int = 64,
    epochs: int = 1,
    masks: StrPath | None = None,
    build: Build | None = None,
    promise: Promise | None = None,
    progress: Progress | None = None,
    reader: RecipeSource | None = None,
) -> Verification:
    """Run a recipe as it is written and as the optimiser plans it, with the same draws, and compare what comes out.

    Where the plan merges no resampling, images are compared value by value. Where it does, they must show the same
    things at the same places, and the steps that move no pixels are compared value by value on their own. Masks, boxes
    and keypoints are compared in both cases.

    Images go in as uint8, or in the depth that the recipe's inputs declare; floats of 0..1 are made of uint8.

    Args:
        recipe: of any kind, a Recipe or what `augrecipes.load` takes; of bags each tile is a sample.
        data: a folder, a CSV file or one image; for pairs a folder by target, or a CSV file.
        mode: `train` or `eval`.
        optimize: the plan that is checked.
        seed: of the draws.
        samples: of an epoch, spread evenly over the data; where there are fewer, they come again in later epochs
            (of `train`, whose draws differ then).
        epochs: how often.
        masks: a folder of masks that match the images' names.
        build: compiles a recipe and an optimisation to what `at` can be called on; tests plant faults here.
        promise: what is asked of the plan; None: the contracts of the rules that fired.
        progress: called with (samples done, samples in all).
        reader: of data that are open already, in the place of `data` and `masks`.

    Raises:
        DataError: nothing could be compared.
        LintError: of the recipe.
        RecipeError: it has no such section.
    """
    recipe = as_recipe(recipe)
    refuse_stacks(recipe, "whose steps run as they are written, whatever `optimize` says: there is nothing to compare")
    dtype: Dtype = recipe.inputs.dtype or "uint8"
    views = {view.name: view.count for view in recipe.views if mode == "train"}
    parts = {name: recipe.view(name) for name in views} or {"": recipe}
    pipelines = {name: part.compile(mode, optimize, seed) for name, part in parts.items()}
    if reader is None:
        reader = open_data(recipe, next(iter(pipelines.values())).targets, data, masks)
    places, metrics = sample_refs(len(reader), samples, epochs, mode), Metrics()
    comparisons = [
        Comparison(
            part, mode, optimize, build or builder(mode, seed), pipelines[name].origins, dtype,
            promise or promise_of(pipelines[name], dtype), replace(metrics, view=name),
        )
        for name, part in parts.items()
    ]  # fmt: skip
    left_out: dict[str, DataError] = {}
    done = Counter[str]()
    for k, place in enumerate(places):
        if len(left_out) > _SPARE_TRIES:
            break
        try:
            source = reader.sample(place.number)
        except DataError as error:
            left_out[str(error)] = error
            continue
        for comparison in comparisons:
            view = comparison.metrics.view
            # Samples take turns to stand for view 0, 1, … of a name, so that all are looked at.
            tile = place.number % views[view] if views else source.tile
            sample = replace(source.as_dtype(dtype), tile=tile)
            refused = comparison.sample(sample, replace(place, index=sample.index, tile=tile, path=sample.path))
            if refused is None:
                done[view] += 1
            else:
                left_out[str(refused)] = refused
        if progress:
            progress(k + 1, len(places))
    for comparison in comparisons:
        comparison.close()
    if len(done) < len(parts):
        first = f"; the first: {next(iter(left_out))}" if left_out else ""
        raise DataError(f"no sample of {len(reader)} could be compared{first}")
    asked = combined([each.promise for each in comparisons])
    origins = {view or name: origin for view, part in pipelines.items() for name, origin in part.origins.items()}
    return Verification(
        recipe, mode, optimize, seed, dtype, asked, max(done.values()), metrics.figures(), origins,
        metrics.worst(WORST), tuple(left_out.values()),
    )  # fmt: skip


def replay(
    recipe: Recipe,
    data: Data,
    number: int,
    *,
    epoch: int = 0,
    mode: Mode = "train",
    optimize: Optimize = "fast",
    seed: int = 0,
    masks: StrPath | None = None,
    build: Build | None = None,
) -> Replay:
    """One sample of the data through the recipe as it is written, and through its plan.

    Args:
        recipe: as `verify` had it, and so are the other arguments.
        data: the same.
        number: of the sample in the data; for images and pairs the index of its draws.
        epoch: of its draws.
        mode: `train` or `eval`.
        optimize: the plan.
        seed: of the draws.
        masks: a folder of masks.
        build: as in `verify`.

    Raises:
        DataError: the sample cannot be read, or a pipeline refuses it.
    """
    reader = open_data(recipe, recipe.compile(mode, optimize, seed).targets, data, masks)
    make = build or builder(mode, seed)
    return replay_from(reader, [make(recipe, "none"), make(recipe, optimize)], number, epoch)


def replay_from(reader: RecipeSource, both: Sequence[Any], number: int, epoch: int) -> Replay:
    """The same, from what is open already."""
    source = reader.sample(number).as_dtype(reader.inputs.dtype or "uint8")
    return Replay(source, *(source.run(pipeline, epoch) for pipeline in both))


def builder(mode: Mode, seed: int) -> Build:
    """Compiles recipes without their lints: variants may be foolish, and the recipe itself has been checked."""

    return lambda recipe, optimize: build_pipeline(recipe, mode, optimize, seed, threads=1)


def sample_refs(total: int, samples: int, epochs: int, mode: Mode) -> list[SampleRef]:
    """Which samples are compared: number in the data, and epoch; their index, tile and file are not yet known.

    >>> [(place.number, place.epoch) for place in sample_refs(3, 2, 2, "train")]
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    >>> [(place.number, place.epoch) for place in sample_refs(2, 4, 1, "train")]
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    if samples > total and mode == "train":
        return [SampleRef(0, k // total, number=k % total) for k in range(epochs * samples * bool(total))]
    wanted = min(samples, total)
    return [SampleRef(0, e, number=k * total // wanted) for e in range(epochs) for k in range(wanted)]


def render_worst(
    verification: Verification, data: Data, *, masks: StrPath | None = None, build: Build | None = None
) -> NDArray[np.uint8]:
    """A sheet of the worst samples, uint8 H×W×3 RGB: a row each, with mask, boxes and keypoints over images.

    Args:
        verification: of `verify`; its worst samples are run again.
        data: as `verify` had it.
        masks: the same.
        build: the same.

    Raises:
        DataError: there is nothing to show: a pipeline refuses the samples, or they cannot be read.
    """
    refuse_views(verification.recipe, "a sheet of the worst samples")
    recipe, make = verification.recipe, build or builder(verification.mode, verification.seed)
    reader = open_data(recipe, make(recipe, "none").targets, data, masks)
    steady = verification.promise.compared(recipe)
    both = [make(steady, optimize) for optimize in ("none", verification.optimize)]
    rows = [row for worst in verification.worst if (row := _row(verification, worst, reader, both))]
    if not rows:
        raise DataError("nothing can be shown: the worst samples cannot be read, or a step fails on them")
    broken = [f"{law.law} of {law.target} in {law.broken} of {law.samples}" for law in verification.broken]
    verdict = f"broken: {', '.join(broken)}" if broken else "all contracts hold"
    lines = [
        f"{verification.optimize} against none · {verification.promise} · {verdict}",
        f"the worst of {verification.samples} samples · digest {recipe.digest[:8]} · seed {verification.seed} · "
        f"{verification.mode}",
    ]
    return Sheet(rows, title=recipe.name, lines=lines).pixels


def _row(verification: Verification, worst: Worst, reader: RecipeSource, both: Sequence[Any]) -> SheetRow | None:
    """A sample's target that differs most; none where one of both refuses the sample."""
    recipe, place = verification.recipe, worst.place
    try:
        again = replay_from(reader, both, place.number, place.epoch)
    except DataError:
        return None
    outputs = {name: recipe.outputs.get(name, recipe.output) for name in verification.origins}
    distances = {
        name: np.abs(levels_of(again.plain[name], output) - levels_of(again.fast[name], output)).max(axis=-1)
        for name, output in outputs.items()
        if again.plain[name].shape == again.fast[name].shape
    }
    if not distances:
        return None
    name = max(distances, key=lambda name: float(distances[name].mean()))
    levels = np.nan_to_num(distances[name], nan=255.0, posinf=255.0)
    reading = worst.readings[0]
    unit = LAWS[reading.law][0]
    law = "" if reading.law == unit else f"{reading.law} "
    allowed = "" if reading.limit is None else f", allowed {number(reading.limit)}"
    notes = [
        f"epoch {place.epoch}",
        f"{law}{number(reading.worst)} {unit}{allowed}" if reading.worst else "no difference",
    ]
    stretch = stretch_of([again.given.images[verification.origins[name]]], recipe.inputs)
    results = (("none", again.plain), (verification.optimize, again.fast))
    sides = [(label, recipe, out, stretch) for label, out in results]
    apart_group = difference_group(levels, "no difference", " levels")
    return comparison_row(again.given, name, verification.origins[name], sides, apart_group, notes)
