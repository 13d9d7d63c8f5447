"""`bench`: recipes compared on one's own data, over the same samples and random parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from augrecipes.bench.ablation import ablate
from augrecipes.bench.baseline import albumentations_only
from augrecipes.bench.effects import effects
from augrecipes.bench.latency import gaps_of, worker_transfer
from augrecipes.bench.machine import Machine, forget_peak, machine, peak_mib
from augrecipes.bench.record import SCHEMA_VERSION, Bench, RecipeRecord, SideRecord, Verdict
from augrecipes.bench.sides import STOCK, Setting, Side, compiled, sides_of, stock_side, with_pipeline, work_of
from augrecipes.bench.stages import Staged, staged
from augrecipes.bench.step import Step, load_step
from augrecipes.bench.sweep import Scope, Sweep, no_warning_about_cores, sweep, with_advice
from augrecipes.bench.timing import CONFIDENCE, Ratio, RunSize, Times, Work, fitting, in_turns, mad, ratio, total
from augrecipes.bench.training import Case, Training, measure
from augrecipes.bench.verdicts import BUSY, bottleneck, differs, verdict, waiting
from augrecipes.compiler.explain import explain
from augrecipes.kinds import facts
from augrecipes.machine import tune_allocator
from augrecipes.progress import Parts
from augrecipes.recipe.model import Optimize, Recipe
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.recipe.write import to_yaml
from augrecipes.sources.opening import is_source, words_of

_WARM = 2  # batches of each side before anything is timed
_BATCH = 8
_INSPECTED = 64  # samples, for what steps do
_AGAIN = 3  # times that as many rounds are added where nothing is decided


@dataclass(frozen=True)
class Options:
    """How much is measured.

    Attributes:
        optimize: settings of the optimiser; None: as written, and as each recipe chooses.
        stock: measure albumentations' own Compose, too, for each recipe.
        yardsticks: what stock runs, by recipe; else the recipe's own steps.
        samples: of a pass, at most; passes are shorter where time is short.
        batch_size: samples in a batch; None: 8, or all where there are fewer; of bags 1.
        seconds: of each side, roughly; and of each of `workers`, for each recipe.
        workers: threads and processes that read, 0 for neither: a sweep over each recipe at its last setting; empty:
            none.
        sizes: samples of an epoch in the sweep; None: from the data, and from what the time allows.
        train_step: milliseconds a batch, or a model of the user's own, as `augrecipes.bench.step` says; None: no
            training is measured.
        device: that the model is on; None: a GPU where there is one.
        effects: measure what the recipes do.
        ablate: leave out each step in turn.
        undecided: called with a recipe, its setting, and its ratios to stock, of time and of CPU time: whether more
            rounds are needed. They are measured up to three times more.
    """

    optimize: Sequence[Optimize] | None = None
    stock: bool = False
    yardsticks: Mapping[str, Recipe] = field(default_factory=dict)
    samples: int = 64
    batch_size: int | None = None
    seconds: float = 10.0
    workers: Sequence[int] = ()
    sizes: Sequence[int] | None = None
    train_step: str | None = None
    device: str | None = None
    effects: bool = True
    ablate: bool = False
    undecided: Callable[[str, str, Ratio, Ratio], bool] | None = None


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
        advance: called with (what is in progress, done, of how much).

    Raises:
        BenchError: recipes of several kinds; no stock form; a training step that cannot be made.
        DataError: of the data, or a step that fails.
        CollateError: a recipe's samples do not fit into one batch.
        LintError, RecipeError: as `Recipe.compile`.
    """
    loaded = {name: as_recipe(recipe) for name, recipe in recipes.items()}
    setting = setting if isinstance(setting, Setting) else Setting(setting)
    options = options or Options()
    step = None if options.train_step is None else load_step(options.train_step, options.device)
    about = machine()  # its load, before this run adds to it
    tune_allocator()  # as the loader does, and stock gains as much
    run = _Run(loaded, setting, options, advance or (lambda *_: None))
    run.feed(step)
    run.time()
    sides = tuple(run.side(k) for k in range(len(run.sides)))
    busy = _busy(sides, about)
    return Bench(
        schema_version=SCHEMA_VERSION,
        machine=about,
        kind=run.kind,
        data=words_of(setting.data) if is_source(setting.data) else setting.data,
        mode=setting.mode,
        seed=setting.seed,
        samples=run.samples,
        batch_size=run.batch_size,
        rounds=run.times.shape[2],
        confidence=CONFIDENCE,
        recipes=tuple(run.recipe(name, recipe) for name, recipe in loaded.items()),
        sides=sides,
        verdicts=tuple(run.verdicts(busy=bool(busy))),
        sweep=run.sweep,
        training=run.training,
        busy=busy,
    )


class _Run:
    """A comparison in progress.

    Attributes:
        sides: that are compared.
        staged: those that a clock times as well, by their place among the sides.
        last: by recipe the place of the side at its last setting.
        times: of all sides, then of those with a clock: wall and CPU, side, round, batch.
    """

    sweep: Sweep | None = None
    training: tuple[Training, ...] = ()
    size: RunSize
    times: Times

    def __init__(self, recipes: Mapping[str, Recipe], setting: Setting, options: Options, advance: Parts) -> None:
        self.setting, self.options, self.advance = setting, options, advance
        self.kind = next(iter(recipes.values())).kind
        self.batch_size = options.batch_size or (1 if facts(self.kind).tiles else min(_BATCH, options.samples))
        samples = max(options.samples // self.batch_size, 1) * self.batch_size
        self.sides = sides_of(recipes, options.optimize, setting, samples)
        self.last = {side.recipe: k for k, side in enumerate(self.sides)}
        self.staged: dict[int, Staged] = {k: staged(side, setting) for k, side in enumerate(self.sides)}
        if options.stock:
            first = {side.recipe: side for side in reversed(self.sides)}
            self.sides += [stock_side(first[name], setting, options.yardsticks.get(name)) for name in recipes]

    @property
    def samples(self) -> int:
        return self.size.batches * self.batch_size

    def feed(self, step: Step | None) -> None:
        """A sweep where there are workers, a training where there is a step; and again with the setting to use."""
        options, batch_size = self.options, self.batch_size
        scope = Scope(options.workers, batch_size, options.sizes, options.seconds, self.setting.seed)

        def train(*cases: Case) -> tuple[Training, ...]:
            if step is None or not cases:
                return ()
            with no_warning_about_cores():
                tell = partial(self.advance, "training")
                return measure(cases, step, batch_size, seconds=options.seconds, progress=tell)

        self.training = train(*map(Case, self.sides))
        if not scope.workers:
            return
        sides = {name: self.sides[k] for name, k in self.last.items()}
        whole = [(name, one.optimize, self._whole(one)) for name, one in sides.items()]
        known = {name: one for one in self.training for name, side in sides.items() if _is_of(one, side)}
        found = sweep(whole, scope, self.advance)
        self.sweep = with_advice(found, batch_size, {name: one.step_ms for name, one in known.items()})
        advised = [one for one in self.sweep.advice if one.workers]
        self.training += train(*(Case(sides[one.recipe], one.backend, one.workers) for one in advised))

    def _whole(self, side: Side) -> Any:
        """All of a side's data as a user reads it: the tiles of a bag in a thread for each core."""
        return with_pipeline(side.whole, compiled(side.source, self.setting, side.optimize, threads=None))

    def time(self) -> None:
        """All sides, plain and by the clock, batch by batch in turns."""
        works: list[Work] = [work_of(side, self.batch_size) for side in self.sides]
        works += [one.work(self.batch_size) for one in self.staged.values()]
        batches = -(-len(self.sides[0].dataset) // self.batch_size)
        in_turns(works, 1, min(_WARM, batches))
        self.size = fitting(works, self.options.seconds * len(self.sides) / len(works), batches)
        for one in self.staged.values():
            one.taken.clear()
        for again in range(1 + _AGAIN):
            tell = partial(self.advance, f"timing again, {again}" if again else "timing")
            more = in_turns(works, *self.size, tell)
            self.times = np.concatenate((self.times, more), axis=2) if again else more
            ask = self.options.undecided
            compared = [(side, self._against_stock(k)) for k, side in enumerate(self.sides)]
            if ask is None or not any(ratios and ask(side.recipe, side.optimize, *ratios) for side, ratios in compared):
                return

    def ratios(self, one: int, other: int) -> tuple[Ratio, Ratio]:
        """Of two sides: of time, and of CPU time."""
        wall, cpu = self.times
        return ratio(wall[one], wall[other]), ratio(cpu[one], cpu[other])

    def _against_stock(self, k: int) -> tuple[Ratio, Ratio] | None:
        stock = (side.optimize == STOCK and side.recipe == self.sides[k].recipe for side in self.sides)
        place = next((place for place, found in enumerate(stock) if found), k)
        return None if place == k else self.ratios(k, place)

    def side(self, k: int) -> SideRecord:
        """What was measured of one."""
        self.advance("memory and transfer", k, len(self.sides))
        side, clocked, (wall, cpu) = self.sides[k], self.staged.get(k), self.times
        ms, cpu_ms = (1e3 * total(one[k]) / self.samples for one in (wall, cpu))
        forget_peak()
        passing = work_of(side, self.batch_size).start()
        for _ in range(self.size.batches):
            next(passing)
        peak = peak_mib()
        time, work = self._against_stock(k) or (None, None)
        plain = SideRecord(
            recipe=side.recipe,
            level=side.optimize,
            ms=ms,
            mad=1e3 * mad(wall[k].sum(1)) / self.samples,
            cpu_ms=cpu_ms,
            samples_per_second=1e3 / ms,
            seconds=tuple(tuple(row) for row in wall[k].tolist()),
            gaps=gaps_of(wall[k].reshape(-1)),
            peak_mib=peak,
            against_stock=time,
            cpu_against_stock=work,
        )
        if clocked is None:
            return plain
        advice = self.sweep.advice_for(side.recipe) if self.sweep else None
        transfer, stages = worker_transfer(side, self.batch_size), clocked.stages(self.samples)
        sent = transfer if advice and advice.backend == "processes" else 0.0
        step_ms = next((one.step_ms / one.batch_size for one in self.training if _is_of(one, side)), 0.0)
        return replace(
            plain,
            stages=tuple(stages),
            accounted=ratio(wall[len(self.sides) + list(self.staged).index(k)], wall[k]),
            transfer=transfer,
            bottleneck=bottleneck(stages, sent, advice.workers if advice else 0, step_ms),
        )

    def verdicts(self, *, busy: bool) -> Iterator[Verdict]:
        """Settings of a recipe compared with each other and stock; recipes with each other at their last settings."""
        for one, other in combinations(range(len(self.sides)), 2):
            a, b = self.sides[one], self.sides[other]
            if a.recipe == b.recipe or (self.last[a.recipe] == one and self.last[b.recipe] == other):
                time, cpu = self.ratios(one, other)
                work = cpu if busy else None
                yield Verdict(a.name, b.name, time, differs(time, work), verdict(a.name, b.name, time, work))

    def recipe(self, name: str, recipe: Recipe) -> RecipeRecord:
        """A recipe, its plans, and what it does."""
        options, setting = self.options, self.setting
        left, baked = setting.left_of(recipe)
        levels: list[Any] = [side.optimize for side in self.sides if side.recipe == name and side.optimize != STOCK]
        plain, lacks = albumentations_only(options.yardsticks.get(name, left))
        samples = min(options.samples, _INSPECTED)
        seen, ablations = None, []
        if options.effects:
            seen = effects(left, setting, samples, partial(self.advance, f"inspecting {name}"))
        if options.ablate:
            tell = partial(self.advance, f"leaving out steps of {name}")
            side = self.sides[self.last[name]]
            ablations = ablate(
                side, setting, self.batch_size, seconds=options.seconds, samples=samples, progress=tell
            )  # fmt: skip
        return RecipeRecord(
            name=name,
            file=recipe.file,
            digest=recipe.digest,
            text=to_yaml(recipe),
            yardstick=to_yaml(replace(plain, file="")),
            baked=baked,
            not_in_stock=lacks,
            plans={level: explain(left, setting.mode, level).to_json() for level in levels},
            effects=seen,
            ablations=tuple(ablations),
        )


def _is_of(training: Training, side: Side) -> bool:
    return (training.recipe, training.level) == (side.recipe, side.optimize)


def _busy(sides: Sequence[SideRecord], about: Machine) -> str:
    """That the machine was busy with other things; empty where no side waited long for a core."""
    shares = [(waiting(side.ms, side.cpu_ms, side.stages), side) for side in sides if side.stages]
    share, side = max(shares, key=lambda one: one[0])
    if share <= BUSY:
        return ""
    load = "" if about.load is None else f" (load {about.load:.1f} on {about.cores} cores)"
    return (
        f"the machine was busy{load}: {side.name} waited for a core in {100 * share:.0f} % of its time; measure again "
        "when it is idle"
    )
