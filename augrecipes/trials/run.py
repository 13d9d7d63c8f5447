"""Run a trial: train the same small network under each recipe, seed by seed, and compare the scores."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from itertools import pairwise
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from augrecipes.bench.record import machine
from augrecipes.bench.run import by_name
from augrecipes.bench.step import device_of
from augrecipes.bench.timing import spread_out
from augrecipes.cache import TRIALS
from augrecipes.compat.guard import version_of
from augrecipes.errors import BenchError, counted
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import Source
from augrecipes.recipe.write import to_yaml
from augrecipes.sources.opening import words_of
from augrecipes.trials import networks
from augrecipes.trials.ablation import arms, rungs, survivors
from augrecipes.trials.plan import rehearse
from augrecipes.trials.record import CurvePoint, RecipeResult, Trial, TrialPlan, WorstSample
from augrecipes.trials.statistics import compare, estimate, seeds_needed
from augrecipes.trials.tasks import lesson_of
from augrecipes.trials.trainees import MOST_TILES, open_trainees, read_some
from augrecipes.trials.training import Trainer, TrainingResult, threads_of_torch
from augrecipes.user_code import UserModule, open_module

_SEEDS, _WORST = 8, 8
T = TypeVar("T")
Advance = Callable[[str, int, int], None]


def trial(
    recipes: Recipe | Source | Sequence[Recipe | Source] | Mapping[str, Recipe | Source],
    data: Any,
    valid: Any = None,
    **how: Any,
) -> Trial:
    """Compare recipes by what a small network learns under each.

    Every recipe trains the same network from the same weights on the same samples in the same order, with the same
    draws for the steps that recipes share; then once more for each seed. Networks are scored on validation samples by
    the recipe's own eval section. Trainings are cached: the same call gives the same table, and a call that was killed
    resumes. See docs/TRIALS.md.

    Args:
        recipes: of one kind: Recipes, or what `augrecipes.load` takes; by name, or a list, or one of them to `ablate`.
        data: as `augrecipes.bench` takes it: a folder or a list; for pairs one by target; a packed store.
        valid: validation data; None: a fifth of `data`, chosen by key, stratified by class, in whole groups (slides).
        task: `classify`, `segment`, `sr` or `bag`; None: by the recipes' kind and the data.
        minutes: budget of the whole trial.
        seeds: the most to run; fewer than six decide nothing. None: 8, or more where many comparisons need them.
        epochs: length of each training; None: as many as fit into the minutes.
        model: `FILE.py:make`, a function that returns a network; it is passed those of `channels`, `classes` and
            (`sr`) `factor` that it names. `loss(output, batch)` and `optimizer(model)` in that file are used, too.
        device: `cpu`, `cuda` or `cuda:N`; None: a GPU where there is one.
        masks: a folder of masks of the data.
        valid_masks: a folder of masks of `valid`.
        ablate: leave each step of one recipe out in turn instead.
        fresh: train again what the cache holds, by the same plan.
        advance: called with (what is in progress, done, total).
        announce: called with the plan, and the unit of scores, before the trial begins.

    Raises:
        BenchError: recipes of several kinds; data that lack what the task needs; a model that fails.
        DataError: the data cannot be read.
        LintError, RecipeError: as `Recipe.compile`.

    >>> import numpy as np, augrecipes as ar
    >>> data = [(np.full((32, 32, 3), 99 * (k % 2), np.uint8), k % 2) for k in range(40)]
    >>> plain = {"version": 1, "recipe": "plain", "steps": [], "eval": []}
    >>> flips = {"version": 1, "recipe": "flips", "steps": ["HorizontalFlip"], "eval": []}
    >>> table = ar.trial([plain, flips], data, epochs=1, seeds=2)
    >>> [result.name for result in table.recipes], table.verdicts[0].verdict  # two seeds decide nothing
    (['plain', 'flips'], None)
    """
    return TrialRun(recipes, data, valid, **how).trial


class TrialRun:
    """Run a trial on construction.

    Attributes:
        trial: the result.
        valid: the validation samples that were scored, by recipe.
    """

    def __init__(
        self, recipes: Any, data: Any, valid: Any = None, *, task: Any = None, minutes: float = 10.0,
        seeds: int | None = None, epochs: float | None = None, model: str | None = None, device: str | None = None,
        masks: Any = None, valid_masks: Any = None, ablate: bool = False, fresh: bool = False,
        advance: Advance = lambda *_: None, announce: Callable[[TrialPlan, str], None] = lambda *_: None,
    ) -> None:  # fmt: skip
        self._start, self._advance, self._fresh, self._ablate = perf_counter(), advance, fresh, ablate
        named, self._obstacles = by_name(recipes), list[tuple[str, str]]()
        self._without_eval = [name for name, recipe in named.items() if recipe.eval is None]
        if not named or (ablate and len(named) > 1):
            what = "ablation leaves the steps of one recipe out" if ablate else "a trial compares recipes"
            raise BenchError(f"{what}, got {len(named)}")
        if not all(limit is None or 0 < limit < inf for limit in (minutes, seeds, epochs)) or (seeds or 0) % 1:
            raise BenchError("minutes, seeds and epochs are more than 0, and seeds a whole number")
        if ablate:
            named, self._obstacles = arms(next(iter(named.values())), lambda arm: read_some(arm, data, masks))
        trainees = self._trainees = open_trainees(named, data, valid, masks, valid_masks)
        trainee = next(iter(trainees.by_digest.values()))
        lesson = lesson_of(task, trainee.train, trainee.valid)
        module = UserModule("augrecipes.trials.networks", lesson.network, networks, BenchError)
        if model is not None:
            module = open_module(model, "make", "network:", BenchError)
        batch_size = max(1, min(lesson.batch_size, len(trainee.train) // 4))
        self._trainer = Trainer(lesson, device_of(device), batch_size, module)
        others = len(trainees.recipes) - 1
        self._pairs = others if ablate else others * (others + 1) // 2
        self._more_seeds = 0 if seeds else max(0, seeds_needed(self._pairs) - _SEEDS)
        limits = {"minutes": minutes, "seeds": seeds or _SEEDS + self._more_seeds, "epochs": epochs}
        self._key = self._digest({**limits, "ablate": ablate})
        plan = self._plan = self._plan_trial(limits)
        announce(plan, lesson.unit)
        trainees.score(spread_out(len(trainee.valid), plan.valid))
        runs = self._run()
        self.valid = {name: trainees.by_digest[recipe.digest].valid for name, recipe in trainees.recipes.items()}
        names = [*trainees.recipes]
        verdicts = compare(self._scores(runs), names[0] if ablate else None, self._rungs(plan.seeds))
        if ablate:  # the step that brings most comes first
            verdicts = tuple(sorted(verdicts, key=lambda verdict: -verdict.difference))
            names[1:] = [verdict.b for verdict in verdicts]
        results = tuple(self._result(name, runs) for name in names)
        self.trial = Trial(
            task=lesson.task, metric=lesson.metric, unit=lesson.unit, data=words_of(data),
            valid="a fifth of the data" if valid is None else words_of(valid), network=self._network(),
            machine=str(machine()), plan=plan, recipes=results, verdicts=verdicts, notes=tuple(self._notes(runs)),
            seconds=self._seconds(runs),
        )  # fmt: skip

    def _digest(self, limits: Mapping[str, Any]) -> str:
        """Hash what determines a training: recipes, data, network, machine and packages."""
        trainer, module = self._trainer, self._trainer.module
        code = Path(str(getattr(module.content, "__file__", ""))).read_bytes().hex()
        facts = [limits, trainer.lesson.task, trainer.device.name, threads_of_torch(), code, module.name]
        packages = [version_of(name) for name in ("augrecipes", "torch", "numpy", "opencv-python-headless")]
        text = json.dumps([facts, packages, self._trainees.fingerprint()], sort_keys=True, default=str)
        return blake2b(text.encode(), digest_size=12).hexdigest()

    def _plan_trial(self, limits: Mapping[str, Any]) -> TrialPlan:
        """Take the plan from the cache where this trial ran before, or rehearse one."""
        if (known := _read_cached(self._key, TrialPlan)) is not None:
            return known
        self._advance("rehearsing", 0, 1)
        plan = rehearse(
            self._trainer, [*self._trainees.by_digest.values()], **limits, rungs=self._rungs, pairs=self._pairs,
            arms=len(self._trainees.recipes), elapsed=lambda: perf_counter() - self._start,
        )  # fmt: skip
        TRIALS.write(self._key, json.dumps(asdict(plan)).encode())
        return plan

    def _run(self) -> dict[str, list[TrainingResult]]:
        """Train until the seeds or the minutes are spent: results by recipe digest, one for each seed."""
        plan, trainees = self._plan, self._trainees
        runs: dict[str, list[TrainingResult]] = {key: [] for key in trainees.by_digest}
        names, expected, looks = [*trainees.recipes], plan.seconds, self._rungs(plan.seeds)
        for seed in range(plan.seeds):
            if seed and self._seconds(runs) + expected > 60 * plan.minutes:
                break
            keys = dict.fromkeys(key for name in names for key in (trainees.recipes[name].digest, trainees.clean[name]))
            for number, key in enumerate(keys):
                self._advance("training", seed * len(keys) + number, plan.seeds * len(keys))
                runs[key].append(self._training(key, seed))
            mean = (self._seconds(runs) - plan.rehearsal) / (seed + 1)
            expected = min(mean, sum(runs[key][-1].seconds for key in keys))
            if seed + 1 in looks:
                names[1:] = survivors(self._scores(runs), names[0], looks.index(seed + 1), looks)
                if len(names) == 1:
                    break
        return runs

    def _seconds(self, runs: Mapping[str, list[TrainingResult]]) -> float:
        """The seconds that the trial has taken so far, earlier calls included."""
        return self._plan.rehearsal + sum(run.seconds for some in runs.values() for run in some)

    def _rungs(self, seeds: int) -> tuple[int, ...]:
        """The numbers of seeds at which an ablation drops decided arms; other trials have only their last."""
        return rungs(seeds, len(self._trainees.recipes) - 1) if self._ablate else (seeds,)

    def _scores(self, runs: Mapping[str, list[TrainingResult]]) -> dict[str, list[float]]:
        return {name: [run.score for run in runs[recipe.digest]] for name, recipe in self._trainees.recipes.items()}

    def _training(self, key: str, seed: int) -> TrainingResult:
        """Train once, or take the result from the cache."""
        name = f"{self._key}-{key[:16]}-{seed}"
        if not self._fresh and (known := _read_cached(name, TrainingResult)) is not None:
            return known
        result = self._trainer.train(self._trainees.by_digest[key], seed, self._plan.steps, self._plan.points)
        TRIALS.write(name, json.dumps(asdict(result)).encode())
        return result

    def _network(self) -> str:
        module = self._trainer.module
        if module.content is not networks:
            return f"{module.place}:{module.name}"
        network = self._trainer.network(3)
        return f"{module.name}, {sum(tensor.numel() for tensor in network.parameters()):,} parameters"

    def _result(self, name: str, runs: Mapping[str, list[TrainingResult]]) -> RecipeResult:
        recipe = self._trainees.recipes[name]
        mine, clean = runs[recipe.digest], runs[self._trainees.clean[name]]
        affinity = [run.augmented[recipe.digest] / run.score if run.score else np.nan for run in clean[: len(mine)]]
        diversity = [run.loss / plain.loss if plain.loss else np.nan for run, plain in zip(mine, clean, strict=False)]
        scores, epochs = tuple(run.score for run in mine), self._plan.epochs / self._plan.steps
        curve = (np.mean(point, 0).tolist() for point in zip(*(run.curve for run in mine), strict=True))
        waiting, seconds = (sum(getattr(run, part) for run in mine) for part in ("waiting_seconds", "train_seconds"))
        classes = np.ma.masked_invalid([run.classes for run in mine]).mean(0).filled(np.nan).tolist()
        return RecipeResult(
            name=name, digest=recipe.digest, text=to_yaml(recipe), score=estimate(scores), scores=scores,
            affinity=estimate(affinity), diversity=estimate(diversity),
            curve=tuple(CurvePoint(step * epochs, loss, score) for step, loss, score in curve),
            samples_per_second=len(mine) * self._plan.steps * self._plan.batch_size / seconds,
            waiting=waiting / seconds,
            classes=dict(zip(self._trainer.lesson.classes, classes, strict=True)), worst=self._worst(name, mine),
        )  # fmt: skip

    def _worst(self, name: str, runs: Sequence[TrainingResult]) -> tuple[WorstSample, ...]:
        """The validation samples with the lowest scores; the higher loss breaks ties."""
        dataset, classes = self.valid[name], self._trainer.lesson.classes
        scores, losses = (np.mean([getattr(run, part) for run in runs], 0) for part in ("scores", "losses"))
        worst = []
        for k in np.lexsort((-losses, scores))[:_WORST].tolist():
            votes = Counter(run.predicted[k] for run in runs if run.predicted)
            predicted = classes[votes.most_common(1)[0][0]] if votes else ""
            truth = classes[int(dataset.labels[k])] if votes and dataset.labels is not None else ""
            worst.append(WorstSample(k, dataset.path(k), float(scores[k]), float(losses[k]), truth, predicted))
        return tuple(worst)

    def _notes(self, runs: Mapping[str, list[TrainingResult]]) -> Iterator[str]:
        """Yield what a reader should know to judge the result."""
        plan, recipes = self._plan, self._trainees.recipes
        done = max(map(len, runs.values()))
        if plan.seeds < plan.asked:
            yield f"{plan.seeds} of {counted(plan.asked, 'seed')} fit into {plan.minutes:g} minutes"
        if self._more_seeds:
            yield f"{plan.asked} seeds instead of {_SEEDS}: fewer cannot decide {counted(self._pairs, 'comparison')}"
        if done < plan.seeds:
            yield f"{done} of {plan.seeds} seeds ran: the machine was slower than at the rehearsal"
        if self._trainees.shared:
            files = counted(self._trainees.shared, "validation file")
            yield f"{files} are learned from, too: scores are too good, and say little of what is new"
        for name in self._without_eval:
            yield f"{name} has no eval section: it is scored by its steps without what is random, as eval: derived"
        yield from (f"{step} stays: {reason}" for step, reason in self._obstacles)
        same = Counter(recipe.digest for recipe in recipes.values())
        for names in ([name for name, r in recipes.items() if r.digest == key] for key, n in same.items() if n > 1):
            yield f"{' and '.join(names)} do the same: one training serves them all"
        if any(a.eval != b.eval for a, b in pairwise(recipes.values())):
            yield "recipes have different eval sections: each is scored by its own"
        if any(recipe.facts.tiles for recipe in recipes.values()):
            yield f"of each bag at most {MOST_TILES} tiles are read"


def _read_cached(name: str, record: type[T]) -> T | None:
    """Read a record from the cache; None where it is missing or its fields differ."""
    try:
        return record(**json.loads(TRIALS.read(name) or "null"))
    except (TypeError, ValueError):
        return None
