"""Where the time of one plan goes: to its steps, class by class, to the output, and to what is beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import augrecipes as ar
from augrecipes.compiler.rewrite.nodes import Fused, opened
from augrecipes.compiler.run.clock import Clock, clocked
from augrecipes.compiler.run.instrument import SINK

REST = "rest"  # keys, checks, labels, copies, and the choices of groups
_TURNS = 3


def breakdown(recipe: ar.Recipe, optimize: Any, given: Sequence[dict[str, Any]], count: int) -> dict[str, float]:
    """Seconds that each class of steps takes of a sample; kernels of several steps by their own names.

    Args:
        recipe: of images.
        optimize: the setting of the optimiser.
        given: what the pipeline is called with, in turns.
        count: of samples, each of which is run several times; the quickest run counts.
    """
    pipeline, clock = recipe.compile(optimize=optimize, threads=1), Clock()
    clocked(pipeline, clock)
    nodes = [node for top in pipeline.compiled.plans[pipeline.arrival].steps for node in opened(top)]
    names = {node.site: node.kernel if isinstance(node, Fused) else node.name for node in nodes if not node.is_group}
    spent = Counter[str]()
    for index in range(count):
        runs = []
        for _ in range(_TURNS):
            with clock.stage(REST):
                pipeline.at(index)(**given[index % len(given)])
            runs.append(clock.take())
        for label, seconds in min(runs, key=lambda run: sum(run.values())).items():
            spent["sink" if label == SINK else names.get(label, REST)] += seconds
    return {what: seconds / count for what, seconds in spent.most_common()}


def shares(recipe: ar.Recipe, optimize: Any, given: Sequence[dict[str, Any]], count: int) -> dict[str, float]:
    """The same as shares of all of it."""
    found = breakdown(recipe, optimize, given, count)
    whole = sum(found.values())
    return {what: seconds / whole for what, seconds in found.items()}
