"""A pipeline, and those that are made of it: for other threads, for images that come otherwise, and for epochs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Self

from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels import quick_apply
from augrecipes.compiler.lowering.lower import Lowered, Sites, lowered_again, remade, transforms_of
from augrecipes.compiler.rewrite import PLAIN, Compiled
from augrecipes.compiler.run.as_compose import AsCompose, is_kept
from augrecipes.compiler.run.output_size_guard import guard
from augrecipes.flow import Arrival


class Copies(AsCompose):
    """A pipeline that makes copies of itself when they are asked for, and keeps them.

    Steps hold state, so that each thread has its own. The pipelines of epochs are one thread's, and share all steps
    whose numbers are the same; what the recipe is made of is decided once.

    Attributes:
        whole: of one with the numbers of an epoch, the pipeline that it is made of; else None.
        tried: of steps that have been held to what they stand for, what is known of each.
    """

    arrival: Arrival
    whole: Self | None = None
    tried: set[Any]
    transforms: list[Any]
    remade = staticmethod(remade)  # see `lowered_again`
    _lowered: tuple[Lowered, ...]
    _sites: Sites
    _labels: dict[int, str]
    _cells: Mapping[int, int] = {}  # see `guard`
    _owner: int
    _epoch = 0
    _dress: Callable[[Any], object] | None = None

    def run_through(self, transforms: list[Any]) -> None:
        """Let samples go through these from now on."""
        raise NotImplementedError

    def again(self, compiled: Compiled | None = None, arrival: Arrival | None = None) -> Self:
        """A pipeline of the same kind, with state of its own."""
        make: Any = type(self)
        made: Self = make(compiled or self.compiled, arrival or self.arrival)
        if self._dress is not None:
            made.dress(self._dress)
        return made

    def renew(self, compiled: Compiled) -> None:
        """Compiled otherwise; the copies are made again when they are asked for."""
        self.compiled, self._local = compiled, threading.local()
        self._by_arrival, self._by_epoch = dict[Arrival, Self](), dict[int, Self]()
        self._last_epoch = compiled.recipe.last_epoch

    def dress(self, dress: Callable[[Any], object]) -> None:
        """Do something to this pipeline, and to every copy that `again` makes: for other threads, and other plans."""
        self._dress = dress
        dress(self)

    def for_this_thread(self, epoch: int) -> Self:
        """This pipeline or, in another thread than it was made in, a copy of the thread's own: steps hold state."""
        if threading.get_ident() == self._owner:
            return self.in_epoch(epoch) if epoch < self._last_epoch else self
        if not hasattr(self._local, "pipeline"):
            self._local.pipeline = self.again()
        mine: Self = self._local.pipeline
        return mine.for_this_thread(epoch)

    def coming(self, arrival: Arrival) -> Self:
        """The pipeline with the plan for images that come as `arrival` says."""
        if arrival == self.arrival:
            return self
        if arrival not in self._by_arrival:
            whole = self.whole
            self._by_arrival[arrival] = (
                self.again(arrival=arrival) if whole is None else whole.coming(arrival).in_epoch(self._epoch)
            )
        return self._by_arrival[arrival]

    def in_epoch(self, epoch: int) -> Self:
        """The pipeline with the numbers of an epoch, for the same thread; it is kept until the next but one."""
        if epoch not in self._by_epoch:
            compiled = self.compiled.in_epoch(epoch)
            kept = [*self._by_epoch.items()][-1:]
            same = [one for _, one in kept if one.compiled.recipe == compiled.recipe]
            made = same[0] if same else self.again(compiled) if self._dress else self._with_numbers(compiled, epoch)
            self._by_epoch = dict([*kept, (epoch, made)])
        return self._by_epoch[epoch]

    def _with_numbers(self, compiled: Compiled, epoch: int) -> Self:
        """A copy whose steps have the numbers of an epoch, where these are others than here."""
        made, instead = object.__new__(type(self)), dict[int, Any]()
        made.__dict__ |= self.__dict__
        made.renew(compiled)
        made.whole, made._epoch = self, epoch
        pairs = zip(self._lowered, compiled.plans[self.arrival].steps, strict=True)
        made._lowered = tuple(lowered_again(was, node, self.remade, instead) for was, node in pairs)
        ids = {was: id(now) for was, now in instead.items()}
        made._labels = self._labels | {ids.get(was, was): label for was, label in self._labels.items()}
        made._cells = {ids.get(was, was): cell for was, cell in self._cells.items()}
        made._sites = [(instead.get(id(step), step), label, shared) for step, label, shared in self._sites]
        fresh = [
            (was, site)
            for (was, _, _), site in zip(self._sites, made._sites, strict=True)
            if isinstance(site[0], A.BasicTransform) and not is_kept(site[0])
        ]
        if compiled.optimize != "none" and self.arrival not in PLAIN:
            quick_apply.attach(step for _, (step, _, _) in fresh)
        for was, (step, _, _) in fresh:
            step.add_targets(self.additional_targets)
            step.set_processors(self.processors)
            step.random_generator, step.py_random = was.random_generator, was.py_random
        sites = [site for _, site in fresh]
        guard(sites, compiled.recipe.max_bytes, made._cells)
        self._keep(sites)
        made.run_through([*transforms_of(made._lowered)])
        return made
