"""Sheets of pairs: whole scenes with the crops outlined, and each draw's targets side by side at one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.run.grid import cells
from augrecipes.data.reading.sample import Sample
from augrecipes.errors import DataError
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.preview.cells import header_after, short_path
from augrecipes.preview.display import fit_into, picture_of_input, picture_of_output, size_text
from augrecipes.preview.overlay import render_crops
from augrecipes.preview.panels import (
    Panel,
    PanelGroup,
    PanelLayout,
    ScenePanels,
    at_size,
    layout_of_panels,
    render_scene,
    size_in,
)
from augrecipes.preview.rows import Asked, made_by, show_rows
from augrecipes.preview.sheet import page
from augrecipes.preview.shown import LabelledPicture, PictureRow, Sheet
from augrecipes.recipe.model import Recipe

COLUMNS = 6
Window = tuple[int, int, int, int]


@dataclass(slots=True)
class _SceneSamples:
    """One scene: its files as they were read, and what was drawn of it."""

    sample: Sample
    outputs: list[dict[str, Any]]
    stages: list[tuple[str, dict[str, NDArray[Any]]]] = field(default_factory=list)


def sheet(recipe: Recipe, asked: Asked) -> Sheet:
    """The sheet of a recipe of kind pair; DataError where nothing can be shown."""
    pipeline, files = asked.opened(recipe, save_applied_params=True)
    draws = 1 if asked.stages or pipeline.mode == "eval" else asked.columns

    def show(index: int) -> _SceneSamples:
        sample = files.read(index)
        epochs = range(asked.epoch, asked.epoch + draws)
        outputs = [files.in_epoch(index, epoch, sample).run(pipeline, epoch) for epoch in epochs]
        return _SceneSamples(
            sample, outputs, pipeline.stages(sample.index, asked.epoch)(**sample.images) if asked.stages else []
        )

    shown = show_rows(len(files), asked.rows, show, data=asked.words, path=files.path, progress=asked.progress)
    shown.skipped.extend(map(DataError, files.listing.left_out))
    base = next(iter(shown.rows[0].sample.images))
    layout = _layout(shown.rows, pipeline, base)
    scenes = [_scene(one, pipeline, base, asked.epoch, layout) for one in shown.rows]
    scales = f"{':'.join(pipeline.outputs)} = {':'.join(str(recipe.scales[name]) for name in pipeline.outputs)}"
    output = _outputs({name: shown.rows[0].outputs[0][name] for name in pipeline.outputs})
    text = made_by(pipeline, asked, "one draw an epoch", output)
    lines = [line for line in (recipe.about, f"{text} · scales {scales}") if line]
    footers = [*shown.footers(), *files.listing.notes]

    def draw() -> NDArray[np.uint8]:
        blocks = [render_scene(scene, layout) for scene in scenes]
        return page(layout.width, blocks, title=recipe.name, lines=lines, footers=footers)

    rows = [_figures(scene, layout) for scene in scenes]
    return Sheet(rows, draw, title=recipe.name, lines=lines, footers=footers)


def _figures(scene: ScenePanels, layout: PanelLayout) -> PictureRow:
    """A scene without its layout: the whole, then each group, its pictures at one size."""
    lines = [[LabelledPicture(scene.whole, scene.header, quiet=True)]]
    for group in scene.groups:
        shown = [panel.picture for panel in group.panels if panel.picture is not None]
        size = size_in([(one.shape[0], one.shape[1]) for one in shown] or [layout.panel], layout.panel)
        lines[0] += [
            LabelledPicture(
                None if panel.picture is None else at_size(panel.picture, size),
                f"{group.header} · {panel.caption}",
                group.quiet,
            )
            for panel in group.panels
        ]
    return PictureRow(lines, scene.caption, [note for note in scene.notes if note])


def _layout(drawn: Sequence[_SceneSamples], pipeline: PairPipeline, base: str) -> PanelLayout:
    """Panels that suit most draws."""
    sizes = [[_size(out[name], pipeline, name) for name in pipeline.outputs] for one in drawn for out in one.outputs]
    typical = sorted(sizes, key=max)[len(sizes) // 2]
    aspect = median(one.sample.images[base].shape[0] / one.sample.images[base].shape[1] for one in drawn)
    groups = max(len(one.stages) + 1 if one.stages else len(one.outputs) for one in drawn)
    return layout_of_panels(groups, len(pipeline.outputs), typical, min(max(aspect, 0.5), 1.6))


def _scene(one: _SceneSamples, pipeline: PairPipeline, base: str, epoch: int, layout: PanelLayout) -> ScenePanels:
    whole = one.sample.images[base]
    used = _used(one, pipeline, base)
    picture, scale = fit_into(picture_of_input(whole), *layout.whole)
    windows = [out["window"][base] for out in one.outputs]
    # A window that is the whole picture needs no outline.
    outlined = [k for k, window in enumerate(windows) if window is not None and window != (0, 0, *used)]
    render_crops(picture, [_scaled(windows[k], scale) for k in outlined], [str(epoch + k) for k in outlined])
    if one.stages:
        groups = _stage_groups(one, pipeline)
    else:
        groups = [
            PanelGroup(
                _output_panels(out, pipeline),
                f"epoch {epoch + k}" + (" – resampled" if windows[k] is None else ""),
                (str(epoch + k), outlined.index(k)) if k in outlined else None,
            )
            for k, out in enumerate(one.outputs)
        ]
    others = [f"{name} {size_text(image)}" for name, image in one.sample.images.items() if name != base]
    cut = "" if whole.shape[:2] == used else f"cut to {used[1]}×{used[0]}, which all scales divide"
    notes = [" · ".join((*others, f"index {one.sample.index}")), cut]
    return ScenePanels(picture, groups, short_path(one.sample.path), notes, f"{base} {size_text(whole)}")


def _output_panels(out: Mapping[str, Any], pipeline: PairPipeline) -> list[Panel]:
    panels = []
    for name in pipeline.outputs:
        picture = picture_of_output(out[name], pipeline.recipe.outputs.get(name, pipeline.recipe.output))
        panels.append(Panel(picture, f"{name} {size_text(picture)}"))
    return panels


def _stage_groups(one: _SceneSamples, pipeline: PairPipeline) -> list[PanelGroup]:
    """The targets as they were read, and after each step; grey where the step changed nothing."""
    groups = [PanelGroup(_stage_panels(one.sample.images, pipeline), "as they are", quiet=True)]
    before: Mapping[str, NDArray[Any]] = one.sample.images
    for label, pictures in one.stages:
        same = pictures.keys() == before.keys() and all(np.array_equal(pictures[n], before[n]) for n in pictures)
        header = header_after(label.rpartition("/")[2], same)
        groups.append(PanelGroup(_stage_panels(pictures, pipeline), header, quiet=same))
        before = pictures
    return groups


def _stage_panels(pictures: Mapping[str, NDArray[Any]], pipeline: PairPipeline) -> list[Panel]:
    return [
        Panel(picture_of_input(pictures[name]), f"{name} {size_text(pictures[name])}")
        if name in pictures
        else Panel(None, f"{name}: made later")
        for name in pipeline.outputs
    ]


def _used(one: _SceneSamples, pipeline: PairPipeline, base: str) -> tuple[int, int]:
    """Height and width of the part of the largest target that all targets share."""
    sizes = {name: (image.shape[0], image.shape[1]) for name, image in one.sample.images.items()}
    rows, columns = cells(sizes, pipeline.units)
    return rows * pipeline.units[base], columns * pipeline.units[base]


def _scaled(window: Window, scale: float) -> tuple[float, float, float, float]:
    y0, x0, y1, x1 = (value * scale for value in window)
    return y0, x0, y1, x1


def _size(image: NDArray[Any], pipeline: PairPipeline, name: str) -> tuple[int, int]:
    output = pipeline.recipe.outputs.get(name, pipeline.recipe.output)
    first = 1 if output.layout == "chw" else 0
    return image.shape[first], image.shape[first + 1]


def _outputs(images: Mapping[str, NDArray[Any]]) -> str:
    """What comes out, by target; the dtype once if it is the same for all."""
    dtypes = {str(image.dtype) for image in images.values()}
    each = [
        " ".join((name, *([str(image.dtype)] if len(dtypes) > 1 else []), "×".join(map(str, image.shape))))
        for name, image in images.items()
    ]
    return " ".join((*(dtypes if len(dtypes) == 1 else ()), ", ".join(each)))
