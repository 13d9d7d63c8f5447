"""`augrecipes verify`: whether the optimiser's plan is the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.folders import Data, Words, sources
from augrecipes.cli.options import (
    Level,
    Masks,
    Mode,
    Recipe,
    Seed,
    Set,
    Without,
    choice,
    here,
    loaded,
    option,
    overrides,
)
from augrecipes.cli.terminal import complain, good, listed, progress, say, say_line, show

if TYPE_CHECKING:
    from augrecipes.flow import Dtype
    from augrecipes.report import Report
    from augrecipes.verify import Figure, Verification

_DTYPES: dict[str, tuple[Dtype, ...]] = {"uint8": ("uint8",), "float32": ("float32",), "both": ("uint8", "float32")}
_LISTED = 6  # samples left out that are named
_SHARES = {"displacement": "compared"}  # what a law's share of pixels counts; else those that differ


def verify(
    recipe: Recipe,
    words: Words = None,
    data: Data = None,
    optimize: Annotated[
        Level, choice("--optimize", "exact|fast", "The plan, compared with none.", "none|exact|fast")
    ] = "fast",
    samples: Annotated[int, option("--samples", None, "Samples of an epoch, spread over the data.", min=1)] = 64,
    epochs: Annotated[int, option("--epochs", None, "How often, with new random parameters.", min=1)] = 1,
    seed: Seed = 0,
    mode: Mode = "train",
    masks: Masks = None,
    dtype: Annotated[
        str, choice("--dtype", "uint8|float32|both", "Of the images that go in; each has its own plan.")
    ] = "both",
    out: Annotated[
        Path | None, option("--out -o", "FILE", "Draw the worst three samples as PNG or JPEG.", parser=here)
    ] = None,
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Run a recipe as written and as the optimiser plans it, with the same random parameters; measure how they differ.

    \b
    Examples:
      augrecipes verify stained-tissue tiles/
      augrecipes verify my.yaml photos/ --samples 500 --epochs 3 -o worst.png
      augrecipes verify sr-x4 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X4

    Where the plan merges no resampling, images are compared value by value. Where it does, coordinate ramps say where
    each pixel comes from, and a band-limited image how near the result is to the truth.

    Exit status: 0 every contract holds, 1 a contract is broken or a lint error, 2 a recipe or data that cannot be used.
    """
    changes = overrides(set_)
    given = sources(recipe, words, data)
    from augrecipes.errors import DataError
    from augrecipes.verify import checked_path, render_worst, save_worst
    from augrecipes.verify import verify as check

    if out is not None:
        checked_path(out)
    parsed = loaded(recipe, set_, without)
    with progress("comparing") as advance:
        found = check(
            parsed, given, mode=mode, optimize=optimize, seed=seed, samples=samples, epochs=epochs, masks=masks,
            dtypes=_DTYPES[dtype], progress=advance,
        )  # fmt: skip
    written = None
    if out is not None:
        try:
            written = save_worst(render_worst(found, given, masks=masks), out)
        except DataError as error:  # the figures are worth more than their image
            complain(error)
    replay = _replay(found, _loading(recipe, changes, without), given, masks)
    report = _as_json(found, "; ".join(replay)) | ({} if written is None else {"picture": written})

    def tell() -> None:
        show(report_of(found, epochs))
        say()
        listed("left out: ", found.left_out, _LISTED)
        if found.ok:
            good(f"every contract holds on {found.samples} samples")
        say("the worst sample again:")
        for line in replay:
            say(line, wrap=False)
        if written is not None:
            say_line(written)

    answer(report, json_, tell)
    if not found.ok:
        raise typer.Exit(1)


def report_of(found: Verification, epochs: int = 1) -> Report:
    """Returns what was measured, as a report."""
    from augrecipes.report import Note, Report, TextTable
    from augrecipes.verify import LAWS

    rounds = f"{epochs} epochs, " if epochs > 1 else ""
    facts = {
        "recipe": f"{found.recipe.name} · {found.mode}",
        "compared": f"{found.optimize} with none · {found.samples} samples, {rounds}seed {found.seed}",
        "images": ", ".join(found.promises),
        "contract": _contract(found),
    }
    rows, laws = [_row(figure) for figure in found.figures], {figure.law for figure in found.figures}
    about = [(law, text) for law, (_, text) in LAWS.items() if law in laws]
    notes = [
        Note(f"{one.law} of {one.target}, {one.dtype}: {one.broken} of {one.samples} samples; {LAWS[one.law][1]}",
             "broken:", "error")
        for one in found.broken
    ]  # fmt: skip
    return Report(
        facts,
        [
            TextTable("Measured", _COLUMNS, rows, right=(3, 4, 5), keys=3),
            TextTable("What each law measures", (), about),
        ],
        notes,
    )


_COLUMNS = ("target", "law", "images", "allowed", "worst", "mean", "unit", "pixels", "worst sample", "file")


def _contract(found: Verification) -> str:
    """The promise and its rules; that of each dtype, where they differ."""
    lines = {}
    for dtype, promise in found.promises.items():
        names = dict.fromkeys(promise.rules)
        lines[dtype] = f"{promise} · {', '.join(names)}" if names else f"{promise} · no rule fired"
    if len(set(lines.values())) == 1:
        return next(iter(lines.values()))
    return "; ".join(f"{dtype} {text}" for dtype, text in lines.items())


def _row(figure: Figure) -> list[str]:
    from augrecipes.verify import LAWS, number

    share = "" if figure.share is None else f"{100 * figure.share:.3g} % {_SHARES.get(figure.law, 'differ')}"
    limit = "–" if figure.limit is None else f"{figure.limit:.3g}"
    # Where all samples are alike, none is the worst.
    place = figure.where if figure.worst else None
    tile = f", tile {place.tile}" if place is not None and place.tile else ""
    where = ("", "") if place is None else (f"index {place.index}{tile}, epoch {place.epoch}", Path(place.path).name)
    values = limit, number(figure.worst), number(figure.mean), LAWS[figure.law][0], share
    return [figure.target, figure.law, figure.dtype, *values, *where]


def _as_json(found: Verification, line: str) -> dict[str, Any]:
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
        "replay": line,
    }


def _loading(recipe: str, changes: Mapping[str, Any], without: list[str] | None) -> str:
    parts = [repr(recipe)]
    if changes:
        parts.append(f"overrides={dict(changes)!r}")
    if without:
        parts.append(f"without={without!r}")
    return f"load({', '.join(parts)})"


def _replay(found: Verification, loading: str, data: Any, masks: Path | None) -> list[str]:
    """The Python that runs the worst sample again."""
    from augrecipes.sources.rows import NamedSource

    place = found.worst[0].place
    given = [loading, repr(data), str(place.number), f"epoch={place.epoch}", f"seed={found.seed}"]
    if found.mode != "train":
        given.append(f"mode={found.mode!r}")
    if found.optimize != "fast":
        given.append(f"optimize={found.optimize!r}")
    if place.dtype != "uint8":
        given.append(f"dtype={place.dtype!r}")
    if masks is not None:
        given.append(f"masks={str(masks)!r}")
    named = ["from augrecipes.sources.rows import NamedSource"] if isinstance(data, NamedSource) else []
    return [
        *named,
        "from augrecipes import load",
        "from augrecipes.verify import replay",
        f"again = replay({', '.join(given)})",
    ]
