"""What the records of a family have in common."""

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import Any

from augrecipes.compat import normals
from augrecipes.ops.amplify import sampled
from augrecipes.ops.record import EVERYTHING, NOTHING, OpRecord

RGB, GREY_OR_RGB = (3,), (1, 3)

geometric = partial(OpRecord, targets=EVERYTHING, draws_from=NOTHING, gain=1.0)
resampling = partial(geometric, resamples=True, gain=sampled)
of_values = partial(OpRecord, draws_from=NOTHING)


def opencv(variant: str) -> Callable[[Any], Any]:
    """Of a step's numbers those that a function of `opencv_variants` says; it is asked late, as it brings OpenCV."""
    return lambda _: resolve_name(f"augrecipes.ops.opencv_variants:{variant}")()


def numpy_normals(_: Any) -> int | None:
    """Of a step's numbers where numpy's normal numbers are made; None where that is not told."""
    return normals() or None
