"""Pages of what is text and figures: explanations, differences and comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from augrecipes.bench.figures import figure, varied
from augrecipes.bench.record import Bench
from augrecipes.bench.report.charts import LIGHT, Bar, stage_bars
from augrecipes.bench.report.page import headline
from augrecipes.cli.reports import of_difference as report_of_difference
from augrecipes.cli.reports import of_explanation
from augrecipes.compiler.explain import Explanation
from augrecipes.diff.differences import Difference
from augrecipes.diff.picture import compared as render_compared
from augrecipes.errors import DataError
from augrecipes.notebook.drawn import on_drawn
from augrecipes.notebook.markup import Html, joined, legend, table, tag
from augrecipes.notebook.show import as_data
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.report import Report, TextTable

_INDENT = "\N{NO-BREAK SPACE}"


def tables(explained: Explanation) -> Html:
    """Every list of an explanation as a table."""
    return _tables(of_explanation(replace(explained, pictured=()).to_json()))


def of_difference(found: Difference) -> Html:
    """What tells two recipes apart, as tables."""
    return _tables(report_of_difference(found))


def _tables(report: Report) -> Html:
    return joined(_table(one) for one in report.tables if one.rows)


def _table(one: TextTable) -> Html:
    rows = [[_indented(cell) for cell in row] for row in one.rows]
    return joined([tag("h4", one.title), table(one.headings, rows, [*one.right])])


def _indented(cell: str) -> str:
    text = cell.lstrip(" ")
    return 2 * _INDENT * (len(cell) - len(text)) + text


def compared(a: Recipe, b: Recipe, mode: Mode) -> Sheet:
    """Both recipes on a drawn sample, and how far that is apart.

    Raises:
        DataError: they are of two kinds, or cannot act on it.
    """
    if a.kind != b.kind:
        raise DataError(f"{a.name} is of kind {a.kind} and {b.name} of kind {b.kind}")

    def show(sample: Any) -> Sheet:
        with as_data(a, sample, "a drawn picture") as data:
            return render_compared(a, b, data, mode=mode, rows=1)

    return on_drawn(a, mode, show)


def headline_of(bench: Bench) -> str:
    """The answer of a comparison."""
    return headline(bench.to_json())


def of_bench(bench: Bench) -> Iterator[Html]:
    """Speed of each side, where the time goes, and what may be said of it."""
    report = bench.to_json()
    if bench.busy:
        yield tag("p", bench.busy)
    rows = [
        [side.name, varied(side.ms, side.mad), figure(side.cpu_ms, side.mad), f"{side.samples_per_second:,.0f}"]
        for side in bench.sides
    ]
    yield table(("", "ms a sample", "CPU time", "samples/s"), rows, numbers=(1, 2, 3))
    bars = stage_bars(report)
    longest = max(bar.length for bar in bars)
    shown = [(f"{bar.name} · {bar.level}", _bar(bar, longest), f"{figure(bar.length, bar.mad)} ms") for bar in bars]
    yield joined([tag("h4", "Where a sample’s time goes"), table(("", "", ""), shown, numbers=(2,))])
    parts = {part.name: LIGHT[part.colour] for bar in bars for part in bar.parts}
    yield legend((colour, label) for label, colour in parts.items())
    said = [verdict.text for verdict in bench.verdicts]
    yield tag("ul", *(tag("li", text) for text in said)) if said else Html()


def _bar(bar: Bar, longest: float) -> Html:
    """One stacked bar; what is not taken apart is grey."""
    parts = [(part.ms, LIGHT[part.colour], f"{part.name}: {figure(part.ms, part.mad)} ms") for part in bar.parts]
    pieces = parts or [(bar.ms, LIGHT["whole"], f"{bar.name} · {bar.level}: {figure(bar.ms)} ms")]
    return tag("div", *(
        tag("i", style=f"width: {100 * ms / longest:.2f}%; background: {colour}", title=title)
        for ms, colour, title in pieces
    ), kind="bar")  # fmt: skip
