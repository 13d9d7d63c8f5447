"""The terminal report of a comparison: verdicts, speed, a bar per stage, sweeps, training steps and effects."""

from collections.abc import Sequence
from typing import Any

from augrecipes.bench.effects import Ablated, Effects
from augrecipes.bench.fidelity import mean_text
from augrecipes.bench.gate import Judgement
from augrecipes.bench.record import Bench, SideRecord
from augrecipes.bench.sweep import Point, Sweep
from augrecipes.bench.timing import CONFIDENCE, Gaps, Ratio
from augrecipes.bench.training import Training
from augrecipes.bench.verdicts import figure, how_sure, percent, rate, readers, varied
from augrecipes.errors import counted
from augrecipes.recipe.words import short_label
from augrecipes.report import Note, Report, TextTable, to_plain

_LONGEST = 28  # characters of a stage's label, so that its row fits into 80 columns
_STYLES = {"slower": "error", "cannot tell": "warning", "passes": ""}
_BAR = 32  # characters of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"
_LONG = 0.1  # share of a training step spent waiting that calls for workers
_BUSY = 0.25  # load per core that calls for a warning
_LATENCY = ("latency p50", "p95", "p99 ms")
_LEVELS = ("clipped", "means", "deviations")


def report_of(bench: Bench) -> Report:
    """Return the whole report of a comparison."""
    facts = {
        "machine": str(bench.machine),
        "data": f"{bench.samples} samples in batches of {bench.batch_size}, {bench.mode}, seed {bench.seed}; "
        f"{bench.rounds} rounds in turns, one thread",
    }
    for recipe in bench.recipes:
        if recipe.baked:
            facts[recipe.name] = f"the store holds {', '.join(recipe.baked)} already; measured are those behind"
    if bench.busy:
        facts["warning"] = bench.busy
    tables = [verdicts(bench)] if bench.verdicts else []
    tables += [speed(bench), *(stages(side) for side in bench.sides if side.stages)]
    tables += [] if bench.sweep is None else _sweep(bench.sweep, bench)
    tables += training(bench.training)
    tables += _fidelity(bench)
    for recipe in bench.recipes:
        if recipe.effects is not None:
            tables.append(_effects(recipe.name, recipe.effects))
            tables += [_ablations(recipe.name, recipe.ablations)] if recipe.ablations else []
    return Report(facts, tables)


def verdicts(bench: Bench) -> TextTable:
    """Return the verdict on each two sides, and its confidence."""
    lacking = [
        f"stock, compared with {recipe.name}, lacks {', '.join(recipe.not_in_stock)}"
        for recipe in bench.recipes
        if recipe.not_in_stock and bench.side(recipe.name, "stock")
    ]
    notes = [*(Note(verdict.text) for verdict in bench.verdicts), *_faint(how_sure(), *lacking)]
    return TextTable("Verdicts", (), [], notes=notes)


def speed(bench: Bench) -> TextTable:
    """Return the table of the sides, a row each."""
    stock = any(side.against_stock for side in bench.sides)
    rows = [
        [
            side.name, varied(side.ms, side.mad), figure(side.cpu_ms, side.mad), f"{side.samples_per_second:,.0f}",
            *_gaps(side.gaps), f"{side.peak_mib:,.0f}", *([_ratio(side.against_stock)] if stock else []),
        ]
        for side in bench.sides
    ]  # fmt: skip
    headings = ["", "ms a sample", "CPU time", "samples/s", *_LATENCY, "peak MiB", *(["time / stock"] if stock else [])]
    return TextTable("Speed, all read in this process", headings, rows, right=range(1, 9))


def _gaps(gaps: Gaps) -> list[str]:
    return [f"{value:.1f}" for value in (gaps.p50, gaps.p95, gaps.p99)]


def _ratio(ratio: Ratio | None) -> str:
    return "" if ratio is None else f"{ratio.middle:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"


def stages(side: SideRecord) -> TextTable:
    """Return the table of a sample's time, a row and a bar per stage."""
    longest = max(stage.ms for stage in side.stages) or 1.0
    rows = []
    for stage in side.stages:
        what = "output conversion" if stage.kind == "sink" else short_label(stage.name, _LONGEST)
        rows.append([what, *_time_cells(stage), bar(stage.ms / longest)])
    rows.append(["total", figure(sum(stage.ms for stage in side.stages), side.mad), "", ""])
    if side.transfer is not None:
        rows.append(["worker transfer", figure(side.transfer), "", "not part of the total"])
    title = f"{side.name}: where a sample's time goes, ms"
    return TextTable(title, (), rows, right=(1, 2), notes=[Note(f"bottleneck: {side.bottleneck}")])


def _time_cells(part: Any) -> tuple[str, str]:
    """Return the milliseconds of a stage or of a part of a training step, and their spread."""
    ms, _, spread = varied(part.ms, part.mad).partition(" ")
    return ms, spread


def bar(share: float) -> str:
    """Draw a bar of a share, 0 to 1.

    >>> bar(0.5), bar(0.05)
    ('████████████████', '█▋')
    """
    eighths = round(share * _BAR * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _sweep(sweep: Sweep, bench: Bench) -> list[TextTable]:
    """Return a table of epochs and bars of the settings for each recipe; the last one has the warnings."""
    tables = []
    for recipe in dict.fromkeys(point.recipe for point in sweep.points):
        points = [point for point in sweep.points if point.recipe == recipe]
        tables.append(_epochs(points, sweep))
        if (advice := sweep.advice_for(recipe)) is not None:
            largest = {point.name: point.seconds for point in points if point.samples == sweep.sizes[-1]}
            best = {advice.name: "recommended"}
            most = max(largest.values())
            bars = [(name, bar(seconds / most), best.get(name, "")) for name, seconds in largest.items()]
            tables.append(TextTable("", (), bars, notes=_faint(_call(advice, bench.batch_size))))
    notes = [Note(text, "left out", "warning") for text in sweep.left_out]
    load, cores = bench.machine.load, bench.machine.cores
    if load is not None and load > _BUSY * cores:
        text = f"the machine was busy when this began (load {load:.1f}, {cores} cores): measure again when it is not"
        notes.append(Note(text, "note", "warning"))
    tables[-1].notes = [*tables[-1].notes, *notes]
    return tables


def _epochs(points: Sequence[Point], sweep: Sweep) -> TextTable:
    first, *others = (f"{size:,}" for size in sweep.sizes)
    largest = f"of {sweep.sizes[-1]:,}: samples/s"
    headings = ["", f"{first} samples", *others, largest, "first epoch", *_LATENCY]
    by_name: dict[str, dict[int, Point]] = {}
    for point in points:
        by_name.setdefault(point.name, {})[point.samples] = point
    rows = []
    for name, sizes in by_name.items():
        epochs = [varied(sizes[size].seconds, sizes[size].mad) if size in sizes else "" for size in sweep.sizes]
        last, more = sizes.get(sweep.sizes[-1]), [""] * 5
        if last is not None:
            more = [rate(last.samples_per_second), figure(last.first_seconds, last.mad), *_gaps(last.gaps)]
        rows.append([name, *epochs, *more])
    again = ", larger epochs read some again" if sweep.sizes[-1] > sweep.available else ""
    note = f"{sweep.rounds} rounds in turns after the first; the data has {sweep.available:,} samples{again}"
    title = f"{points[0].recipe} · {points[0].level}: seconds of an epoch, by who reads"
    return TextTable(title, headings, rows, right=range(1, len(headings)), notes=_faint(note))


def _call(advice: Point, batch_size: int) -> str:
    """Return the call of `ar.loader` with the recommended backend and number of workers."""
    backend = "" if advice.backend == "batches" else f'backend="{advice.backend}", '
    return f"ar.loader(ds, {batch_size}, {backend}num_workers={advice.workers})"


def training(trainings: Sequence[Training]) -> list[TextTable]:
    """Return a table for each side and loader setting; the last one says what was trained."""
    tables = []
    for case in trainings:
        longest = max(part.ms for part in case.parts) or 1.0
        rows = [[part.name, *_time_cells(part), percent(part.share, 0), bar(part.ms / longest)] for part in case.parts]
        total = figure(sum(part.ms for part in case.parts), max(part.mad for part in case.parts))
        rows.append(["total", total, "", "", ""])
        ahead = f"read ahead by {readers(case.backend, case.workers)}"
        reader = ahead if case.workers else "read in this process on request"
        waiting = Note(f"{percent(case.waiting, 0)} of a step is waiting for samples")
        title = f"{case.name}, {reader}: ms of a training step"
        tables.append(TextTable(title, (), rows, right=(1, 2, 3), notes=[waiting]))
    if tables:
        notes = _faint(*_about(trainings))
        if all(case.backend == "batches" for case in trainings) and any(case.waiting > _LONG for case in trainings):
            notes.append(Note("workers can read ahead meanwhile: --workers 0,1,2,4 finds how many it takes"))
        tables[-1].notes = [*tables[-1].notes, *notes]
    return tables


def _about(trainings: Sequence[Training]) -> tuple[str, str]:
    first = trainings[0]
    steps = " to ".join(dict.fromkeys(f"{pick(case.steps for case in trainings):,}" for pick in (min, max)))
    threads = f"torch's own {counted(first.threads, 'thread')}"
    where = f"on {first.device}, which is waited for after every part; {threads}"
    if first.device == "cpu":
        where = f"on the CPU, {threads}"
    if any(part.name == "training step" for part in first.parts):
        where = "this thread sleeps meanwhile, as it would while a GPU works"
    return (
        f"step: {'; '.join(dict.fromkeys(case.step for case in trainings))}",
        f"{steps} steps each, in turns, in batches of {first.batch_size}; {where}",
    )


def _fidelity(bench: Bench) -> list[TextTable]:
    """Return the table of fidelity, how close bicubic comes to high resolution; empty unless recipes are of pairs."""
    measured = [(recipe.name, row) for recipe in bench.recipes if recipe.effects for row in recipe.effects.fidelity]
    rows = []
    for name, row in measured:
        psnr, ssim = mean_text(to_plain(row.psnr), 2, row.identical), mean_text(to_plain(row.ssim), 4)
        rows.append([f"{name} · {row.target}", psnr, ssim, f"{row.identical}"])
    method = f"luma, without the scale in px at each edge; {100 * CONFIDENCE:.0f} % intervals of the means"
    notes = [*(Note(verdict.text) for verdict in bench.fidelity_verdicts), *_faint(method)]
    headings, titles = ["", "PSNR dB", "SSIM", "identical"], {f"Bicubic against {row.reference}" for _, row in measured}
    return [TextTable(title, headings, rows, right=range(1, 4), notes=notes) for title in [*titles][:1]]


def _effects(name: str, effects: Effects) -> TextTable:
    rows = []
    for effect in effects.steps:
        applied = effects.applied.get(effect.step)
        step = f"{effect.step} · {effect.target}" if len(effects.means) > 1 else effect.step
        fills = None if applied is None else effect.filled
        rows.append([step, _percent(applied), _percent(fills), *_levels(effect)])
    shown = {effect.step for effect in effects.steps}
    notes = [f"{site} acts on {percent(share)}" for site, share in effects.applied.items() if site not in shown]
    for target in effects.means:
        out = f"means {_numbers(effects.means[target], 3)}, deviations {_numbers(effects.deviations[target], 3)}"
        notes.append(f"comes out with {out}" + (f" ({target})" if len(effects.means) > 1 else ""))
    left = f", {effects.left_out} left out" if effects.left_out else ""
    title = f"{name}: what the steps do, {effects.samples} samples{left}, levels 0 to 255"
    headings = ["after", "acts on", "fills", *_LEVELS]
    return TextTable(title, headings, rows, right=range(1, 6), notes=[Note(text) for text in notes])


def _ablations(name: str, ablations: Sequence[Ablated]) -> TextTable:
    rows, notes = [], []
    for variant in ablations:
        if variant.ratio is None or variant.effects is None:
            rows.append([variant.step, "cannot run", "", "", "", ""])
            notes.append(Note(f"without {variant.step} it cannot run: {variant.why}"))
        else:
            last = variant.effects.last(next(iter(variant.effects.means)))
            rows.append([variant.step, _ratio(variant.ratio), _percent(variant.effects.filled), *_levels(last)])
    title = f"{name}: without each step, in turns with the whole"
    return TextTable(title, ["without", "time / whole", "filled", *_LEVELS], rows, right=range(1, 6), notes=notes)


def _percent(share: float | None) -> str:
    return "" if share is None else percent(share)


def _levels(effect: Any) -> list[str]:
    return [percent(effect.clipped), _numbers(effect.means), _numbers(effect.deviations)]


def report_of_gate(judgement: Judgement) -> Report:
    """Return the report of the gate's comparison with the baseline."""
    headings = ["", "of", "to stock then", "now", "change", "at least", "at most", "gained most", "ms", ""]
    rows = [
        [
            gate.side, gate.of, f"{gate.then:.2f}", f"{gate.now:.2f}",
            *(f"{100 * (change - 1):+.0f} %" for change in (gate.change.middle, gate.change.low, gate.change.high)),
            gate.step, f"{gate.gained:+.3f}" if gate.step else "", gate.outcome,
        ]
        for gate in judgement.gates
    ]  # fmt: skip
    baseline = judgement.baseline
    title = f"Against {baseline.path} of {baseline.date[:10]}, slower than {100 * judgement.limit:g} % fails"
    notes = [Note(text, "warning:", "warning") for text in judgement.warnings]
    styles = [_STYLES[gate.outcome] for gate in judgement.gates]
    return Report(tables=[TextTable(title, headings, rows, right=(2, 3, 4, 5, 6, 8), styles=styles, notes=notes)])


def _numbers(values: Sequence[float], digits: int = 0) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)


def _faint(*lines: str) -> list[Note]:
    return [Note(line, "", "faint") for line in lines]
