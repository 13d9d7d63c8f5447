"""`augrecipes pack --engine`: the parts of a packing on a Ray cluster, or as a script for Slurm."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from augrecipes.errors import DataError
from augrecipes.masked import masked

if TYPE_CHECKING:
    from augrecipes.pack.packing import Packing

ENGINES = ("ray", "slurm")
_MOST = 64  # parts of an array of jobs, where nobody says how many
_SOME = 1_000  # rows that are worth a job


# What an engine cannot take along, by the options' names; all else it takes, or it has no meaning there.
_ALL_PARTS = "an engine packs all parts: leave --part out"
_REFUSED: dict[str | None, dict[str, str]] = {
    None: {"address": "goes with --engine ray", "parts": "goes with --engine; --part 1/8 packs one of eight"},
    "ray": {"part": _ALL_PARTS, "workers": "parts are tasks of one core each: --parts says how many"},
    "slurm": {
        "part": _ALL_PARTS,
        "address": "goes with --engine ray",
        "json_": "what is printed is a script; with --dry-run it is what would be packed",
    },
}
_OF_MERGE = ("merge", "out", "shard_size", "json_")


def given(ctx: typer.Context) -> dict[str, str]:
    """What was given to a command, by parameter: an option as it is called, an argument as it was written."""
    names = {}
    for one in ctx.command.params:
        source = ctx.get_parameter_source(one.name or "")
        if one.name is not None and source is not None and source.name == "COMMANDLINE":
            is_option = one.opts[0].startswith("-")
            names[one.name] = max(one.opts, key=len) if is_option else str(ctx.params[one.name])
    return names


def check_engine(engine: str | None, names: Mapping[str, str]) -> None:
    """BadParameter for options that an engine cannot take along; `names` are those of `given`."""
    for name, why in _REFUSED[engine].items():
        if name in names and not (name == "json_" and "dry_run" in names):
            raise typer.BadParameter(why, param_hint=names[name])


def clash_of_merge(names: Mapping[str, str]) -> str | None:
    """The first of what was given that belongs to packing and not to merging."""
    return next((called for name, called in names.items() if name not in _OF_MERGE), None)


def script_of(
    packing: Packing,
    recipe: str,
    data: Sequence[str],
    options: Mapping[str, Any],
    parts: int | None,
    workers: int | None = None,
) -> str:
    """The script for Slurm.

    Args:
        packing: that was prepared.
        recipe: as it was given.
        data: the same.
        options: by their names; None, and an empty list, are those that were not given.
        parts: how many; None: one for every thousand pictures, at most 64.
        workers: processes of each; None: as many as its job has cores.

    Raises:
        StoreError: there is a store already.
        DataError: an address has a password in it.
    """
    from augrecipes.pack.on_slurm import slurm_script
    from augrecipes.pack.write import refuse_published

    for word in (*data, str(packing.out)):
        if masked(word) != word:
            raise DataError("would stand in a script: say who you are where its driver looks for it", word)
    refuse_published(packing.out)
    said = [f"--data={word}" for word in data]
    for name, value in options.items():
        said += [f"{name}={one}" for one in (value if isinstance(value, list) else [value]) if one is not None]
    units = packing.rows // packing.plan.times
    of = max(1, min(units, parts or min(_MOST, -(-packing.rows // _SOME))))
    about = f"{packing.plan.recipe.name}: {units:,} {packing.plan.recipe.facts.unit}s, in {of} parts"
    program, shard_size = [sys.executable, "-m", "augrecipes"], options.get("--shard-size")
    return slurm_script(about, os.getcwd(), program, [recipe, *said], str(packing.out), of, shard_size, workers)  # noqa: PTH109
