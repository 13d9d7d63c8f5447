"""The worst samples as an image: the source, both results, and what tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import Picture, ink, picture_of_input, picture_of_output, size_text
from augrecipes.preview.overlay import render_mask
from augrecipes.preview.rows import difference_group, short_path
from augrecipes.preview.sheet import Sheet
from augrecipes.sources.opening import Data, StrPath, open_data
from augrecipes.sources.sample import RecipeSource
from augrecipes.verify.compare import Build, levels_of
from augrecipes.verify.contract import LAWS, Worst, number
from augrecipes.verify.run import Verification, builder, replay_from


def render_worst(
    verification: Verification, data: Data, *, masks: StrPath | None = None, build: Build | None = None
) -> NDArray[np.uint8]:
    """A sheet of the worst samples, uint8 H×W×3 RGB: one row each, or two where there is a mask.

    Args:
        verification: of `verify`; its worst samples are run again.
        data: as `verify` had it.
        masks: the same.
        build: the same.

    Raises:
        DataError: there is nothing to show: a pipeline refuses the samples, or they cannot be read.
    """
    recipe, make = verification.recipe, build or builder(verification.mode, verification.seed)
    reader = open_data(recipe, make(recipe, "none").targets, data, masks)
    steady = verification.promise.compared(recipe)
    both = [make(steady, optimize) for optimize in ("none", verification.optimize)]
    rows = [row for worst in verification.worst for row in _rows(verification, worst, reader, both)]
    if not rows:
        raise DataError("there is nothing to show: a pipeline refuses the worst samples, or they cannot be read")
    broken = [f"{one.law} of {one.target} in {one.broken} of {one.samples}" for one in verification.broken]
    verdict = f"broken: {', '.join(broken)}" if broken else "all contracts hold"
    lines = [
        f"{verification.optimize} against none · {verification.promise} · {verdict}",
        f"the worst of {verification.samples} samples · digest {recipe.digest[:8]} · seed {verification.seed} · "
        f"{verification.mode}",
    ]
    return Sheet(rows, title=recipe.name, lines=lines).pixels


def _rows(verification: Verification, worst: Worst, reader: RecipeSource, both: Sequence[Any]) -> list[SheetRow]:
    """A sample's target that differs most, and its mask in a row of its own; none where one of both refuses it."""
    recipe, place, optimize = verification.recipe, worst.place, verification.optimize
    try:
        again = replay_from(reader, both, place.number, place.epoch, place.dtype)
    except DataError:
        return []
    outputs = {name: recipe.outputs.get(name, recipe.output) for name in verification.origins}
    apart = {
        name: np.abs(levels_of(again.plain[name], output) - levels_of(again.fast[name], output)).max(axis=-1)
        for name, output in outputs.items()
        if again.plain[name].shape == again.fast[name].shape
    }
    if not apart:
        return []
    name = max(apart, key=lambda one: float(apart[one].mean()))
    source = picture_of_input(again.given.images[verification.origins[name]])
    plain, fast = (picture_of_output(one[name], outputs[name]) for one in (again.plain, again.fast))
    difference = difference_group(np.nan_to_num(apart[name], nan=255.0, posinf=255.0), "no difference", " levels")
    groups = [_group(plain, f"none · {size_text(plain)}"), _group(fast, optimize), difference]
    rows = [SheetRow(groups, _group(source, f"source · {size_text(source)}", quiet=True))]
    if "mask" in again.plain and "mask" in again.given.rest:
        given, without, within = (np.asarray(of["mask"]) for of in (again.given.rest, again.plain, again.fast))
        differs = (without != within).astype(np.float32)
        text = f"labels that differ · {100 * float(differs.mean()):.2g} %" if differs.any() else "the same labels"
        groups = [_group(plain, "none", without), _group(fast, optimize, within), _group(ink(differs), text)]
        rows.append(SheetRow(groups, _group(source, "mask", given, quiet=True)))
    reading = worst.readings[0]
    unit = LAWS[reading.law][0]
    law = "" if reading.law == unit else f"{reading.law} "
    notes = [
        *([name] if recipe.facts.scales else []),
        f"index {place.index}" + (f" tile {place.tile}" if recipe.facts.tiles else ""),
        f"epoch {place.epoch}",
        *([] if place.dtype == "uint8" else [place.dtype]),
        f"{law}{number(reading.value)} {unit}" if reading.value else "no difference",
    ]
    rows[-1] = replace(rows[-1], caption=short_path(place.path), notes=[" · ".join(notes)])
    return rows


def _group(picture: Picture, header: str, mask: NDArray[Any] | None = None, *, quiet: bool = False) -> CellGroup:
    over = None if mask is None else lambda shown, scale: render_mask(shown, mask)
    return CellGroup([Cell(picture, over=over)], header, quiet)
