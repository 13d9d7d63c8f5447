"""A trial: recipes that train the same small network, seed by seed, and what that taught."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from augrecipes.bench.record import machine
from augrecipes.bench.step import device_of
from augrecipes.bench.timing import spread_out
from augrecipes.cache import TRIALS
from augrecipes.compat.guard import version_of
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import BenchError, counted
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import Source
from augrecipes.recipe.write import to_yaml
from augrecipes.sources.opening import words_of
from augrecipes.trials.ablation import arms, most_runs, rungs, survivors
from augrecipes.trials.plan import rehearse
from augrecipes.trials.record import CurvePoint, RecipeResult, Trial, TrialPlan, WorstSample
from augrecipes.trials.statistics import compare, estimate
from augrecipes.trials.tasks import lesson_of
from augrecipes.trials.trainees import MOST_TILES, by_name, open_trainees, read_some
from augrecipes.trials.training import Trainer, TrainingResult, threads_of_torch, valid_batch_of
from augrecipes.user_code import open_module

_WORST = 8
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
    the recipe's own eval section. Trainings are kept in the cache: the same call gives the same table, and one that was
    killed goes on. See docs/TRIALS.md.

    Args:
        recipes: of one kind: Recipes, or what `augrecipes.load` takes; by name, or a list, or one of them to `ablate`.
        data: to learn from, as of `augrecipes.bench`: a folder or a list; for pairs one by target; a packed store.
        valid: to score; None: a fifth of the data, keyed, by class, and whole groups (slides).
        task: `classify`, `segment`, `sr` or `bag`; None: by the recipes' kind and the data.
        minutes: that all of it may take.
        seeds: at most; fewer than six decide nothing, and several recipes take more.
        epochs: of each training; None: as many as fit into the minutes.
        model: `FILE.py:make`, a function that makes a network, and takes `channels` and `classes` if it names them;
            the file's `loss(output, batch)` and `optimizer(model)` count where they are.
        device: `cpu`, `cuda` or `cuda:N`; None: a GPU where there is one.
        masks: a folder of masks of the data.
        valid_masks: a folder of masks of `valid`.
        ablate: leave each step of one recipe out in turn instead.
        fresh: train again what the cache holds, by the same plan.
        advance: called with (what is in progress, done, of how much).
        announce: called with the plan, and the unit of scores, before the trial begins.

    Raises:
        BenchError: recipes of several kinds; data without what the task is about; a model that fails.
        DataError: of the data.
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
    """A trial that was run.

    Attributes:
        trial: what came of it.
        valid: by recipe the validation samples that were scored.
    """

    def __init__(
        self, recipes: Any, data: Any, valid: Any = None, *, task: Any = None, minutes: float = 10.0, seeds: int = 8,
        epochs: float | None = None, model: str | None = None, device: str | None = None, masks: Any = None,
        valid_masks: Any = None, ablate: bool = False, fresh: bool = False, advance: Advance = lambda *_: None,
        announce: Callable[[TrialPlan, str], None] = lambda *_: None,
    ) -> None:  # fmt: skip
        self._began, self._advance, self._fresh, self._ablate = perf_counter(), advance, fresh, ablate
        named, self._kept = by_name(recipes), list[tuple[str, str]]()
        self._without_eval = [name for name, recipe in named.items() if recipe.eval is None]
        if ablate:
            if len(named) > 1:
                raise BenchError(f"ablation leaves the steps of one recipe out, and these are {len(named)}")
            named, self._kept = arms(next(iter(named.values())), lambda arm: read_some(arm, data, masks))
        trainees = self._trainees = open_trainees(named, data, valid, masks, valid_masks)
        one = next(iter(trainees.by_digest.values()))
        lesson = lesson_of(task, one.recipe, one.train, one.valid)
        module = None if model is None else open_module(model, "make", "network:", BenchError)
        wanted = 1 if lesson.task == "sr" else lesson.batch_size  # whole images of pairs differ in size
        valid_batch = min(valid_batch_of(each, wanted) for each in trainees.by_digest.values())
        batch_size = max(1, min(lesson.batch_size, len(one.train) // 4))
        self._trainer = Trainer(lesson, device_of(device), batch_size, valid_batch, module)
        limits = {"minutes": minutes, "seeds": seeds, "epochs": epochs}
        self._key = self._digest({**limits, "ablate": ablate})
        plan = self._plan = self._planned(limits)
        announce(plan, lesson.unit)
        trainees.score(spread_out(len(one.valid), plan.valid))
        runs = self._run()
        self.valid = {name: trainees.by_digest[recipe.digest].valid for name, recipe in trainees.recipes.items()}
        results = tuple(self._result(name, runs) for name in trainees.recipes)
        self.trial = Trial(
            task=lesson.task, metric=lesson.metric, unit=lesson.unit, data=words_of(data),
            valid="a fifth of the data" if valid is None else words_of(valid), network=self._network(one.train),
            machine=str(machine()), plan=plan, recipes=results,
            verdicts=compare(
                self._scores(runs), results[0].name if ablate else None, self._rungs(plan.seeds) if ablate else ()
            ),
            notes=tuple(self._notes(runs)), seconds=perf_counter() - self._began,
        )  # fmt: skip

    def _digest(self, limits: Mapping[str, Any]) -> str:
        """What decides a training, in a few digits: recipes, data, network, machine and packages."""
        trainer, module = self._trainer, self._trainer.module
        code = module and Path(str(getattr(module.content, "__file__", ""))).read_bytes().hex()
        facts = [
            limits,
            trainer.lesson.task,
            trainer.device.name,
            threads_of_torch(),
            code,
            module and module.name,
        ]
        packages = [version_of(name) for name in ("augrecipes", "torch", "numpy", "opencv-python-headless")]
        text = json.dumps([facts, packages, self._trainees.fingerprint()], sort_keys=True, default=str)
        return blake2b(text.encode(), digest_size=12).hexdigest()

    def _planned(self, limits: Mapping[str, Any]) -> TrialPlan:
        """The plan of this trial when it ran before, or that of a rehearsal."""
        if (known := TRIALS.read(self._key)) is not None:
            return TrialPlan(**json.loads(known))
        self._advance("rehearsing", 0, 1)
        elapsed = lambda: perf_counter() - self._began  # noqa: E731
        plan = rehearse(self._trainer, [*self._trainees.by_digest.values()], **limits, elapsed=elapsed, work=self._work)
        TRIALS.write(self._key, json.dumps(asdict(plan)).encode())
        return plan

    def _run(self) -> dict[str, list[TrainingResult]]:
        """Trainings by digest of their recipe, one a seed, until the seeds or the minutes are spent."""
        plan, trainees = self._plan, self._trainees
        runs: dict[str, list[TrainingResult]] = {key: [] for key in trainees.by_digest}
        names, spent, longest = [*trainees.recipes], plan.rehearsal, plan.seconds
        for rung, seeds in enumerate(self._rungs(plan.seeds)):
            keys = dict.fromkeys(key for name in names for key in (trainees.recipes[name].digest, trainees.clean[name]))
            for seed in range(max(map(len, runs.values())), seeds):
                if seed and spent + longest > 60 * plan.minutes:
                    return runs
                for number, key in enumerate(keys):
                    self._advance("training", seed * len(keys) + number, plan.seeds * len(keys))
                    runs[key].append(self._training(key, seed))
                seconds = sum(runs[key][-1].seconds for key in keys)
                spent, longest = spent + seconds, max(longest, seconds) if seed else seconds
            if self._ablate:
                whole = next(iter(trainees.recipes))
                names = [whole, *survivors(self._scores(runs), whole, rung, self._rungs(plan.seeds))]
                if len(names) == 1:
                    return runs
        return runs

    def _rungs(self, seeds: int) -> tuple[int, ...]:
        """The numbers of seeds at which an ablation drops what is decided; of other trials one, their end."""
        return rungs(seeds, len(self._trainees.recipes) - 1) if self._ablate else (seeds,)

    def _work(self, seeds: int) -> float:
        """How many seeds of all recipes so many seeds cost."""
        arms = len(self._trainees.recipes)
        return most_runs(self._rungs(seeds), arms - 1) / arms if self._ablate else seeds

    def _scores(self, runs: Mapping[str, list[TrainingResult]]) -> dict[str, list[float]]:
        return {name: [run.score for run in runs[each.digest]] for name, each in self._trainees.recipes.items()}

    def _training(self, key: str, seed: int) -> TrainingResult:
        """A training, from the cache where it ran before."""
        name = f"{self._key}-{key[:16]}-{seed}"
        if not self._fresh and (known := TRIALS.read(name)) is not None:
            return TrainingResult(**json.loads(known))
        result = self._trainer.train(self._trainees.by_digest[key], seed, self._plan.steps, self._plan.points)
        TRIALS.write(name, json.dumps(asdict(result)).encode())
        return result

    def _network(self, dataset: RecipeDataset) -> str:
        module = self._trainer.module
        if module is not None:
            return f"{module.place}:{module.name}"
        network = self._trainer.network(3)
        return f"{type(network).__name__}, {sum(each.numel() for each in network.parameters()):,} parameters"

    def _result(self, name: str, runs: Mapping[str, list[TrainingResult]]) -> RecipeResult:
        recipe = self._trainees.recipes[name]
        mine, clean = runs[recipe.digest], runs[self._trainees.clean[name]]
        affinity = [one.augmented[recipe.digest] / one.score if one.score else np.nan for one in clean[: len(mine)]]
        diversity = [one.loss / plain.loss if plain.loss else np.nan for one, plain in zip(mine, clean, strict=False)]
        scores = tuple(one.score for one in mine)
        points = zip(*(one.curve for one in mine), strict=True)
        epochs = self._plan.epochs / self._plan.steps
        curve = [np.mean(point, 0).tolist() for point in points]
        samples, waiting, seconds = (
            sum(getattr(one, part) for one in mine) for part in ("samples", "waiting_seconds", "train_seconds")
        )
        by_class = np.nanmean([one.classes for one in mine], 0).tolist() if mine[0].classes else []
        return RecipeResult(
            name=name, digest=recipe.digest, text=to_yaml(recipe), score=estimate(scores), scores=scores,
            affinity=estimate(affinity), diversity=estimate(diversity),
            curve=tuple(CurvePoint(step * epochs, loss, score) for step, loss, score in curve),
            samples_per_second=samples / seconds, waiting=waiting / seconds,
            classes=dict(zip(self._trainer.lesson.classes, by_class, strict=True)), worst=self._worst(name, mine),
        )  # fmt: skip

    def _worst(self, name: str, runs: Sequence[TrainingResult]) -> tuple[WorstSample, ...]:
        """The validation samples with the lowest scores, of equal ones those with the highest losses."""
        dataset, classes = self.valid[name], self._trainer.lesson.classes
        scores, losses = (np.mean([getattr(one, part) for one in runs], 0) for part in ("scores", "losses"))
        worst = []
        for k in np.lexsort((-losses, scores))[:_WORST].tolist():
            votes = Counter(one.predicted[k] for one in runs if one.predicted)
            predicted = classes[votes.most_common(1)[0][0]] if votes else ""
            truth = classes[int(dataset.labels[k])] if votes and dataset.labels is not None else ""
            worst.append(WorstSample(k, dataset.path(k), float(scores[k]), float(losses[k]), truth, predicted))
        return tuple(worst)

    def _notes(self, runs: Mapping[str, list[TrainingResult]]) -> Iterator[str]:
        """What a reader should know."""
        plan, recipes = self._plan, self._trainees.recipes
        done = max(map(len, runs.values()))
        if plan.seeds < plan.asked:
            yield f"{counted(plan.asked, 'seed')} asked for, and {plan.seeds} fit into {plan.minutes:g} minutes"
        if done < plan.seeds:
            yield f"{done} of {plan.seeds} seeds ran: the machine was slower than at the rehearsal"
        for name in self._without_eval:
            yield f"{name} has no eval section: it is scored by its steps without what is random, as eval: derived"
        yield from (f"{step} stays: {reason}" for step, reason in self._kept)
        same = Counter(recipe.digest for recipe in recipes.values())
        for names in ([name for name, one in recipes.items() if one.digest == key] for key, n in same.items() if n > 1):
            yield f"{' and '.join(names)} do the same: one training serves them all"
        if any(one.eval != other.eval for one, other in pairwise(recipes.values())):
            yield "recipes have different eval sections: each is scored by its own"
        if any(recipe.facts.tiles for recipe in recipes.values()):
            yield f"of each bag at most {MOST_TILES} tiles are looked at"
