"""A pass: one run over the batches of an epoch, which keeps count of what was handed out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from augrecipes.data.batches.profiled import span
from augrecipes.data.batches.skips import Skipped
from augrecipes.data.loading.fetch import Delivery
from augrecipes.data.loading.state import EpochProgress


class Deliveries(Protocol):
    """What a backend makes of a pass."""

    def __next__(self) -> Delivery:
        """The next batch; StopIteration after the last."""

    def close(self) -> None:
        """End what still reads."""


class Listener(Protocol):
    """What a pass tells of itself."""

    def begun(self, progress: EpochProgress) -> None:
        """Its first batch is asked for."""

    def handed_out(self, before: EpochProgress, now: EpochProgress, skipped: Sequence[Skipped]) -> None:
        """A batch is handed out, in which some samples were replaced."""

    def finished(self, progress: EpochProgress) -> None:
        """There are no more."""

    def broken(self) -> None:
        """The pass has ended in an error."""


class Pass(Iterator[Any]):
    """One pass of a loader over one epoch, or over what is left of it. Ends with its last batch or its first error."""

    def __init__(self, listener: Listener, inner: Deliveries, start: EpochProgress) -> None:
        self._listener, self._progress = listener, start
        self._inner: Deliveries | None = inner
        self._begun = False

    def __next__(self) -> Any:
        if self._inner is None:
            raise StopIteration
        if not self._begun:
            self._begun = True
            self._listener.begun(self._progress)
        try:
            with span("next batch"):
                delivery = self._inner.__next__()
            if (error := delivery.error) is not None:
                try:
                    raise error
                finally:
                    # An error whose traceback holds the error is a cycle, with the loader and its workers in it.
                    del error, delivery
        except StopIteration:
            self._inner = None
            self._listener.finished(self._progress)
            raise
        except BaseException:
            self._stop()
            raise
        before, self._progress = self._progress, self._progress.with_batch(delivery.number)
        self._listener.handed_out(before, self._progress, delivery.skipped)
        return delivery.batch

    def _stop(self) -> None:
        inner, self._inner = self._inner, None
        self._listener.broken()
        if inner is not None:
            inner.close()
