"""Flow: what is known, when a recipe is compiled, of the image that travels between two steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Dtype = Literal["uint8", "uint16", "float32"]
# How a sample comes to a pipeline: its image as an array, or as a file that is not decoded yet (uint8, once it is); or
# `together` with further images, masks or volumes, of which the optimiser knows nothing.
Arrival = Literal["uint8", "float32", "encoded", "together"]


@dataclass(frozen=True, slots=True)
class Flow:
    """What a rewrite rule may rely on at one point of a plan.

    Attributes:
        dtype: of the image array, or None where a step may have changed it.
        boxes: boxes or keypoints travel too, and are filtered after every step.
        encoded: the image is not decoded yet: what its first steps cut off need never be.
        obstacles: contracts of merges that must not be made here, and why: what comes after the group forbids them.
    """

    dtype: Dtype | None = "uint8"
    boxes: bool = False
    encoded: bool = False
    obstacles: Mapping[str, str] = field(default_factory=dict)
