"""The common parts of records."""

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
    """An origin of an op's numbers: a function of `opencv_variants`, resolved late because it imports OpenCV."""
    return lambda _: resolve_name(f"augrecipes.ops.opencv_variants:{variant}")()


def numpy_normals(_: Any) -> int | None:
    """An origin of an op's numbers: the address of numpy's normal generator; None where that is not found."""
    return normals() or None
