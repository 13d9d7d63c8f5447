"""What was measured, as a report for people and as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from augrecipes.ops.records import op_record
from augrecipes.report import Note, Report, TextTable
from augrecipes.verify import LAWS, Figure, Verification, number

# Of merged resamplings; docs/OPTIMISER.md has figures.
_PLACES = (
    "Resamplings are merged: that promises where pixels come from, and no levels. Hard edges, aliasing and labels "
    "between two pixels come out otherwise: on images of under 100 px by some levels on average, in a tenth of a mask."
)
_DIFFERS = (
    "Boxes and keypoints go where the pixels under them go, as written and optimised alike; albumentations 2.0.8 does "
    "otherwise in {}: docs/DIFFERENCES.md."
)
_COLUMNS = ("target", "law", "images", "allowed", "worst", "mean", "unit", "pixels", "worst sample", "file")


def report_of(found: Verification, epochs: int = 1) -> Report:
    """Returns what was measured, as a report."""
    rounds = f"{epochs} epochs, " if epochs > 1 else ""
    facts = {
        "recipe": f"{found.recipe.name} · {found.mode}",
        "compared": f"{found.optimize} with none · {found.samples} samples, {rounds}seed {found.seed}",
        "images": ", ".join(found.promises),
        "contract": _contract(found),
    }
    rows, laws = [_row(figure) for figure in found.figures], {figure.law for figure in found.figures}
    about = [(law, text) for law, (_, text) in LAWS.items() if law in laws]
    tables = [
        TextTable("Measured", _COLUMNS, rows, right=(3, 4, 5), keys=3),
        TextTable("What each law measures", (), about),
    ]
    about_places = [Note(_PLACES)] if found.promise.geometry else []
    inputs = found.recipe.inputs
    names = sorted({step.name for step in found.recipe.walk() if op_record(step.name).is_corrected})
    if names and (inputs.boxes or inputs.keypoints):
        about_places.append(Note(_DIFFERS.format(", ".join(names))))
    return Report(facts, tables, [*about_places, *(Note(_broken(one), "broken:", "error") for one in found.broken)])


def _broken(one: Figure) -> str:
    unit, text = LAWS[one.law]
    worst = f"{number(one.worst)} {unit} where {number(one.limit or 0.0)} is allowed"
    return f"{one.law} of {one.target}, {one.dtype}: {one.broken} of {one.samples} samples; {text}: {worst}"


def _contract(found: Verification) -> str:
    """The promise and its rules; that of each dtype, where they differ."""
    lines = {
        dtype: f"{promise} · {', '.join(dict.fromkeys(promise.rules)) or 'no rule fired'}"
        for dtype, promise in found.promises.items()
    }
    if len({*lines.values()}) == 1:
        return next(iter(lines.values()))
    return "; ".join(f"{dtype} {text}" for dtype, text in lines.items())


def _row(figure: Figure) -> list[str]:
    share = "" if figure.share is None else f"{100 * figure.share:.3g} % differ"
    limit = "–" if figure.limit is None else number(figure.limit)
    row = [figure.target, figure.law, figure.dtype, limit, number(figure.worst), number(figure.mean)]
    row += [LAWS[figure.law][0], share]
    # Where all samples are alike, none is the worst.
    if figure.where is None or not figure.worst:
        return [*row, "", ""]
    tile = f", tile {figure.where.tile}" if figure.where.tile else ""
    return [*row, f"index {figure.where.index}{tile}, epoch {figure.where.epoch}", Path(figure.where.path).name]


def to_json(found: Verification) -> dict[str, Any]:
    """Returns what was measured, for programs."""
    return {
        "recipe": found.recipe.name,
        "digest": found.recipe.digest,
        "mode": found.mode,
        "optimize": found.optimize,
        "seed": found.seed,
        "samples": found.samples,
        "contract": str(found.promise),
        "contracts": {dtype: str(promise) for dtype, promise in found.promises.items()},
        "rules": found.promise.rules,
        "ok": found.ok,
        "figures": found.figures,
        "worst": found.worst,
        "left_out": [str(error) for error in found.left_out],
    }
