"""Hash integers to integers, in plain Python: the same on every platform and in every version.

The finaliser is that of SplitMix64 (Steele, Lea and Flood, 2014), over arithmetic modulo 2⁶⁴.
"""

import operator
from hashlib import blake2b
from typing import Any

MASK = (1 << 64) - 1
END_OF_KEYS = 1 << 63  # indices, epochs and tiles are smaller
GOLDEN = 0x9E3779B97F4A7C15  # 2⁶⁴ divided by the golden ratio: SplitMix64's increment


def finalise(x: int) -> int:
    """One round of SplitMix64's finaliser: a bijection on 64 bits in which every input bit reaches every output bit."""
    x &= MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def mix(*values: int, state: int = GOLDEN) -> int:
    """Hash integers, in order, to 64 bits; `state`: the hash of the integers before them.

    >>> mix(1, 2) == mix(1, 2), mix(1, 2) == mix(2, 1), mix(1, 2) == mix(2, state=mix(1))
    (True, False, True)
    """
    for value in values:
        # `finalise`, inlined: this is on the path of every sample.
        x = (state * 3 + GOLDEN + (value & MASK)) & MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        state = x ^ (x >> 31)
    return state


def site_key(label: str) -> int:
    """Return the 64-bit key of a step's label.

    >>> site_key("HorizontalFlip#1") == site_key("HorizontalFlip#1")
    True
    """
    return int.from_bytes(blake2b(label.encode(), digest_size=8, person=b"augrecipes").digest(), "little")


def key_part(name: str, value: Any) -> int:
    """Return `value` as an int; TypeError or ValueError where it cannot be part of a key."""
    if type(value) is int and 0 <= value < END_OF_KEYS:
        return value
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if not 0 <= number < END_OF_KEYS:
        raise ValueError(f"{name} must be an integer from 0 to 2⁶³ − 1, got {value}")
    return number
