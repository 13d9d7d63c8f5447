"""Where a tile lies on its slide, read off the tile's file name.

Two schemes are known, `x` and `y` with their numbers, in any order, and two numbers at the end of the name:

    tile_x1024_y2048.png    slide [x=1024,y=2048,w=512].jpg
    1024_2048.png    slide_1024_2048.png    slide(1024,2048).png

Names with `x` and `y` win, so that the magnification in `slide_40x_x5_y7` does no harm. Other names have no place.
"""

from __future__ import annotations

import re

from augrecipes.sources.paths import PathTable

RowAndColumn = tuple[int, int]
NOWHERE: RowAndColumn = (-1, -1)
_NUMBER = r"[=_]?(\d{1,18})(?!\d)"
_X, _Y = (re.compile(rf"(?<![a-z0-9]){axis}{_NUMBER}|(?<=\d){axis}(\d{{1,18}})(?!\d)", re.I) for axis in "xy")
_LAST = re.compile(r"(?:^|[^0-9.])(\d{1,18})[_,] ?(\d{1,18})[\])]?$")


def place_in(name: str) -> RowAndColumn:
    """The (x, y) in a file name, or (-1, -1).

    >>> [place_in(name) for name in ("tile_x1024_y2048.png", "a/slide_40x_512_0.jpg", "y7x5.png", "tumour_1.png")]
    [(1024, 2048), (512, 0), (5, 7), (-1, -1)]
    """
    stem = name.replace("\\", "/").rpartition("/")[2]
    stem = stem.rpartition(".")[0] or stem
    x, y = _X.search(stem), _Y.search(stem)
    if x and y:
        return _number(x), _number(y)
    last = _LAST.search(stem)
    return (int(last[1]), int(last[2])) if last else NOWHERE


def places_in(names: PathTable, indices: list[int]) -> list[RowAndColumn]:
    """The (x, y) of some of the tiles."""
    return [place_in(names.name(i)) for i in indices]


def _number(found: re.Match[str]) -> int:
    return int(found[1] or found[2])
