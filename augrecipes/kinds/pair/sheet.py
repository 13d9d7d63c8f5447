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
    return Sheet(rows, "scenes", recipe.name, lines, [*shown.footers(), *files.notes])


def _scene(one: DrawnSample, pipeline: PairPipeline, asked: Asked) -> SheetRow:
    """A scene with its crops outlined, and the targets of each draw, or after each step."""
    images = one.sample.images
    base, whole = next(iter(images.items()))
    used = _used(images, pipeline, base)
    windows = [out["window"][base] for out in one.outputs]
    # A window that is the whole picture needs no outline.
    outlined = [k for k, window in enumerate(windows) if window is not None and window != (0, 0, *used)]

    def outline(picture: Picture, scale: float) -> None:
        crops = [tuple(value * scale for value in windows[k]) for k in outlined]
        render_crops(picture, crops, [str(asked.epoch + k) for k in outlined])

    if asked.stages:
        groups = [
            CellGroup(_targets_after(images, pipeline), "as they are", quiet=True),
            *stage_groups(
                images,
                ((label.rpartition("/")[2], after) for label, after in one.stages),
                lambda after: _targets_after(after, pipeline),
            ),
        ]
    else:
        groups = [
            CellGroup(
                _targets(out, pipeline),
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


def _targets(out: Mapping[str, Any], pipeline: PairPipeline) -> list[Cell]:
    outputs = pipeline.recipe.outputs
    shown = {name: picture_of_output(out[name], outputs.get(name, pipeline.recipe.output)) for name in pipeline.outputs}
    return [Cell(picture, f"{name} {size_text(picture)}") for name, picture in shown.items()]


def _targets_after(pictures: Mapping[str, NDArray[Any]], pipeline: PairPipeline) -> list[Cell]:
    return [
        Cell(picture_of_input(pictures[name]), f"{name} {size_text(pictures[name])}")
        if name in pictures
        else Cell(None, f"{name}: made later")
        for name in pipeline.outputs
    ]


def _used(images: Mapping[str, NDArray[Any]], pipeline: PairPipeline, base: str) -> tuple[int, int]:
    """Height and width of the part of the largest target that all targets share."""
    sizes = {name: (image.shape[0], image.shape[1]) for name, image in images.items()}
    rows, columns = cells(sizes, pipeline.units)
    return rows * pipeline.units[base], columns * pipeline.units[base]


def _outputs(images: Mapping[str, NDArray[Any]]) -> str:
    """What comes out, by target; the dtype once if it is the same for all."""
    dtypes = {str(image.dtype) for image in images.values()}
    each = [
        " ".join((name, *([str(image.dtype)] if len(dtypes) > 1 else []), "×".join(map(str, image.shape))))
        for name, image in images.items()
    ]
    return " ".join((*(dtypes if len(dtypes) == 1 else ()), ", ".join(each)))
