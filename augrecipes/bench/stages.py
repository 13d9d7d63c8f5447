"""Stages: where the time of a sample goes, from the file to the batch, while the very Dataset and loader run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from statistics import median
from time import perf_counter
from typing import Any, Literal

import augrecipes.data.loader as loading
from augrecipes.bench.sides import Setting, Side, compiled, work_of
from augrecipes.bench.timing import Work, mad
from augrecipes.compiler.run.clock import DECODE, READ, REST, SINK, Clock, clocked, median_run
from augrecipes.data.batching import BatchRows
from augrecipes.data.collate import Collate, collate_for
from augrecipes.data.packed import Packed
from augrecipes.images.format import watched

StageKind = Literal["read", "decode", "step", "sink", "collate", "overhead"]
_PROBES = 12  # batches whose transfer is timed
_COLLATE = "\x00collate"
_KINDS: dict[str, StageKind] = {READ: "read", DECODE: "decode", SINK: "sink", _COLLATE: "collate", REST: "overhead"}


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a sample's time. Parts do not overlap: what a step decodes is `decode`, a group has its choice alone.

    Time belongs to what does the work: a crop that leaves it to a later step, or to the sink, takes nothing.

    Attributes:
        kind: `read` the file's bytes, `decode` them, a `step`, the `sink` (normalisation, dtype, layout), `collate`
            into the batch, and the `overhead` beside them: keys, checks, tensors.
        name: of a step its label, as the plan has it; else the kind.
        ms: a sample.
        mad: of its time over the rounds, ms a sample.
    """

    kind: StageKind
    name: str
    ms: float
    mad: float


@dataclass
class Staged:
    """A side that runs by the clock.

    Attributes:
        side: with a pipeline of its own.
        labels: of its steps, in their order.
        clock: what times them.
        taken: of each batch, by round, the seconds of each part.
    """

    side: Side
    labels: list[str]
    clock: Clock = field(default_factory=Clock)
    taken: defaultdict[int, list[dict[str, float]]] = field(default_factory=lambda: defaultdict(list))

    def work(self, batch_size: int) -> Work:
        """Something to be timed in turns with others."""
        collate = collate_for("default", self.side.dataset)
        plain = work_of(self.side, batch_size, _Clocked(**vars(collate), clock=self.clock))

        def start() -> Iterator[Any]:
            self.clock.take()
            return self._watched(plain.start())

        return replace(plain, start=start, after=lambda batch: self.taken[batch].append(self.clock.take()))

    def _watched(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Batches whose reading is watched while they are made."""
        while True:
            with self.clock.stage(REST), watched(lambda name: self.clock.stage(READ if name == "read" else DECODE)):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def stages(self, samples: int) -> list[Stage]:
        """What was found, in the order in which a sample goes through them.

        Of each batch the round that takes the median time stands for it, so that the parts add up to its time.

        Args:
            samples: of a pass.
        """
        middles = [median_run(rounds) for rounds in self.taken.values()]
        stages = []
        for part in [READ, DECODE, *self.labels, SINK, _COLLATE, REST]:
            seconds = sum(spent.get(part, 0.0) for spent in middles)
            rounds = zip(*self.taken.values(), strict=True)
            passes = [sum(spent.get(part, 0.0) for spent in batches) for batches in rounds]
            kind = _KINDS.get(part, "step")
            name = part if kind == "step" else kind
            stages.append(Stage(kind, name, 1e3 * seconds / samples, 1e3 * mad(passes) / samples))
        return stages


@dataclass(frozen=True)
class _Clocked(Collate):
    """The loader's own way to make batches, by the clock: samples lie in their batch's memory, as without."""

    clock: Clock = field(default_factory=Clock)

    def __call__(self, samples: list[Any], rows: BatchRows | None = None) -> Any:
        return self.clock.run(_COLLATE, super().__call__, (samples, rows), {})


def staged(side: Side, setting: Setting) -> Staged:
    """A side with a pipeline of its own that a clock times."""
    pipeline = compiled(side.source, setting, side.optimize)
    clock = Clock()
    # Samples may reach the pipeline as files, not decoded yet: those are run by a plan of their own.
    packed = side.dataset.store.encodes if isinstance(side.dataset, Packed) else not side.source.facts.tiles
    labels = clocked(pipeline, clock, "encoded" if pipeline.reads and packed else None)
    return Staged(side.through(pipeline), labels, clock)


class _Stamped(Collate):
    """A batch with the time when it was ready; a clock that all processes of a machine share."""

    def finished(self, batch: Any) -> Any:
        return super().finished(batch), perf_counter()


def worker_transfer(side: Side, batch_size: int) -> float:
    """Milliseconds a sample between a batch's being ready in a worker process and its being in the consumer's hands.

    The consumer does nothing else but wait. The first batches, which meet cold queues, do not count.
    """
    batches = loading.loader(
        side.dataset, batch_size, backend="processes", num_workers=1, drop_last=True,
        collate=_Stamped(**vars(collate_for("default", side.dataset))), samples_per_epoch=_PROBES * batch_size,
    )  # fmt: skip
    return 1e3 * median([perf_counter() - ready for _, ready in batches][2:]) / batch_size
