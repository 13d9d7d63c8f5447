"""A pass: one run over the batches of an epoch, which keeps count of what was handed out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from augrecipes.data.fetch import Delivery
from augrecipes.data.state import Progress
from augrecipes.data.worker import dead_worker, one_thread

if TYPE_CHECKING:
    from augrecipes.data.loader import Loader


class Pass(Iterator[Any]):
    """One pass of a loader over one epoch, or over what is left of it. Ends with its last batch or its first error."""

    def __init__(self, owner: Loader, inner: Iterator[Delivery], start: Progress) -> None:
        self._loader, self._progress = owner, start
        self._inner: Iterator[Delivery] | None = inner
        self._begun = False

    def __next__(self) -> Any:
        if self._inner is None:
            raise StopIteration
        if not self._begun:
            self._begun = True
            self._loader._begun(self._progress)
        try:
            delivery = self._take(self._inner)
            if (error := delivery.error) is not None:
                try:
                    raise error
                finally:
                    # An error whose traceback holds the error is a cycle, with the loader and its workers in it.
                    del error, delivery
        except StopIteration:
            self._inner = None
            self._loader._finished(self._progress)
            raise
        except BaseException:
            self._stop()
            raise
        # Not where a later `iter` or `set_epoch` has moved the loader on.
        mine = self._loader._progress == self._progress
        self._progress = self._progress.with_batch(delivery.number)
        if mine:
            self._loader._progress = self._progress
            self._loader.skipped.extend(delivery.skipped)
        return delivery.batch

    def _take(self, inner: Iterator[Delivery]) -> Delivery:
        if not self._loader.num_workers:
            with one_thread():
                return next(inner)
        try:
            return next(inner)
        except (RuntimeError, EOFError, OSError) as error:
            known = dead_worker(error)
            if known is None:
                raise
            raise known from error

    def _stop(self) -> None:
        """End the workers now, not when the garbage collector gets to them.

        An error's traceback keeps the iterator in a cycle, and torch then waits five seconds for each worker, at any
        later moment, because the collector has closed their queues.
        """
        shut_down = getattr(self._inner, "_shutdown_workers", None)
        self._inner = None
        self._loader._give_up_workers()
        if shut_down is not None:
            # torch's signal handler raises wherever the program is when it hears of a dead worker, here too.
            with suppress(RuntimeError):
                shut_down()
