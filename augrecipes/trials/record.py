"""The record of a trial: what the terminal, `--json` and the page show."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from augrecipes.errors import counted, harmless
from augrecipes.report import Displayed, to_plain

Task = Literal["classify", "segment", "sr", "bag"]
NO_DIFFERENCE: Final = "no difference seen"


@dataclass(frozen=True, slots=True)
class SeedEstimate:
    """A mean over seeds, and its 95 % interval (BCa bootstrap).

    Attributes:
        mean: over the seeds.
        low: of the interval; the mean where there is one seed.
        high: of the interval.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of a recipe's training curve, as means over seeds.

    Attributes:
        epoch: epochs trained so far, with fractions.
        loss: mean of the training steps since the previous point.
        score: on the validation samples.
    """

    epoch: float
    loss: float
    score: float


@dataclass(frozen=True, slots=True)
class WorstSample:
    """A validation sample on which the networks of a recipe do worst.

    Attributes:
        index: in the validation dataset.
        path: of its file, or empty.
        score: mean over seeds of 0 or 1 (classification), IoU, or PSNR in dB.
        loss: mean over seeds; breaks ties.
        truth: its class, or empty.
        predicted: the class that most seeds predict, or empty.
    """

    index: int
    path: str
    score: float
    loss: float
    truth: str = ""
    predicted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeResult:
    """How well networks learned under one recipe.

    Attributes:
        name: of the recipe, unique within the trial; in an ablation `without Rotate#1`.
        digest: of what the recipe does.
        text: the recipe as YAML.
        score: on the validation samples, through the recipe's own eval section.
        scores: the same, by seed.
        affinity: score on augmented validation samples over that on plain ones, of networks trained without
            augmentation (Gontijo-Lopes et al., 2020); None where it was not measured.
        diversity: loss of the last epoch with augmentation over that without (the same paper).
        curve: points of the training, the last at its end.
        samples_per_second: throughput of training, the wait for samples included.
        waiting: share of the training time spent waiting for samples, 0..1.
        classes: score by class, mean over seeds; empty where there are none.
        worst: validation samples, the worst first.
    """

    name: str
    digest: str
    text: str
    score: SeedEstimate
    scores: tuple[float, ...]
    affinity: SeedEstimate | None
    diversity: SeedEstimate | None
    curve: tuple[CurvePoint, ...]
    samples_per_second: float
    waiting: float
    classes: dict[str, float]
    worst: tuple[WorstSample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreVerdict:
    """Two recipes compared over the seeds that both ran.

    Attributes:
        a: name of a recipe.
        b: name of another.
        verdict: which is better, `a` or `b`; or `no difference seen`; None: too few seeds to decide.
        difference: mean over seeds of the score of `a` less that of `b`.
        low: of its 95 % interval (BCa bootstrap).
        high: of the interval.
        p: of the sign-flip test, adjusted for the number of pairs (Holm).
        smallest: the smallest true difference that so many seeds detect with 80 % power.
        seeds: number that both recipes ran.
        needed: fewest seeds that can decide so many pairs at all.
    """

    a: str
    b: str
    verdict: Literal["a", "b", "no difference seen"] | None
    difference: float
    low: float
    high: float
    p: float
    smallest: float
    seeds: int
    needed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """What fits into the minutes, by a rehearsal before the trial.

    Attributes:
        minutes: the budget.
        seeds: that fit, at most those asked for.
        asked: seeds asked for.
        epochs: of each training, with fractions.
        steps: of each training.
        batch_size: samples in a batch.
        train: training samples.
        valid: validation samples.
        points: of the curve, at each of which they are scored.
        rehearsal: seconds that the rehearsal took.
        seconds: expected for one seed of all recipes.
        detectable: roughly the smallest detectable difference between two recipes' scores.
        device: `cpu`, or `cuda:0` and the GPU's name.
        threads: of torch.
    """

    minutes: float
    seeds: int
    asked: int
    epochs: float
    steps: int
    batch_size: int
    train: int
    valid: int
    points: int
    rehearsal: float
    seconds: float
    detectable: float
    device: str
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial(Displayed):
    """Recipes compared by what a network learns under each.

    Attributes:
        task: `classify`, `segment`, `sr` or `bag`.
        metric: of the scores: `accuracy`, `mean IoU`, `PSNR`.
        unit: `dB`, or empty for shares of 0..1.
        data: the training data, in words.
        valid: the validation data, in words.
        network: its name and number of parameters, in words.
        machine: what it ran on, in words.
        plan: the budget.
        recipes: in the order given; of an ablation the whole recipe first, then its steps, the most useful first.
        verdicts: of every pair of recipes; of an ablation the whole recipe against each arm.
        notes: what a reader should know: seeds that did not fit, eval sections that differ.
        seconds: duration of the trial, earlier runs included.
    """

    task: Task
    metric: str
    unit: str
    data: str
    valid: str
    network: str
    machine: str
    plan: TrialPlan
    recipes: tuple[RecipeResult, ...]
    verdicts: tuple[ScoreVerdict, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def __repr__(self) -> str:
        scores = ", ".join(f"{result.name} {result.score.mean:.3g}" for result in self.recipes)
        return harmless(f"<Trial of {counted(self.plan.seeds, 'seed')}, {self.metric}: {scores}>")

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers; what is not finite is null."""
        return to_plain(self)
