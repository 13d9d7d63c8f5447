"""`augrecipes verify`: whether the optimiser's plan is the recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import STDOUT, Json, answer, renamed
from augrecipes.cli.folders import Data, Words, sources
from augrecipes.cli.options import Masks, Mode, Recipe, Seed, Set, Without, here, one_of, overrides
from augrecipes.cli.progress import progress
from augrecipes.cli.terminal import complain, paint, say, say_line

if TYPE_CHECKING:
    from augrecipes.flow import Dtype
    from augrecipes.verify import Figure, SampleRef, Verification

_DTYPES: dict[str, tuple[Dtype, ...]] = {
    "uint8": ("uint8",),
    "float32": ("float32",),
    "both": ("uint8", "float32"),
}
_LISTED = 6  # samples left out that are named
_SHARES = {"displacement": "compared"}  # what a law's share of pixels counts; else those that differ


def verify(
    recipe: Recipe,
    words: Words = None,
    data: Data = None,
    optimize: Annotated[
        str, typer.Option("--optimize", metavar="exact|fast", help="The plan that is checked against none.")
    ] = "fast",
    samples: Annotated[int, typer.Option("--samples", min=1, help="Samples of an epoch, spread over the data.")] = 64,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="How often, with new draws.")] = 1,
    seed: Seed = 0,
    mode: Mode = "train",
    masks: Masks = None,
    dtype: Annotated[
        str,
        typer.Option("--dtype", metavar="uint8|float32|both", help="Of the images that go in; each has its own plan."),
    ] = "both",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", parser=here, metavar="FILE", help="Draw the worst three samples as PNG or JPEG."),
    ] = None,
    json_: Json = None,
    format_: Annotated[str | None, typer.Option("--format", metavar="text|json", hidden=True)] = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Run a recipe as written and as the optimiser plans it, with the same draws, and measure how they differ.

    \b
    Examples:
      augrecipes verify stained-tissue tiles/
      augrecipes verify my.yaml photos/ --samples 500 --epochs 3 -o worst.png
      augrecipes verify sr-x4 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X4

    Where the plan merges no resampling, pictures are compared value by value. Where it does, coordinate ramps say where
    each pixel comes from, and band-limited and real pictures how near the result is to the truth.

    Exit status: 0 every contract holds, 1 a contract is broken or a lint error, 2 a recipe or data that cannot be used.
    """
    section = one_of(mode, ("train", "eval"), "--mode")
    chosen = one_of(optimize, ("none", "exact", "fast"), "--optimize")
    dtypes = _DTYPES[one_of(dtype, tuple(_DTYPES), "--dtype")]
    if one_of(format_, ("text", "json"), "--format") == "json":
        renamed("--format json", "--json")
        json_ = json_ or STDOUT
    changes = overrides(set_)
    given = sources(recipe, words, data)
    from augrecipes.errors import DataError
    from augrecipes.recipe import load
    from augrecipes.verify import checked_path, render_worst, save_worst
    from augrecipes.verify import verify as check

    if out is not None:
        checked_path(out)
    loaded = load(recipe, overrides=changes, without=without or ())
    with progress("comparing") as advance:
        found = check(
            loaded, given, mode=section, optimize=chosen, seed=seed, samples=samples, epochs=epochs, masks=masks,
            dtypes=dtypes, progress=advance,
        )  # fmt: skip
    written = None
    if out is not None:
        try:
            written = save_worst(render_worst(found, given, masks=masks), out)
        except DataError as error:  # the figures are worth more than their picture
            complain(error)
    lines = _replay(found, _loading(recipe, changes, without), given, masks)
    report = _as_json(found, "; ".join(lines)) | ({} if written is None else {"picture": str(written)})
    answer(report, json_, lambda: _print(found, lines, epochs, written))
    if not found.ok:
        raise typer.Exit(1)


def _print(found: Verification, lines: Sequence[str], epochs: int, written: Path | None) -> None:
    import sys

    from augrecipes.cli.aligned import table
    from augrecipes.cli.tables import render
    from augrecipes.verify import LAWS

    rounds = f"{epochs} epochs, " if epochs > 1 else ""
    report: dict[str, Any] = {
        "recipe": f"{found.recipe.name} · {found.mode}",
        "compared": f"{found.optimize} against none · {found.samples} samples, {rounds}seed {found.seed}",
        "images": ", ".join(found.promises),
        "contract": _contract(found),
    }
    say(render(report))
    say()
    rows, laws = [_row(figure) for figure in found.figures], {figure.law for figure in found.figures}
    headings = [*rows[0]] if rows else []
    for line in table("Measured", headings, [[*row.values()] for row in rows], left=range(len(headings)), keys=3):
        say(line)
    say()
    say(render({"what each law measures": [{"law": law, "": text} for law, (_, text) in LAWS.items() if law in laws]}))
    say()
    for error in found.left_out[:_LISTED]:
        say_line(f"left out: {error}")
    if len(found.left_out) > _LISTED:
        say(f"left out: {len(found.left_out) - _LISTED} more")
    for figure in found.warned:
        of = f"{figure.warned} of {figure.samples} samples"
        text = f"{figure.law} of {figure.target}, {figure.dtype}: over its goal in {of}"
        say(f"{paint('warning:', 'warning', sys.stdout)} {text}")
    for figure in found.broken:
        of = f"{figure.broken} of {figure.samples} samples"
        text = f"{figure.law} of {figure.target}, {figure.dtype}: {of}; {LAWS[figure.law][1]}"
        say(f"{paint('broken:', 'error', sys.stdout)} {text}")
    if found.ok:
        say(paint(f"every contract holds on {found.samples} samples", "good", sys.stdout))
    say("the worst sample again:")
    for statement in lines:
        say(statement, wrap=False)
    if written is not None:
        say_line(written)


def _contract(found: Verification) -> str:
    """The promise and its rules; that of each dtype, where they differ."""
    lines = {}
    for dtype, promise in found.promises.items():
        names = dict.fromkeys(promise.rules)
        lines[dtype] = f"{promise} · {', '.join(names)}" if names else f"{promise} · no rule fired"
    if len(set(lines.values())) == 1:
        return next(iter(lines.values()))
    return "; ".join(f"{dtype} {text}" for dtype, text in lines.items())


def _row(figure: Figure) -> dict[str, str]:
    from augrecipes.verify import GOALS, LAWS, number

    share = "" if figure.share is None else f"{100 * figure.share:.3g} % {_SHARES.get(figure.law, 'differ')}"
    goal = GOALS.get(figure.law)
    limit = f"goal {goal:g}" if goal else "–" if figure.limit is None else f"{figure.limit:.3g}"
    # Where all samples are alike, none is the worst.
    place = figure.where if figure.worst else None
    return {
        "target": figure.target,
        "law": figure.law,
        "images": figure.dtype,
        "allowed": limit,
        "worst": number(figure.worst),
        "mean": number(figure.mean),
        "unit": LAWS[figure.law][0],
        "pixels": share,
        "worst sample": "" if place is None else _where(place),
        "file": "" if place is None else Path(place.path).name,
    }


def _where(place: SampleRef | None) -> str:
    """Index, tile and epoch."""
    if place is None:
        return ""
    tile = f", tile {place.tile}" if place.tile else ""
    return f"index {place.index}{tile}, epoch {place.epoch}"


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
        "rules": list(found.promise.rules),
        "ok": found.ok,
        "figures": [_finite(asdict(figure)) for figure in found.figures],
        "worst": [_finite(asdict(worst)) for worst in found.worst],
        "left_out": [str(error) for error in found.left_out],
        "replay": line,
    }


def _finite(value: Any) -> Any:
    """JSON knows no infinity: it becomes text."""
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and value - value != 0 else value


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
