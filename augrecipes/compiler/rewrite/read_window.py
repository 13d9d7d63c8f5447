"""What the first steps cut off need not be read: the drawn window goes to the decoder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from augrecipes.compiler.rewrite.rule import (
    INTO_SINK,
    JOINED_CROPS,
    JOINED_WARPS,
    READS,
    WINDOW_READ,
    Edit,
    Rule,
    Steps,
    join,
    kind_of,
)
from augrecipes.flow import Flow
from augrecipes.ops.capabilities import capability
from augrecipes.recipe.model import Arguments, Step


def _cuts(step: Step) -> bool:
    record = capability(step.name)
    return kind_of(step) == "window" or (record is not None and record.windowed)


def _leading(steps: Steps) -> int:
    """How many of the first steps are turns and windows, up to the last window, or to a window that is scaled."""
    stop = 0
    for place, step in enumerate(steps):
        if step.steps or not (_cuts(step) or kind_of(step) in ("dihedral", "identity")):
            break
        if _cuts(step):
            stop = place + 1
            if kind_of(step) == "warp":
                break
    return stop


def _rewrite(steps: Steps, flow: Flow) -> Iterable[Edit]:
    if not flow.encoded or not steps or READS in steps[0].args:
        return []
    first = steps[0]
    if first.name in (JOINED_WARPS, JOINED_CROPS) or (first.name == INTO_SINK and any(map(_cuts, first.steps))):
        reader, count = first, 1
    elif count := _leading(steps):
        reader = join(WINDOW_READ, steps[:count])
    else:
        return []
    return [Edit(0, count, (replace(reader, args=Arguments({**reader.args, READS: True})),))]


RULE = Rule(
    name="read_window",
    equation="Window · Decode = Decode(window)   of pictures that come as files",
    contract="EXACT",
    fires="[HorizontalFlip, {RandomResizedCrop: {size: [20, 20]}}, Blur]",
    leaves="[Blur, {RandomCrop: {height: 16, width: 16}}, Blur]",
    rewrite=_rewrite,
)
