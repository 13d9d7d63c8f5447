"""Python of the user's own that takes part in reading: it holds the interpreter's lock, and may not know threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import ConcatDataset, Subset, TensorDataset

from augrecipes.compiler.plan.nodes import singles
from augrecipes.data.batches.collate import Collate
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.tables.rows import NamedColumns
from augrecipes.data.tables.source_table import SourceTable
from augrecipes.data.views import Concat
from augrecipes.ops.registry import is_registered

# Whose items are read without Python of anybody's: arrays, tensors, HDF5, lists, and what is ours.
_QUICK = frozenset({"augrecipes", "builtins", "h5py", "numpy", "torch"})
_READS = ("__getitem__", "__getitems__", "_read", "_sample", "_batch", "read_batch")


def own_python(dataset: Any, collate: Callable[[list[Any]], Any]) -> str | None:
    """What of the user's own takes part, in words; None where there is nothing.

    >>> own_python([1, 2], Collate()), own_python([1, 2], list)
    (None, 'the collate function')
    """
    return next(_found(dataset, collate), None)


def _found(dataset: Any, collate: Callable[[list[Any]], Any]) -> Iterator[str]:
    yield from _in_dataset(dataset)
    if not isinstance(collate, Collate):
        yield "the collate function"


def _in_dataset(dataset: Any, depth: int = 32) -> Iterator[str]:
    if type(dataset) is Subset and depth:
        yield from _in_dataset(dataset.dataset, depth - 1)
    elif type(dataset) in (ConcatDataset, Concat) and depth:
        for member in dataset.datasets:
            yield from _in_dataset(member, depth - 1)
    elif isinstance(dataset, RecipeDataset):
        if any(not _is_ours(kind) and any(name in vars(kind) for name in _READS) for kind in type(dataset).__mro__):
            yield f"the dataset {type(dataset).__name__}"
        yield from _in_source(dataset.table)
        yield from _in_steps(dataset)
    elif type(dataset) is not TensorDataset and _package(type(dataset)) != "builtins":
        yield f"the dataset {type(dataset).__name__}"


def _in_source(table: Any) -> Iterator[str]:
    if isinstance(table, SourceTable):
        opened = table.source.open()
        columns = opened.columns.values() if isinstance(opened, NamedColumns) else [opened]
        for kind in map(type, columns):
            if _package(kind) not in _QUICK:
                yield f"the source {kind.__name__}"


def _in_steps(dataset: RecipeDataset) -> Iterator[str]:
    for step in (leaf for top in dataset.recipe.section(dataset.mode) or () for leaf in singles(top)):
        if is_registered(step.name):
            yield f"the step {step.name}"


def _is_ours(kind: type) -> bool:
    return _package(kind) in ("augrecipes", "builtins", "torch", "typing", "abc")


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]
