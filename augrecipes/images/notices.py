"""What is no error of an image and should be known all the same: said in the log, once, or counted by checks."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALPHA = "has alpha, which is left out: to keep it, say `inputs: {image: {channels: 4}}` in the recipe"
_HALF = 2**15  # of 16 bits
_notices = set[str]()
_log = logging.getLogger("augrecipes")


def narrow(samples: NDArray[Any]) -> str:
    """What is to be said of 16 bits of which the upper 8 are kept, where half their range is empty; else empty.

    >>> narrow(np.array([0, 4095], np.uint16))
    'values from 0 to 4,095 in 16 bits, of which the upper 8 leave 16 levels: scale them to 0 to 65,535 first'
    """
    if samples.dtype != np.uint16 or (most := int(samples.max())) >= _HALF:
        return ""
    left = f"of which the upper 8 leave {(most >> 8) + 1} levels: scale them to 0 to 65,535 first"
    return f"values from {samples.min():,} to {most:,} in 16 bits, {left}"


def warn_once(what: str, text: str) -> None:
    """One line in the log, of the first file in this process that there is `what` to tell of."""
    if what not in _notices:
        _notices.add(what)
        _log.warning("%s (said once, of the first such image)", text)
