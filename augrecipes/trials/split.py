"""Split data into training and validation samples by hashed names, where the user gives no validation data."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import BenchError
from augrecipes.seeds import site_key

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
