"""Sheets of pairs: whole scenes with the crops outlined, and each draw's targets side by side at one scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from augrecipes.compiler.run.grid import cells
from augrecipes.errors import DataError
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import Picture, picture_of_input, picture_of_output, size_text
from augrecipes.preview.overlay import render_crops
from augrecipes.preview.rows import Asked, DrawnSample, made_by, short_path, stage_groups
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Recipe

COLUMNS = 6
_ON_ONE_LINE = 3  # draws; more go on two lines, so that the scene beside them is large


def sheet(recipe: Recipe, asked: Asked) -> Sheet:
    """The sheet of a recipe of kind pair; DataError where nothing can be shown."""
    pipeline, files = asked.opened(recipe, save_applied_params=True)
    shown = asked.drawn(pipeline, files)
    shown.skipped.extend(map(DataError, files.left_out))
    rows = [_scene(one, pipeline, asked) for one in shown.rows]
    scales = f"{':'.join(pipeline.outputs)} = {':'.join(str(recipe.scales[name]) for name in pipeline.outputs)}"
    output = _outputs({name: shown.rows[0].outputs[0][name] for name in pipeline.outputs})
    text = made_by(pipeline, asked, "one draw an epoch", output)
    lines = [line for line in (recipe.about, f"{text} · scales {scales}") if line]
    groups = max(len(row.groups) for row in rows)
    across = groups if groups <= _ON_ONE_LINE else -(-groups // 2)
    return Sheet(rows, recipe.name, lines, [*shown.footers(), *files.notes], across=across)


def _scene(one: DrawnSample, pipeline: PairPipeline, asked: Asked) -> SheetRow:
    """A scene with its crops outlined, and the targets of each draw, or after each step."""
    images, names = one.sample.images, pipeline.outputs
    base, whole = next(iter(images.items()))
    sizes = {name: (image.shape[0], image.shape[1]) for name, image in images.items()}
    used = tuple(count * pipeline.units[base] for count in cells(sizes, pipeline.units))  # what all targets share
    windows = [out["window"][base] for out in one.outputs]
    # A window that is the whole picture needs no outline.
    outlined = [k for k, window in enumerate(windows) if window is not None and window != (0, 0, *used)]

    def outline(picture: Picture, scale: float) -> None:
        crops = [tuple(value * scale for value in windows[k]) for k in outlined]
        render_crops(picture, crops, [str(asked.epoch + k) for k in outlined])

    def after(images: Mapping[str, NDArray[Any]]) -> list[Cell]:
        return [
            _cell(name, picture_of_input(images[name])) if name in images else Cell(None, f"{name}: made later")
            for name in names
        ]

    if asked.stages:
        stages = ((label.rpartition("/")[2], images) for label, images in one.stages)
        groups = [CellGroup(after(images), "as they are", quiet=True), *stage_groups(images, stages, after)]
    else:
        outputs = {name: pipeline.recipe.outputs.get(name, pipeline.recipe.output) for name in names}
        groups = [
            CellGroup(
                [_cell(name, picture_of_output(out[name], outputs[name])) for name in names],
                f"epoch {asked.epoch + k}" + (" – resampled" if windows[k] is None else ""),
                tag=(str(asked.epoch + k), outlined.index(k)) if k in outlined else None,
            )
            for k, out in enumerate(one.outputs)
        ]
    others = [f"{name} {size_text(image)}" for name, image in images.items() if name != base]
    cut = "" if whole.shape[:2] == used else f"cut to {used[1]}×{used[0]}, which all scales divide"
    source = CellGroup([Cell(picture_of_input(whole), over=outline)], f"{base} {size_text(whole)}", quiet=True)
    notes = [" · ".join((*others, f"index {one.sample.index}")), cut]
    return SheetRow(groups, source, short_path(one.sample.path), notes)


def _cell(name: str, picture: Picture) -> Cell:
    return Cell(picture, f"{name} {size_text(picture)}")


def _outputs(images: Mapping[str, NDArray[Any]]) -> str:
    """What comes out, by target; the dtype once if it is the same for all."""
    dtypes = {str(image.dtype) for image in images.values()}
    each = [
        " ".join((name, *([str(image.dtype)] if len(dtypes) > 1 else []), "×".join(map(str, image.shape))))
        for name, image in images.items()
    ]
    return " ".join((*(dtypes if len(dtypes) == 1 else ()), ", ".join(each)))
