"""Preview sheets of pairs: whole scenes with outlined crops, and the targets of each draw at one scale."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.run.clock import route_steps
from augrecipes.errors import DataError
from augrecipes.kinds.pair.grid import common_size
from augrecipes.kinds.pair.pipeline import PairPipeline
from augrecipes.ops import constants, records
from augrecipes.ops.groups import DEGRADE
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import RgbImage, rgb_of_input, rgb_of_output, size_text
from augrecipes.preview.overlay import render_crops
from augrecipes.preview.rows import DrawnSample, SheetRequest, left_out, output_text, short_path, stage_groups
from augrecipes.preview.sheet import Sheet
from augrecipes.preview.stretch import stretch_of
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.words import in_words

_ON_ONE_LINE = 3  # draws; more are laid out on two lines, so that the scene beside them is large


def sheet(recipe: Recipe, request: SheetRequest) -> Sheet:
    """Make the sheet of a recipe of kind pair; DataError where nothing can be shown."""
    pipeline, files = request.opened(recipe, save_applied_params=True)
    if request.pairs:
        return _degradation_sheet(request, request.pairs, pipeline, files)
    drawn, skipped = request.drawn(pipeline, files)
    rows = [_scene(sample, pipeline, request) for sample in drawn]
    scales = f"{':'.join(pipeline.outputs)} = {':'.join(str(recipe.scales[name]) for name in pipeline.outputs)}"
    output = ", ".join(f"{name} {output_text(drawn[0].outputs[0][name])}" for name in pipeline.outputs)
    lines = request.lines(pipeline, "one draw an epoch", output, f"scales {scales}")
    groups = max(len(row.groups) for row in rows)
    across = groups if groups <= _ON_ONE_LINE else -(-groups // 2)
    footers = [*left_out([*skipped, *map(DataError, files.left_out)]), *files.notes]
    return Sheet(rows, recipe.name, lines, footers, across=across)


def _scene(drawn: DrawnSample, pipeline: PairPipeline, request: SheetRequest) -> SheetRow:
    """A scene with its crops outlined, and the targets of each draw, or after each step."""
    images, names, recipe = drawn.sample.images, pipeline.outputs, pipeline.recipe
    base, whole = next(iter(images.items()))
    stretch = stretch_of([whole], recipe.inputs)
    sizes = {name: (image.shape[0], image.shape[1]) for name, image in images.items() if name in pipeline.factors}
    # The part of the image that all targets show.
    used = tuple(count * pipeline.factors[base] for count in common_size(sizes, pipeline.factors))
    windows = [out["window"][base] for out in drawn.outputs]
    # A window that is the whole image needs no outline.
    outlined = [k for k, window in enumerate(windows) if window is not None and window != (0, 0, *used)]

    def outline(img: RgbImage, scale: float) -> None:
        crops = [tuple(value * scale for value in windows[k]) for k in outlined]
        render_crops(img, crops, [str(request.epoch + k) for k in outlined])

    def cell(name: str, img: RgbImage) -> Cell:
        return Cell(img, f"{name} {size_text(img)}")

    def after(images: Mapping[str, NDArray[Any]]) -> list[Cell]:
        cells = {name: cell(name, rgb_of_input(image, stretch)) for name, image in images.items()}
        return [cells.get(name) or Cell(None, f"{name}: made later") for name in names]

    def epoch(k: int, out: Mapping[str, Any]) -> CellGroup:
        outputs = [(name, recipe.outputs.get(name, recipe.output)) for name in names]
        cells = [cell(name, rgb_of_output(out[name], output, stretch)) for name, output in outputs]
        number = request.epoch + k
        tag = (str(number), outlined.index(k)) if k in outlined else None
        return CellGroup(cells, f"epoch {number}" + (" – resampled" if windows[k] is None else ""), tag=tag)

    if request.stages:
        groups = [CellGroup(after(images), "as they are", quiet=True), *stage_groups(images, drawn.stages, after)]
    else:
        groups = [epoch(k, out) for k, out in enumerate(drawn.outputs)]
    source = CellGroup([Cell(rgb_of_input(whole, stretch), over=outline)], f"{base} {size_text(whole)}", quiet=True)
    others = [f"{name} {size_text(image)}" for name, image in images.items() if name != base]
    cut = "" if whole.shape[:2] == used else f"cut to {used[1]}×{used[0]}, which all scales divide"
    notes = [" · ".join((*others, f"index {drawn.sample.index}")), cut, stretch.words]
    return SheetRow(groups, source, short_path(drawn.sample.path), notes)


def _degradation_sheet(request: SheetRequest, pairs: int, pipeline: PairPipeline, files: Any) -> Sheet:
    """Make a sheet of pairs at one size, with the steps that acted on a single target, in the order of their runs."""
    recipe, ran = pipeline.recipe, dict[str, None]()  # an ordered set of labels
    names = sorted(pipeline.outputs, key=lambda name: (recipe.scales[name], name in pipeline.targets))
    steps = [step for top in recipe.section(pipeline.mode) or () for step in top.walk()]
    plain = pipeline.again(pipeline.compiled.unoptimised())
    route_steps(plain, lambda site, step, args, kwargs: (ran.setdefault(site), step(*args, **kwargs))[1])

    def words(name: str, applied: Sequence[tuple[str, str, dict[str, Any]]]) -> str:
        degraded = [step for step in steps if step.name == DEGRADE and step.args["target"] == name]
        own = {inner.site for step in steps if step in degraded or step.target == (name,) for inner in step.walk()}
        acted = {
            site: (step, params)
            for site, step, params in applied
            if site in own and records.op_record(step).action != "identity"
        }
        facts = [f"made of {step.args['source']}" for step in degraded if step.site in ran] or ["read from disk"]
        drawn = [acted[site] for site in ran if site in acted]
        facts += [f"{step} {in_words(params, whole=True)}".strip() for step, params in drawn]
        return f"{name}: {' · '.join(facts)}" if acted or name != names[-1] else ""

    def group(entry: DrawnSample, k: int) -> CellGroup:
        stretch, epoch = stretch_of(entry.sample.images.values(), recipe.inputs), request.epoch + k
        outputs = ((name, recipe.outputs.get(name, recipe.output)) for name in names)
        images = {name: rgb_of_output(entry.outputs[k][name], output, stretch) for name, output in outputs}
        size = images[names[-1]].shape[1::-1]
        large = (cv2.resize(image, size, interpolation=constants.NEAREST).astype(np.uint8) for image in images.values())
        cells = map(Cell, large, (f"{name} {size_text(image)}" for name, image in images.items()))
        ran.clear()
        applied = entry.sample.run(plain, epoch)["applied"]
        notes = [*filter(None, (words(name, applied) for name in names))]
        return CellGroup([*cells], f"{short_path(entry.sample.path)} · epoch {epoch}", notes=notes)

    request = replace(request, rows=pairs, columns=-(-pairs // len(files)))
    drawn, skipped = request.drawn(pipeline, files)
    rows = [SheetRow([group(entry, k)]) for k in range(request.columns) for entry in drawn if k < len(entry.outputs)]
    lines = request.lines(pipeline, "one draw an epoch", ", ".join(output_text(drawn[0].outputs[0][n]) for n in names))
    return Sheet(rows[:pairs], recipe.name, lines, left_out(skipped), narrow=True)
