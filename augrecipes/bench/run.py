"""`bench`: recipes side by side, on one's own data, over the same samples and draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

from augrecipes.bench.ablate import ablate
from augrecipes.bench.cold import Evicted
from augrecipes.bench.compare import binds, busy, differs, verdict
from augrecipes.bench.effects import effects
from augrecipes.bench.feeding import Feeding, feeding
from augrecipes.bench.hints import packing, quicker
from augrecipes.bench.machine import Peak, machine
from augrecipes.bench.measure import CONFIDENCE, Ratio, RunSize, Timings, Work, in_turns, mad, ratio, size_for, total
from augrecipes.bench.record import SCHEMA_VERSION, Bench, RecipeRecord, SideRecord, Verdict
from augrecipes.bench.scope import Scope
from augrecipes.bench.sides import STOCK, Setting, Side, sides_of, stock_side, work_of
from augrecipes.bench.stages import Staged, staged
from augrecipes.bench.step import load_step
from augrecipes.bench.stock import albumentations_only
from augrecipes.bench.workers import gaps_of, hand_over
from augrecipes.compiler.explain import explain
from augrecipes.errors import BenchError
from augrecipes.kinds import facts
from augrecipes.machine import tune_allocator
from augrecipes.progress import Parts
from augrecipes.recipe.loading import Source, as_recipe
from augrecipes.recipe.model import Optimize, Recipe
from augrecipes.recipe.write import to_yaml
from augrecipes.sources.opening import is_source, words_of

_WARM = 2  # batches of each side before anything is timed
_SAMPLES, _BATCH, _SECONDS = 64, 8, 10.0
_LOOKED_AT = 64
_AGAIN = 3  # times that as many rounds are added where nothing is decided


@dataclass(frozen=True)
class Options:
    """How much is measured.

    Attributes:
        optimize: settings of the optimiser; None: as written, and as each recipe chooses.
        stock: measure albumentations' own Compose beside each recipe.
        yardsticks: what stock runs, by recipe; else the recipe's own steps.
        cold: read files from a cold page cache, where the system can be asked to.
        samples: of a pass, at most; passes are shorter where time is short.
        batch_size: samples in a batch; None: 8, or all where there are fewer; of bags 1.
        seconds: of each side, roughly; and of each of `workers`, for each recipe.
        workers: threads and processes that read, 0 for neither: a sweep over each recipe at its last setting; empty:
            none.
        sizes: samples of an epoch in the sweep; None: from the data, and from what the time allows.
        train_step: milliseconds a batch, or a model of the user's own, as `augrecipes.bench.step` says; None: no
            training is measured.
        device: that the model is on; None: a GPU where there is one.
        effects: look at what the recipes do.
        ablate: leave out each step in turn.
        undecided: asked with a recipe, its setting, and its ratios to stock, of time and of work: whether more rounds
            are wanted. They are measured up to three times more.
    """

    optimize: Sequence[Optimize] | None = None
    stock: bool = False
    yardsticks: Mapping[str, Recipe] = field(default_factory=dict)
    cold: bool = False
    samples: int = _SAMPLES
    batch_size: int | None = None
    seconds: float = _SECONDS
    workers: Sequence[int] = ()
    sizes: Sequence[int] | None = None
    train_step: str | None = None
    device: str | None = None
    effects: bool = True
    ablate: bool = False
    undecided: Callable[[str, str, Ratio, Ratio], bool] | None = None


@dataclass
class _Run:
    """What is under way."""

    setting: Setting
    options: Options
    sides: list[Side]
    staged: dict[int, Staged]
    batch_size: int
    advance: Parts
    cold: Evicted | None
    size: RunSize = field(init=False)
    times: Timings = field(init=False)


def bench(
    recipes: Mapping[str, Recipe | Source],
    setting: Setting | Any,
    options: Options | None = None,
    advance: Parts | None = None,
) -> Bench:
    """Compare recipes.

    Args:
        recipes: of one kind, by the name that they are shown under: Recipes, or what `augrecipes.load` takes.
        setting: data, section, seed; or the data alone.
        options: how much.
        advance: called with (what is under way, done, of how much).

    Raises:
        BenchError: recipes of several kinds; no stock form; a packed store that is to be read cold; a training step
            that cannot be made.
        DataError: of the data, or a step that fails.
        CollateError: a recipe's samples do not fit into one batch.
        LintError, RecipeError: as `Recipe.compile`.
    """
    loaded = {name: as_recipe(recipe) for name, recipe in recipes.items()}
    setting = setting if isinstance(setting, Setting) else Setting(setting)
    options = options or Options()
    if options.cold and setting.stored:
        raise BenchError(f"{setting.data}: a packed store is mapped into memory, and cannot be dropped from its cache")
    step = None if options.train_step is None else load_step(options.train_step, options.device)
    about = machine()  # its load, before this run adds to it
    tune_allocator()  # as the loader does, and stock gains as much
    kind = next(iter(loaded.values())).kind
    batch_size = options.batch_size or (1 if facts(kind).tiles else min(_BATCH, options.samples))
    sides = sides_of(loaded, options.optimize, setting, max(options.samples // batch_size, 1) * batch_size)
    clocked = {k: staged(side, setting) for k, side in enumerate(sides)}
    if options.stock:
        first = {side.recipe: side for side in reversed(sides)}
        sides += [stock_side(first[name], setting, options.yardsticks.get(name)) for name in loaded]
    cold = Evicted() if options.cold else None
    run = _Run(setting, options, sides, clocked, batch_size, advance or (lambda *_: None), cold)
    scope = Scope(options.workers, batch_size, options.sizes, options.seconds, setting.seed, cold)
    fed = feeding(sides, setting, scope, step, run.advance)
    _time(run)
    records = _records(run, fed)
    crowded = busy(records, about)
    return Bench(
        schema_version=SCHEMA_VERSION,
        machine=about,
        kind=kind,
        data=words_of(setting.data) if is_source(setting.data) else setting.data,
        mode=setting.mode,
        seed=setting.seed,
        samples=run.size.batches * batch_size,
        batch_size=batch_size,
        rounds=run.times.wall.shape[1],
        confidence=CONFIDENCE,
        cold=None if run.cold is None else str(run.cold),
        recipes=tuple(_recipe(run, name, recipe, records) for name, recipe in loaded.items()),
        sides=tuple(records),
        verdicts=tuple(_verdicts(run, busy=bool(crowded))),
        sweep=fed.sweep,
        training=fed.training,
        busy=crowded,
    )


def _time(run: _Run) -> None:
    """All sides, plain and by the clock, batch by batch in turns."""
    works: list[Work] = [work_of(side, run.batch_size, run.cold) for side in run.sides]
    works += [one.work(run.batch_size, run.cold) for one in run.staged.values()]
    batches = -(-len(run.sides[0].dataset) // run.batch_size)
    in_turns(works, 1, min(_WARM, batches))
    once = in_turns(works, 1, 1)
    run.size = size_for(run.options.seconds * len(run.sides), float(once.wall.sum()), batches)
    for one in run.staged.values():
        one.taken.clear()
    for again in range(1 + _AGAIN):
        tell = partial(run.advance, f"timing again, {again}" if again else "timing")
        more = in_turns(works, run.size.rounds, run.size.batches, tell, first=again * run.size.rounds)
        run.times = run.times.and_then(more) if again else more
        if not any(_undecided(run)):
            return


def _undecided(run: _Run) -> Iterator[bool]:
    """Whether more rounds are wanted, side by side: where a ratio is asked about."""
    ask = run.options.undecided
    for k, side in enumerate(run.sides):
        beside = _stock_of(run, side)
        if ask is not None and beside is not None:
            yield ask(side.recipe, side.optimize, *_ratios(run, k, beside))


def _clocked(run: _Run, side: int) -> int:
    """The place of a side's clocked run among the times."""
    return len(run.sides) + list(run.staged).index(side)


def _stock_of(run: _Run, side: Side) -> int | None:
    """The place of the stock beside a side."""
    if side.optimize == STOCK:
        return None
    return next((k for k, one in enumerate(run.sides) if (one.recipe, one.optimize) == (side.recipe, STOCK)), None)


def _ratios(run: _Run, one: int, other: int) -> tuple[Ratio, Ratio]:
    """Of two sides: by the clock on the wall, and by the work of the processor."""
    return ratio(run.times.wall[one], run.times.wall[other]), ratio(run.times.cpu[one], run.times.cpu[other])


def _records(run: _Run, fed: Feeding) -> list[SideRecord]:
    samples = run.size.batches * run.batch_size
    found = []
    for k, side in enumerate(run.sides):
        run.advance("handing over", k, len(run.sides))
        times, clocked, beside = run.times.wall[k], run.staged.get(k), _stock_of(run, side)
        against = None if beside is None else _ratios(run, k, beside)
        ms = 1e3 * total(times) / samples
        cpu_ms = 1e3 * total(run.times.cpu[k]) / samples
        stages = clocked.stages(samples) if clocked else []
        handed = hand_over(side, run.batch_size) if clocked else None
        advice = fed.advice_for(side)
        sent = handed if advice and advice.backend == "processes" else None
        found.append(
            SideRecord(
                recipe=side.recipe,
                level=side.optimize,
                ms=ms,
                mad=1e3 * mad(times.sum(1)) / samples,
                cpu_ms=cpu_ms,
                samples_per_second=1e3 / ms,
                seconds=tuple(tuple(row) for row in times.tolist()),
                gaps=gaps_of(times.reshape(-1)),
                peak_mib=_peak(side, run.batch_size, run.size.batches),
                stages=tuple(stages),
                accounted=ratio(run.times.wall[_clocked(run, k)], times) if clocked else None,
                hand_over=handed,
                binds=binds(stages, sent, advice.workers if advice else 0, fed.step_ms(side), cpu_ms / ms)
                if stages
                else "",
                against_stock=against and against[0],
                cpu_against_stock=against and against[1],
            )
        )
    return found


def _peak(side: Side, batch_size: int, batches: int) -> float:
    """MiB during one pass."""
    peak, passing = Peak(), work_of(side, batch_size).start()
    for _ in range(batches):
        next(passing)
    return peak.mib()


def _verdicts(run: _Run, *, busy: bool) -> list[Verdict]:
    """Settings of a recipe against each other and stock; recipes against each other at their last settings."""
    found = []
    last = {side.recipe: k for k, side in enumerate(run.sides) if side.optimize != STOCK}
    for one, other in combinations(range(len(run.sides)), 2):
        a, b = run.sides[one], run.sides[other]
        if a.recipe == b.recipe or (last.get(a.recipe) == one and last.get(b.recipe) == other):
            measured, work = _ratios(run, one, other)
            asked = work if busy else None
            found.append(
                Verdict(a.name, b.name, measured, differs(measured, asked), verdict(a.name, b.name, measured, asked))
            )
    return found


def _recipe(run: _Run, name: str, recipe: Recipe, records: Sequence[SideRecord]) -> RecipeRecord:
    options, setting = run.options, run.setting
    left, baked = setting.left_of(recipe)
    mine = [side for side in run.sides if side.recipe == name and side.optimize != STOCK]
    plain, lacks = albumentations_only(options.yardsticks.get(name, left))
    seen, ablations = None, []
    if options.effects:
        seen = effects(
            left,
            setting,
            min(options.samples, _LOOKED_AT),
            progress=lambda d, n: run.advance(f"looking at {name}", d, n),
        )
    if options.ablate:
        ablations = ablate(
            mine[-1], setting, run.batch_size, seconds=options.seconds, samples=min(options.samples, _LOOKED_AT),
            progress=lambda d, n: run.advance(f"leaving out steps of {name}", d, n),
        )  # fmt: skip
    return RecipeRecord(
        name=name,
        file=recipe.file,
        digest=recipe.digest,
        text=to_yaml(recipe),
        yardstick=to_yaml(replace(plain, file="")),
        baked=baked,
        not_in_stock=lacks,
        plans={side.optimize: _explained(side, setting) for side in mine},
        effects=seen,
        ablations=tuple(ablations),
        hints=tuple(hint for hint in _hints(run, mine, records) if hint),
    )


def _hints(run: _Run, mine: Sequence[Side], records: Sequence[SideRecord]) -> Iterator[str]:
    """What would make a recipe's samples come faster."""
    side, options = mine[-1], run.options
    found = next(one for one in records if (one.recipe, one.level) == (side.recipe, side.optimize))
    yield packing(found, side.source, run.setting)
    if options.optimize is None:
        yield quicker(side, run.setting, run.batch_size, options.seconds, lambda d, n: run.advance("trying fast", d, n))


def _explained(side: Side, setting: Setting) -> dict[str, Any]:
    chosen: Any = side.optimize
    return explain(side.source, setting.mode, chosen).to_json()
