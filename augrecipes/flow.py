"""Flow: what the compiler knows of the image between two steps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Dtype = Literal["uint8", "uint16", "float32"]
# The form in which a pipeline gets a sample: the image as an array, or as an encoded file (which decodes to uint8); or
# `together` with further images, masks or volumes, which the optimiser knows nothing of.
Arrival = Literal["uint8", "float32", "encoded", "together"]


@dataclass(frozen=True, slots=True)
class Flow:
    """What a rewrite rule may rely on at one point of a plan.

    Attributes:
        dtype: the dtype of the image; None where a step may have changed it.
        boxes: boxes or keypoints travel too, and are filtered after every step.
        encoded: the image is not decoded yet, so what the first steps crop away need not be decoded.
        obstacles: contracts of merges that a step after the group forbids, and why.
    """

    dtype: Dtype | None = "uint8"
    boxes: bool = False
    encoded: bool = False
    obstacles: Mapping[str, str] = field(default_factory=dict)
