"""A pass: one run over the batches of an epoch; and the ledger, which keeps count of what passes hand out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from augrecipes.data.batches.profiled import span
from augrecipes.data.batches.skips import Skipped, report
from augrecipes.data.loading.backends import Readers
from augrecipes.data.loading.fetch import Deliveries
from augrecipes.data.loading.place import LoaderPosition
from augrecipes.data.loading.state import EpochProgress

_log = logging.getLogger("augrecipes")


class Ledger:
    """What the passes of one loader leave behind.

    Args:
        place: moves on with the pass under way.
        readers: are told when a pass is over, or broken.

    Attributes:
        skipped: records of the pass under way, or of the last one.
    """

    def __init__(self, place: LoaderPosition, readers: Readers) -> None:
        self.skipped: list[Skipped] = []
        self._place, self._readers = place, readers

    def moves(self) -> int:
        """How often it was said where passes begin."""
        self._place.look()
        return self._place.moves

    @property
    def start(self) -> EpochProgress:
        """Where the next pass begins."""
        return self._place.start

    def begun(self, progress: EpochProgress) -> None:
        """A pass hands out its first batch."""
        self.skipped = []
        self._place.begun(progress)

    def handed_out(self, before: EpochProgress, now: EpochProgress, skipped: Sequence[Skipped]) -> None:
        """A batch is handed out."""
        if self._place.advanced(before, now):
            self.skipped.extend(skipped)

    def finished(self, progress: EpochProgress) -> None:
        """A pass has handed out its last batch."""
        self._place.finished(progress)
        self._readers.rest()
        if self.skipped:
            _log.warning("epoch %d: %s", progress.epoch, report(self.skipped))

    def broken(self) -> None:
        """A pass has ended in an error."""
        self._readers.give_up()


class Opened(NamedTuple):
    """What a pass reads.

    Attributes:
        deliveries: of a backend.
        start: where it begins.
        step: how far each batch moves the place on.
    """

    deliveries: Deliveries
    start: EpochProgress
    step: int


class Pass(Iterator[Any]):
    """One pass of a loader over one epoch, or over what is left of it. Ends with its last batch or its first error.

    It begins with its first batch: Lightning asks for a pass, and says the epoch only then.

    Args:
        ledger: of the loader.
        opened: reads from where the loader's next pass begins.
    """

    def __init__(self, ledger: Ledger, opened: Callable[[], Opened]) -> None:
        self._ledger, self._begun = ledger, False
        self._moves, self._opened = ledger.moves(), opened
        self._open()

    def _open(self) -> None:
        self._inner: Deliveries | None = None  # what was read ahead ends, before other readers begin
        self._inner, self._progress, self._step = self._opened()

    def __next__(self) -> Any:
        if self._inner is None:
            raise StopIteration
        if not self._begun:
            self._begun = True
            if self._ledger.moves() != self._moves and self._ledger.start != self._progress:
                self._open()
            self._ledger.begun(self._progress)
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
            self._ledger.finished(self._progress)
            raise
        except BaseException:
            self._stop()
            raise
        before, self._progress = self._progress, self._progress.with_batch(delivery.number, self._step)
        self._ledger.handed_out(before, self._progress, delivery.skipped)
        return delivery.batch

    def _stop(self) -> None:
        inner, self._inner = self._inner, None
        self._ledger.broken()
        if inner is not None:
            inner.close()
