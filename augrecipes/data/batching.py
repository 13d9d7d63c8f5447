"""Memory of batches (shared, pinned, written row by row, reused), and batches of samples that one call reads.

The memory is shared in a worker, and pinned where a GPU needs it. A pool reuses mmap'd memory, not malloc's: every
reading thread has a malloc arena, which would grow to its largest use and stay there. A fresh tensor of 150 MiB costs
38,000 page faults, as much time as light augmentation of its samples. After a pass, all but a few batches are freed.
"""

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
# Smaller tensors come from malloc, which keeps their memory itself (see `tune_allocator`).
LEAST_BYTES = 1 << 20
# Memory of batches that a loader keeps between passes.
BATCH_BYTES = 128 << 20
Batch = dict[str, Any]  # by key a tensor or array of n rows, or a list
# Keys of plain integers in a sample and of tensors in a batch.
_NUMBERS = ("label", "index", "epoch")


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """An uninitialised tensor; in a DataLoader's worker in shared memory, so that it need not be copied there."""
    return torch.empty(shape, dtype=dtype) if get_worker_info() is None else empty_shared(shape, dtype)


def empty_pinned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """An uninitialised tensor in pinned memory."""
    return torch.empty(shape, dtype=dtype, pin_memory=True)


def allocate_in_batch(key: str) -> Allocate | None:
    """The allocator of the current batch for one value of a sample; None: the sample allocates its own memory."""
    now = epochs.current()
    return None if now is None or now.allocate is None else now.allocate(key)


class Pool:
    """A pool of memory, which is reused when the last tensor, array or view of it is gone.

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
        """An uninitialised tensor."""
        size = prod(shape) * dtype.itemsize
        if size < LEAST_BYTES:
            return torch.empty(shape, dtype=dtype)
        memory = self._take(size)
        array = np.frombuffer(memory, np.uint8, size)  # kept alive by the tensor and all its views
        # list.append is atomic: the garbage collector may call it at any time.
        weakref.finalize(array, self._free.append, memory).atexit = False
        return torch.from_numpy(array).view(dtype).reshape(shape)

    def clear(self, but: int = 0) -> None:
        """Free unused memory, except for up to `but` bytes of the most recently returned."""
        with self._lock:
            remaining = []
            while self._free:
                memory = self._free.pop()
                but -= len(memory)
                remaining += [memory] if but >= 0 else []
            self._free.extend(reversed(remaining))

    def _take(self, size: int) -> mmap.mmap:
        with self._lock:
            for k in reversed(range(len(self._free))):  # the last one returned is likeliest in the CPU cache
                if size <= len(self._free[k]) <= 2 * size:
                    return self._free.pop(k)
        return _map_memory(size)


def _map_memory(size: int) -> mmap.mmap:
    """Anonymous memory, returned to the system when garbage collected."""
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return mmap.mmap(-1, size)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError, AttributeError):  # Linux only; numpy does so for its large arrays, too
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


@cache
def torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    """The torch dtype of a numpy dtype."""
    return torch.from_numpy(np.empty(0, dtype)).dtype


class BatchRows:
    """Memory for the samples of one batch.

    The tensor of a key is allocated when the first sample's size is known. Samples of that size are written into their
    rows, others get memory of their own. Thread-safe; no two samples get the same row.

    Args:
        count: number of samples.
        empty: allocates a tensor of a shape and dtype.

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
        """The allocator for sample `k`, by key."""
        return lambda key: partial(self._rows, k, (), key)

    def allocate_rows(self, rows: range) -> AllocateTarget:
        """The allocator for several samples at once."""
        return partial(self._rows, slice(rows.start, rows.stop), (len(rows),))

    def whole(self, key: str, values: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """The tensor of `key` if `values`, of one or more rows each, are all of its rows in order; else None."""
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
        return array[where]


def ragged_keys(recipe: Recipe) -> frozenset[str]:
    """Keys of a sample that have one row per box or keypoint, and become lists in a batch."""
    return recipe.inputs.row_keys | {"boxes", "keypoints"} if recipe.facts.annotated else frozenset()


def as_torch(
    out: dict[str, Any], ragged: frozenset[str], views: Sequence[str] = (), masks: Container[str] = ("mask",)
) -> dict[str, Any]:
    """Arrays as tensors that own their memory; labels of boxes, keypoints and `masks` become int64.

    Keys of a view begin with its name; lists have an entry per view of that name.
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
    """A pipeline's outputs as tensors, see `as_torch`; further targets other than images count as masks."""
    masks = ("mask", *(name for name, target in recipe.targets.items() if not target.is_image))
    return as_torch(out, ragged_keys(recipe), views, masks)


def native_batch(
    pipeline: Any, samples: Read | SampleColumns, epoch: int, virtual: order.Indices, allocate: AllocateTarget,
    ragged: frozenset[str],
) -> dict[str, Any] | None:  # fmt: skip
    """The batch of a dataset's `make_batch`; None where samples differ in size.

    Args:
        pipeline: the dataset's pipeline.
        samples: reads the targets of a sample by its position in the batch; or the targets of all.
        epoch: the epoch of the draws.
        virtual: the keys of the draws.
        allocate: allocates the memory.
        ragged: keys of samples that have one row per box or keypoint.

    Raises:
        DataError: the first broken sample.
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
    """Join consecutive parts of a batch: tensors of some rows each, or lists.

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
        is_integers = key in _NUMBERS and isinstance(values, torch.Tensor) and values.ndim == 1
        columns[key] = values.tolist() if is_integers else [*values]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def samples_at_once(dataset: Any, keys: Sequence[tuple[int, int]]) -> list[dict[str, Any]] | None:
    """`[dataset[key] for key in keys]` by one call per epoch; None where the samples must be read one by one.

    Args:
        dataset: has `read_batch(epoch, indices)`.
        keys: epoch and index of each sample.
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
