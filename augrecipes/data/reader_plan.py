"""Choice of the reader backend: this thread, threads or processes; by the user's arguments, or by a rule."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch.utils.data import TensorDataset

from augrecipes.compiler.rewrite.nodes import singles
from augrecipes.data import checks, epochs
from augrecipes.data.collate import Collate
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import logger
from augrecipes.machine import cores
from augrecipes.ops.registry import is_registered
from augrecipes.sources import items, opened

Backend = Literal["batches", "threads", "processes"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
# The number of processes that torchrun or the like started on this machine, which share its cores.
LOCAL_RANKS = "LOCAL_WORLD_SIZE"


@dataclass(frozen=True, slots=True)
class ReaderPlan:
    """The backend of a loader, and the reason for it.

    Attributes:
        backend: `batches` (in this thread, on demand), `threads` or `processes`.
        workers: the number of threads or processes; 0 with `batches`.
        reason: the reason in words.

    >>> print(ReaderPlan("threads", 2, "as asked"))
    threads:2 (as asked)
    """

    backend: Backend
    workers: int
    reason: str = "as asked"

    def __str__(self) -> str:
        return f"{reader_name(self.backend, self.workers)} ({self.reason})"


def reader_name(backend: Backend, workers: int) -> str:
    """The name of a backend with its workers: `batches`, or for example `threads:2`."""
    return f"{backend}:{workers}" if workers else backend


def plan_readers(
    dataset: Any,
    collate: Callable[[list[Any]], Any],
    *,
    backend: Any = None,
    num_workers: Any = None,
    method: str = "fork",
    process_option: str | None = None,
) -> ReaderPlan:
    """Choose the reader backend: by the arguments, or else by a rule, which the log reports.

    The rule takes threads, unless the user's own Python takes part, which may hold the interpreter lock for long and
    need not be thread-safe: then processes. Unless the user asked for workers, processes must be forked, since spawned
    ones run the user's script again.

    Args:
        dataset: the dataset.
        collate: the collate function.
        backend: the user's argument.
        num_workers: the user's argument; None or `auto`: one per core.
        method: the start method of processes.
        process_option: the name of an argument that the user set and that applies only to processes.

    Raises:
        ValueError: the arguments contradict each other, or are out of range.
    """
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, or None, got {backend!r}")
    asked = None if num_workers in (None, "auto") else checks.count("num_workers", num_workers, 0)
    if asked and backend == "batches":
        raise ValueError(f'backend="batches" reads in this thread: it has no workers, got num_workers={asked}')
    if asked == 0 and backend in ("threads", "processes"):
        raise ValueError(f"backend={backend!r} needs at least one worker, got num_workers=0")
    if backend == "batches" or asked == 0:
        return ReaderPlan("batches", 0)
    workers = asked or _default_workers()
    if backend is not None:
        return ReaderPlan(backend, workers)
    own = user_python(dataset, collate)
    if process_option:
        plan = ReaderPlan("processes", workers, f"{process_option} is for processes")
    elif own is None:
        plan = ReaderPlan("threads", workers, "no Python of your own takes part")
    elif asked is None and method != "fork":
        reason = f"{own} is Python of your own; num_workers=N starts processes, guard your script"
        plan = ReaderPlan("batches", 0, reason)
    else:
        plan = ReaderPlan("processes", workers, f'{own} is Python of your own; backend="threads" overrules')
    logger.info("the loader reads with %s", plan)
    return plan


def start_method(context: Any) -> str:
    """The start method of processes, from `multiprocessing_context` or torch's default."""
    method = context or torch.multiprocessing.get_start_method()
    return method if isinstance(method, str) else str(method.get_start_method())


def pins_memory(pin_memory: Any) -> bool:
    """Whether to pin the memory of batches, from `pin_memory=`; never without a GPU."""
    if pin_memory not in (True, False, "auto"):
        raise ValueError(f"pin_memory must be True, False or 'auto', got {pin_memory!r}")
    has_gpu = torch.cuda.is_available()
    if pin_memory is True and not has_gpu:
        logger.warning("pin_memory=True does nothing: there is no GPU")
    return bool(pin_memory) and has_gpu


def _default_workers() -> int:
    """One worker per core, divided by the ranks of this machine."""
    ranks = os.environ.get(LOCAL_RANKS, "")
    return max(1, cores() // max(1, int(ranks) if ranks.isdecimal() else 1))


def user_python(dataset: Any, collate: Callable[[list[Any]], Any]) -> str | None:
    """The part of a loader that runs the user's own Python, in words; None without.

    >>> user_python([1, 2], Collate()), user_python([1, 2], list)
    (None, 'the collate function')
    """
    for leaf in epochs.unwrapped(dataset):
        if not (_is_from(type(leaf), "augrecipes", "builtins") or type(leaf) is TensorDataset):
            return f"the dataset {type(leaf).__name__}"
        if isinstance(leaf, RecipeDataset):
            source = leaf.table.source.open() if isinstance(leaf.table, items.SourceTable) else []
            for column in source.arrays.values() if isinstance(source, opened.NamedColumns) else [source]:
                # Items of these (arrays, tensors, HDF5, lists, ours) are read without the user's Python.
                if not _is_from(type(column), "augrecipes", "builtins", "h5py", "numpy", "torch"):
                    return f"the source {type(column).__name__}"
            for step in (single for top in leaf.recipe.section(leaf.mode) or () for single in singles(top)):
                if is_registered(step.name):
                    return f"the step {step.name}"
    return None if isinstance(collate, Collate) else "the collate function"


def _is_from(kind: type, *packages: str) -> bool:
    return kind.__module__.partition(".")[0] in packages
