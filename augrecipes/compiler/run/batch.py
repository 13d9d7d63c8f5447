"""Run a batch of samples: the inputs by target, the arrays that results are written to, and the caller's `out=`."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from augrecipes.compiler.executor.inputs import MappedImages
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.run.batch_threads import BatchQueue, Read, run_in_threads
from augrecipes.compiler.run.input_values import labels_of
from augrecipes.errors import CollateError, DataError
from augrecipes.recipe.inputs import MaskLabels


def output_buffer(out: Any, what: str, sources: Sequence[Any], name: str = "out") -> Allocate:
    """An allocator that gives a result the memory of `out`, which it must fit exactly.

    Args:
        out: a writable array, or anything that numpy can view as one, such as a torch tensor on the CPU; or a function
            (shape, dtype) → array, for callers that do not know the size beforehand.
        what: name of the result, for errors.
        sources: arrays that are still read while the result is written.
        name: name of `out`, for errors.

    Raises:
        DataError: `out` is read-only, overlaps a source, or, once the result is known, has another shape or dtype.

    >>> batch = np.zeros((2, 3, 4, 4), np.float32)
    >>> np.shares_memory(output_buffer(batch[1], "the image", ())((3, 4, 4), np.dtype(np.float32)), batch)
    True
    """
    if callable(out):
        return lambda shape, dtype: output_buffer(out(shape, dtype), what, sources, name)(shape, dtype)
    array = _as_array(out, name)
    if not array.flags.writeable:
        raise DataError(f"{name} is read-only")
    for source in sources:
        if isinstance(source, np.ndarray) and np.may_share_memory(array, source):
            raise DataError(f"{name} lies in the memory of what goes in; give it memory of its own")

    def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        if array.shape != shape or array.dtype != dtype:
            raise DataError(
                f"{name} is {array.dtype} of shape {array.shape}, {what} comes out as {dtype} of shape {shape}"
            )
        return array

    return allocate


def _as_array(out: Any, name: str) -> np.ndarray:
    """View `out` as an array over the same memory."""
    if isinstance(out, np.ndarray):
        return out
    try:
        array, again = np.asarray(out), np.asarray(out)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{name} cannot be written to from numpy: {error}") from error
    if array.__array_interface__["data"] != again.__array_interface__["data"]:
        raise DataError(f"{name} must be an array, or share its memory with one; got {type(out).__name__}")
    return array


_INT64 = np.dtype(np.int64)
Sample = dict[str, Any]
# Allocates the results of all samples: (target, shape of one, dtype) → array (n, *shape).
AllocateTarget = Callable[[str, tuple[int, ...], np.dtype[Any]], np.ndarray]


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """The inputs of samples with the same targets, a column per target.

    Attributes:
        image: the image of each sample.
        mask: the mask of each; None: they have none.
        others: the other targets of each, such as boxes; None: they have none.
    """

    image: Sequence[Any] | MappedImages
    mask: Sequence[Any] | MappedImages | None = None
    others: Sequence[Sample] | None = None

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> "SampleColumns | None":
        """Turn samples into columns; None where their targets differ."""
        names = samples[0].keys()
        if "image" not in names or (len(samples) > 1 and any(sample.keys() != names for sample in samples)):
            return None
        mask, others = None, None
        if len(names) > 1:
            mask = [sample["mask"] for sample in samples] if "mask" in names else None
            if len(names) > 1 + ("mask" in names):
                others = [{n: v for n, v in sample.items() if n not in ("image", "mask")} for sample in samples]
        return cls([sample["image"] for sample in samples], mask, others)

    def __len__(self) -> int:
        return len(self.image)

    @property
    def names(self) -> set[str]:
        """The names of their targets."""
        return {"image", *(() if self.mask is None else ("mask",)), *(self.others[0] if self.others else ())}

    def with_labels(self, mask_labels: MaskLabels | None) -> "SampleColumns":
        """The same samples with masks turned from stored values into labels."""
        if mask_labels is None or self.mask is None:
            return self
        return replace(self, mask=[labels_of(element(self.mask, k), mask_labels) for k in range(len(self))])

    def sample(self, k: int) -> Sample:
        """All targets of sample `k`."""
        targets = {"image": element(self.image, k)}
        if self.mask is not None:
            targets["mask"] = element(self.mask, k)
        return targets | (self.others[k] if self.others else {})


def element(column: Sequence[Any] | MappedImages, k: int) -> Any:
    """The image or mask of sample `k`."""
    return column.array(k) if isinstance(column, MappedImages) else column[k]


@dataclass
class BatchOutput:
    """The results of a batch: an array per target, of which row k is sample k; masks of labels are int64.

    Attributes:
        epoch: epoch of the draws.
        keys: index and tile of each sample.
        allocate_target: allocates the array of a target.
        failed: errors by position.
        arrays: the arrays by target, allocated once the size of one result is known.
        others: the other targets of each sample, by position.
        is_ragged: results differ in size.
        is_stopped: no further sample is begun.
        stains: the stains of the samples' slide or bag, by method of estimation; None: not known.
    """

    epoch: int
    keys: Sequence[tuple[int, int]]
    allocate_target: AllocateTarget
    failed: dict[int, DataError] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    others: dict[int, Sample] = field(default_factory=dict)
    is_ragged: bool = False
    is_stopped: bool = False
    stains: Mapping[str, Any] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, pipeline: Any, read: Read, threads: int = 1, *, in_memory: bool = False) -> None:
        """Run all samples in `threads` threads, this one included; their number changes no result.

        Args:
            pipeline: the pipeline; each thread runs a copy, because steps hold state.
            read: returns the targets of a sample by its position, called from several threads; a DataError from it is
                noted in `failed`.
            threads: number of threads.
            in_memory: all images are in memory already, so that reading many at once costs nothing.
        """
        queue = BatchQueue(len(self.keys), threads, in_memory=in_memory)

        def read_or_fail(k: int) -> Sample:
            try:
                return read(k)
            except DataError as error:
                self.fail(k, error)
                return {}

        def work() -> None:
            try:
                own_copy = pipeline.for_this_thread(self.epoch)
                while not self.is_stopped and (share := dict(queue.take(read_or_fail))):
                    if samples := {k: sample for k, sample in share.items() if k not in self.failed}:
                        self._run_samples(own_copy, samples)
            except BaseException:
                self.is_stopped = True
                raise

        run_in_threads(work, threads)

    def _run_samples(self, pipeline: Any, samples: dict[int, Sample]) -> None:
        if (columns := SampleColumns.of([*samples.values()])) is not None:
            pipeline.run_batch(self, [*samples], columns)
            return
        for k, targets in samples.items():
            pipeline.run_alone(self, k, targets)

    def fail(self, k: int, error: DataError) -> None:
        """Note the error of sample `k`."""
        self.failed[k] = error

    def put(self, k: int, sample: Sample) -> None:
        """Store sample `k`, which ran by itself; its image is in its row already."""
        if "mask" in sample:
            mask = sample["mask"]
            rows = self.rows("mask", mask.shape, mask.dtype if mask.dtype.kind == "f" else _INT64)
            if rows is None:
                self.is_ragged = self.is_stopped = True
            else:
                rows[k] = mask
        self.others[k] = {name: value for name, value in sample.items() if name not in ("image", "mask")}

    def row(self, k: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """The memory for the image of sample `k`."""
        if (rows := self.rows("image", shape, dtype)) is None:
            self.is_ragged = self.is_stopped = True
            return np.empty(shape, dtype)
        return rows[k]

    def image(self) -> np.ndarray:
        """The array of all images.

        Raises:
            DataError: the error of the first sample that failed.
            CollateError: the images differ in size.
        """
        if self.failed:
            raise self.failed[min(self.failed)]
        if self.is_ragged or "image" not in self.arrays:
            raise CollateError("images come out with different sizes; end the recipe in a crop or resize of fixed size")
        return self.arrays["image"]

    def rows(self, target: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
        """The array of a target, allocated on first use; None where it has another shape or dtype."""
        with self._lock:
            if target not in self.arrays:
                self.arrays[target] = self.allocate_target(target, shape, dtype)
            array = self.arrays[target]
            return array if array.shape[1:] == shape and array.dtype == dtype else None
