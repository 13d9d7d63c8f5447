"""One training of a trial: a recipe, a seed, so many steps; and what the network is worth then.

The seed sets the initial weights, the order of the samples and all draws, so that recipes share these. On one machine,
with as many threads, a training gives the same numbers every time.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from math import cos, pi
from time import perf_counter
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

import augrecipes.data.loader as loading
from augrecipes.bench.step import Device
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import AugrecipesError, BenchError, CollateError
from augrecipes.machine import cores
from augrecipes.recipe.model import Recipe
from augrecipes.trials.tasks import Batch, BatchScores, Lesson
from augrecipes.user_code import UserModule

_RATE, _DECAY = 2e-3, 0.05
_WARM_UP = 0.1  # of the steps


@dataclass(frozen=True, eq=False)
class Trainee:
    """A recipe that is learned under.

    Attributes:
        recipe: it.
        train: the training samples, by its steps.
        valid: the validation samples, by its eval section.
        augmented: the validation samples by the steps of other recipes, by digest: how well they are known by a
            network that saw none of these steps.
    """

    recipe: Recipe
    train: RecipeDataset
    valid: RecipeDataset
    augmented: Mapping[str, RecipeDataset] = field(default_factory=dict)


@dataclass(slots=True)
class TrainingResult:
    """What came of a training; JSON holds it.

    Attributes:
        score: at the end.
        classes: score of each class.
        scores: of each validation sample.
        losses: of each.
        predicted: class of each, or empty.
        curve: (steps, loss since the point before, score) now and then, the last one at the end.
        loss: mean of the last epoch, or of the last half of fewer steps.
        seconds: of all.
        step_seconds: of the median step, the wait for its samples included.
        valid_seconds: of a validation sample.
        samples: that were learned from.
        train_seconds: of all steps.
        waiting_seconds: of these, waiting for samples.
        augmented: score on the augmented validation samples, by digest of the recipe.
    """

    score: float = 0.0
    classes: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    predicted: list[int] = field(default_factory=list)
    curve: list[tuple[int, float, float]] = field(default_factory=list)
    loss: float = 0.0
    seconds: float = 0.0
    step_seconds: float = 0.0
    valid_seconds: float = 0.0
    samples: int = 0
    train_seconds: float = 0.0
    waiting_seconds: float = 0.0
    augmented: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Trainer:
    """Trains a network under a recipe.

    Attributes:
        lesson: what is taught.
        device: where.
        batch_size: of training.
        valid_batch: of validation: 1 where samples differ in size.
        module: of the user's own, that makes the network; None: the lesson's.
    """

    lesson: Lesson
    device: Device
    batch_size: int
    valid_batch: int
    module: UserModule | None = None

    def train(self, trainee: Trainee, seed: int, steps: int, points: int) -> TrainingResult:
        """Train for so many steps from the weights of a seed, and validate at so many points.

        Raises:
            BenchError: the network fails, or its loss is not finite.
            DataError: a sample cannot be read.
        """
        began, done = perf_counter(), TrainingResult()
        with _keyed(seed, self.device):
            batches = self._batches(reseeded(trainee.train, seed), seed)
            first = self._sent(next(self._repeated(batches)), trainee.recipe)
            network = self.network(first[self.lesson.source].shape[-3]).to(self.device.where)
            with torch.no_grad(), self._blaming(trainee.recipe):
                self._output(network, first)  # lazy layers get their weights
            optimizer = self._optimizer(network)
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
            at = {round(steps * (k + 1) / points) for k in range(points)}
            losses, seconds, stream = list[float](), list[float](), self._repeated(batches)
            with closing(stream):
                for step in range(1, steps + 1):
                    start = perf_counter()
                    batch = self._sent(next(stream), trainee.recipe)
                    waited = perf_counter() - start
                    losses.append(self._step(network, optimizer, batch, trainee.recipe))
                    if self.module is None:
                        schedule.step()
                    seconds.append(perf_counter() - start)
                    done.waiting_seconds += waited
                    done.samples += len(batch[self.lesson.source])
                    if step in at:
                        since = done.curve[-1][0] if done.curve else 0
                        valid_began = perf_counter()
                        score = self._validate(network, trainee.valid, trainee.recipe, done)
                        done.valid_seconds = (perf_counter() - valid_began) / len(trainee.valid)
                        done.curve.append((step, float(np.mean(losses[since:])), score))
            for digest, dataset in trainee.augmented.items():
                done.augmented[digest] = self._validate(
                    network, reseeded(dataset, seed), dataset.recipe, TrainingResult()
                )
        last = min(len(batches), max(1, steps // 2))
        done.loss, done.score = float(np.mean(losses[-last:])), done.curve[-1][2]
        done.train_seconds, done.step_seconds = sum(seconds), float(np.median(seconds))
        done.seconds = perf_counter() - began
        return done

    def network(self, channels: int) -> nn.Module:
        """A network with fresh weights, for images of so many channels."""
        if self.module is None:
            return self.lesson.network(channels)
        make, facts = self.module.found(), {"channels": channels, "classes": len(self.lesson.classes)}
        takes = inspect.signature(make).parameters if callable(make) else {}
        try:
            network = make(**{name: value for name, value in facts.items() if name in takes})
        except Exception as error:
            raise self.module.failed(f"{self.module.name}() fails", error) from error
        if not isinstance(network, nn.Module):
            what = f"gives a {type(network).__name__}; it must be a function that makes an nn.Module"
            raise BenchError(f"{self.module.place}: {self.module.name} {what}")
        return network

    def _optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        own = getattr(self.module.content, "optimizer", None) if self.module else None
        if own is not None:
            optimizer: torch.optim.Optimizer = own(network)
            return optimizer
        return torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_DECAY)

    @property
    def _collate(self) -> Literal["pad", "default"]:
        """Bags get as many tiles as the largest of their batch."""
        return "pad" if self.lesson.task == "bag" else "default"

    def _batches(self, dataset: RecipeDataset, seed: int) -> loading.Loader:
        whole = len(dataset) >= self.batch_size
        return loading.loader(dataset, self.batch_size, shuffle=True, seed=seed, drop_last=whole, collate=self._collate)

    def _repeated(self, batches: loading.Loader) -> Generator[Any]:
        for epoch in count():
            batches.set_epoch(epoch)
            yield from batches

    def _sent(self, batch: Batch, recipe: Recipe) -> Batch:
        """A batch on the device, its images as float32 n×C×H×W."""
        batch = self.device.take(batch)
        names = dict.fromkeys((self.lesson.source, self.lesson.target)) if recipe.facts.scales else {"image": None}
        outputs = {name: recipe.outputs.get(name, recipe.output) for name in names}
        if any(output.where == "device" for output in outputs.values()):
            batch = recipe.device_stage().to(self.device.where)(batch)
        for name, output in outputs.items():
            images: Tensor = batch[name]
            images = images.movedim(-1, -3) if output.layout == "hwc" else images
            full = {torch.uint8: 255, torch.uint16: 65535}.get(images.dtype, 1)
            batch[name] = images.float() / full
        return batch

    def _output(self, network: nn.Module, batch: Batch) -> Tensor:
        if self.lesson.task == "bag" and self.module is None:
            output: Tensor = network(batch[self.lesson.source], batch.get("padding"))
        else:
            output = network(batch[self.lesson.source])
        return output

    def _step(self, network: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch, recipe: Recipe) -> float:
        own = getattr(self.module.content, "loss", None) if self.module else None
        with self._blaming(recipe):
            output = self._output(network, batch)
            loss = own(output, batch) if own else self.lesson.losses(output, batch).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            value = float(loss.detach())
        if not np.isfinite(value):
            cure = (
                "lower the learning rate of optimizer(model)" if self.module else "see what `augrecipes preview` shows"
            )
            raise BenchError(f"{recipe.name}: the loss is {value}; {cure}")
        return value

    @torch.no_grad()
    def _validate(self, network: nn.Module, dataset: RecipeDataset, recipe: Recipe, done: TrainingResult) -> float:
        """The score of a network on samples, and what is known of each of them."""
        network.eval()
        assessed, losses = list[BatchScores](), list[Tensor]()
        for batch in loading.loader(dataset, self.valid_batch, collate=self._collate):
            sent = self._sent(batch, recipe)
            with self._blaming(recipe):
                output = self._output(network, sent)
                assessed.append(self.lesson.assess(output, sent))
                losses.append(self.lesson.losses(output, sent))
        network.train()
        scores = torch.cat([each.scores for each in assessed]).cpu()
        counts = None if assessed[0].counts is None else torch.cat([each.counts for each in assessed]).cpu()  # type: ignore[misc]
        score, done.classes = self.lesson.score(scores, counts)
        done.scores, done.losses = scores.tolist(), torch.cat(losses).tolist()
        done.predicted = [k for each in assessed if each.predicted is not None for k in each.predicted.tolist()]
        return score

    @contextmanager
    def _blaming(self, recipe: Recipe) -> Iterator[None]:
        """Errors of a network of the user's name its file and line."""
        try:
            yield
        except AugrecipesError:
            raise
        except Exception as error:
            if self.module is None:
                raise
            raise self.module.failed(f"it fails on a batch of {recipe.name}", error) from error


def reseeded(dataset: RecipeDataset, seed: int) -> RecipeDataset:
    """The same samples with the draws of another seed."""
    other = copy.copy(dataset)
    other.seed = seed
    other.pipeline = other.recompiled()
    return other


def threads_of_torch() -> int:
    """Half of the cores train, and sums come out alike on any day; the other half reads samples."""
    return max(1, cores() // 2)


def valid_batch_of(trainee: Trainee, wanted: int) -> int:
    """So many validation samples a batch as wanted, or 1 where they differ in size."""
    try:
        next(iter(loading.loader(trainee.valid, wanted, num_workers=0)))
    except CollateError:
        return 1
    return wanted


def _rate(step: int, steps: int) -> float:
    """Of the learning rate: a linear warm-up, then half a cosine to nothing."""
    warm = max(1, round(_WARM_UP * steps))
    return (step + 1) / warm if step < warm else 0.5 * (1 + cos(pi * (step - warm) / max(1, steps - warm)))


@contextmanager
def _keyed(seed: int, device: Device) -> Iterator[None]:
    """Random numbers of torch from a seed, deterministic algorithms, half of the cores; as it was afterwards."""
    threads = torch.get_num_threads()
    before, warns = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    with torch.random.fork_rng([device.where] if device.is_separate else []):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.set_num_threads(threads_of_torch())  # the others read samples
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before, warn_only=warns)
            torch.set_num_threads(threads)
