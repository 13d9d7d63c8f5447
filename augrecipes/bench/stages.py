"""Stages: where the time of a sample goes, from the file to the batch, in the Dataset and loader that users run."""

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
_PROBES = 12  # batches of the measurement of worker transfer
_COLLATE = "\x00collate"
_KINDS: dict[str, StageKind] = {READ: "read", DECODE: "decode", SINK: "sink", _COLLATE: "collate", REST: "overhead"}


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a sample's time. Stages do not overlap: decoding in a step is `decode`; a group has only its choice.

    Time belongs to the stage that does the work: a crop that a later step or the sink performs takes none.

    Attributes:
        kind: `read` (the file's bytes), `decode`, `step`, `sink` (normalisation, dtype, layout), `collate` (into the
            batch), and `overhead` (everything else: keys, checks, tensors).
        name: the label of a step in the plan; else the kind.
        ms: milliseconds per sample.
        mad: median absolute deviation of `ms` over the rounds.
    """

    kind: StageKind
    name: str
    ms: float
    mad: float


@dataclass
class Staged:
    """A side whose stages are timed.

    Attributes:
        side: the side, with a pipeline of its own.
        labels: labels of its steps, in order.
        clock: the clock that times the stages.
        seconds: seconds of each stage, by batch and round.
    """

    side: Side
    labels: list[str]
    clock: Clock = field(default_factory=Clock)
    seconds: defaultdict[int, list[dict[str, float]]] = field(default_factory=lambda: defaultdict(list))

    def work(self, batch_size: int) -> Work:
        """Return the side as work to be timed."""
        collate = collate_for("default", self.side.dataset)
        plain = work_of(self.side, batch_size, _Clocked(**vars(collate), clock=self.clock))

        def start() -> Iterator[Any]:
            self.clock.take()
            return self._watched(plain.start())

        return replace(plain, start=start, after=lambda batch: self.seconds[batch].append(self.clock.take()))

    def _watched(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the batches, timing reads and decodes inside each."""
        while True:
            with self.clock.stage(REST), watched(lambda name: self.clock.stage(READ if name == "read" else DECODE)):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def stages(self, samples: int) -> list[Stage]:
        """Return the stages in the order in which a sample passes through them.

        Each batch is represented by its round of median time, so that its stages add up to that time.

        Args:
            samples: samples per pass.
        """
        medians = [median_run(rounds) for rounds in self.seconds.values()]
        stages = []
        for part in [READ, DECODE, *self.labels, SINK, _COLLATE, REST]:
            seconds = sum(spent.get(part, 0.0) for spent in medians)
            rounds = zip(*self.seconds.values(), strict=True)
            passes = [sum(spent.get(part, 0.0) for spent in batches) for batches in rounds]
            kind = _KINDS.get(part, "step")
            name = part if kind == "step" else kind
            stages.append(Stage(kind, name, 1e3 * seconds / samples, 1e3 * mad(passes) / samples))
        return stages


@dataclass(frozen=True)
class _Clocked(Collate):
    """The loader's own collate function, timed; samples are written into the batch's memory as usual."""

    clock: Clock = field(default_factory=Clock)

    def __call__(self, samples: list[Any], rows: BatchRows | None = None) -> Any:
        return self.clock.run(_COLLATE, super().__call__, (samples, rows), {})


def staged(side: Side, setting: Setting) -> Staged:
    """Return a side with a new pipeline whose stages a clock times."""
    pipeline = compiled(side.source, setting, side.optimize)
    clock = Clock()
    # Encoded samples, which the pipeline decodes itself, have a plan of their own.
    encoded = side.dataset.store.encodes if isinstance(side.dataset, Packed) else not side.source.facts.tiles
    labels = clocked(pipeline, clock, "encoded" if pipeline.reads and encoded else None)
    return Staged(side.through(pipeline), labels, clock)


class _Stamped(Collate):
    """Collate that adds the time when a batch was ready, by a clock that all processes of a machine share."""

    def finished(self, batch: Any) -> Any:
        return super().finished(batch), perf_counter()


def worker_transfer(side: Side, batch_size: int) -> float:
    """Measure the transfer of batches from a worker process to a consumer that only waits, in milliseconds per sample.

    The first batches, which meet cold queues, do not count.
    """
    batches = loading.loader(
        side.dataset, batch_size, backend="processes", num_workers=1, drop_last=True,
        collate=_Stamped(**vars(collate_for("default", side.dataset))), samples_per_epoch=_PROBES * batch_size,
    )  # fmt: skip
    return 1e3 * median([perf_counter() - ready for _, ready in batches][2:]) / batch_size
