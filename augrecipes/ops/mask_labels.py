"""What the stored values of masks stand for, as a recipe says it. Imports no numpy: parsing must be quick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class MaskLabels:
    """Which label each stored value of a mask stands for: by a table, or on which side of a threshold it lies.

    Attributes:
        values: stored values and their labels; other values are labels already.
        threshold: stored values from here on are label 1, those below are label 0; None: `values` says it.
    """

    values: tuple[tuple[int, int], ...] = ()
    threshold: float | None = None

    def written(self) -> dict[str, Any]:
        """The keys of a recipe that say it."""
        return {"values": dict(self.values)} if self.threshold is None else {"threshold": self.threshold}
