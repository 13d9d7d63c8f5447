"""The worst samples as a picture: the source, both results, and what tells them apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import Picture, amplified, ink, picture_of_input, picture_of_output, size_text
from augrecipes.preview.overlay import render_mask
from augrecipes.preview.rows import short_path
from augrecipes.preview.sheet import Sheet
from augrecipes.sources.opening import Data, StrPath, open_data
from augrecipes.sources.sample import RecipeSource
from augrecipes.verify.compare import Build
from augrecipes.verify.levels import levels_of
from augrecipes.verify.metrics import LAWS, Worst, number
from augrecipes.verify.planned import Two
from augrecipes.verify.run import Replay, Verification, builder, replay_from


@dataclass(frozen=True, slots=True)
class _WorstRow:
    """One sample, one target: the pictures of a row."""

    source: Picture
    plain: Picture
    fast: Picture
    apart: NDArray[np.float32]  # levels, H×W
    masks: tuple[Any, Any, Any] | None
    caption: str
    note: str


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
    two = Two(make(steady, "none"), make(steady, verification.optimize))
    shown = [one for worst in verification.worst if (one := _shown(verification, worst, reader, two)) is not None]
    if not shown:
        raise DataError("there is nothing to show: a pipeline refuses the worst samples, or they cannot be read")
    rows = [row for one in shown for row in _rows(one, verification.optimize)]
    verdict = (
        "all contracts hold"
        if verification.ok
        else "broken: "
        + ", ".join(
            f"{figure.law} of {figure.target} in {figure.broken} of {figure.samples}" for figure in verification.broken
        )
    )
    lines = [
        f"{verification.optimize} against none · {verification.promise} · {verdict}",
        f"the worst of {verification.samples} samples · digest {recipe.digest[:8]} · seed {verification.seed} · "
        f"{verification.mode}",
    ]
    return Sheet(rows, title=recipe.name, lines=lines).pixels


def _shown(verification: Verification, worst: Worst, reader: RecipeSource, two: Two) -> _WorstRow | None:
    """The target of a sample that differs most; None where one of both refuses it: there is nothing to show."""
    try:
        again = replay_from(reader, two, worst.place.number, worst.place.epoch, worst.place.dtype)
    except DataError:
        return None
    found = [one for name in verification.origins if (one := _one(verification, worst, again, name)) is not None]
    return max(found, key=lambda one: float(one.apart.mean())) if found else None


def _one(verification: Verification, worst: Worst, again: Replay, name: str) -> _WorstRow | None:
    recipe, place = verification.recipe, worst.place
    output = recipe.outputs.get(name, recipe.output)
    plain, fast = again.plain[name], again.fast[name]
    if plain.shape != fast.shape:
        return None
    apart = np.abs(levels_of(plain, output) - levels_of(fast, output)).max(axis=-1)
    floats = "" if place.dtype == "uint8" else f" · {place.dtype}"
    tile = f" · tile {place.tile}" if recipe.facts.tiles else ""
    reading = worst.readings[0]
    unit = LAWS[reading.law][0]
    law = "" if reading.law == unit else f"{reading.law} "
    text = f"{law}{number(reading.value)} {unit}" if reading.value else "no difference"
    target = f"{name} · " if recipe.facts.scales else ""
    masked = "mask" in again.plain and "mask" in again.given.rest
    return _WorstRow(
        picture_of_input(again.given.images[verification.origins[name]]),
        picture_of_output(plain, output),
        picture_of_output(fast, output),
        np.nan_to_num(apart, nan=255.0, posinf=255.0),
        (again.given.rest["mask"], again.plain["mask"], again.fast["mask"]) if masked else None,
        short_path(place.path),
        f"{target}index {place.index}{tile} · epoch {place.epoch}{floats} · {text}",
    )


def _rows(one: _WorstRow, optimize: str) -> list[SheetRow]:
    """The pictures and their difference; where there is a mask, the same with the masks and the labels that differ."""
    difference, times = amplified(one.apart)
    most = float(one.apart.max())
    text = f"difference × {times} · most {number(most)} levels" if most else "no difference"
    rows = [
        SheetRow(
            [_one_cell(one.plain, f"none · {size_text(one.plain)}"), _one_cell(one.fast, optimize),
             _one_cell(difference, text)],
            _one_cell(one.source, f"source · {size_text(one.source)}", quiet=True),
        )
    ]  # fmt: skip
    if one.masks is not None:
        source, plain, fast = one.masks
        differs = np.asarray(plain) != np.asarray(fast)
        share = float(differs.mean())
        text = f"labels that differ · {100 * share:.2g} %" if share else "the same labels"
        masked = [_one_cell(one.plain, "none", plain), _one_cell(one.fast, optimize, fast)]
        labels = _one_cell(ink(differs.astype(np.float32)), text)
        rows.append(SheetRow([*masked, labels], _one_cell(one.source, "mask", source, quiet=True)))
    rows[-1] = replace(rows[-1], caption=one.caption, notes=[one.note])
    return rows


def _one_cell(picture: Picture, header: str, mask: Any = None, *, quiet: bool = False) -> CellGroup:
    over = None if mask is None else lambda shown, scale: render_mask(shown, np.asarray(mask))
    return CellGroup([Cell(picture, over=over)], header, quiet)
