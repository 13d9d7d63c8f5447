"""The result of `verify` as a report and as JSON."""

from pathlib import Path
from typing import Any

from augrecipes.ops.records import op_record
from augrecipes.report import Note, Report, TextTable
from augrecipes.verify import LAWS, Figure, Verification, number

# A note on merged resamplings; docs/OPTIMISER.md has figures.
_PLACES = (
    "Resamplings are merged: that promises where pixels come from, and no levels. Hard edges, aliasing and labels "
    "between two pixels come out otherwise: on images of under 100 px by some levels on average, in a tenth of a mask."
)
_DIFFERS = (
    "Boxes and keypoints go where the pixels under them go, as written and optimised alike; albumentations 2.0.8 does "
    "otherwise in {}: docs/DIFFERENCES.md."
)
_COLUMNS = ("target", "law", "allowed", "worst", "mean", "unit", "pixels", "worst sample", "file")


def report_of(verification: Verification, epochs: int = 1) -> Report:
    """The measurements as a report."""
    recipe, promise, inputs = verification.recipe, verification.promise, verification.recipe.inputs
    rounds = f"{epochs} epochs, " if epochs > 1 else ""
    samples = f"{verification.samples} samples, {rounds}seed {verification.seed}"
    facts = {
        "recipe": f"{recipe.name} · {verification.mode}",
        "compared": f"{verification.optimize} with none · {samples}",
        "images": verification.dtype,
        "contract": f"{promise} · {', '.join(dict.fromkeys(promise.rules)) or 'no rule fired'}",
    }
    laws = {figure.law for figure in verification.figures}
    tables = [
        TextTable("Measured", _COLUMNS, [*map(_row, verification.figures)], right=(2, 3, 4), keys=2),
        TextTable("What each law measures", (), [(law, text) for law, (_, text) in LAWS.items() if law in laws]),
    ]
    notes = [Note(_PLACES)] if promise.geometry else []
    names = sorted({step.name for step in recipe.walk() if op_record(step.name).is_corrected})
    if names and (inputs.boxes or inputs.keypoints):
        notes.append(Note(_DIFFERS.format(", ".join(names))))
    broken = (Note(_broken(figure), "broken:", "error") for figure in verification.broken)
    return Report(facts, tables, [*notes, *broken])


def _broken(figure: Figure) -> str:
    unit, text = LAWS[figure.law]
    worst = f"{number(figure.worst)} {unit} where {number(figure.limit or 0.0)} is allowed"
    return f"{figure.law} of {figure.target}: {figure.broken} of {figure.samples} samples; {text}: {worst}"


def _row(figure: Figure) -> list[str]:
    share = "" if figure.share is None else f"{100 * figure.share:.3g} % differ"
    limit = "–" if figure.limit is None else number(figure.limit)
    row = [figure.target, figure.law, limit, number(figure.worst), number(figure.mean)]
    row += [LAWS[figure.law][0], share]
    # Where all samples agree, none is the worst.
    if figure.where is None or not figure.worst:
        return [*row, "", ""]
    tile = f", tile {figure.where.tile}" if figure.where.tile else ""
    return [*row, f"index {figure.where.index}{tile}, epoch {figure.where.epoch}", Path(figure.where.path).name]


def to_json(verification: Verification) -> dict[str, Any]:
    """The measurements as plain values."""
    names = ("mode", "optimize", "seed", "samples", "ok", "figures", "worst")
    recipe, promise = verification.recipe, verification.promise
    return {
        "recipe": recipe.name,
        "digest": recipe.digest,
        "contract": str(promise),
        "rules": promise.rules,
        **{name: getattr(verification, name) for name in names},
        "left_out": [str(error) for error in verification.left_out],
    }
