"""The page's charts as SVG files, for slides and papers: the stages, the worker curve, the parts of a training step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from augrecipes.bench.report import Report, bars, curve
from augrecipes.bench.report.page import backends, environment
from augrecipes.bench.report.palette import LIGHT, ink_on

NAMES = ("stages.svg", "workers.svg", "training.svg")
_WIDTH, _MARGIN = 940, 24

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def render(report: Report) -> dict[str, bytes]:
    """SVG files by name: those for which there is something to show."""
    return {name: _svg(**chart) for name, chart in zip(NAMES, _charts(report), strict=True) if chart}


def _charts(report: Report) -> Iterator[dict[str, Any]]:
    """What each file shows; empty: nothing."""
    stages, training, sweep = bars.stages(report), bars.training(report), report.get("sweep")
    yield _stacked(stages, "Where a sample’s time goes", "ms a sample") if stages.apart else {}
    yield _workers(sweep) if sweep else {}
    yield _stacked(training, "Where a training step’s time goes", "ms a batch") if training.bars else {}


def _stacked(stack: bars.Stack, title: str, unit: str) -> dict[str, Any]:
    parts = [part for part, row in stack.rows() if any(one and one.share >= bars.SEEN for one in row)]
    row = 18 + 16 * max(len(_lines(bar)) for bar in stack.bars)
    height = 84 + row * len(stack.bars) + 22 * -(-len(parts) // 3)
    return {"title": title, "unit": unit, "stack": stack, "parts": parts, "row": row, "height": height}


def _workers(sweep: Report) -> dict[str, Any]:
    panels, across = curve.panels(sweep), curve.across(sweep)
    wide = (_WIDTH - _MARGIN) / across
    scale = min(1.2, wide / (curve.WIDTH + _MARGIN))
    high = round((curve.HEIGHT + 38) * scale)
    return {
        "title": "Workers", "unit": "", "stack": None, "panels": panels, "across": across, "wide": wide, "scale": scale,
        "high": high, "height": 104 + high * -(-len(panels) // across), "backends": list(backends(sweep)),
    }  # fmt: skip


def _lines(bar: bars.Bar) -> list[str]:
    """What stands before a bar, so wide that it fits."""
    return [*wrap(bar.title, 34), *wrap(bar.note, 34)]


def _svg(**chart: Any) -> bytes:
    template = environment().get_template("plot.svg.j2")
    text = template.render(**chart, width=_WIDTH, curve=curve, paint=LIGHT, ink_on=ink_on, lines=_lines)
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text).lstrip().encode()
