"""`augrecipes pack --engine`: which options go with it, and which with --merge."""

from __future__ import annotations

from collections.abc import Mapping

import typer

ENGINES = ("ray",)

# What an engine cannot take along, by the options' names; all else it takes, or it has no meaning there.
_ALL_PARTS = "an engine packs all parts: leave --part out"
_REFUSED: dict[str | None, dict[str, str]] = {
    None: {"address": "goes with --engine ray", "parts": "goes with --engine; --part 1/8 packs one of eight"},
    "ray": {"part": _ALL_PARTS, "workers": "parts are tasks of one core each: --parts says how many"},
}
_OF_MERGE = ("merge", "json_")


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
