"""`bench`: recipes compared on one's own data, over the same samples and random parameters."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, islice
from typing import Any

import numpy as np

from augrecipes.bench.effects import ablate, effects
from augrecipes.bench.fidelity import fidelity_verdicts
from augrecipes.bench.record import Bench, Machine, RecipeRecord, SideRecord, Verdict, machine, peak_mib
from augrecipes.bench.sides import Setting, albumentations_only, compiled, sides_of, stock_side, with_pipeline, work_of
from augrecipes.bench.stages import staged, worker_transfer
from augrecipes.bench.step import ModelStep, Wait, load_step
from augrecipes.bench.sweep import Sweep, sweep
from augrecipes.bench.timing import Ratio, RunSize, Times, fitting, gaps_of, in_turns, mad, ratio, total
from augrecipes.bench.training import Case, Training, measure
from augrecipes.bench.verdicts import BUSY, bottleneck, differs, verdict, waiting
from augrecipes.compiler.explain import explain
from augrecipes.machine import tune_allocator
from augrecipes.progress import Parts
from augrecipes.recipe.kinds import facts
from augrecipes.recipe.model import Optimize, Recipe
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.recipe.write import to_yaml
from augrecipes.sources.opening import is_source, words_of
from augrecipes.sources.stacks import refuse_stacks

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
        batch_size: samples in a batch; None: 8, or all where there are fewer; 1 of bags, and
            of pairs in evaluation.
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
    for recipe in loaded.values():
        refuse_stacks(recipe, "and bench measures single images: time ar.loader over ar.ImageFolder")
    setting = replace(setting if isinstance(setting, Setting) else Setting(setting), recipes=(*loaded.values(),))
    options = options or Options()
    step = None if options.train_step is None else load_step(options.train_step, options.device)
    about = machine()  # its load, before this run adds to it
    tune_allocator()  # as the loader does, and stock gains as much
    run = _Run(loaded, setting, options, advance or (lambda *_: None))
    run.train(step, *map(Case, run.sides))
    run.time()
    with warnings.catch_warnings():
        # torch warns where there are more workers than cores, which is what is measured here.
        warnings.filterwarnings("ignore", message="This DataLoader will create", category=UserWarning)
        run.feed(step)
    sides = tuple(map(run.side, range(len(run.sides))))
    busy = _busy(sides, about)
    records = tuple(run.recipe(name, recipe) for name, recipe in loaded.items())
    return Bench(
        machine=about,
        kind=run.kind,
        data=words_of(setting.data) if is_source(setting.data) else setting.data,
        mode=setting.mode,
        seed=setting.seed,
        samples=run.samples,
        batch_size=run.batch_size,
        rounds=run.times.shape[2],
        recipes=records,
        sides=sides,
        verdicts=tuple(run.verdicts(busy=bool(busy))),
        sweep=run.sweep,
        training=run.training,
        busy=busy,
        fidelity_verdicts=tuple(fidelity_verdicts({one.name: one.effects.fidelity for one in records if one.effects})),
    )


def by_name(recipes: Any) -> dict[str, Recipe]:
    """Recipes by their names, told apart where several have the same."""
    if isinstance(recipes, Mapping) and "version" not in recipes and "steps" not in recipes:
        return {str(name): as_recipe(recipe) for name, recipe in recipes.items()}
    several = recipes if isinstance(recipes, Sequence) and not isinstance(recipes, str) else [recipes]
    named: dict[str, Recipe] = {}
    for recipe in map(as_recipe, several):
        same = sum(recipe.name == other.name for other in named.values())
        named[f"{recipe.name} ({same + 1})" if same else recipe.name] = recipe
    return named


class _Run:
    """A comparison in progress.

    Attributes:
        sides: that are compared; those of stock last.
        staged: all others, as a clock times them.
        last: by recipe the place of the side at its last setting.
        stock: by recipe the place of its side of stock.
        times: of all sides, then of those with a clock: wall and CPU, side, round, batch.
    """

    sweep: Sweep | None = None
    training: tuple[Training, ...] = ()
    size: RunSize
    times: Times

    def __init__(self, recipes: Mapping[str, Recipe], setting: Setting, options: Options, advance: Parts) -> None:
        self.setting, self.options, self.advance = setting, options, advance
        self.kind = next(iter(recipes.values())).kind
        # Bags, and whole images of pairs, differ in size.
        alone = facts(self.kind).tiles or (facts(self.kind).scales and setting.mode == "eval")
        self.batch_size = options.batch_size or (1 if alone else min(_BATCH, options.samples))
        samples = max(options.samples // self.batch_size, 1) * self.batch_size
        self.sides = sides_of(recipes, options.optimize, setting, samples)
        self.last = {side.recipe: k for k, side in enumerate(self.sides)}
        self.staged = [staged(side, setting) for side in self.sides]
        self.stock: dict[str, int] = {}
        if options.stock:
            first = {side.recipe: side for side in reversed(self.sides)}
            self.stock = {name: len(self.sides) + k for k, name in enumerate(recipes)}
            self.sides += [stock_side(first[name], setting, options.yardsticks.get(name)) for name in recipes]

    @property
    def samples(self) -> int:
        return self.size.batches * self.batch_size

    def time(self) -> None:
        """All sides, plain and by the clock, batch by batch in turns."""
        works = [work_of(side, self.batch_size) for side in self.sides]
        works += [staged_side.work(self.batch_size) for staged_side in self.staged]
        batches = -(-len(self.sides[0].dataset) // self.batch_size)
        in_turns(works, 1, min(_WARM, batches))
        self.size = fitting(works, self.options.seconds * len(self.sides) / len(works), batches)
        for staged_side in self.staged:
            staged_side.taken.clear()
        for again in range(1 + _AGAIN):
            what = f"timing again, {again}" if again else "timing"
            more = in_turns(works, *self.size, partial(self.advance, what))
            self.times = np.concatenate((self.times, more), axis=2) if again else more
            if not any(self._undecided(k) for k in range(len(self.sides))):
                return

    def train(self, step: Wait | ModelStep | None, *cases: Case) -> None:
        """How much of a training step is waiting, where there is a step."""
        if step is not None and cases:
            advance = partial(self.advance, "training")
            self.training += measure(cases, step, self.batch_size, seconds=self.options.seconds, progress=advance)

    def feed(self, step: Wait | ModelStep | None) -> None:
        """A sweep where there are workers, and training with the settings that it recommends."""
        options, last = self.options, {name: self.sides[k] for name, k in self.last.items()}
        if not options.workers:
            return
        # All of the data as a user reads it: the tiles of a bag in a thread for each core.
        whole = [
            (name, side.optimize, with_pipeline(side.whole, compiled(side.source, self.setting, side.optimize, None)))
            for name, side in last.items()
        ]
        how: dict[str, Any] = {"sizes": options.sizes, "seconds": options.seconds, "seed": self.setting.seed}
        how["a_batch"] = max(float(np.median(self.times[0][k])) for k in self.last.values())
        self.sweep = sweep(whole, options.workers, self.batch_size, advance=self.advance, **how)
        advised = (advice for advice in self.sweep.advice if advice.workers)
        self.train(step, *(Case(last[advice.recipe], advice.backend, advice.workers) for advice in advised))

    def _undecided(self, k: int) -> bool:
        side, ask, ratios = self.sides[k], self.options.undecided, self._against_stock(k)
        return ask is not None and ratios is not None and ask(side.recipe, side.optimize, *ratios)

    def _ratios(self, first: int, second: int) -> tuple[Ratio, Ratio]:
        """Of two sides: of time, and of CPU time."""
        wall, cpu = self.times
        return ratio(wall[first], wall[second]), ratio(cpu[first], cpu[second])

    def _against_stock(self, k: int) -> tuple[Ratio, Ratio] | None:
        place = self.stock.get(self.sides[k].recipe, k)
        return None if place == k else self._ratios(k, place)

    def side(self, k: int) -> SideRecord:
        """What was measured of one."""
        self.advance("memory and transfer", k, len(self.sides))
        side, (wall, cpu) = self.sides[k], self.times
        ms, cpu_ms = (1e3 * total(clock[k]) / self.samples for clock in (wall, cpu))
        spread, seconds = 1e3 * mad(wall[k].sum(1)) / self.samples, tuple(map(tuple, wall[k].tolist()))
        passing = work_of(side, self.batch_size).start()
        peak = peak_mib(lambda: deque(islice(passing, self.size.batches), 0))
        ratios = self._against_stock(k) or (None, None)
        of_batches = 1e3 / ms, seconds, gaps_of(wall[k].reshape(-1)), peak
        more = self._by_clock(k) if k < len(self.staged) else {}
        return SideRecord(side.recipe, side.optimize, ms, spread, cpu_ms, *of_batches, *ratios, **more)

    def _by_clock(self, k: int) -> dict[str, Any]:
        """What is known of a side whose stages are timed: the fields of a `SideRecord`."""
        side = self.sides[k]
        advice = self.sweep.advice_for(side.recipe) if self.sweep else None
        transfer, stages = worker_transfer(side, self.batch_size), tuple(self.staged[k].stages(self.samples))
        sent = transfer if advice and advice.backend == "processes" else 0.0
        cases = (case for case in self.training if (case.recipe, case.level) == (side.recipe, side.optimize))
        step_ms = next((case.step_ms / case.batch_size for case in cases), 0.0)
        binds = bottleneck(stages, sent, advice.workers if advice else 0, step_ms)
        return {"stages": stages, "transfer": transfer, "bottleneck": binds}

    def verdicts(self, *, busy: bool) -> Iterator[Verdict]:
        """Settings of a recipe compared with each other and stock; recipes with each other at their last settings."""
        for first, second in combinations(range(len(self.sides)), 2):
            a, b = self.sides[first], self.sides[second]
            if a.recipe == b.recipe or {first, second} <= {*self.last.values()}:
                time, cpu = self._ratios(first, second)
                work = cpu if busy else None
                yield Verdict(a.name, b.name, time, differs(time, work), verdict(a.name, b.name, time, work))

    def recipe(self, name: str, recipe: Recipe) -> RecipeRecord:
        """A recipe, its plans, and what it does."""
        options, setting, side = self.options, self.setting, self.sides[self.last[name]]
        left, baked = setting.remaining_recipe(recipe)
        levels: list[Any] = [each.side.optimize for each in self.staged if each.side.recipe == name]
        plain, lacks = albumentations_only(options.yardsticks.get(name, left))
        samples = min(options.samples, _INSPECTED)
        measured, ablations = None, []
        if options.effects:
            measured = effects(left, setting, samples, partial(self.advance, f"inspecting {name}"))
        if options.ablate:
            advance = partial(self.advance, f"leaving out steps of {name}")
            how: dict[str, Any] = {"seconds": options.seconds, "samples": samples, "progress": advance}
            ablations = ablate(side, setting, self.batch_size, **how)
        plans = {level: explain(left, setting.mode, level).to_json() for level in levels}
        texts = to_yaml(recipe), baked, to_yaml(replace(plain, file=""))
        return RecipeRecord(name, recipe.file, recipe.digest, *texts, lacks, plans, measured, tuple(ablations))


def _busy(sides: Sequence[SideRecord], about: Machine) -> str:
    """That the machine was busy with other things; empty where no side waited long for a core."""
    shares = [(waiting(side.ms, side.cpu_ms, side.stages), side) for side in sides if side.stages]
    share, side = max(shares, key=lambda pair: pair[0])
    if share <= BUSY:
        return ""
    load = "" if about.load is None else f" (load {about.load:.1f} on {about.cores} cores)"
    waited = f"{side.name} waited for a core in {100 * share:.0f} % of its time"
    return f"the machine was busy{load}: {waited}; measure again when it is idle"
