"""A pipeline at the key of one sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)  # one for each sample; frozen ones take three times as long to make
class At:
    """A pipeline at the key of one sample; call it with the targets, as often as you like: the result is the same."""

    pipeline: Any
    index: int
    epoch: int
    tile: int

    def __call__(self, /, **targets: Any) -> dict[str, Any]:
        """The sample."""
        return self.pipeline.run(self.epoch, self.index, self.tile, targets)


@dataclass(frozen=True, slots=True)
class Stages:
    """A pipeline at the key of one sample, that shows what each step does to it."""

    pipeline: Any
    index: int
    epoch: int
    tile: int

    def __call__(self, /, **targets: Any) -> list[tuple[str, Any]]:
        """[(label, image)] after each outermost step, of the recipe as it was written; pairs: {target: image}."""
        pipeline = self.pipeline.for_this_thread(self.epoch)
        return pipeline.again(pipeline.compiled.unoptimised()).trace(self.epoch, self.index, self.tile, targets)
