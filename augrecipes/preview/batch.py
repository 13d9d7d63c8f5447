"""Sheets of batches: samples side by side, and below them what the recipe's `batch:` makes of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from augrecipes.errors import CollateError, RecipeError
from augrecipes.mixtures.run import mix
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_output
from augrecipes.preview.rows import SheetRequest, annotated, left_out, output_text
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Recipe

_LEAST = 0.005  # of a class, to be named


def batch_sheet(recipe: Recipe, request: SheetRequest) -> Sheet:
    """The sheet of one batch, of as many samples as the request has rows, before and after.

    Raises:
        RecipeError: the recipe has no `batch:`, or not in this mode.
        CollateError: its samples make no batch.
        DataError: nothing can be shown.
    """
    pipeline, files = request.opened(recipe)
    if pipeline.mode == "eval" or not recipe.batch:
        raise RecipeError(f"{recipe.file}: there is no `batch:` in this recipe's {pipeline.mode} section to show")
    drawn, skipped = request.drawn(pipeline, files)
    table: Any = files.table

    def labelled(index: int, out: Mapping[str, Any]) -> dict[str, Any]:
        label = {} if table.labels is None else {"label": np.asarray(table.labels[index % len(table)])}
        return {**out, **label, "path": files.path(index % len(files))}

    def read(k: int) -> dict[str, Any]:
        sample = files.sample(k, epoch=request.epoch)
        return labelled(sample.index, sample.run(pipeline, request.epoch))

    samples = [labelled(one.sample.index, one.outputs[0]) for one in drawn]
    stacked = {*pipeline.outputs, "mask", "label"}
    if len({str([(key, np.shape(one[key])) for key in one if key in stacked]) for one in samples}) > 1:
        raise CollateError("samples differ in size, or in what they have: end `steps:` in a crop of fixed size")
    values = {key: [one[key] for one in samples] for key in samples[0]}
    values |= {key: np.stack(values[key]) for key in stacked & values.keys()}
    names = {number: name for name, number in (table.class_to_idx or {}).items()}
    count = None if table.labels is None else 1 + int(max([*names, *np.asarray(table.labels).tolist()]))
    key = pipeline.compiled.seed, request.epoch, drawn[0].sample.index
    mixed = mix(recipe, values, key, count, read, len(files))

    def group(sample: Mapping[str, Any]) -> CellGroup:
        cells = [Cell(rgb_of_output(sample[n], recipe.outputs.get(n, recipe.output))) for n in pipeline.outputs]
        if recipe.facts.annotated and cells[0].image is not None:
            cells = [annotated(cells[0].image, sample, recipe, table.box_classes or ())]
        return CellGroup(cells, _label_text(sample.get("label"), names))

    after = [{name: value[k] for name, value in mixed.items()} for k in range(len(samples))]
    lines = request.lines(pipeline, f"epoch {request.epoch}", output_text(samples[0][pipeline.outputs[0]]))
    rows = [SheetRow([*map(group, some)]) for some in (samples, after)]
    return Sheet(rows, f"{recipe.name}: a batch, and mixed", lines, left_out(skipped))


def _label_text(label: Any, names: Mapping[int, str]) -> str:
    """A label, or the shares of classes, in words.

    >>> _label_text(np.array([0.25, 0.0, 0.75]), {0: "cat", 2: "dog"})
    '0.75 dog, 0.25 cat'
    """
    if label is None or np.ndim(label) == 0:
        return "" if label is None else str(names.get(int(label), label))
    order: Sequence[int] = np.argsort(-label, kind="stable").tolist()
    return ", ".join(f"{label[k]:.2f} {names.get(k, k)}" for k in order if label[k] >= _LEAST)
