"""What the passes of a loader leave behind: where it stands, and which samples were replaced."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from augrecipes.data.batches.skips import Skipped, report
from augrecipes.data.loading.backends import Readers
from augrecipes.data.loading.place import LoaderPosition
from augrecipes.data.loading.state import EpochProgress

_log = logging.getLogger("augrecipes")


class Ledger:
    """A `Listener` of every pass of one loader.

    Args:
        place: moves on with the pass under way.
        readers: are told when a pass is over, or broken.

    Attributes:
        skipped: records of the pass under way, or of the last one.
    """

    def __init__(self, place: LoaderPosition, readers: Readers) -> None:
        self.skipped: list[Skipped] = []
        self._place, self._readers = place, readers

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
