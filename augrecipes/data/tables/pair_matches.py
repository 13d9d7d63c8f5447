"""The pixels of every pair, compared: what does not show the same, and what it shows instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from augrecipes.compiler.run.grid import cells
from augrecipes.data.tables.pair_content import Looks, compare, nearest, surely
from augrecipes.errors import DataError
from augrecipes.machine import cores
from augrecipes.progress import Progress
from augrecipes.sources.files import read_image
from augrecipes.sources.pair_defects import Defect

Compared = Looks | DataError


def compare_scenes(
    targets: Sequence[str],
    scenes: Sequence[tuple[str, ...]],
    units: Mapping[str, int],
    *,
    advance: Progress | None = None,
) -> list[Defect]:
    """Compare each smaller target of each scene with the largest one, reduced to its size.

    Args:
        targets: names, the largest scale first.
        scenes: the paths of each scene; their sizes fit the scales.
        units: pixels of every target in one common cell.
        advance: called with how many scenes are done, and of how many.

    Returns:
        What does not show the same, in the order of the scenes.
    """
    done: list[list[Compared]] = []
    with ThreadPoolExecutor(min(8, cores())) as pool:
        for looks in pool.map(lambda paths: _compare(targets, paths, units), scenes):
            done.append(looks)
            if advance is not None:
                advance(len(done), len(scenes))
    found: list[Defect] = []
    for k in range(1, len(targets)):
        found += _defects([looks[k - 1] for looks in done], [(paths[0], paths[k]) for paths in scenes])
    return found


def _compare(targets: Sequence[str], paths: tuple[str, ...], units: Mapping[str, int]) -> list[Compared]:
    """One result a target, but for the first."""
    images = {name: _read(path) for name, path in zip(targets, paths, strict=True)}
    large = images[targets[0]]
    found: list[Compared] = []
    for name in targets[1:]:
        small = images[name]
        failed = next((image for image in (large, small) if isinstance(image, DataError)), None)
        found.append(failed or _cut_and_compare(large, small, units[targets[0]], units[name]))
    return found


def _read(path: str) -> Any:
    try:
        return read_image(path)
    except DataError as error:
        return error


def _cut_and_compare(large: Any, small: Any, unit: int, other: int) -> Looks:
    rows, columns = cells({"large": large.shape[:2], "small": small.shape[:2]}, {"large": unit, "small": other})
    return compare(large[: rows * unit, : columns * unit], small[: rows * other, : columns * other])


def _defects(looks: Sequence[Compared], pairs: Sequence[tuple[str, str]]) -> list[Defect]:
    seen = {i: one for i, one in enumerate(looks) if isinstance(one, Looks)}
    where = list(seen)
    thumbs = np.stack([one.large for one in seen.values()]) if seen else None
    found = []
    for i, (one, pair) in enumerate(zip(looks, pairs, strict=True)):
        if isinstance(one, DataError):
            found.append(Defect("unreadable", pair, str(one)))
        elif one.problem is not None:
            files: tuple[str, ...] = pair
            said = one.problem
            if one.other and thumbs is not None:
                best, score = nearest(one.small, thumbs)
                j = where[best]
                if j != i and surely(score):
                    files, said = (*pair, *pairs[j]), _instead(one, seen[j], pairs[j])
            found.append(Defect("content", files, f"{pair[0]} and {pair[1]}: {said}"))
    return found


def _instead(mine: Looks, other: Looks, pair: tuple[str, str]) -> str:
    """What is said of a small image that shows what the large one of another pair shows."""
    if surely(float(mine.large @ other.small)):
        return f"swapped with {pair[1]}: each shows the scene of the other's pair"
    return f"another scene, that of {pair[0]}"
