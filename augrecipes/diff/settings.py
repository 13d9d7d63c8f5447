"""What a recipe says beside its steps, as it takes effect, by its place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from augrecipes.diff.differences import Change
from augrecipes.diff.meaning import equal, plain
from augrecipes.recipe.model import Bag, Mode, Output, Recipe


def changes(a: Recipe, b: Recipe, modes: tuple[Mode, ...]) -> tuple[Change, ...]:
    """The settings that differ, in the order of `settings`.

    >>> [str(change.key) for change in changes(Recipe("a"), Recipe("b", output=Output(layout="hwc")), ("train",))]
    ['output.layout']
    """
    mine, other = settings(a, modes), settings(b, modes)
    if a.facts.scales and b.facts.scales and all(_one_output(each) for each in (mine, other)):
        mine["output"], other["output"] = (next(iter(each["output"].values())) for each in (mine, other))
    return tuple(compared(mine, other))


def _one_output(settings: Mapping[str, Any]) -> bool:
    """Whether all targets of a pair leave alike."""
    outputs = list(settings["output"].values())
    return all(equal(output, outputs[0]) for output in outputs)


def settings(recipe: Recipe, modes: tuple[Mode, ...]) -> dict[str, Any]:
    """Every setting with its default, nested as the file has it."""
    inputs = asdict(recipe.inputs)
    values: dict[str, Any] = {
        "kind": recipe.kind,
        "scales": dict(recipe.scales),
        "bag": asdict(recipe.bag or Bag()) if recipe.facts.tiles else {},
        "allow_resampling": recipe.allow_resampling,
        "inputs": {"image": {key: inputs.pop(key) for key in ("channels", "min_size")}, **inputs},
    }
    if recipe.facts.scales:
        values["output"] = {name: _output(recipe.outputs.get(name, recipe.output)) for name in recipe.scales}
    else:
        values["output"] = _output(recipe.output)
    if "eval" in modes:
        values["eval"] = "there" if recipe.eval is not None else None
    return values


def _output(output: Output) -> dict[str, Any]:
    """An output without what says nothing: normalised values have no range, and uint8 has one only."""
    values = asdict(output)
    if output.normalize is not None:
        values["range"] = None
    elif output.dtype == "uint8":
        values["range"] = (0, 255)
    return values


def compared(a: Mapping[str, Any], b: Mapping[str, Any], prefix: str = "") -> list[Change]:
    """The values that differ; mappings on both sides are looked into."""
    found = []
    for key in dict.fromkeys([*a, *b]):
        mine, other = a.get(key), b.get(key)
        if isinstance(mine, Mapping) and isinstance(other, Mapping) and key != "normalize":
            found += compared(mine, other, f"{prefix}{key}.")
        elif not equal(mine, other):
            found.append(Change(f"{prefix}{key}", plain(mine), plain(other)))
    return found
