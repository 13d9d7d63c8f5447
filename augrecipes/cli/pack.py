"""`augrecipes pack`: run a recipe's first steps once, and keep the images in a packed dataset."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import STDOUT, Json, answer
from augrecipes.cli.arguments import Data, Masks, Section, Seed, Set, Without, Words, sources
from augrecipes.cli.options import choice, loaded, option, refusal
from augrecipes.cli.terminal import in_bytes, listed, paint, progress, say, show

if TYPE_CHECKING:
    from augrecipes.packing.plan import Packing
    from augrecipes.remote import RemotePath
    from augrecipes.sources.packed_columns import Unreadable

_LISTED = 6  # inputs that are named
# What does not go with an engine, or without one, by parameter.
_REFUSED: dict[str | None, dict[str, str]] = {
    None: {"address": "goes with --engine ray", "parts": "goes with --engine; --part 1/8 packs one of eight"},
    "ray": {
        "part": "an engine packs all parts: leave --part out",
        "workers": "parts are tasks of one core each: --parts says how many",
    },
}


def pack(
    ctx: typer.Context,
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="A recipe file, or a name of the gallery.")
    ] = None,
    words: Words = None,
    data: Data = None,
    format_: Annotated[
        str, choice("--format", "raw|lossless|jpeg", "raw: mapped; lossless: as small as PNG; jpeg: small.")
    ] = "raw",
    quality: Annotated[
        int | None,
        option("--quality", None, "Of --format jpeg; else JPEGs stay as they are where they can.", min=1, max=100),
    ] = None,
    mode: Annotated[
        Section | None, choice("--mode", "train|eval", "For one section alone; else the store serves both.")
    ] = None,
    epochs: Annotated[int | None, option("--epochs", "K", "Bake K epochs of the random steps, too.", min=1)] = None,
    through: Annotated[str | None, option("--through", "STEP", "The last step to bake, such as Rotate#1.")] = None,
    seed: Seed = 0,
    masks: Masks = None,
    split: Annotated[str | None, option("--split", None, "Of a CSV file: the rows of this split.")] = None,
    workers: Annotated[
        int | None, option("--workers", "N", "Processes; by default one a core, 0: none.", min=0)
    ] = None,
    on_error: Annotated[str, choice("--on-error", "skip|raise", "skip: list unreadable inputs and go on.")] = "skip",
    out: Annotated[str | None, option("--out -o", "STORE", "The store: a folder that is made, or s3://….")] = None,
    part: Annotated[str | None, option("--part", "I/N", "One of N parts, into a folder of its own in --out.")] = None,
    merge: Annotated[
        str | None, option("--merge", "DIR", "Make one store of the parts in DIR, where they are.")
    ] = None,
    shard_size: Annotated[
        str | None, option("--shard-size", "SIZE", "The largest file of a store: 2G; else 512M.")
    ] = None,
    engine: Annotated[str | None, choice("--engine", "ray", "All parts on a Ray cluster.")] = None,
    address: Annotated[str | None, option("--address", "ADDRESS", "Of a Ray cluster, such as auto.")] = None,
    parts: Annotated[int | None, option("--parts", "N", "How many, with --engine.", min=1)] = None,
    dry_run: Annotated[bool, option("--dry-run", None, "Say what would be baked, and how large it is.")] = False,
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Run the first steps of a recipe over all the data, once, and keep the images in a packed dataset for ar.Packed.

    \b
    Examples:
      augrecipes pack folder-128 photos/ --out photos-128
      augrecipes pack sr-x2 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X2 --out div2k
      augrecipes pack stained-tissue tiles/ --out v8 --epochs 8 --through Rotate#1
      augrecipes pack folder-128 photos/ --out parts --part 3/8
      augrecipes pack --merge parts
      augrecipes pack folder-128 photos/ --out photos-128 --engine ray
      augrecipes pack folder-128 s3://shop/in --out s3://shop/out --shard-size 1G

    Without --epochs only leading deterministic steps are baked. An interrupted run goes on behind its last whole
    file when the same command is given again.

    Parts are packed on any machine, in any order. Merged they stay where they are, and their folder becomes a store.

    Exit status: 0 all is packed, 1 packed but for inputs that are unreadable (they are listed), or a lint error, 2 a
    recipe, data or store that cannot be used, 130 interrupted.
    """
    names = _given(ctx)
    if merge is not None:
        _merge(merge, json_, names)
        return
    for name, why in _REFUSED[engine].items():
        if name in names:
            raise refusal(why, names[name])
    if recipe is None:
        raise refusal("which recipe? Give one, or --merge DIR", "RECIPE")
    if out is None:
        raise refusal("where to? Give a folder that is made", "--out")
    found = sources(recipe, words, data)
    _import_albumentations()
    from augrecipes.packing.ray import write_on_ray
    from augrecipes.packing.run import prepare, write

    packing = prepare(
        loaded(recipe, set_, without), found, out, format=format_, quality=quality, mode=mode, epochs=epochs,
        through=through, seed=seed, masks=masks, split=split, on_error=on_error, part=part, shard_size=shard_size,
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
                packing = write_on_ray(packing, address=address, parts=parts, on_error=on_error, advance=advance)
            else:
                packing = write(packing, workers, on_error, advance)
    except KeyboardInterrupt:
        say("interrupted; the files that are whole are kept: the same command goes on behind them", err=True)
        raise typer.Exit(130) from None
    seconds = time.monotonic() - start
    how = "there already, of the same recipe and files" if there else f"packed in {seconds:.0f} s"
    done = f"{how}, {in_bytes(_size(packing.place))}"
    store = packing.out if packing.part is None else None
    lost = bool(packing.unreadable or packing.given.left_out)
    answer(_as_json(packing, seconds), json_, lambda: _tell(packing.unreadable, done, store), status=int(lost))


def _given(ctx: typer.Context) -> dict[str, str]:
    """What was given to a command, by parameter: an option as it is called, an argument as it was written."""
    names = {}
    for one in ctx.command.params:
        name, called = one.name or "", max(one.opts, key=len)
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            names[name] = called if called.startswith("-") else str(ctx.params[name])
    return names


def _import_albumentations() -> None:
    """Before anything else imports it, and without torch."""
    from augrecipes.compat.guard import albumentations, without_torch

    without_torch()
    albumentations()


def _merge(folder: str, json_: Json, names: Mapping[str, str]) -> None:
    """Make a store of the folder that parts are in, with nothing else that was given; `names`: see `_given`."""
    clash = next((called for name, called in names.items() if name not in ("merge", "json_")), None)
    if clash == "--out":
        what = f"parts become a store where they are: leave it out, and move {folder} when that is done"
        raise refusal(what, "--out")
    if clash is not None:
        raise refusal(f"takes parts as they are, without {clash!r}", "--merge")
    _import_albumentations()
    from augrecipes.packing.parts import merge_parts

    start = time.monotonic()
    merged = merge_parts(folder)
    size = _size(merged.out)
    found = {
        "store": str(merged.out),
        "parts": merged.parts,
        "rows": merged.rows,
        "bytes": size,
        "unreadable": merged.unreadable,
        "seconds": time.monotonic() - start,
    }
    done = f"{merged.parts} parts are one store, {merged.out}: {merged.rows:,} rows, {in_bytes(size)}"
    lost = bool(merged.unreadable)
    answer(found, json_, lambda: _tell(merged.unreadable, done, merged.out), status=int(lost))


def _tell(unreadable: Sequence[Unreadable], done: str, store: Path | RemotePath | None) -> None:
    """Say what is done, and which inputs were unreadable; the index of a `store` lists all, that of a part none."""
    lost = [*dict.fromkeys(f"{one.path}: {one.reason}" for one in unreadable)]  # once, not once an epoch
    say(f"{done}; unreadable inputs: {len(lost):,}" if lost else paint(done, "good", sys.stdout))
    where = "--json lists them all" if store is None else f"all listed in {store / 'index.json'}"
    listed("unreadable: ", lost, _LISTED, f"more, {where}")


def _size(store: Path | RemotePath) -> int:
    """The bytes of a store, on disk or elsewhere."""
    if not isinstance(store, Path):
        return sum(store.files().values())
    return sum(file.stat().st_size for file in store.rglob("*") if file.is_file())


def _as_json(packing: Packing, seconds: float | None = None) -> dict[str, Any]:
    """What is, or was, packed; `seconds` where it was."""
    plan = packing.plan
    return {
        "recipe": plan.recipe.name,
        "modes": plan.serves,
        "baked": plan.lines(),
        "because": plan.why,
        "digest": plan.about()["digest"],
        "store": str(packing.place),
        "format": packing.baker.format,
        "rows": len(packing.mine),
        "part": packing.part,
        "epochs": plan.epochs,
        "bytes": packing.expected if seconds is None else _size(packing.place),
        "notes": packing.given.notes,
        "left_out": packing.given.left_out,
        "unreadable": packing.unreadable,
        "seconds": seconds,
    }


def _describe(packing: Packing) -> None:
    from augrecipes.report import Report

    plan = packing.plan
    part = "" if packing.part is None else f"{len(packing.mine) // plan.times:,} of "
    units = f"{part}{packing.rows // plan.times:,} {plan.recipe.facts.unit}s"
    times = f", each {plan.epochs} times" if plan.epochs else ""
    kept = f"{packing.baker.format} · about {in_bytes(packing.expected)}"
    if isinstance(packing.out, Path):
        kept += f" of {in_bytes(shutil.disk_usage(packing.out.absolute().parent).free)} free"
    facts = {
        "recipe": f"{plan.recipe.name} · for {' and '.join(plan.serves)}",
        "baked": " → ".join(plan.lines()) or "nothing",
        "because": plan.why,
        "digest": plan.about()["digest"][:12],
        "data": units + times,
        "store": f"{packing.place} · {kept}",
    }
    show(Report(facts))
    listed("note: ", packing.given.notes, len(packing.given.notes))
    listed("left out: ", packing.given.left_out, _LISTED)
