"""Hints: what would make samples come faster, with the gain: packing where files bind, `fast` where it wins."""

from __future__ import annotations

from dataclasses import replace

from augrecipes.bench.compare import differs, interval
from augrecipes.bench.measure import in_turns, ratio, size_for
from augrecipes.bench.record import SideRecord
from augrecipes.bench.sides import Setting, Side, compiled, with_pipeline, work_of
from augrecipes.compiler.prefix import leading, shared
from augrecipes.compiler.rewrite.rule import Firing
from augrecipes.progress import Progress
from augrecipes.recipe import gallery
from augrecipes.recipe.model import Recipe
from augrecipes.sources.opening import words_of

_BINDING = 0.5  # share of a sample's time from which reading and decoding are what to do something about
_SHORTEST = 2.0  # seconds of both sides that `fast` is tried for at most


def packing(found: SideRecord, recipe: Recipe, setting: Setting) -> str:
    """That the data should be packed, and what that would bring at most; empty where something else binds.

    Args:
        found: a side that was measured.
        recipe: of it.
        setting: of it.
    """
    whole = sum(stage.ms for stage in found.stages)
    files = sum(stage.ms for stage in found.stages if stage.kind in ("read", "decode"))
    if setting.stored or not whole or files < _BINDING * whole:
        return ""
    count = shared(recipe) if setting.mode == "train" else leading(recipe.section(setting.mode) or ())
    baked = {leaf.site for step in (recipe.section(setting.mode) or ())[:count] for leaf in step.walk()}
    done = sum(stage.ms for stage in found.stages if stage.kind == "step" and _labels(stage.name) <= baked)
    left = max(whole - files - done, 0.001 * whole)
    return (
        f"pack it: {files / whole:.0%} of the time goes into reading and decoding files, which a packed store leaves "
        f"out: up to {whole / left:.1f} times as fast; augrecipes pack {_named(recipe)} "
        f"{words_of(setting.data, '--data ')} --out STORE"
    ).replace("%", " %")


def _labels(stage: str) -> set[str]:
    """The steps that a stage stands for.

    >>> sorted(_labels("JoinedWarps(A#1 + B#1)")), _labels("Resize#1")
    (['A#1', 'B#1'], {'Resize#1'})
    """
    return set(stage.rpartition("(")[2].rstrip(")").split(" + "))


def _named(recipe: Recipe) -> str:
    """The recipe as the command line takes it."""
    return recipe.name if recipe.name in gallery.gallery_names() else recipe.file or recipe.name


def quicker(side: Side, setting: Setting, batch_size: int, seconds: float, progress: Progress | None = None) -> str:
    """That `fast` wins, with the measured ratio; empty where it does not, or where it has nothing to add.

    Args:
        side: a recipe at the setting that it chooses.
        setting: of it.
        batch_size: samples in a batch.
        seconds: for each of the two, at most.
        progress: called with (rounds done, rounds).
    """
    if side.optimize not in ("none", "exact"):
        return ""
    pipeline = compiled(side.source, setting, "fast")
    plans = pipeline.compiled.plans.values()
    if not any(_changes(firing) for plan in plans for firing in plan.fired):
        return ""
    fast = replace(side, optimize="fast", dataset=with_pipeline(side.dataset, pipeline))
    works = [work_of(side, batch_size), work_of(fast, batch_size)]
    in_turns(works, 1, 1)
    once = in_turns(works, 1, 1)
    size = size_for(2 * min(seconds, _SHORTEST), float(once.wall.sum()), -(-len(side.dataset) // batch_size))
    times = in_turns(works, size.rounds, size.batches, progress).wall
    found = ratio(times[0], times[1])
    if not differs(found) or found.low <= 1:
        return ""
    return (
        f"`optimize: fast` is {interval(found.low, found.high)} times as fast as `{side.optimize}`; "
        "augrecipes verify shows what it changes"
    )


def _changes(firing: Firing) -> bool:
    """Whether a rule fired that `exact` does not have."""
    return firing.contract != "EXACT"
