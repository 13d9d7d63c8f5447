"""Flow: what is known, when a recipe is compiled, of the image that travels between two steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dtype = Literal["uint8", "float32"]


@dataclass(frozen=True, slots=True)
class Flow:
    """What a rewrite rule may rely on at one point of a plan.

    Attributes:
        dtype: of the image array, or None where a step may have changed it.
        channels: of the image array, or None where unknown.
        boxes: boxes or keypoints travel too, and are filtered after every step.
    """

    dtype: Dtype | None = "uint8"
    channels: int | None = None
    boxes: bool = False
