"""A comparison as text for people: one line a recipe, a bar a stage, and what may be said of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from augrecipes.bench.figures import figure, percent, varied
from augrecipes.cli.aligned import bar, table
from augrecipes.cli.bench_sweep import tell_sweep
from augrecipes.cli.bench_training import tell_training
from augrecipes.cli.terminal import paint

if TYPE_CHECKING:
    from augrecipes.bench.ablation import Ablated
    from augrecipes.bench.effects import Effects
    from augrecipes.bench.gate import Judgement
    from augrecipes.bench.record import Bench, SideRecord
    from augrecipes.bench.timing import Ratio

_LONGEST = 28  # characters of a stage's label beside its figures and a bar, in 80 columns
_STYLES = {"slower": "error", "cannot tell": "warning", "passes": "good"}


def tell(bench: Bench) -> Iterator[str]:
    """All of a comparison, line by line."""
    yield f"machine: {bench.machine}"
    yield (
        f"data: {bench.samples} samples in batches of {bench.batch_size}, {bench.mode}, seed {bench.seed}; "
        f"{bench.rounds} rounds in turns, one thread"
    )
    for recipe in bench.recipes:
        if recipe.baked:
            yield f"{recipe.name}: the store holds {', '.join(recipe.baked)} already; measured are those behind"
    if bench.busy:
        yield f"{paint('warning:', 'warning', sys.stdout)} {bench.busy}"
    if bench.verdicts:
        yield ""
        yield paint("Verdicts", "strong", sys.stdout)
        yield from (f"  {verdict.text}" for verdict in bench.verdicts)
        yield from _note(bench)
    yield ""
    yield from _speed(bench)
    for side in bench.sides:
        if side.stages:
            yield ""
            yield from _stages(side)
    if bench.sweep is not None:
        yield from tell_sweep(bench.sweep, bench)
    if bench.training:
        yield ""
        yield from tell_training(bench.training)
    for recipe in bench.recipes:
        if recipe.effects is not None:
            yield ""
            yield from _effects(recipe.name, recipe.effects)
        if recipe.ablations and recipe.effects is not None:
            yield ""
            yield from _ablations(recipe.name, recipe.ablations)


def _note(bench: Bench) -> Iterator[str]:
    from augrecipes.bench.verdicts import how_sure

    yield paint(f"  {how_sure()}", "faint", sys.stdout)
    for recipe in bench.recipes:
        if recipe.not_in_stock and bench.side(recipe.name, "stock"):
            yield paint(
                f"  stock, compared with {recipe.name}, lacks {', '.join(recipe.not_in_stock)}", "faint", sys.stdout
            )


def _speed(bench: Bench) -> Iterator[str]:
    headings = ["", "ms a sample", "CPU time", "samples/s", "latency p50", "p95", "p99 ms", "peak MiB"]
    stock = any(side.against_stock for side in bench.sides)
    headings += ["time / stock"] if stock else []
    rows = []
    for side in bench.sides:
        gaps = side.gaps
        row = [
            side.name, varied(side.ms, side.mad), figure(side.cpu_ms, side.mad), f"{side.samples_per_second:,.0f}",
            f"{gaps.p50:.1f}", f"{gaps.p95:.1f}", f"{gaps.p99:.1f}", f"{side.peak_mib:,.0f}",
        ]  # fmt: skip
        row += [_ratio(side.against_stock)] if stock else []
        rows.append(row)
    yield from table("Speed, all read in this process", headings, rows)


def _ratio(ratio: Ratio | None) -> str:
    return "" if ratio is None else f"{ratio.middle:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"


def _stages(side: SideRecord) -> Iterator[str]:
    longest = max(stage.ms for stage in side.stages) or 1.0
    rows = []
    for stage in side.stages:
        what = "output conversion" if stage.kind == "sink" else short(stage.name)
        ms, _, spread = varied(stage.ms, stage.mad).partition(" ")
        rows.append([what, ms, spread, bar(stage.ms / longest)])
    together = sum(stage.ms for stage in side.stages)
    rows.append(["total", figure(together, side.mad), "", _accounted(side)])
    if side.transfer is not None:
        rows.append(["worker transfer", figure(side.transfer), "", "not part of the total"])
    yield from table(f"{side.name}: where a sample's time goes, ms", None, rows, left=(0, 3))
    yield f"  bottleneck: {side.bottleneck}"


def short(label: str) -> str:
    """A stage's label for a table's first column; of a joined step that would not fit the first part and a count.

    >>> short("JoinedWarps(Rotate#1 + RandomCrop#1 + HorizontalFlip#1)"), short("JoinedColours(ToGray#1)")
    ('JoinedWarps(Rotate#1 + 2)', 'JoinedColours(ToGray#1)')
    """
    kernel, _, parts = label.rstrip(")").partition("(")
    if len(label) <= _LONGEST:
        return label
    first, *others = parts.split(" + ") if parts else [""]
    label = f"{kernel}({first}{f' + {len(others)}' if others else ''})" if parts else label
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _accounted(side: SideRecord) -> str:
    """What a sample takes when its parts are not timed, where that is certainly something else."""
    from augrecipes.bench.verdicts import off

    return f"{figure(side.ms, side.mad)} in one go, not timed apart" if off(side.accounted) else ""


def _effects(name: str, seen: Effects) -> Iterator[str]:
    several = len({effect.target for effect in seen.steps}) > 1
    rows = []
    for effect in seen.steps:
        applied = seen.applied.get(effect.step)
        rows.append([
            f"{effect.step} · {effect.target}" if several else effect.step,
            "" if applied is None else percent(applied),
            "" if effect.filled is None or applied is None else percent(effect.filled),
            percent(effect.clipped), _numbers(effect.means), _numbers(effect.deviations),
        ])  # fmt: skip
    left = f", {seen.left_out} left out" if seen.left_out else ""
    headings = ["after", "acts on", "fills", "clipped", "means", "deviations"]
    yield from table(f"{name}: what the steps do, {seen.samples} samples{left}, levels 0 to 255", headings, rows)
    inside = [(site, share) for site, share in seen.applied.items() if site not in {e.step for e in seen.steps}]
    yield from (f"  {site} acts on {percent(share)}" for site, share in inside)
    for target in seen.means:
        out = f"means {_numbers(seen.means[target], 3)}, deviations {_numbers(seen.deviations[target], 3)}"
        yield f"  comes out with {out}" + (f" ({target})" if len(seen.means) > 1 else "")


def _ablations(name: str, ablations: Sequence[Ablated]) -> Iterator[str]:
    rows, refused = [], []
    for one in ablations:
        if one.ratio is None or one.effects is None:
            rows.append([one.step, "cannot run", "", "", "", ""])
            refused.append(f"without {one.step} it cannot run: {one.why}")
            continue
        seen, target = one.effects, next(iter(one.effects.means))
        last = seen.last(target)
        rows.append([
            one.step, _ratio(one.ratio), "" if seen.filled is None else percent(seen.filled),
            percent(last.clipped), _numbers(last.means), _numbers(last.deviations),
        ])  # fmt: skip
    headings = ["without", "time / whole", "filled", "clipped", "means", "deviations"]
    yield from table(f"{name}: without each step, in turns with the whole", headings, rows)
    yield from (f"  {text}" for text in refused)


def tell_gate(judgement: Judgement) -> Iterator[str]:
    """The gate's table."""
    headings = ["", "of", "to stock then", "now", "change", "at least", "at most", "gained most", "ms", ""]
    rows = [
        [
            one.side, one.of, f"{one.then:.2f}", f"{one.now:.2f}",
            *(f"{100 * (change - 1):+.0f} %" for change in (one.change.middle, one.change.low, one.change.high)),
            one.step, f"{one.gained:+.3f}" if one.step else "", paint(one.outcome, _STYLES[one.outcome], sys.stdout),
        ]
        for one in judgement.gates
    ]  # fmt: skip
    held = judgement.baseline
    title = f"Against {held.path} of {held.date[:10]}, slower than {100 * judgement.limit:g} % fails"
    yield from table(title, headings, rows, left=(0, 1, 7, 9))
    yield from (f"  {paint('warning:', 'warning', sys.stdout)} {text}" for text in judgement.warnings)


def _numbers(values: Sequence[float], digits: int = 0) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)
