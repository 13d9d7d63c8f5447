"""`augrecipes pack`: carry out a recipe's first steps once, and keep the pictures in a store."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import STDOUT, Json, answer
from augrecipes.cli.folders import Data, Words, sources
from augrecipes.cli.options import Masks, Recipe, Seed, Set, Without, one_of, overrides
from augrecipes.cli.progress import progress
from augrecipes.cli.terminal import paint, say, say_line

if TYPE_CHECKING:
    from augrecipes.pack.run import Packing

_LISTED = 6  # unreadable inputs that are named


def pack(
    recipe: Recipe,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="STORE", help="The store: a folder that is made.")],
    words: Words = None,
    data: Data = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="raw|jpeg|hdf5", help="raw: mapped; jpeg: small; hdf5: for others.")
    ] = "raw",
    quality: Annotated[
        int | None,
        typer.Option("--quality", min=1, max=100, help="Of --format jpeg; else JPEGs stay as they are where they can."),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option("--mode", metavar="train|eval", help="For one section alone; without it the store serves both."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, metavar="K", help="Bake K epochs of the steps that draw, too.")
    ] = None,
    through: Annotated[
        str | None, typer.Option("--through", metavar="STEP", help="The last step to bake, such as Rotate#1.")
    ] = None,
    seed: Seed = 0,
    masks: Masks = None,
    split: Annotated[str | None, typer.Option("--split", help="Of a CSV file: the rows of this split.")] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=0, metavar="N", help="Processes; by default one a core, 0: none.")
    ] = None,
    on_error: Annotated[
        str, typer.Option("--on-error", metavar="skip|raise", help="skip: list unreadable inputs and go on.")
    ] = "skip",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be baked, and how large it is.")] = False,
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Carry out the first steps of a recipe over all the data, once, and keep the pictures in a store for ar.Packed.

    \b
    Examples:
      augrecipes pack folder-128 photos/ --out photos-128
      augrecipes pack sr-x2 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X2 --out div2k
      augrecipes pack stained-tissue tiles/ --out v8 --epochs 8 --through Rotate#1

    Without --epochs only leading steps that draw nothing are baked. An interrupted run goes on where it was when the
    same command is given again.

    Exit status: 0 all is packed, 1 packed but for inputs that are unreadable (they are listed), or a lint error, 2 a
    recipe, data or store that cannot be used, 130 interrupted.
    """
    form = one_of(format_, ("raw", "jpeg", "hdf5"), "--format")
    section = one_of(mode, ("train", "eval"), "--mode")
    policy = one_of(on_error, ("skip", "raise"), "--on-error")
    given = sources(recipe, words, data)
    from augrecipes.compat.guard import albumentations, without_torch

    without_torch()
    albumentations()  # before anything else imports it
    from augrecipes.pack.run import prepare, write
    from augrecipes.recipe import load

    loaded = load(recipe, overrides=overrides(set_), without=tuple(without or ()))
    packing = prepare(
        loaded, given, out, format=form, quality=quality, mode=section, epochs=epochs, through=through, seed=seed,
        masks=masks, split=split, on_error=policy,
    )  # fmt: skip
    if json_ != STDOUT:
        _describe(packing)
    if dry_run:
        answer(_as_json(packing), json_, lambda: None)
        return
    start = time.monotonic()
    try:
        with progress("packing") as advance:
            packing = write(packing, workers, policy, advance)
    except KeyboardInterrupt:
        say("interrupted; what is done is kept: the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    seconds = time.monotonic() - start
    answer(_as_json(packing, seconds), json_, lambda: _report(packing, seconds))
    if packing.unreadable or packing.given.left_out:
        raise typer.Exit(1)


def _as_json(packing: Packing, seconds: float | None = None) -> dict[str, Any]:
    """What is, or was, packed; `seconds` where it was."""
    plan, size = packing.plan, packing.size
    return {
        "recipe": plan.recipe.name,
        "modes": list(plan.serves),
        "baked": plan.lines(),
        "because": plan.why,
        "digest": plan.about()["digest"],
        "store": str(packing.out),
        "format": packing.baker.format,
        "rows": packing.rows,
        "epochs": plan.epochs,
        "bytes": size.bytes if seconds is None else _taken(packing),
        "bytes_are_exact": size.exact or seconds is not None,
        "notes": list(packing.given.notes),
        "left_out": list(packing.given.left_out),
        "unreadable": [asdict(one) for one in packing.unreadable],
        "seconds": seconds,
    }


def _describe(packing: Packing) -> None:
    from augrecipes.cli.tables import render

    plan, size = packing.plan, packing.size
    units = f"{packing.rows // plan.times:,} {plan.recipe.facts.unit}s"
    times = f", each {plan.epochs} times" if plan.epochs else ""
    room = shutil.disk_usage(packing.out.absolute().parent).free
    kept = f"{packing.baker.format} · {'' if size.exact else 'about '}{_in_bytes(size.bytes)} of {_in_bytes(room)} free"
    report = {
        "recipe": f"{plan.recipe.name} · for {' and '.join(plan.serves)}",
        "baked": " → ".join(plan.lines()) or "nothing",
        "because": plan.why,
        "digest": plan.about()["digest"],
        "data": units + times,
        "store": f"{packing.out} · {kept}",
    }
    say(render(report))
    for note in packing.given.notes:
        say_line(f"note: {note}")
    for what in packing.given.left_out[:_LISTED]:
        say_line(f"left out: {what}")
    if len(packing.given.left_out) > _LISTED:
        say(f"left out: {len(packing.given.left_out) - _LISTED} more")


def _report(packing: Packing, seconds: float) -> None:
    lost = dict.fromkeys(f"{one.path}: {one.reason}" for one in packing.unreadable)  # once, not once an epoch
    done = f"packed in {seconds:.0f} s, {_in_bytes(_taken(packing))}"
    say(f"{done}; unreadable inputs: {len(lost):,}" if lost else paint(done, "good", sys.stdout))
    for what in list(lost)[:_LISTED]:
        say_line(f"unreadable: {what}")
    if len(lost) > _LISTED:
        say_line(f"unreadable: {len(lost) - _LISTED:,} more, all listed in {packing.out / 'index.json'}")


def _taken(packing: Packing) -> int:
    """The bytes of the store on disk."""
    return sum(file.stat().st_size for file in packing.out.iterdir())


def _in_bytes(count: int) -> str:
    """A number of bytes, in decimal units.

    >>> _in_bytes(512), _in_bytes(1_536_000), _in_bytes(12_300_000_000)
    ('512 B', '1.5 MB', '12 GB')
    """
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
