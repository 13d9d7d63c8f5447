"""What the records of a family have in common."""

from __future__ import annotations

from functools import partial

from augrecipes.ops.amplify import sampled
from augrecipes.ops.record import EVERYTHING, NOTHING, OpRecord

RGB, GREY_OR_RGB = (3,), (1, 3)

geometric = partial(OpRecord, targets=EVERYTHING, draws_from=NOTHING, gain=1.0)
resampling = partial(geometric, resamples=True, gain=sampled)
of_values = partial(OpRecord, draws_from=NOTHING)
