"""Compile the two pipelines that are compared, and say which of them refuses a sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from augrecipes.errors import DataError


class Two(NamedTuple):
    """The pipeline that counts, and the one that is checked."""

    plain: Any
    fast: Any


class PlanDiffersError(Exception):
    """The plan refuses what the recipe takes, or the other way round, or gives something of another kind."""


class Planned:
    """The optimised pipeline, whose refusals are no DataError: the recipe's own would be."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pipeline, name)

    def again(self, *compiled: Any) -> Planned:
        """As the pipeline's."""
        return Planned(self.pipeline.again(*compiled))

    def at(self, index: int, epoch: int, tile: int) -> Callable[..., dict[str, Any]]:
        """As the pipeline's."""

        def run(**targets: Any) -> dict[str, Any]:
            try:
                done: dict[str, Any] = self.pipeline.at(index, epoch, tile)(**targets)
            except DataError as error:
                raise PlanDiffersError from error
            return done

        return run
