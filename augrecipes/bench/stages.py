"""Stages: where the time of a sample goes, from the file to the batch, while the very Dataset and loader run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from augrecipes.bench.measure import Work, mad
from augrecipes.bench.sides import Setting, Side, compiled, with_pipeline, work_of
from augrecipes.compiler.run.clock import DECODE, READ, REST, Clock, clocked, middle
from augrecipes.compiler.run.instrument import SINK
from augrecipes.data.batching import BatchRows
from augrecipes.data.collate import Collate, collate_for
from augrecipes.data.packed import Packed
from augrecipes.images.format import watched

StageKind = Literal["read", "decode", "step", "sink", "collate", "overhead"]
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
        taken: of each (round, batch) the seconds of each part.
    """

    side: Side
    labels: list[str]
    clock: Clock = field(default_factory=Clock)
    taken: dict[tuple[int, int], dict[str, float]] = field(default_factory=dict)

    def work(self, batch_size: int, cold: Any = None) -> Work:
        """Something to be timed in turns with others."""
        collate = collate_for("default", self.side.dataset)
        plain = work_of(self.side, batch_size, cold, _Clocked(**vars(collate), clock=self.clock))

        def after(turn: int, batch: int, _: float) -> None:
            self.taken[turn, batch] = self.clock.take()

        def start() -> Iterator[Any]:
            self.clock.take()
            return _Watched(plain.start(), self.clock)

        return replace(plain, start=start, after=after)

    def stages(self, samples: int) -> list[Stage]:
        """What was found, in the order in which a sample goes through them.

        Of each batch the round that takes the median time stands for it, so that the parts add up to its time.

        Args:
            samples: of a pass.
        """
        rounds = sorted({turn for turn, _ in self.taken})
        batches = sorted({batch for _, batch in self.taken})
        parts = [READ, DECODE, *self.labels, SINK, _COLLATE, REST]
        middles = [middle([self.taken[turn, batch] for turn in rounds]) for batch in batches]
        found = []
        for part in parts:
            seconds = sum(spent.get(part, 0.0) for spent in middles)
            passes = [sum(self.taken[turn, batch].get(part, 0.0) for batch in batches) for turn in rounds]
            kind = _KINDS.get(part, "step")
            name = part if kind == "step" else kind
            found.append(Stage(kind, name, 1e3 * seconds / samples, 1e3 * mad(passes) / samples))
        return found


@dataclass(frozen=True)
class _Clocked(Collate):
    """The loader's own way to make batches, by the clock: samples lie in their batch's memory, as without."""

    clock: Clock = field(default_factory=Clock)

    def __call__(self, samples: list[Any], rows: BatchRows | None = None) -> Any:
        return self.clock.run(_COLLATE, super().__call__, (samples, rows), {})


class _Watched(Iterator[Any]):
    """Batches whose reading is watched while they are made."""

    def __init__(self, batches: Iterator[Any], clock: Clock) -> None:
        self._batches, self._clock = batches, clock

    def __next__(self) -> Any:
        with self._clock.stage(REST), watched(lambda name: self._clock.stage(READ if name == "read" else DECODE)):
            return next(self._batches)


def staged(side: Side, setting: Setting) -> Staged:
    """A side with a pipeline of its own that a clock times."""
    pipeline = compiled(side.source, setting, side.optimize)
    clock = Clock()
    labels = clocked(pipeline, clock, "encoded" if pipeline.reads and _hands_files(side) else None)
    return Staged(replace(side, dataset=with_pipeline(side.dataset, pipeline)), labels, clock)


def _hands_files(side: Side) -> bool:
    """Whether samples may reach the pipeline as files, not decoded yet: those run by a plan of their own."""
    if isinstance(side.dataset, Packed):
        return side.dataset.store.encodes
    return not side.source.facts.tiles
