"""`augrecipes pack`: carry out a recipe's first steps once, and keep the pictures in a store."""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import STDOUT, Json, answer
from augrecipes.cli.folders import Data, Words, sources
from augrecipes.cli.options import Masks, Seed, Set, Without, one_of, overrides
from augrecipes.cli.pack_engine import ENGINES, check_engine, clash_of_merge, given
from augrecipes.cli.pack_merge import in_bytes, merge_command, taken, tell_lost
from augrecipes.cli.progress import progress
from augrecipes.cli.terminal import say, say_line

if TYPE_CHECKING:
    from augrecipes.packing.plan import Packing

_LISTED = 6  # inputs left out that are named


def pack(
    ctx: typer.Context,
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="A recipe file, or a name of the gallery.")
    ] = None,
    words: Words = None,
    data: Data = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="raw|lossless|jpeg|hdf5",
            help="raw: mapped; lossless: as small as PNG; jpeg: small; hdf5: for others.",
        ),
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
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="STORE", help="The store: a folder that is made, or s3://….")
    ] = None,
    part: Annotated[
        str | None, typer.Option("--part", metavar="I/N", help="One of N parts, into a folder of its own in --out.")
    ] = None,
    merge: Annotated[
        str | None,
        typer.Option("--merge", metavar="DIR", help="Make one store of the parts in DIR, where they are."),
    ] = None,
    shard_size: Annotated[
        str | None, typer.Option("--shard-size", metavar="SIZE", help="The largest file of a store: 2G; else 512M.")
    ] = None,
    engine: Annotated[str | None, typer.Option("--engine", metavar="ray", help="All parts on a Ray cluster.")] = None,
    address: Annotated[
        str | None, typer.Option("--address", metavar="ADDRESS", help="Of a Ray cluster, such as auto.")
    ] = None,
    parts: Annotated[int | None, typer.Option("--parts", min=1, metavar="N", help="How many, with --engine.")] = None,
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
      augrecipes pack folder-128 photos/ --out parts --part 3/8
      augrecipes pack --merge parts
      augrecipes pack folder-128 photos/ --out photos-128 --engine ray
      augrecipes pack folder-128 s3://shop/in --out s3://shop/out --shard-size 1G

    Without --epochs only leading steps that draw nothing are baked. An interrupted run goes on behind its last whole
    file when the same command is given again.

    Parts are packed on any machine, in any order. Merged they stay where they are, and their folder becomes a store.

    Exit status: 0 all is packed, 1 packed but for inputs that are unreadable (they are listed), or a lint error, 2 a
    recipe, data or store that cannot be used, 130 interrupted.
    """
    form = one_of(format_, ("raw", "lossless", "jpeg", "hdf5"), "--format")
    section = one_of(mode, ("train", "eval"), "--mode")
    policy = one_of(on_error, ("skip", "raise"), "--on-error")
    one_of(engine, ENGINES, "--engine")
    names = given(ctx)
    if merge is not None:
        merge_command(merge, json_, clash_of_merge(names))
        return
    check_engine(engine, names)
    if recipe is None:
        raise typer.BadParameter("which recipe? Give one, or --merge DIR", param_hint="RECIPE")
    if out is None:
        raise typer.BadParameter("where to? Give a folder that is made", param_hint="--out")
    found = sources(recipe, words, data)
    from augrecipes.compat.guard import albumentations, without_torch

    without_torch()
    albumentations()  # before anything else imports it
    from augrecipes.packing.ray import write_on_ray
    from augrecipes.packing.run import prepare, write
    from augrecipes.recipe import load

    loaded = load(recipe, overrides=overrides(set_), without=tuple(without or ()))
    packing = prepare(
        loaded, found, out, format=form, quality=quality, mode=section, epochs=epochs, through=through, seed=seed,
        masks=masks, split=split, on_error=policy, part=part, shard_size=shard_size,
    )  # fmt: skip
    if json_ != STDOUT:
        _describe(packing)
    if dry_run:
        answer(_as_json(packing), json_, lambda: None)
        return
    start, there = time.monotonic(), packing.part is not None and packing.place.exists()
    try:
        with progress("packing") as advance:
            if engine == "ray":
                packing = write_on_ray(packing, address=address, parts=parts, on_error=policy, advance=advance)
            else:
                packing = write(packing, workers, policy, advance)
    except KeyboardInterrupt:
        say("interrupted; the files that are whole are kept: the same command goes on behind them", err=True)
        raise typer.Exit(130) from None
    seconds = time.monotonic() - start
    how = "there already, of the same recipe and files" if there else f"packed in {seconds:.0f} s"
    done = f"{how}, {in_bytes(taken(packing.place))}"
    listed = packing.out if packing.part is None else None
    answer(_as_json(packing, seconds), json_, lambda: tell_lost(packing.unreadable, done, listed))
    if packing.unreadable or packing.given.left_out:
        raise typer.Exit(1)


def _as_json(packing: Packing, seconds: float | None = None) -> dict[str, Any]:
    """What is, or was, packed; `seconds` where it was."""
    plan = packing.plan
    return {
        "recipe": plan.recipe.name,
        "modes": list(plan.serves),
        "baked": plan.lines(),
        "because": plan.why,
        "digest": plan.about()["digest"],
        "store": str(packing.place),
        "format": packing.baker.format,
        "rows": len(packing.mine),
        "part": None if packing.part is None else list(packing.part),
        "epochs": plan.epochs,
        "bytes": packing.expected if seconds is None else taken(packing.place),
        "notes": list(packing.given.notes),
        "left_out": list(packing.given.left_out),
        "unreadable": [asdict(one) for one in packing.unreadable],
        "seconds": seconds,
    }


def _describe(packing: Packing) -> None:
    from augrecipes.cli.tables import render

    plan = packing.plan
    units = f"{packing.rows // plan.times:,} {plan.recipe.facts.unit}s"
    if packing.part is not None:
        units = f"{len(packing.mine) // plan.times:,} of {units}"
    times = f", each {plan.epochs} times" if plan.epochs else ""
    kept = f"{packing.baker.format} · about {in_bytes(packing.expected)}"
    if isinstance(packing.out, Path):
        kept += f" of {in_bytes(shutil.disk_usage(packing.out.absolute().parent).free)} free"
    report = {
        "recipe": f"{plan.recipe.name} · for {' and '.join(plan.serves)}",
        "baked": " → ".join(plan.lines()) or "nothing",
        "because": plan.why,
        "digest": plan.about()["digest"],
        "data": units + times,
        "store": f"{packing.place} · {kept}",
    }
    say(render(report))
    for note in packing.given.notes:
        say_line(f"note: {note}")
    for what in packing.given.left_out[:_LISTED]:
        say_line(f"left out: {what}")
    if len(packing.given.left_out) > _LISTED:
        say(f"left out: {len(packing.given.left_out) - _LISTED} more")
