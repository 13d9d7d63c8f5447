"""The tasks of trials: training and validation samples, network, loss, and score of every validation sample."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from augrecipes.bench.timing import spread_out
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import BenchError
from augrecipes.recipe.model import Recipe
from augrecipes.seeds import site_key
from augrecipes.trials.record import Task

IGNORED = -100  # label of mask pixels without a class, torch's default `ignore_index`
_VOID = 255  # stored masks' conventional value for no class, where they hold more than two values
_MOST_CLASSES, _MASKS = 10_000, 200
_LEAST_ERROR = 1e-10  # 100 dB

Batch = dict[str, Any]


@dataclass(frozen=True)
class BatchScores:
    """The scores of a batch.

    Attributes:
        scores: float (n,), one for each sample.
        predicted: class of each sample (n,), or None.
        counts: numerator and denominator of the score by sample and class (n, classes, 2); None without classes.
    """

    scores: Tensor
    predicted: Tensor | None = None
    counts: Tensor | None = None


@dataclass(frozen=True)
class Lesson:
    """A task on data: what is trained, and how it is scored.

    Attributes:
        task: its name.
        metric: name of the score.
        unit: of the scores, or empty for shares.
        batch_size: the largest for training.
        source: batch key of the network's input.
        target: batch key of what the network learns to predict.
        classes: names of the classes; empty without.
        network: name of the network's class.
        losses: maps (output, batch) to the loss of each sample (n,).
        assess: maps (output, batch) to scores.
        by_class: the score is the mean over classes, not over samples.
        factor: scale factor of super-resolution.
    """

    task: Task
    metric: str
    unit: str
    batch_size: int
    source: str
    target: str
    classes: tuple[str, ...]
    network: str
    losses: Callable[[Tensor, Batch], Tensor]
    assess: Callable[[Tensor, Batch], BatchScores]
    by_class: bool = False
    factor: int = 1

    def score(self, scores: Tensor, counts: Tensor | None) -> tuple[float, list[float]]:
        """Return the score over all samples, and that of each class (NaN where no sample has it)."""
        if counts is None:
            return float(scores.double().mean()), []
        right, whole = counts.double().sum(0).unbind(-1)
        by_class = right / whole  # 0 / 0 is NaN: a class that no sample has
        return float(by_class.nanmean() if self.by_class else scores.double().mean()), by_class.tolist()


def lesson_of(asked: Task | None, train: RecipeDataset, valid: RecipeDataset) -> Lesson:
    """Set up a task on data; None chooses the task by the recipe's kind and the data.

    Raises:
        BenchError: the task does not suit the recipe's kind, or the data lack what it needs.
    """
    recipe = train.recipe
    by_kind = "sr" if recipe.facts.scales else "bag" if recipe.facts.tiles else None
    by_data = "segment" if train.table.masked and train.labels is None else "classify"
    task: Any = asked or by_kind or by_data
    able = () if recipe.facts.views else (by_kind,) if by_kind else ("classify", "segment")
    if task not in able:
        cure = f"say --task {' or '.join(able)}" if able else "compare recipes whose samples are images, pairs or bags"
        raise BenchError(f"{recipe.name} is of kind {recipe.kind}, and --task {task} is not for these: {cure}")
    if task == "sr":
        return _enlargement(recipe)
    if task == "segment":
        return _segmentation(train, valid)
    return _classification(task, train, valid)


def _classification(task: Task, train: RecipeDataset, valid: RecipeDataset) -> Lesson:
    labels: list[Any] = [labels_of(one) for one in (train, valid)]
    where = "a folder for each class, or a list with a column `label`"
    if any(column is None or column.ndim > 1 for column in labels):
        what = "have several classes each" if labels[0] is not None else "have no labels"
        where = "labels.csv with columns bag and label" if task == "bag" else where
        raise BenchError(f"samples {what}, and --task {task} needs one class a sample: {where}")
    numbers = np.concatenate(labels)
    count = 1 + int(numbers.max())
    names = {number: name for name, number in (train.class_to_idx or {}).items()}
    if len(np.unique(numbers)) < 2 or numbers.min() < 0 or count > _MOST_CLASSES:
        what = f"labels are {numbers.min()}..{numbers.max()}, {len(np.unique(numbers))} of them"
        raise BenchError(f"{what}; --task {task} needs two to {_MOST_CLASSES:,} classes, numbered from 0")
    classes = tuple(names.get(k, str(k)) for k in range(max(count, 1 + max(names, default=0))))

    def losses(output: Tensor, batch: Batch) -> Tensor:
        return functional.cross_entropy(output, batch["label"], reduction="none")

    def assess(output: Tensor, batch: Batch) -> BatchScores:
        predicted, labels = output.argmax(1), batch["label"]
        right, belongs = predicted == labels, functional.one_hot(labels, len(classes))
        return BatchScores(right.float(), predicted, torch.stack((belongs * right[:, None], belongs), -1))

    size, network = (32, "ConvNet") if task == "classify" else (4, "AttentionBag")
    return Lesson(task, "accuracy", "", size, "image", "label", classes, network, losses, assess)


def _segmentation(train: RecipeDataset, valid: RecipeDataset) -> Lesson:
    masks: list[Any] = [
        one.given(k).rest.get("mask") for one in (train, valid) for k in spread_out(len(one), min(len(one), _MASKS))
    ]
    if any(mask is None for mask in masks):
        raise BenchError("samples have no masks, and --task segment needs one each: --masks FOLDER")
    values = np.unique(np.concatenate([np.unique(mask) for mask in masks])).tolist()
    ids = [value for value in values if value >= 0 and (value != _VOID or len(values) < 3)]
    if not 1 < len(ids) <= _MOST_CLASSES:
        raise BenchError(f"masks hold the values {values[:9]}; --task segment needs two classes or more")
    table = torch.full((1 + max(*ids, _VOID),), IGNORED)
    table[torch.tensor(ids)] = torch.arange(len(ids))

    def truth(batch: Batch) -> Tensor:
        mask = batch["mask"].long()
        inside = (mask >= 0) & (mask < len(table))
        return torch.where(inside, table.to(mask.device)[mask.clamp(0, len(table) - 1)], IGNORED)

    def losses(output: Tensor, batch: Batch) -> Tensor:
        mask = truth(batch)
        by_pixel = functional.cross_entropy(output, mask, reduction="none", ignore_index=IGNORED).flatten(1)
        return by_pixel.sum(1) / (mask != IGNORED).flatten(1).sum(1).clamp(min=1)

    def assess(output: Tensor, batch: Batch) -> BatchScores:
        count, predicted, counts = len(ids), output.argmax(1), []
        for guess, mask in zip(predicted, truth(batch), strict=True):
            known = mask != IGNORED
            pairs = torch.bincount(mask[known] * count + guess[known], minlength=count**2).reshape(count, count)
            right = pairs.diagonal()
            counts.append(torch.stack((right, pairs.sum(0) + pairs.sum(1) - right), -1))
        whole = torch.stack(counts).double()
        return BatchScores((whole[..., 0] / whole[..., 1]).nanmean(1).nan_to_num(1.0), None, whole)

    names = tuple(map(str, ids))
    return Lesson("segment", "mean IoU", "", 8, "image", "mask", names, "UNet", losses, assess, by_class=True)


def _enlargement(recipe: Recipe) -> Lesson:
    source, *_, target = sorted(recipe.scales, key=recipe.scales.__getitem__)
    factor, rest = divmod(recipe.scales[target], recipe.scales[source])
    if rest:
        raise BenchError(f"{recipe.name}: {target} is {factor}.{rest} times {source}; --task sr needs a whole factor")
    output = recipe.outputs.get(target, recipe.output)
    low, high = output.range
    spread = output.normalize.std if output.normalize else (1 / (high - low),)
    if not output.normalize and output.dtype.startswith("uint"):
        spread = (1.0,)  # whole numbers become 0..1

    def losses(enlarged: Tensor, batch: Batch) -> Tensor:
        return (enlarged - batch[target]).abs().flatten(1).mean(1)

    def assess(enlarged: Tensor, batch: Batch) -> BatchScores:
        error = (enlarged - batch[target]) * torch.tensor(spread, device=enlarged.device).reshape(-1, 1, 1)
        if min(error.shape[-2:]) > 4 * factor:  # the convention of published PSNRs: crop a border of `factor` px
            error = error[..., factor:-factor, factor:-factor]
        return BatchScores(-10 * error.square().flatten(1).mean(1).clamp(min=_LEAST_ERROR).log10())

    return Lesson("sr", "PSNR", "dB", 8, source, target, (), "Enlarger", losses, assess, factor=factor)


_SHARE = 0.2  # of the samples are for validation


def labels_of(dataset: RecipeDataset) -> NDArray[Any] | None:
    """The label of every sample: from the table, or by reading every sample of a source; None without labels."""
    if dataset.labels is not None or "label" not in dataset[0]:
        return dataset.labels
    return np.array([dataset[k]["label"] for k in range(len(dataset))])


def split(dataset: RecipeDataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of training and of validation samples, int64: a fifth of each class, in whole groups.

    Groups are those of the table's column; a bag is a slide, and stays whole. The split is ordered by a hash of names,
    classes and groups alone, so that it does not depend on the folder or on the order of files.

    Raises:
        BenchError: too few samples or groups to score any.
    """
    count = len(dataset)
    labels = labels_of(dataset)
    labels = np.zeros(count, np.int64) if labels is None or labels.ndim > 1 else labels
    names = [PurePath(dataset.path(k)).name for k in range(count)]
    units = names if dataset.groups is None else dataset.groups.tolist()
    # A group may have samples of several classes: it counts for the most frequent.
    rows = defaultdict[tuple[str, int], list[int]](list)
    for k, unit in enumerate(units):
        rows[unit, 0 if dataset.groups is not None else int(labels[k])].append(k)
    classes = defaultdict[int, list[tuple[int, list[int]]]](list)
    for (unit, _), members in rows.items():
        label = Counter(labels[members].tolist()).most_common(1)[0][0]
        classes[label].append((site_key(f"{unit}/{label}"), members))
    valid = list[int]()
    for keyed in classes.values():
        wanted = _SHARE * sum(len(members) for _, members in keyed)
        for number, (_, members) in enumerate(sorted(keyed)):
            if number == len(keyed) - 1 or (number and wanted < len(members) / 2):
                break
            valid += members
            wanted -= len(members)
    chosen = np.zeros(count, np.bool_)
    chosen[valid] = True
    if not valid:
        unit = "samples" if dataset.groups is None else "groups"
        raise BenchError(f"{count} samples in {len(rows)} {unit} are too few to keep some for validation: give --valid")
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)
