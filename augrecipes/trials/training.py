"""One training of a trial: one recipe, one seed, so many steps, then validation.

The seed sets the initial weights, the order of the samples and all draws, so that recipes share these. On one machine,
with the same number of threads, a training gives the same numbers every time.
"""

import copy
import inspect
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from math import cos, pi
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import augrecipes.data.loader as loading
from augrecipes.bench.step import Device
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import AugrecipesError, BenchError, CollateError
from augrecipes.machine import cores
from augrecipes.trials.networks import AttentionBag
from augrecipes.trials.tasks import Batch, BatchScores, Lesson
from augrecipes.user_code import UserModule

_RATE, _DECAY = 2e-3, 0.05
_WARM_UP = 0.1  # of the steps


@dataclass(frozen=True, eq=False)
class Trainee:
    """The datasets of one recipe.

    Attributes:
        train: training samples through its steps.
        valid: validation samples through its eval section.
        augmented: of an unaugmented baseline: validation samples through the training steps of other recipes, by
            digest, for affinity.
    """

    train: RecipeDataset
    valid: RecipeDataset
    augmented: Mapping[str, RecipeDataset] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The result of a training; it is cached as JSON.

    Attributes:
        score: after the last step.
        classes: score of each class.
        scores: score of each validation sample.
        losses: loss of each validation sample.
        predicted: class predicted for each validation sample, or empty.
        curve: (steps, mean loss since the previous point, score), the last point at the end.
        loss: mean training loss of the last epoch, or of the last half where that is fewer steps.
        augmented: score on the augmented validation samples, by digest of the recipe.
        seconds: in total.
        step_seconds: median step, the wait for its samples included.
        valid_seconds: for one validation sample.
        train_seconds: for all steps.
        waiting_seconds: the part of `train_seconds` spent waiting for samples.
    """

    score: float
    classes: list[float]
    scores: list[float]
    losses: list[float]
    predicted: list[int]
    curve: list[tuple[int, float, float]]
    loss: float
    augmented: dict[str, float]
    seconds: float
    step_seconds: float
    valid_seconds: float
    train_seconds: float
    waiting_seconds: float


@dataclass(frozen=True)
class Trainer:
    """Trains a network under a recipe.

    Attributes:
        lesson: the task.
        device: trains and validates.
        batch_size: for training.
        module: holds the network: the lesson's, or the user's own with an optional loss and optimizer.
    """

    lesson: Lesson
    device: Device
    batch_size: int
    module: UserModule

    def train(self, trainee: Trainee, seed: int, steps: int, points: int) -> TrainingResult:
        """Train for `steps` steps from a seed's weights, and validate at `points` evenly spaced steps.

        Raises:
            BenchError: the network fails, or its loss is not finite.
            DataError: a sample cannot be read.
        """
        began, dataset = perf_counter(), reseeded(trainee.train, seed)
        curve, losses, waits, seconds = list[tuple[int, float, float]](), list[float](), list[float](), list[float]()
        points_at = {round(steps * (k + 1) / points) for k in range(points)}
        with _seeding(seed, self.device), self._naming_errors(dataset), closing(self._batches(dataset, seed)) as stream:
            first = next(stream)
            data = self._to_device(first, dataset)
            network = self.network(data[self.lesson.source].shape[-3]).to(self.device.where)
            with torch.no_grad():
                self._output(network, data)  # materialise lazy layers
            optimizer, rate = self._optimizer(network)
            batches = chain([first], stream)
            for step in range(1, steps + 1):
                start = perf_counter()
                data = self._to_device(next(batches), dataset)
                waits.append(perf_counter() - start)
                for group in optimizer.param_groups if rate else ():
                    group["lr"] = rate * _share_of_rate(step - 1, steps)
                losses.append(self._step(network, optimizer, data))
                seconds.append(perf_counter() - start)
                if step in points_at:
                    valid_began = perf_counter()
                    assessed = self._validate(network, trainee.valid)
                    valid_seconds = perf_counter() - valid_began
                    curve.append((step, float(np.mean(losses[curve[-1][0] if curve else 0 :])), assessed["score"]))
            augmented = {
                digest: self._validate(network, reseeded(other, seed))["score"]
                for digest, other in trainee.augmented.items()
            }
        last = min(len(dataset) // self.batch_size, max(1, steps // 2))
        return TrainingResult(
            **assessed, curve=curve, loss=float(np.mean(losses[-last:])), augmented=augmented,
            seconds=perf_counter() - began, step_seconds=float(np.median(seconds)),
            valid_seconds=valid_seconds / len(trainee.valid), train_seconds=sum(seconds), waiting_seconds=sum(waits),
        )  # fmt: skip

    def network(self, channels: int) -> nn.Module:
        """Make a network with fresh weights for images of so many channels."""
        make, lesson, module = self.module.value(), self.lesson, self.module
        facts = {"channels": channels, "classes": len(lesson.classes), "factor": lesson.factor}
        network = None
        if callable(make) and not isinstance(make, nn.Module):
            takes = inspect.signature(make).parameters
            try:
                network = make(**{name: value for name, value in facts.items() if name in takes})
            except Exception as error:
                raise module.failure(f"{module.name}(), which may take {', '.join(facts)}, fails", error) from error
        if not isinstance(network, nn.Module):
            what = f"is a {type(make).__name__}" if network is None else f"gives a {type(network).__name__}"
            raise BenchError(f"{module.place}: {module.name} {what}; it must be a function that makes an nn.Module")
        return network

    def _optimizer(self, network: nn.Module) -> tuple[Any, float]:
        """Return the user's optimizer and 0, as it sets its own rate; or AdamW and the peak rate of the schedule."""
        own = getattr(self.module.content, "optimizer", None)
        return (own(network), 0) if own else (torch.optim.AdamW(network.parameters(), weight_decay=_DECAY), _RATE)

    def _loader(self, dataset: RecipeDataset, batch_size: int, **options: Any) -> loading.Loader:
        """Make a loader; bags are padded to the largest of their batch."""
        collate: Any = "pad" if self.lesson.task == "bag" else "default"
        return loading.loader(dataset, batch_size, collate=collate, **options)

    def _batches(self, dataset: RecipeDataset, seed: int) -> Generator[Batch]:
        """Yield training batches, epoch after epoch."""
        batches = self._loader(dataset, self.batch_size, shuffle=True, seed=seed, drop_last=True)
        for epoch in count():
            batches.set_epoch(epoch)
            yield from batches

    def _to_device(self, batch: Batch, dataset: RecipeDataset) -> Batch:
        """Move a batch to the device, its images as float32 n×C×H×W."""
        batch, recipe = self.device.take(batch), dataset.recipe
        names = {self.lesson.source, self.lesson.target} if recipe.facts.scales else {"image"}
        outputs = {name: recipe.outputs.get(name, recipe.output) for name in names}
        if any(output.where == "device" for output in outputs.values()):
            batch = recipe.device_stage().to(self.device.where)(batch)
        for name, output in outputs.items():
            images: Tensor = batch[name]
            images = images.movedim(-1, -3) if output.layout == "hwc" else images
            full = {torch.uint8: 255, torch.uint16: 65535}.get(images.dtype, 1)
            batch[name] = images.float() / full
        return batch

    def _output(self, network: nn.Module, batch: Batch) -> Any:
        padding = [batch.get("padding")] if isinstance(network, AttentionBag) else []
        return network(batch[self.lesson.source], *padding)

    def _step(self, network: nn.Module, optimizer: Any, batch: Batch) -> float:
        own = getattr(self.module.content, "loss", None)
        output = self._output(network, batch)
        loss = own(output, batch) if own else self.lesson.losses(output, batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if not np.isfinite(value := float(loss.detach())):
            raise BenchError(f"the loss is {value}: see what `augrecipes preview` shows, or lower the learning rate")
        return value

    def _validate(self, network: nn.Module, dataset: RecipeDataset) -> dict[str, Any]:
        """Score a network on all samples and on each: some fields of a TrainingResult."""
        try:
            return self._assess(network, dataset, 1 if self.lesson.task == "sr" else self.lesson.batch_size)
        except CollateError:  # samples differ in size
            return self._assess(network, dataset, 1)

    @torch.no_grad()
    def _assess(self, network: nn.Module, dataset: RecipeDataset, batch_size: int) -> dict[str, Any]:
        assessed, losses = list[BatchScores](), list[Tensor]()
        network.eval()
        for batch in self._loader(dataset, batch_size):
            data = self._to_device(batch, dataset)
            output = self._output(network, data)
            assessed.append(self.lesson.assess(output, data))
            losses.append(self.lesson.losses(output, data))
        network.train()
        scores = torch.cat([each.scores for each in assessed]).cpu()
        counts = [each.counts for each in assessed if each.counts is not None]
        score, classes = self.lesson.score(scores, torch.cat(counts).cpu() if counts else None)
        predicted = [k for each in assessed if each.predicted is not None for k in each.predicted.tolist()]
        known = {"scores": scores.tolist(), "losses": torch.cat(losses).tolist(), "predicted": predicted}
        return {"score": score, "classes": classes, **known}

    @contextmanager
    def _naming_errors(self, dataset: RecipeDataset) -> Iterator[None]:
        """Make errors name the recipe, and those of a network its file and line."""
        name = dataset.recipe.name
        try:
            yield
        except BenchError as error:
            raise BenchError(f"{name}: {error}") from error
        except AugrecipesError:
            raise
        except Exception as error:
            raise self.module.failure(f"it fails on a batch of {name}", error) from error


def reseeded(dataset: RecipeDataset, seed: int) -> RecipeDataset:
    """Copy a dataset with the draws of another seed."""
    other = copy.copy(dataset)
    other.seed = seed
    other.pipeline = other.recompiled()
    return other


def threads_of_torch() -> int:
    """Half of the cores: a fixed number keeps sums reproducible, and the other half reads samples."""
    return max(1, cores() // 2)


def _share_of_rate(step: int, steps: int) -> float:
    """The learning rate's factor at a step: linear warm-up, then cosine decay to 0."""
    warm = max(1, round(_WARM_UP * steps))
    return (step + 1) / warm if step < warm else 0.5 * (1 + cos(pi * (step - warm) / max(1, steps - warm)))


@contextmanager
def _seeding(seed: int, device: Device) -> Iterator[None]:
    """Seed torch, use deterministic algorithms and half of the cores; restore all of it afterwards."""
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
