"""`bench`: compare recipes on your own data, over the same samples and random parameters."""

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
from augrecipes.bench.timing import Ratio, RunSize, Times, fitting, gaps_of, interleaved, mad, ratio, total
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

_WARM = 2  # untimed batches of each side before the first round
_BATCH = 8
_INSPECTED = 64  # samples at most that the effects of steps are measured on
_AGAIN = 3  # how often as many rounds are added while a result is undecided


@dataclass(frozen=True)
class Options:
    """What to measure, and for how long.

    Attributes:
        optimize: levels of the optimiser; None: `none`, and the level that each recipe chooses.
        stock: also measure a plain albumentations Compose for each recipe.
        yardsticks: recipes that stock runs, by recipe name; by default the recipe's own steps.
        samples: samples per pass at most; passes are shorter where time is short.
        batch_size: samples per batch; None: 8, or all samples if there are fewer; 1 for bags, and for pairs in
            evaluation.
        seconds: approximate time of each side, and of each of `workers` for each recipe.
        workers: numbers of threads and of processes for a sweep over each recipe at its last level, 0: this process;
            empty: no sweep.
        sizes: samples per epoch of the sweep; None: chosen from the data and the time.
        train_step: milliseconds per batch, or the user's own model (see `augrecipes.bench.step`); None: no training is
            measured.
        device: the model's device; None: a GPU if there is one.
        effects: measure what the recipes do to the images.
        ablate: measure each recipe without each of its steps in turn.
        undecided: called with a recipe, its level, and its ratios to stock of wall and of CPU time; returns whether
            more rounds are needed, which are added up to three times.
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
        recipes: recipes of one kind, or what `augrecipes.load` takes, by the names that reports show.
        setting: data, section and seed; or the data alone.
        options: what to measure, and for how long.
        advance: called with (what is in progress, done, of how much).

    Raises:
        BenchError: the recipes are of several kinds, have no stock form, or the training step cannot be loaded.
        DataError: the data cannot be read, or a step fails.
        CollateError: a recipe's samples do not fit into one batch.
        LintError, RecipeError: as `Recipe.compile`.
    """
    loaded = {name: as_recipe(recipe) for name, recipe in recipes.items()}
    for recipe in loaded.values():
        refuse_stacks(recipe, "and bench measures single images: time ar.loader over ar.ImageFolder")
    setting = replace(setting if isinstance(setting, Setting) else Setting(setting), recipes=(*loaded.values(),))
    options = options or Options()
    step = None if options.train_step is None else load_step(options.train_step, options.device)
    about = machine()  # before this run adds to the load
    tune_allocator()  # as the loader does; stock gains as much from it
    run = _Run(loaded, setting, options, advance or (lambda *_: None))
    run.train(step, *map(Case, run.sides))
    run.time()
    with warnings.catch_warnings():
        # torch warns of more workers than cores, which a sweep measures on purpose.
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
    """Return recipes by name; repeated names get a number."""
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
        sides: the compared sides, those of stock last.
        staged: the sides other than stock with their stages timed by a clock.
        last: position of each recipe's side at its last level.
        stock: position of each recipe's stock side.
        times: seconds of all sides, then of the staged ones: (wall and CPU, side, round, batch).
    """

    sweep: Sweep | None = None
    training: tuple[Training, ...] = ()
    size: RunSize
    times: Times

    def __init__(self, recipes: Mapping[str, Recipe], setting: Setting, options: Options, advance: Parts) -> None:
        self.setting, self.options, self.advance = setting, options, advance
        self.kind = next(iter(recipes.values())).kind
        # Bags, and the whole images of pairs, differ in size and cannot be collated.
        uncollated = facts(self.kind).tiles or (facts(self.kind).scales and setting.mode == "eval")
        self.batch_size = options.batch_size or (1 if uncollated else min(_BATCH, options.samples))
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
        """Time all sides, plain and staged, interleaved batch by batch."""
        works = [work_of(side, self.batch_size) for side in self.sides]
        works += [staged_side.work(self.batch_size) for staged_side in self.staged]
        batches = -(-len(self.sides[0].dataset) // self.batch_size)
        interleaved(works, 1, min(_WARM, batches))
        self.size = fitting(works, self.options.seconds * len(self.sides) / len(works), batches)
        for staged_side in self.staged:
            staged_side.seconds.clear()
        for again in range(1 + _AGAIN):
            what = f"timing again, {again}" if again else "timing"
            more = interleaved(works, *self.size, partial(self.advance, what))
            self.times = np.concatenate((self.times, more), axis=2) if again else more
            if not any(self._undecided(k) for k in range(len(self.sides))):
                return

    def train(self, step: Wait | ModelStep | None, *cases: Case) -> None:
        """Measure the share of a training step that is waiting, if there is a step."""
        if step is not None and cases:
            advance = partial(self.advance, "training")
            self.training += measure(cases, step, self.batch_size, seconds=self.options.seconds, progress=advance)

    def feed(self, step: Wait | ModelStep | None) -> None:
        """Run the sweep over workers, if there are any, and training with the settings that it recommends."""
        options, last = self.options, {name: self.sides[k] for name, k in self.last.items()}
        if not options.workers:
            return
        # All of the data as in the user's own runs: the tiles of a bag in a thread per core.
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
        """Return the ratios of two sides: of wall time and of CPU time."""
        wall, cpu = self.times
        return ratio(wall[first], wall[second]), ratio(cpu[first], cpu[second])

    def _against_stock(self, k: int) -> tuple[Ratio, Ratio] | None:
        stock = self.stock.get(self.sides[k].recipe, k)
        return None if stock == k else self._ratios(k, stock)

    def side(self, k: int) -> SideRecord:
        """Return the record of a side."""
        self.advance("memory and transfer", k, len(self.sides))
        side, (wall, cpu) = self.sides[k], self.times
        ms, cpu_ms = (1e3 * total(clock[k]) / self.samples for clock in (wall, cpu))
        spread, seconds = 1e3 * mad(wall[k].sum(1)) / self.samples, tuple(map(tuple, wall[k].tolist()))
        passing = work_of(side, self.batch_size).start()
        peak = peak_mib(lambda: deque(islice(passing, self.size.batches), 0))
        ratios = self._against_stock(k) or (None, None)
        batches = 1e3 / ms, seconds, gaps_of(wall[k].reshape(-1)), peak
        more = self._stage_fields(k) if k < len(self.staged) else {}
        return SideRecord(side.recipe, side.optimize, ms, spread, cpu_ms, *batches, *ratios, **more)

    def _stage_fields(self, k: int) -> dict[str, Any]:
        """Return the fields of a `SideRecord` that only sides with timed stages have."""
        side = self.sides[k]
        advice = self.sweep.advice_for(side.recipe) if self.sweep else None
        transfer, stages = worker_transfer(side, self.batch_size), tuple(self.staged[k].stages(self.samples))
        transfer_ms = transfer if advice and advice.backend == "processes" else 0.0
        cases = (case for case in self.training if (case.recipe, case.level) == (side.recipe, side.optimize))
        step_ms = next((case.step_ms / case.batch_size for case in cases), 0.0)
        limit = bottleneck(stages, transfer_ms, advice.workers if advice else 0, step_ms)
        return {"stages": stages, "transfer": transfer, "bottleneck": limit}

    def verdicts(self, *, busy: bool) -> Iterator[Verdict]:
        """Compare the levels of each recipe and its stock with each other, and the recipes at their last levels."""
        for first, second in combinations(range(len(self.sides)), 2):
            a, b = self.sides[first], self.sides[second]
            if a.recipe == b.recipe or {first, second} <= {*self.last.values()}:
                time, cpu = self._ratios(first, second)
                work = cpu if busy else None
                yield Verdict(a.name, b.name, time, differs(time, work), verdict(a.name, b.name, time, work))

    def recipe(self, name: str, recipe: Recipe) -> RecipeRecord:
        """Return the record of a recipe, with its plans and effects."""
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
    """Return a warning that the machine was busy; empty if no side waited long for a core."""
    shares = [(waiting(side.ms, side.cpu_ms, side.stages), side) for side in sides if side.stages]
    share, side = max(shares, key=lambda pair: pair[0])
    if share <= BUSY:
        return ""
    load = "" if about.load is None else f" (load {about.load:.1f} on {about.cores} cores)"
    waited = f"{side.name} waited for a core in {100 * share:.0f} % of its time"
    return f"the machine was busy{load}: {waited}; measure again when it is idle"
