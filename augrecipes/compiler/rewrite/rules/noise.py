"""Noise comes from our own counter-based generator: no array of numbers, and the same bits on every processor.

It also draws smooth fields of displacements on a coarse grid, so that no noise is made for every pixel.
"""

from collections.abc import Iterable

from augrecipes.compiler.rewrite.nodes import CounterNoiseStep, Steps, as_kind, is_single
from augrecipes.compiler.rewrite.rule import Edit, obstacles_from, rule
from augrecipes.flow import Flow
from augrecipes.ops.registry import record_of


def _counter_noise(steps: Steps, flow: Flow, *, moves: bool) -> Iterable[Edit]:
    """Let single steps take their noise from our own generator: those that move pixels (`moves`), or the others."""
    obstacles = obstacles_from(steps, flow, "GEOMETRY" if moves else "DISTRIBUTION")
    for place, step in enumerate(steps):
        if not is_single(step) or isinstance(step, CounterNoiseStep) or step.p == 0 or obstacles[place + 1] is not None:
            continue
        record = record_of(step)
        if record.moves == moves and record.own_noise and flow.dtype == "uint8":
            yield Edit(place, place + 1, (as_kind(step, CounterNoiseStep),))


@rule(
    "DISTRIBUTION", fires="[{GaussNoise: {p: 1.0}}]", leaves="[{AdditiveNoise: {spatial_mode: constant}}]", singly=True
)
def own_noise(steps: Steps, flow: Flow) -> Iterable[Edit]:
    """Noise(OpenCV's or numpy's generator) ~ Noise(hash of sample, step and pixel)"""
    return _counter_noise(steps, flow, moves=False)


@rule("DISTRIBUTION", fires="[{ElasticTransform: {p: 1.0}}]", leaves="[{ElasticTransform: {sigma: 3}}]", singly=True)
def coarse_fields(steps: Steps, flow: Flow) -> Iterable[Edit]:
    """blur(noise of every pixel) ~ spline(blur(noise on a grid))"""
    return _counter_noise(steps, flow, moves=True)
