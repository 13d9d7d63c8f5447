"""Reads one batch, in a worker process, in a thread, or in the user's own thread."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from torch.utils.data import Dataset

from augrecipes.compat.torch import is_full_memory_message, pin_memory
from augrecipes.data import epochs
from augrecipes.data.batching import BatchRows, Empty, empty, empty_pinned, join_parts, ragged_keys, split
from augrecipes.data.collate import Collate
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.order import BatchRequest
from augrecipes.errors import AugrecipesError, DataError, LoaderError

# Pieces of a batch per thread: small enough that all threads finish it at about the same time.
_PIECES_PER_READER = 8


class Delivery(NamedTuple):
    """A batch on its way to the user. A named tuple, because torch pins the memory of their members.

    Attributes:
        number: identifies the batch in its epoch.
        batch: the collated batch, or None with an error.
        skipped: records of samples that were replaced.
        error: an error to raise in the user's process, with its type and attributes.
    """

    number: int
    batch: Any
    skipped: tuple[epochs.Skipped, ...]
    error: AugrecipesError | None


class FetchDataset(Dataset[Any]):
    """The view of a dataset that our loader reads, by `BatchRequest`, in the request's epoch.

    Works on anything with `len` and integer indices, which may wrap our datasets in any way.

    Args:
        dataset: the dataset.
        collate: turns a list of samples into a batch.
        readers: threads that will read at the same time.
        pin: put batches into pinned memory.
        empty: allocates the tensors of batches.

    Attributes:
        ours: dataset and collate function are ours, and so thread-safe.
        writes_rows: samples may be written straight into their batch.
        gathers: several samples are read by one call.
    """

    def __init__(
        self,
        dataset: Any,
        collate: Callable[[list[Any]], Any],
        *,
        readers: int = 1,
        pin: bool = False,
        empty: Empty = empty,
    ) -> None:
        self.dataset, self.collate, self.readers, self.pin = dataset, collate, readers, pin
        self.empty = empty_pinned if pin else empty
        # Datasets with `__getitems__` (and none of ours inside) are asked for whole batches.
        self.takes_batches = not epochs.clocks(dataset) and callable(getattr(dataset, "__getitems__", None))
        ragged = collate.ragged if isinstance(collate, Collate) else None
        # Only our datasets, or torch's wrappers that pass samples on unchanged. A user's wrapper may keep a sample, or
        # combine two, so its samples must not lie in the memory of a batch.
        own = RecipeDataset.__getitem__
        self.ours = ragged is not None and all(
            isinstance(leaf, RecipeDataset) and type(leaf).__getitem__ is own for leaf in epochs.unwrapped(dataset)
        )
        self.writes_rows = self.ours and ragged != "list"
        self.gathers = self.ours and ragged == "default" and isinstance(dataset, RecipeDataset) and dataset.gathers
        self.ragged: set[str] = set()
        self._epoch: int | None = None

    def __len__(self) -> int:
        return len(self.dataset)

    def set_epoch(self, epoch: int) -> None:
        """Tell the user's own datasets the epoch, in the process that reads them."""
        if epoch != self._epoch:
            self._epoch = epoch
            epochs.set_foreign_epoch(self.dataset, epoch)

    def __getitems__(self, request: BatchRequest) -> Delivery:
        """Read the batch of a request; a DataError becomes part of the delivery."""
        self.set_epoch(request.epoch)
        batch = PendingBatch(self, request)
        for piece in batch.pieces:
            batch.work(piece)
        try:
            return batch.delivery()
        except RuntimeError as error:
            if not is_full_memory_message(str(error)):
                raise
            return Delivery(request.number, None, (), LoaderError(
                'shared memory (/dev/shm) is full: backend="threads" needs none; fewer workers, smaller batches or a '
                "lower prefetch_factor need less of it; a container is given more by --shm-size"
            ))  # fmt: skip


def stop_as_error(error: Exception, where: str) -> Exception:
    """The error to raise: a DataError instead of a StopIteration, which would silently end the epoch."""
    if not isinstance(error, StopIteration):
        return error
    return DataError(f"{where} raised StopIteration, which would end the epoch without a word: {error or 'no message'}")


class PendingBatch:
    """A batch being read. Several threads may work on its pieces, which are started in order.

    Attributes:
        pieces: ranges of positions in the batch.
        number: identifies the batch in its epoch.
    """

    def __init__(self, reader: FetchDataset, request: BatchRequest) -> None:
        self.number, self._reader, self._order = request.number, reader, request
        count = len(request.indices)
        pieces = 1 if reader.takes_batches else reader.readers * (1 if reader.gathers else _PIECES_PER_READER)
        size = max(1, -(-count // pieces) if reader.gathers else count // pieces)
        self.pieces = [range(start, min(start + size, count)) for start in range(0, count, size)]
        self._rows = BatchRows(count, reader.empty)
        self._samples: dict[int, Any] = {}
        self._parts: dict[range, dict[str, Any]] = {}
        self._skipped: dict[int, list[epochs.Skipped]] = {}
        self._failed: dict[int, Exception] = {}
        self._left, self._lock = len(self.pieces), threading.Lock()

    def work(self, piece: range) -> bool:
        """Read one piece; True if it was the last missing one.

        Pieces are started in order, so when a sample fails, all before it have been started, and the first failure is
        always found.
        """
        if not any(k < piece.start for k in self._failed.copy()):
            k = piece.start
            try:
                if not self._at_once(piece):
                    for k in piece:
                        self._samples[k] = self._sample(k)
            except Exception as error:
                asked = self._order.indices[slice(None) if self._reader.takes_batches else [k]] % len(self._reader)
                self._failed[k] = stop_as_error(error, f"the dataset, asked for sample {', '.join(map(str, asked))},")
        with self._lock:
            self._left -= 1
            return not self._left

    def delivery(self) -> Delivery:
        """The batch, once all pieces are read; raises errors other than augrecipes' own."""
        error = self._failed[min(self._failed)] if self._failed else None
        skipped = tuple(record for k in sorted(self._skipped) for record in self._skipped[k])
        if error is None:
            try:
                batch = self._collated()
                pinned: Any = pin_memory(batch) if self._reader.pin else batch  # type: ignore[no-untyped-call]
                return Delivery(self.number, pinned, skipped, None)
            except (AugrecipesError, StopIteration) as problem:
                error = stop_as_error(problem, "the collate function")
            finally:
                self._reader.ragged |= self._rows.ragged
        self._failed.clear()
        try:
            if isinstance(error, AugrecipesError):
                return Delivery(self.number, None, skipped, error)
            raise error
        finally:
            del error  # breaks the cycle of error, traceback and this frame

    def _collated(self) -> Any:
        if self._parts:
            parts = [self._parts[piece] for piece in self.pieces if piece in self._parts]
            if len(parts) == len(self.pieces) and not self._rows.ragged and not self._has_other_lists(parts[0]):
                return self._reader.collate.finished(join_parts(parts, self._rows))  # type: ignore[attr-defined]  # `gathers` implies our Collate
            for piece, part in self._parts.items():
                self._samples |= zip(piece, split(part), strict=True)
        samples = [self._samples[k] for k in range(len(self._samples))]
        collate = self._reader.collate
        return collate(samples, self._rows) if isinstance(collate, Collate) else collate(samples)

    def _has_other_lists(self, part: dict[str, Any]) -> bool:
        """Whether a part has lists that collation may turn into tensors."""
        lists = {"path", *ragged_keys(self._reader.dataset.recipe)}
        return any(isinstance(values, list) and key not in lists for key, values in part.items())

    def _at_once(self, piece: range) -> bool:
        """Read the piece by one call, if the dataset can; else False."""
        reader, request = self._reader, self._order
        if reader.takes_batches:
            n = len(reader.dataset)
            with epochs.reading(epochs.Reading(request.epoch)):
                self._samples.update(enumerate(reader.dataset.__getitems__([int(v) % n for v in request.indices])))
            return True
        if not reader.gathers or reader.ragged:
            return False
        indices = request.indices[piece.start : piece.stop]
        try:
            part = reader.dataset.read_batch(request.epoch, indices, self._rows.allocate_rows(piece))
        except DataError:
            return False  # reading one by one finds the sample
        if part is not None:
            self._parts[piece] = part
        return part is not None

    def _sample(self, k: int) -> Any:
        reader, request = self._reader, self._order
        dataset, n = reader.dataset, len(reader.dataset)
        repeat, position = divmod(int(request.indices[k]), n)
        allocate = self._rows.allocate_row(k) if reader.writes_rows and not reader.ragged else None
        skipped = self._skipped.setdefault(k, [])

        def read(other: int, left_out: list[epochs.Skipped]) -> Any:
            with epochs.reading(epochs.Reading(request.epoch, repeat, left_out, allocate, reader.readers)):
                return dataset[other]

        def replacement(other: int) -> Any:
            left_out: list[epochs.Skipped] = []
            sample = read(other, left_out)
            skipped.extend(left_out)  # only of the sample that is handed out
            return sample

        try:
            return read(position, skipped)
        except epochs.SkipError as skip:
            others = epochs.candidates(skip.seed, request.epoch, skip.index, n)
            sample = epochs.first_readable(
                skip.error, (k for k in others if k != position), replacement, epochs.SkipError
            )
            path = sample.get("path") if isinstance(sample, dict) else None
            record = epochs.Skipped(skip.error.path or "", skip.error.reason_in_step, request.epoch, skip.index)
            skipped.append(replace(record, replacement=path if isinstance(path, str) else None))
            return sample
