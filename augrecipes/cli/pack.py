"""Packed datasets: `pack` makes them, `verify-store` checks them; `cache` shows or clears the caches."""

from __future__ import annotations

import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augrecipes.cache import CACHES, Cache, cache_folder
from augrecipes.cli.arguments import load_recipe, pick, sources
from augrecipes.cli.commands import BY_NAME
from augrecipes.cli.parsing import refusal
from augrecipes.cli.terminal import STDOUT, answer, good, in_bytes, paint, progress, say, say_line, say_lines, show
from augrecipes.errors import StoreError, counted

if TYPE_CHECKING:
    from augrecipes.packing.plan import Packing
    from augrecipes.remote import RemotePath
    from augrecipes.sources.packed_columns import Unreadable
    from augrecipes.store import Fault

_LISTED, _MOST_FAULTS = 6, 20  # unreadable inputs, and faults of a packed dataset, that are named
_WHAT = "a folder made by `augrecipes pack`"
# Arguments that do not go with an engine, or without one, and why.
_REFUSED: dict[str | None, dict[str, str]] = {
    None: {"address": "goes with --engine ray", "parts": "goes with --engine; --part 1/8 packs one of eight"},
    "ray": {
        "part": "an engine packs all parts: leave --part out",
        "workers": "parts are tasks of one core each: --parts says how many",
    },
}


def pack(args: Namespace) -> None:
    """Run the first steps of a recipe once over all the data, and keep the images in a packed dataset for ar.Packed.

    \b
    Examples:
      augrecipes pack folder-128 photos/ --out photos-128
      augrecipes pack sr-x2 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X2 --out div2k
      augrecipes pack stained-tissue tiles/ --out v8 --epochs 8
      augrecipes pack folder-128 photos/ --out parts --part 3/8
      augrecipes pack --merge parts
      augrecipes pack folder-128 photos/ --out photos-128 --engine ray
      augrecipes pack folder-128 s3://shop/in --out s3://shop/out --shard-size 1G

    Without --epochs, only the leading deterministic steps are baked. To resume after an interruption, give the same
    command again: complete files are kept.

    Parts may be packed on any machine, in any order. --merge leaves them in place and makes their folder a store.

    Exit status: 0 all is packed, 1 some inputs are unreadable (they are listed) or the recipe has a lint error, 2 a
    recipe, data or store that cannot be used, 130 interrupted.
    """
    changed = _changed_options(args)
    if args.merge is not None:
        _merge(args, changed)
        return
    for name, why in _REFUSED[args.engine].items():
        if name in changed:
            raise refusal(why, changed[name])
    if args.recipe is None:
        raise refusal("which recipe? Give a file or a name of the gallery, or --merge DIR", "RECIPE")
    if args.out is None:
        raise refusal("where to? Give the folder to make", "--out")
    data = sources(args)
    _import_albumentations()
    from augrecipes.packing.ray import write_on_ray
    from augrecipes.packing.run import prepare, write

    how = pick(args, "format quality mode epochs seed masks split on_error part shard_size")
    packing = prepare(load_recipe(args), data, args.out, **how)
    if args.json != STDOUT:
        _describe(packing)
    if args.dry_run:
        answer(args, _as_json(packing), lambda: None)
        return
    start, existed = time.monotonic(), packing.part is not None and packing.place.exists()
    try:
        with progress("packing") as advance:
            if args.engine == "ray":
                packing = write_on_ray(packing, **pick(args, "address parts on_error"), advance=advance)
            else:
                packing = write(packing, args.workers, args.on_error, advance)
    except KeyboardInterrupt:
        say("interrupted; complete files are kept: give the same command again to go on", err=True)
        raise
    seconds = time.monotonic() - start
    how_long = "there already, of the same recipe and files" if existed else f"packed in {seconds:.0f} s"
    done = f"{how_long}, {in_bytes(_size(packing.place))}"
    store = packing.out if packing.part is None else None
    failed = bool(packing.unreadable or packing.given.left_out)
    answer(args, _as_json(packing, seconds), lambda: _tell(packing.unreadable, done, store), status=int(failed))


def _changed_options(args: Namespace) -> dict[str, str]:
    """Return the arguments that differ from their defaults: by name the option, or the word, as the user wrote it."""
    bare, names = BY_NAME["pack"].read([]), {}
    for (label, *_), _ in BY_NAME["pack"].arguments:
        name = label.lstrip("-").replace("-", "_")
        if (value := getattr(args, name)) != getattr(bare, name):
            names[name] = label if label.startswith("-") else str(value)
    return names


def _import_albumentations() -> None:
    """Import albumentations before anything else does, and without torch."""
    from augrecipes.compat.guard import albumentations, without_torch

    without_torch()
    albumentations()


def _merge(args: Namespace, changed: Mapping[str, str]) -> None:
    """Merge the parts in a folder; UsageError where `changed`, see `_changed_options`, holds other arguments."""
    clash = next((label for name, label in changed.items() if name not in ("merge", "json")), None)
    if clash == "--out":
        what = f"parts become a store where they are: leave it out, and move {args.merge} when that is done"
        raise refusal(what, "--out")
    if clash is not None:
        raise refusal(f"takes the parts as they are; leave {clash!r} out", "--merge")
    _import_albumentations()
    from augrecipes.packing.parts import merge_parts

    start = time.monotonic()
    merged = merge_parts(args.merge)
    size = _size(merged.out)
    report = {
        "store": str(merged.out),
        "parts": merged.parts,
        "rows": merged.rows,
        "bytes": size,
        "unreadable": merged.unreadable,
        "seconds": time.monotonic() - start,
    }
    done = f"{merged.parts} parts are one store, {merged.out}: {merged.rows:,} rows, {in_bytes(size)}"
    status = int(bool(merged.unreadable))
    answer(args, report, lambda: _tell(merged.unreadable, done, merged.out), status=status)


def _tell(unreadable: Sequence[Unreadable], done: str, store: Path | RemotePath | None) -> None:
    """Print what was done, and some unreadable inputs; the index of a `store`, but not of a part, lists all."""
    defects = [*dict.fromkeys(f"{each.path}: {each.reason}" for each in unreadable)]  # once, not once per epoch
    say(f"{done}; unreadable inputs: {len(defects):,}" if defects else paint(done, "good", sys.stdout))
    where = "--json lists them all" if store is None else f"all listed in {store / 'index.json'}"
    say_lines("unreadable: ", defects, _LISTED, f"more, {where}")


def _size(store: Path | RemotePath) -> int:
    """Return the bytes of a store, local or remote."""
    if not isinstance(store, Path):
        return sum(store.files().values())
    return sum(file.stat().st_size for file in store.rglob("*") if file.is_file())


def _as_json(packing: Packing, seconds: float | None = None) -> dict[str, Any]:
    """Return a packing as JSON; `seconds` once it is done."""
    plan = packing.plan
    return {
        "recipe": plan.recipe.name,
        "modes": plan.serves,
        "baked": plan.lines(),
        "because": plan.why,
        "digest": plan.about()["digest"],
        "store": str(packing.place),
        "format": packing.baker.format,
        "rows": len(packing.own_rows),
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
    part = "" if packing.part is None else f"{len(packing.own_rows) // plan.times:,} of "
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
    say_lines("note: ", packing.given.notes, len(packing.given.notes))
    say_lines("left out: ", packing.given.left_out, _LISTED)


def verify_store(args: Namespace) -> None:
    """Read a packed dataset from end to end and compare every byte with its checksums.

    \b
    Example:
      augrecipes verify-store photos-128

    Exit status: 0 every byte is as it was packed, 1 some bytes are not (their files are named), 2 no such store.
    """
    stores = [*args.words, *args.data]
    if len(stores) != 1:
        raise refusal("one store at a time; give one folder" if stores else f"which store? Give {_WHAT}", "STORE")
    from augrecipes.paths import address_of, local
    from augrecipes.store import is_store
    from augrecipes.store.verify import verify_store as faults_in

    store = address_of(stores[0]) or local(stores[0])
    if not is_store(store, damaged=True):
        raise StoreError(f"this is not a store; a store is {_WHAT}", stores[0])
    with progress("verifying") as advance:
        faults = faults_in(store, advance)
    answer(args, {"store": str(store), "faults": faults}, lambda: _tell_faults(faults), status=int(bool(faults)))


def _tell_faults(faults: Sequence[Fault]) -> None:
    rows = ("" if fault.row is None else f": row {fault.row} of {fault.target}" for fault in faults)
    say_lines("", [f"{fault.path}{row}: {fault.reason}" for fault, row in zip(faults, rows, strict=True)], _MOST_FAULTS)
    if faults:
        say(paint(f"{len(faults):,} damaged: pack the data again", "error", sys.stdout))
    else:
        good("every byte is as it was packed")


def cache(args: Namespace) -> None:
    """Show what your cache folder keeps from run to run, or clear it. Nothing is written beside your data.

    The folder is AUGRECIPES_CACHE, or lies in the system's cache folder. You may clear it at any time.

    \b
    Examples:
      augrecipes cache
      augrecipes cache --clear
      augrecipes cache --clear folders
    """
    by_name = {each.name: each for each in CACHES}
    for name in args.names:
        if name not in by_name:
            raise refusal(f"there is no cache {name!r}; there are {', '.join(by_name)}", "NAME")
    used = [_use(by_name[name], args.clear) for name in args.names or by_name]
    answer(args, used, lambda: _tell_use(used, args.clear))


def _use(cache: Cache, clear: bool) -> dict[str, Any]:
    """Return what a cache holds, or held before it was cleared: its files and their bytes."""
    files, size = cache.clear() if clear else (len(kept := [*cache.files()]), sum(file.size for file in kept))
    return {"cache": cache.name, "about": cache.about, "folder": str(cache.folder), "files": files, "bytes": size}


def _tell_use(used: list[dict[str, Any]], cleared: bool) -> None:
    from augrecipes.report import Report, TextTable

    say_line(cache_folder())
    say()
    rows = [(use["cache"], use["about"], f"{use['files']:,}", in_bytes(use["bytes"])) for use in used]
    show(Report(tables=[TextTable("", ("cache", "of", "files", "size"), rows, right=(2, 3))]))
    if cleared:
        say()
        files, size = (sum(use[key] for use in used) for key in ("files", "bytes"))
        good(f"cleared {counted(files, 'file')}, {in_bytes(size)}")
