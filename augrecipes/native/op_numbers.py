"""The numbers of what steps draw and do, by their names: read from `ops.def`, which the kernels' C includes."""

import re
from pathlib import Path

_LINE = re.compile(r"^([A-Z]+)\((\w+), (\d+)\)", re.MULTILINE)
ROWS: list[tuple[str, str, str]] = _LINE.findall(Path(__file__).with_name("ops.def").read_text(encoding="utf-8"))


class OpNumbers:
    """The numbers of one sort, as attributes.

    Args:
        sort: the word before the brackets in `ops.def`.

    >>> DRAWS.ONE_OF_FOUR, EFFECTS.CROPS, LIMITS.MOST_CHANNELS
    (1, 0, 4)
    """

    def __init__(self, sort: str) -> None:
        vars(self).update({name: int(number) for kind, name, number in ROWS if kind == sort})

    def __getattr__(self, name: str) -> int:
        raise AttributeError(f"ops.def has no {name} of this sort")


DRAWS, EFFECTS, OPERATIONS, OPTIONS, LIMITS = map(OpNumbers, ("DRAW", "EFFECT", "OPERATION", "OPTION", "LIMIT"))
