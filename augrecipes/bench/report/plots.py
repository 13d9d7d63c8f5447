"""Plots for slides and papers, PNG, on white: the stages, the worker curve, the parts of a training step."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from augrecipes.bench.report import bars, curve
from augrecipes.bench.report.palette import LIGHT, ink_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = ("stages.png", "workers.png", "training.png")
WANTED = "plots need matplotlib: pip install 'augrecipes[report]'"

_INK, _QUIET, _RULE = "#1b1f26", "#59606b", "#e2e3e0"
_DPI = 160
_MARKS = {"threads": "o", "processes": "s", "batches": "D"}
_ACROSS = 3  # panels, and columns of a legend

Told = Mapping[str, Any]


def draw(told: Told) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """PNG files by name, and what is missing; without matplotlib nothing is drawn.

    What the user has set in matplotlib neither counts nor changes.
    """
    try:
        import matplotlib
    except ImportError:
        return {}, (WANTED,)
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # names in scripts that its font lacks
        matplotlib.rcdefaults()
        matplotlib.rcParams["text.parse_math"] = False  # a dollar in a name is a dollar
        return {name: _png(figure) for name, figure in _figures(told)}, ()


def _figures(told: Told) -> Iterator[tuple[str, Figure]]:
    stages, training = bars.stages(told), bars.training(told)
    if stages.apart:
        yield NAMES[0], _stacked(stages, "Where a sample’s time goes", "ms a sample")
    if told.get("sweep"):
        yield NAMES[1], _workers(told["sweep"])
    if training.bars:
        yield NAMES[2], _stacked(training, "Where a training step’s time goes", "ms a batch")


def _png(figure: Figure) -> bytes:
    held = BytesIO()
    figure.savefig(held, format="png", dpi=_DPI, facecolor="white", bbox_inches="tight", pad_inches=0.25)
    return held.getvalue()


def _stacked(stack: bars.Stack, title: str, unit: str) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    parts = [part for part, row in stack.rows() if any(one and one.share >= bars.SEEN for one in row)]
    figure = Figure(figsize=(9.5, 1.1 + 0.55 * len(stack.bars)))
    axes = figure.add_subplot()
    for row, bar in enumerate(stack.bars):
        _bar(axes, row, bar, stack.longest)
    axes.set_yticks(range(len(stack.bars)), [_wrapped(bar.title, bar.note) for bar in stack.bars])
    axes.set_ylim(len(stack.bars) - 0.5, -0.5)
    axes.set_xlim(0, stack.longest * 1.12)
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", color=_INK, pad=12)
    axes.set_xlabel(unit, color=_QUIET, fontsize=9, loc="right")
    _calm(axes, "x")
    axes.tick_params(axis="y", colors=_INK, labelsize=9.5)
    figure.legend(
        handles=[Patch(facecolor=LIGHT[part.colour], label=_words(part.name)) for part in parts],
        loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=axes.transAxes, ncols=_ACROSS, frameon=False,
        fontsize=8.5, labelcolor=_INK, borderaxespad=3.4, handlelength=1.0, handleheight=1.0, columnspacing=2.0,
    )  # fmt: skip
    return figure


def _bar(axes: Axes, row: int, bar: bars.Bar, longest: float) -> None:
    left = 0.0
    for part in bar.parts:
        fill = LIGHT[part.colour]
        axes.barh(row, part.ms, left=left, height=0.62, color=fill, edgecolor="white", linewidth=0.8)
        if part.ms / longest > 0.0125 * len(part.label) + 0.015:  # there is room for it
            axes.text(
                left + part.ms / 2, row, part.label, ha="center", va="center_baseline", fontsize=8.5, color=ink_on(fill)
            )
        left += part.ms
    if not bar.parts:
        axes.barh(row, bar.ms, height=0.62, color="#efefec", edgecolor=LIGHT["whole"], hatch="///", linewidth=0.0)
    told = f"{bar.drawn:.3g} ms" if bar.drawn < 1000 else f"{bar.drawn:,.0f} ms"
    axes.text(bar.drawn + longest * 0.012, row, told, va="center_baseline", fontsize=9.5, color=_INK)


def _workers(sweep: Told) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D

    panels = list(curve.grouped(sweep))
    across = curve.across(sweep)
    down = -(-len(panels) // across)
    layout = ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.12)
    figure = Figure(figsize=(max(4.0 * across, 5.0), 0.6 + 2.7 * down), layout=layout)
    grid = figure.subplots(down, across, squeeze=False)
    workers = sorted({point["workers"] for point in sweep["points"]})
    advised = {(a["recipe"], a["level"], a["backend"], a["workers"]) for a in sweep["advice"]}
    for axes, ((title, size), points) in zip(grid.flat, panels, strict=False):
        for backend, colour in curve.BACKENDS.items():
            _line(axes, [point for point in points if point["backend"] == backend], LIGHT[colour], workers[-1], advised)
        axes.set_title(f"{_wrapped(title)}\n{size:,} samples", loc="left", fontsize=9.5, color=_INK)
        ticks = curve.ticks_to(curve.slowest(sweep, size))
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_ylim(0, ticks[-1])
        axes.set_xlim(-0.05 * max(workers[-1], 1), 1.05 * max(workers[-1], 1))
        axes.set_xticks(workers)
        axes.set_xlabel("workers", fontsize=9, color=_QUIET)
        axes.set_ylabel("seconds an epoch", fontsize=9, color=_QUIET)
        _calm(axes, "y")
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    if advised:
        ring = Line2D([], [], marker="o", markersize=10, mfc="none", mec=_INK, linestyle="")
        handles, labels = [*handles, ring], [*labels, "advised"]
    figure.legend(handles, labels, loc="outside upper left", ncols=4, frameon=False, fontsize=9, labelcolor=_INK)
    return figure


def _line(axes: Axes, points: list[Told], colour: str, most: int, advised: set[tuple[Any, ...]]) -> None:
    if not points:
        return
    backend = points[0]["backend"]
    xs, ys = [point["workers"] for point in points], [point["seconds"] for point in points]
    if backend == "batches":
        axes.axhline(ys[0], color=colour, linestyle=(0, (1, 2)), linewidth=1.5)
    name = "this process" if backend == "batches" else backend
    mads = [point["mad"] for point in points]
    axes.errorbar(xs, ys, mads, color=colour, marker=_MARKS[backend], markersize=5, linewidth=1.8, label=name)
    for point in points:
        if (point["recipe"], point["level"], point["backend"], point["workers"]) in advised:
            axes.plot(point["workers"], point["seconds"], "o", markersize=12, mfc="none", mec=_INK, clip_on=False)


def _calm(axes: Axes, direction: Any) -> None:
    """No frame, faint lines across, quiet figures."""
    axes.set_axisbelow(True)
    axes.grid(axis=direction, color=_RULE, linewidth=0.8)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, colors=_QUIET, labelsize=9)


def _words(label: str) -> str:
    """A part's name that fits into a legend.

    >>> _words("OneOf#1/Blur#1"), _words("JoinedFlips(HorizontalFlip#1 + VerticalFlip#1)")
    ('OneOf / Blur', 'JoinedFlips (HorizontalFlip + …)')
    """
    head, _, inside = label.replace("#1", "").replace("/", " / ").partition("(")
    first, *others = inside.rstrip(")").split(" + ")
    return f"{head} ({first}{' + …' if others else ''})" if inside else head


def _wrapped(title: str, note: str = "") -> str:
    """At most 34 characters a line."""
    from textwrap import wrap

    return "\n".join([*wrap(title, 34), *wrap(note, 34)])
