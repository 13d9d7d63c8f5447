"""Where a loader is: which epoch its next pass runs, and how far the pass under way has come."""

from __future__ import annotations

from typing import Any

from augrecipes.data.batches.epoch import check_epoch, clocks
from augrecipes.data.loading.state import EpochProgress


class LoaderPosition:
    """The progress of a loader, which follows whoever sets the epoch last: the loader's user or a dataset's.

    Attributes:
        progress: of the pass under way, or where the next one begins when none is.
        start: where the next pass begins.
        moves: how often it was said where that is.
    """

    def __init__(self, dataset: Any) -> None:
        self._clocks, self.moves = clocks(dataset), 0
        self.move(EpochProgress(max((clock.epoch for clock in self._clocks), default=0)))

    def move(self, progress: EpochProgress) -> None:
        """Let the next pass begin at `progress`."""
        self.start = self.progress = progress
        self.moves += 1
        self._marks = self._changes()

    def set_epoch(self, epoch: int) -> None:
        """Let the next pass run `epoch`; from its beginning, unless it was to begin elsewhere in this very epoch."""
        epoch = check_epoch(epoch)
        resumes = self.start is self.progress and self.start.epoch == epoch
        self.move(self.start if resumes else EpochProgress(epoch))

    def look(self) -> None:
        """Follow a `set_epoch` of a dataset that came after the loader's own last one."""
        now = self._changes()
        for clock, seen, before in zip(self._clocks, now, self._marks, strict=True):
            if seen != before:
                self.set_epoch(clock.epoch)
        self._marks = now

    def heard(self) -> None:
        """What a dataset's epoch was set to meanwhile is this loader's own word."""
        self._marks = self._changes()

    def begun(self, progress: EpochProgress) -> None:
        """A pass hands out its first batch: it counts from here, and the next one runs the next epoch."""
        self.progress, self.start = progress, EpochProgress(progress.epoch + 1)

    def advanced(self, before: EpochProgress, now: EpochProgress) -> bool:
        """A pass has moved on; False where a later pass or `set_epoch` has moved the loader elsewhere meanwhile."""
        if self.progress != before:
            return False
        self.progress = now
        return True

    def finished(self, progress: EpochProgress) -> None:
        """A pass has handed out its last batch."""
        if self.progress == progress and self.start == EpochProgress(progress.epoch + 1):
            self.progress = self.start

    def _changes(self) -> list[int]:
        return [clock.changes for clock in self._clocks]
