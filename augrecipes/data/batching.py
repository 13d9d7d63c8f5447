"""Batches of samples that are read together, and their memory: shared, pinned, written row by row, used again.

In a worker it is shared, and pinned where a GPU waits for it. What is used again is the system's own memory, not
malloc's: each of malloc's arenas, of which every reading thread has one, would grow to the most that it ever held, and
keep that. A fresh tensor of 150 MiB costs 38,000 page faults, which take as long as light work on its samples does.
What is more than a few batches goes back when a pass is over.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from augrecipes.compat.torch import empty_shared
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.run.batch import AllocateTarget, BatchOutput, SampleColumns
from augrecipes.compiler.run.batch_threads import Read
from augrecipes.data import epochs, order
from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe

Empty = Callable[[tuple[int, ...], torch.dtype], torch.Tensor]
# Smaller tensors are not worth asking the system for, and malloc keeps their memory itself (see `tune_allocator`).
LEAST_BYTES = 1 << 20
# What a loader keeps of the memory of its batches from pass to pass.
BATCH_BYTES = 128 << 20
Batch = dict[str, Any]  # by key a tensor or array of n rows, or a list
# Plain integers in a sample, tensors in a batch.
_NUMBERS = ("label", "index", "epoch")


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor that is not filled yet; in a DataLoader's worker in shared memory, so that nobody moves it there."""
    return torch.empty(shape, dtype=dtype) if get_worker_info() is None else empty_shared(shape, dtype)


def empty_pinned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor that is not filled yet, in memory that a GPU can read by itself."""
    return torch.empty(shape, dtype=dtype, pin_memory=True)


def allocate_in_batch(key: str) -> Allocate | None:
    """Memory of the batch that is being read for one value of a sample; None: the sample has to bring its own."""
    now = epochs.current()
    return None if now is None or now.allocate is None else now.allocate(key)


class Pool:
    """Lends memory, and lends it again when it has come back: when the last tensor, array or view of it is gone.

    >>> pool = Pool()
    >>> first = pool.empty((1 << 20,), torch.uint8)
    >>> at, view = first.data_ptr(), first[5:].numpy()
    >>> del first
    >>> pool.empty((1 << 20,), torch.uint8).data_ptr() == at  # the view is still there
    False
    >>> del view
    >>> pool.empty((1 << 20,), torch.uint8).data_ptr() == at
    True
    """

    def __init__(self) -> None:
        self._free: list[mmap.mmap] = []
        self._lock = threading.Lock()

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A tensor that is not filled yet."""
        size = prod(shape) * dtype.itemsize
        if size < LEAST_BYTES:
            return torch.empty(shape, dtype=dtype)
        memory = self._take(size)
        array = np.frombuffer(memory, np.uint8, size)  # whoever holds the tensor, or a part of it, holds this
        # An atomic call, as the garbage collector may make it in the middle of anything.
        weakref.finalize(array, self._free.append, memory).atexit = False
        return torch.from_numpy(array).view(dtype).reshape(shape)

    def clear(self, but: int = 0) -> None:
        """Let go of what nobody uses, `but` for so many bytes at most: those that came back last."""
        with self._lock:
            remaining = []
            while self._free:
                memory = self._free.pop()
                but -= len(memory)
                remaining += [memory] if but >= 0 else []
            self._free.extend(reversed(remaining))

    def _take(self, size: int) -> mmap.mmap:
        with self._lock:
            for k in reversed(range(len(self._free))):  # what came back last is likeliest in the cache
                if size <= len(self._free[k]) <= 2 * size:
                    return self._free.pop(k)
        return _map_memory(size)


def _map_memory(size: int) -> mmap.mmap:
    """Memory that goes back to the system when nobody holds it."""
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows has no other kind
        return mmap.mmap(-1, size)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError, AttributeError):  # as numpy asks for its own large arrays, where there is such a thing
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


@cache
def torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    """torch's name of a dtype of numpy."""
    return torch.from_numpy(np.empty(0, dtype)).dtype


class BatchRows:
    """Memory for the samples of one batch.

    The tensor of a key is made when the first sample's size is known. Samples of that size are written into their rows,
    others get memory of their own. Rows may be asked for from several threads; no row is ever handed to two samples.

    Args:
        count: of samples.
        empty: makes a tensor of a shape and dtype.

    Attributes:
        ragged: keys whose samples differ in size.

    >>> rows = BatchRows(2)
    >>> for k in (0, 1):
    ...     rows.allocate_row(k)("image")((4,), np.dtype(np.uint8))[:] = k
    >>> rows.whole("image", [torch.zeros(4, dtype=torch.uint8)] * 2) is None  # these lie elsewhere
    True
    """

    def __init__(self, count: int, empty: Empty = empty) -> None:
        self.ragged: set[str] = set()
        self._count, self._empty = count, empty
        self._tensors: dict[str, tuple[torch.Tensor, np.ndarray[Any, Any]]] = {}
        self._lock = threading.Lock()

    def allocate_row(self, k: int) -> epochs.AllocateKey:
        """What gives the memory for sample `k`, by key."""
        return lambda key: partial(self._rows, k, (), key)

    def allocate_rows(self, rows: range) -> AllocateTarget:
        """What gives the memory for several samples at once."""
        return partial(self._rows, slice(rows.start, rows.stop), (len(rows),))

    def whole(self, key: str, values: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """The tensor of `key`, where `values`, one or more rows each, are its rows, all of them and in order."""
        if key not in self._tensors:
            return None
        tensor = self._tensors[key][0]
        at, size = tensor.data_ptr(), tensor.element_size()
        for value in values:
            same_shape = tensor.shape[1:] in (value.shape, value.shape[1:])
            if value.data_ptr() != at or value.dtype != tensor.dtype or not same_shape or not value.is_contiguous():
                return None
            at += value.nelement() * size
        return tensor if at == tensor.data_ptr() + tensor.nelement() * size else None

    def _rows(
        self, where: int | slice, count: tuple[int, ...], key: str, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> np.ndarray[Any, Any]:
        with self._lock:
            if key not in self._tensors:
                tensor = self._empty((self._count, *shape), torch_dtype(np.dtype(dtype)))
                self._tensors[key] = tensor, tensor.numpy()
            array = self._tensors[key][1]
            if array.shape[1:] != shape or array.dtype != dtype:
                self.ragged.add(key)
                return np.empty((*count, *shape), dtype)
        rows: np.ndarray[Any, Any] = array[where]
        return rows


def ragged_keys(recipe: Recipe) -> frozenset[str]:
    """Keys of a sample that have a row for each box or point, and become lists in a batch."""
    return recipe.inputs.row_keys | {"boxes", "keypoints"} if recipe.facts.annotated else frozenset()


def as_torch(
    out: dict[str, Any], ragged: frozenset[str], views: Sequence[str] = (), masks: Container[str] = ("mask",)
) -> dict[str, Any]:
    """Arrays as tensors that share no memory with anything else; labels of boxes and points, and of `masks`, as int64.

    What lies on `views` has the name of one in front of its own, and is a list with an entry for each.
    """
    sample: dict[str, Any] = {}
    for key, value in out.items():
        view = next((view for view in views if key.startswith(f"{view}_")), None)
        name = key if view is None else key[len(view) + 1 :]
        if view is not None and isinstance(value, list):
            sample[key] = [as_torch({name: each}, ragged)[name] for each in value]
        elif name in masks and value.dtype.kind in "bui":
            sample[key] = torch.from_numpy(value.astype(np.int64, copy=not value.flags.writeable))
        elif isinstance(value, np.ndarray):
            own = value.flags.writeable and value.flags.c_contiguous
            sample[key] = torch.from_numpy(value if own else np.array(value, order="C"))
        elif key in ragged:
            sample[key] = torch.as_tensor(np.asarray(value, np.int64))
        else:
            sample[key] = value
    return sample


def as_tensors(out: dict[str, Any], recipe: Recipe, views: Sequence[str] = ()) -> dict[str, Any]:
    """What a recipe makes of a sample as `as_torch`; further targets that are no images are masks."""
    masks = ("mask", *(name for name, target in recipe.targets.items() if not target.is_image))
    return as_torch(out, ragged_keys(recipe), views, masks)


def native_batch(
    pipeline: Any, samples: Read | SampleColumns, epoch: int, virtual: order.Indices, allocate: AllocateTarget,
    ragged: frozenset[str],
) -> dict[str, Any] | None:  # fmt: skip
    """What a dataset's `make_batch` gives, see there; None where samples differ in size.

    Args:
        pipeline: of the dataset.
        samples: gives the targets of a sample by its place in the batch; or those of all.
        epoch: of the draws.
        virtual: keys of the draws.
        allocate: gives the memory.
        ragged: keys of samples that have a row for each box or point.

    Raises:
        DataError: what was wrong with the first that is broken.
    """
    keys = [(index, 0) for index in virtual.tolist()]
    output = BatchOutput(epoch, keys, allocate)
    if isinstance(samples, SampleColumns):
        pipeline.for_this_thread(epoch).run_batch(output, range(len(keys)), samples)
    else:
        output.run(pipeline, samples)
    if output.failed:
        raise output.failed[min(output.failed)]
    if output.is_ragged or not output.arrays:
        return None
    batch: dict[str, Any] = dict(output.arrays)
    others = {k: as_torch(rest, ragged) for k, rest in output.others.items() if rest}
    for name in next(iter(others.values()), ()):
        batch[name] = [others[k][name] if k in others else None for k in range(len(keys))]
    return batch


def join_parts(parts: Sequence[Mapping[str, Any]], rows: BatchRows) -> dict[str, Any]:
    """One batch of parts that follow each other: tensors of some rows each, or lists.

    >>> join_parts([{"at": torch.tensor([3]), "path": ["a"]}, {"at": torch.tensor([4]), "path": ["b"]}], BatchRows(2))
    {'at': tensor([3, 4]), 'path': ['a', 'b']}
    """
    batch: dict[str, Any] = {}
    for key, first in parts[0].items():
        values = [part[key] for part in parts]
        if isinstance(first, torch.Tensor):
            whole = rows.whole(key, values)
            batch[key] = whole if whole is not None else first if len(values) == 1 else torch.cat(values)
        else:
            batch[key] = [entry for value in values for entry in value]
    return batch


def split(batch: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The samples of a batch.

    >>> split({"label": torch.tensor([3, 4]), "path": ["a", "b"]})
    [{'label': 3, 'path': 'a'}, {'label': 4, 'path': 'b'}]
    """
    columns = {}
    for key, values in batch.items():
        whole = key in _NUMBERS and isinstance(values, torch.Tensor) and values.ndim == 1
        columns[key] = values.tolist() if whole else [*values]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def samples_at_once(dataset: Any, keys: Sequence[tuple[int, int]]) -> list[dict[str, Any]] | None:
    """`[dataset[key] for key in keys]`, or None where that has to be done one after another.

    Args:
        dataset: reads the batch, by `read_batch(epoch, indices)`.
        keys: epoch and index of each.
    """
    samples: dict[int, dict[str, Any]] = {}
    for epoch in dict.fromkeys(epoch for epoch, _ in keys):
        places = [k for k, key in enumerate(keys) if key[0] == epoch]
        try:
            batch = dataset.read_batch(epoch, [keys[k][1] for k in places])
        except DataError:
            return None
        if batch is None:
            return None
        samples.update(zip(places, split(batch), strict=True))
    return [samples[k] for k in range(len(keys))]
