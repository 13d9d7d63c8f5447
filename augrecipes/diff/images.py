"""Draws the results of two recipes on the same samples, and their difference."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import RgbImage, rgb_of_output
from augrecipes.preview.rows import comparison_row, difference_group, left_out, show_rows
from augrecipes.preview.sheet import Sheet
from augrecipes.preview.stretch import Stretch, stretch_of
from augrecipes.progress import Progress
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.sources.opening import Data, StrPath, open_data, words_of
from augrecipes.sources.sample import Sample
from augrecipes.sources.stacks import refuse_stacks


class RecipeRun(NamedTuple):
    """A compiled recipe and its data.

    Attributes:
        name: the name on the sheet, A or B.
        recipe: the recipe.
        pipeline: the compiled recipe.
        reader: the data, read as the recipe's inputs say.
    """

    name: str
    recipe: Recipe
    pipeline: Pipeline
    reader: Any


class ComparedSample(NamedTuple):
    """A sample, the result of each recipe, and the stretch of values for display."""

    given: Sample
    outputs: tuple[dict[str, Any], ...]
    stretches: tuple[Stretch, ...]


def compared(
    a: Recipe,
    b: Recipe,
    data: Data,
    *,
    mode: Mode = "train",
    rows: int = 4,
    optimize: Optimize | None = None,
    seed: int = 0,
    epoch: int = 0,
    masks: StrPath | None = None,
    progress: Progress | None = None,
) -> Sheet:
    """Draw a sheet with source, A, B and their amplified difference, a row for each sample (of pairs: each target).

    Images are compared as displayed, with layout, normalisation, range and order of channels undone.

    Args:
        a: the first recipe.
        b: the second recipe, of the same kind.
        data: a folder, a CSV file or one image; for pairs a folder for each target, or a CSV file; each tile of a bag
            is a sample.
        mode: the section of both recipes.
        rows: number of samples, spread evenly over the data.
        optimize: `none`, `exact` or `fast`; None: as each recipe says.
        seed: seed of the draws.
        epoch: epoch of the draws.
        masks: a folder of masks that match the images' names.
        progress: called with (samples done, samples in all).

    Raises:
        DataError: kinds differ, or nothing can be shown.
        RecipeError: a recipe has no section for `mode`.
        LintError: a recipe has a lint error.

    >>> import tempfile, pathlib, augrecipes as ar
    >>> from augrecipes.demo.dataset import draw_dataset
    >>> a, b = ar.load("folder-128"), ar.load("folder-128", overrides={"HorizontalFlip.p": 1.0})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = draw_dataset(pathlib.Path(folder), tiles=3, photo_count=0, shrink=4)
    ...     compared(a, b, data.tissue, rows=2).pixels.shape
    (739, 1150, 3)
    """
    if a.kind != b.kind:
        raise DataError(
            f"A is of kind {a.kind} and B of kind {b.kind}: no sample fits both; compare recipes of one kind"
        )
    runs, lines = [], []
    for name, recipe in (("A", a), ("B", b)):
        refuse_stacks(recipe, "and diff draws single images: leave the data out, or draw each by `augrecipes preview`")
        pipeline = recipe.compile(mode, optimize, seed)
        reader, more = open_data(recipe, pipeline.targets, data, masks), ""
        if not recipe.inputs.deep_dtype and "uint16" in (a.inputs.dtype, b.inputs.dtype):
            reader.decode["depth"], more = "8bit", " · of 16 bits the upper 8 are read"
        runs.append(RecipeRun(name, recipe, pipeline, reader))
        lines.append(f"{name}: {recipe.name} · digest {recipe.digest[:8]} · optimize {pipeline.optimize}{more}")
    lines.append(f"the same samples and keys of draws · seed {seed} · epoch {epoch} · {mode}")
    count, words = min(len(run.reader) for run in runs), words_of(data)
    show = partial(run_sample, runs, epoch=epoch)
    shown, skipped = show_rows(count, rows, show, data=words, path=str, progress=progress)
    targets = [name for name in runs[0].pipeline.outputs if name in runs[1].pipeline.outputs]
    if not targets:
        raise DataError("A and B have no target in common, so there is nothing to compare")
    body = [_row(sample, name, runs) for sample in shown for name in targets]
    return Sheet(body, " and ".join(dict.fromkeys((a.name, b.name))), lines, left_out(skipped))


def run_sample(runs: Sequence[RecipeRun], k: int, epoch: int) -> ComparedSample:
    """Read a sample for every recipe, and run it.

    Args:
        runs: the recipes.
        k: number of the sample.
        epoch: epoch of the draws.

    Raises:
        DataError: it cannot be read, a step fails, or a recipe reads another file; the file is named.
    """
    samples, outputs, stretches = [run.reader.sample(k) for run in runs], [], []
    path, is_deep = samples[0].path, any(run.recipe.inputs.deep_dtype for run in runs)
    for sample, run in zip(samples, runs, strict=True):
        if sample.path != path:
            raise DataError(f"sample {k} of {run.name} is another file, {sample.path}: they do not read the same", path)
        outputs.append(sample.run(run.pipeline, epoch))
        first = next(iter(sample.images.values()))
        stretches.append(stretch_of([first], run.recipe.inputs, always=is_deep))
    return ComparedSample(samples[0], tuple(outputs), tuple(stretches))


def _row(drawn: ComparedSample, name: str, runs: Sequence[RecipeRun]) -> SheetRow:
    """A row for a target of a sample: the source, both results, and their difference."""
    values, images, sides = [out[name] for out in drawn.outputs], [], []
    for run, out, stretch in zip(runs, drawn.outputs, drawn.stretches, strict=True):
        images.append(rgb_of_output(out[name], run.recipe.outputs.get(name, run.recipe.output), stretch))
        sides.append((run.name, run.recipe, out, stretch))
    difference, notes = _difference(images, values), [*_targets_that_differ(drawn, runs[0].recipe.targets)]
    return comparison_row(drawn.given, name, runs[0].pipeline.origins[name], sides, difference, notes)


def _difference(images: Sequence[RgbImage], values: Sequence[NDArray[Any]]) -> CellGroup:
    """The difference of both displayed images; an empty cell where their sizes differ."""
    a, b = images
    if a.shape != b.shape:
        return CellGroup([Cell(None)], "sizes differ", quiet=True)
    same = values[0].dtype == values[1].dtype and np.array_equal(values[0], values[1])
    distance = np.abs(a.astype(np.float32) - b.astype(np.float32)).max(axis=-1)
    return difference_group(distance, "identical" if same else "looks the same, other values")


def _targets_that_differ(drawn: ComparedSample, further: Iterable[str]) -> Iterator[str]:
    """The other targets that differ, in words: masks, boxes, keypoints, further targets."""
    for name in ("mask", "boxes", "keypoints", *further):
        if any(name not in out for out in drawn.outputs):
            continue
        a, b = (np.asarray(out[name]) for out in drawn.outputs)
        if not np.array_equal(a, b):
            share = f" in {100 * float((a != b).mean()):.3g} %" if name == "mask" and a.shape == b.shape else ""
            yield f"{name} {'differ' if name in ('boxes', 'keypoints') else 'differs'}{share}"
