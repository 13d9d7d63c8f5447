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


def check_engine(engine: str | None, part: str | None, address: str | None, parts: int | None) -> None:
    """BadParameter for options that do not go together."""
    if engine is not None and part is not None:
        raise typer.BadParameter("an engine packs all parts: leave --part out", param_hint="--engine")
    if engine != "ray" and address is not None:
        raise typer.BadParameter("goes with --engine ray", param_hint="--address")
    if engine is None and parts is not None:
        raise typer.BadParameter("goes with --engine; --part 1/8 packs one of eight", param_hint="--parts")


def script_of(packing: Packing, recipe: str, data: Sequence[str], options: Mapping[str, Any], parts: int | None) -> str:
    """The script for Slurm.

    Args:
        packing: that was prepared.
        recipe: as it was given.
        data: the same.
        options: by their names; None, and an empty list, are those that were not given.
        parts: how many; None: one for every thousand pictures, at most 64.

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
    return slurm_script(about, os.getcwd(), program, [recipe, *said], str(packing.out), of, shard_size)  # noqa: PTH109
