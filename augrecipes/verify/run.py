"""`verify` compares a recipe with the plan that the optimiser makes of it, and shows the worst samples."""

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

_SPARE_TRIES = 50  # the most broken files before `verify` stops


class Replay(NamedTuple):
    """A sample with the results of both pipelines.

    Attributes:
        given: the source sample.
        plain: the result of the recipe as written.
        fast: the result of the optimised plan.
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
    """Run a recipe as written and as optimised, with the same draws, and compare the results.

    Where the plan merges no resampling, images are compared value by value. Where it does, they must show the same
    things at the same places, and the steps that move no pixels are compared value by value on their own. Masks, boxes
    and keypoints are compared in both cases.

    Images go in as uint8, or in the depth that the recipe's inputs declare; floats in 0..1 are made from uint8.

    Args:
        recipe: a recipe of any kind, or what `augrecipes.load` takes; each tile of a bag is a sample.
        data: a folder, a CSV file or one image; for pairs a folder for each target, or a CSV file.
        mode: `train` or `eval`.
        optimize: the optimisation to check.
        seed: seed of the draws.
        samples: number of samples of an epoch, spread evenly over the data. If the data has fewer, training samples are
            repeated in later epochs, with other draws.
        epochs: number of epochs.
        masks: a folder of masks that match the images' names.
        build: compiles (recipe, optimize) to a pipeline; tests plant faults here.
        promise: the contract to check; None: that of the rules that fired.
        progress: called with (samples done, samples in all).
        reader: opened data, instead of `data` and `masks`.

    Returns:
        The measurements by target and law; `ok` says whether all contracts hold.

    Raises:
        DataError: nothing could be compared.
        LintError: the recipe has a lint error.
        RecipeError: the recipe has no section for `mode`, or has stacks.
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
    compared = Counter[str]()
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
            # Sample k stands for view k mod count of a name, so that all views are compared.
            tile = place.number % views[view] if views else source.tile
            sample = replace(source.as_dtype(dtype), tile=tile)
            refused = comparison.sample(sample, replace(place, index=sample.index, tile=tile, path=sample.path))
            if refused is None:
                compared[view] += 1
            else:
                left_out[str(refused)] = refused
        if progress:
            progress(k + 1, len(places))
    for comparison in comparisons:
        comparison.close()
    if len(compared) < len(parts):
        first = f"; the first: {next(iter(left_out))}" if left_out else ""
        raise DataError(f"no sample of {len(reader)} could be compared{first}")
    promises = combined([comparison.promise for comparison in comparisons])
    origins = {view or name: origin for view, part in pipelines.items() for name, origin in part.origins.items()}
    return Verification(
        recipe, mode, optimize, seed, dtype, promises, max(compared.values()), metrics.figures(), origins,
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
    """Run one sample of the data through the recipe as written and through its plan.

    Args:
        recipe: as in `verify`.
        data: as in `verify`.
        number: position of the sample in the data; for images and pairs the index of its draws.
        epoch: epoch of its draws.
        mode: `train` or `eval`.
        optimize: optimisation of the plan.
        seed: seed of the draws.
        masks: a folder of masks that match the images' names.
        build: as in `verify`.

    Raises:
        DataError: the sample cannot be read, or a pipeline refuses it.
    """
    reader = open_data(recipe, recipe.compile(mode, optimize, seed).targets, data, masks)
    make = build or builder(mode, seed)
    return replay_from(reader, [make(recipe, "none"), make(recipe, optimize)], number, epoch)


def replay_from(reader: RecipeSource, both: Sequence[Any], number: int, epoch: int) -> Replay:
    """As `replay`, from opened data and both pipelines."""
    source = reader.sample(number).as_dtype(reader.inputs.dtype or "uint8")
    return Replay(source, *(source.run(pipeline, epoch) for pipeline in both))


def builder(mode: Mode, seed: int) -> Build:
    """A function that compiles recipes without lints: variants may fail them, and the recipe itself was checked."""

    return lambda recipe, optimize: build_pipeline(recipe, mode, optimize, seed, threads=1)


def sample_refs(total: int, samples: int, epochs: int, mode: Mode) -> list[SampleRef]:
    """The samples to compare, by number in the data and epoch; index, tile and file are not known yet.

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
    """Draw a sheet of the worst samples, uint8 H×W×3 RGB, a row for each, with mask, boxes and keypoints.

    Args:
        verification: the result of `verify`; its worst samples are run again.
        data: as in `verify`.
        masks: as in `verify`.
        build: as in `verify`.

    Raises:
        DataError: no sample can be shown: a pipeline refuses them, or they cannot be read.
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
    """A row for the target of a sample that differs most; None where a pipeline refuses the sample."""
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
    difference = difference_group(levels, "no difference", " levels")
    return comparison_row(again.given, name, verification.origins[name], sides, difference, notes)
