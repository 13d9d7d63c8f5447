"""What the loader makes of its arguments, and what it says of those that make no sense."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from augrecipes.data.batches.collate import RAGGED_KEYS, collate_for
from augrecipes.data.batches.epoch import leaves
from augrecipes.data.batches.order import check_weights
from augrecipes.data.checks import count
from augrecipes.data.loading.budget import default_bytes

_log = logging.getLogger("augrecipes")


def length(dataset: Any) -> int:
    """How many samples `dataset` has; TypeError without a length, ValueError when it is empty."""
    try:
        n = len(dataset)
    except TypeError:
        raise TypeError(f"the loader needs a dataset with a length, got {type(dataset).__name__}") from None
    if not n:
        raise ValueError("the dataset is empty")
    return n


def choose_weights(weights: Any, dataset: Any) -> npt.NDArray[np.float64] | None:
    """The weight of every sample, float64 (n,), from what was given as `weights=`."""
    if weights is None:
        return None
    if isinstance(weights, str):
        if weights != "balanced":
            raise ValueError(f"weights must be one number a sample or 'balanced', got {weights!r}")
        labels = getattr(dataset, "labels", None)
        if labels is None:
            raise ValueError("weights='balanced' needs a dataset with labels (.labels)")
        _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
        weights = 1.0 / counts[inverse]
    return check_weights(weights, len(dataset))


def choose_samples(samples: Any, weights: npt.NDArray[np.float64] | None, replacement: Any) -> int | None:
    """Samples in an epoch, from what was given as `samples_per_epoch=`; None: as many as the dataset has."""
    if not replacement and weights is None:
        raise ValueError("replacement=False says how weights draw: give weights, or leave it out")
    if samples is None:
        return None if replacement or weights is None else int(np.count_nonzero(weights))
    return count("samples_per_epoch", samples, 1)


def choose_collate(choice: Any, dataset: Any) -> Callable[[list[Any]], Any]:
    """The collate function for `dataset`, whose recipe says the layout and the names of ragged values."""
    layouts = {getattr(leaf, "image_layout", "chw") for leaf in leaves(dataset)}
    keys = RAGGED_KEYS.union(*(getattr(leaf, "ragged_keys", ()) for leaf in leaves(dataset)))
    return collate_for(choice, layout="hwc" if layouts == {"hwc"} else "chw", ragged_keys=keys)


def choose_pinned(pin_memory: Any) -> bool:
    """Whether batches are put into memory that a GPU can read by itself: where there is one, unless it is said."""
    if pin_memory not in (True, False, "auto"):
        raise ValueError(f"pin_memory must be True, False or 'auto', got {pin_memory!r}")
    if not pin_memory:
        return False
    there = torch.cuda.is_available()
    if pin_memory is True and not there:
        _log.warning("pin_memory=True does nothing: there is no GPU")
    return there


def choose_bytes(prefetch_bytes: Any, backend: str) -> int:
    """How many bytes may be read ahead, which only threads heed."""
    if prefetch_bytes is None:
        return default_bytes()
    if backend == "processes":
        _log.warning("prefetch_bytes is for threads: processes read prefetch_factor batches each ahead")
    return count("prefetch_bytes", prefetch_bytes, 1)


def start_method(context: Any) -> str:
    """How processes are started: what was given as `multiprocessing_context`, or torch's own."""
    method = context or torch.multiprocessing.get_start_method()
    return method if isinstance(method, str) else str(method.get_start_method())
