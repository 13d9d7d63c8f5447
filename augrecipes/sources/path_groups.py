"""Several files for each image, such as the masks of its objects: found by a template of names, or listed."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from augrecipes.sharing import SpawnShared
from augrecipes.sources.names import EXTENSION, Scenes, T
from augrecipes.sources.paths import PathTable, parts_of


@dataclass(frozen=True, eq=False)
class PathGroups(SpawnShared):
    """Paths of all units, one below another.

    Attributes:
        paths: of all.
        bounds: int64 (n + 1,); those from `bounds[i]` to `bounds[i + 1]` belong to unit i.
    """

    paths: PathTable
    bounds: NDArray[np.int64]

    @classmethod
    def chosen(cls, paths: PathTable, groups: Sequence[Sequence[int]]) -> PathGroups:
        """Some of the paths, by their positions, for each unit."""
        counts = [0, *map(len, groups)]
        return cls(paths.take([k for group in groups for k in group]), np.cumsum(counts, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, unit: int) -> list[str]:
        return [self.paths[k] for k in range(self.bounds[unit], self.bounds[unit + 1])]

    def take(self, units: NDArray[np.int64]) -> PathGroups:
        """The groups of some units."""
        index, bounds = parts_of(self.bounds, units)
        return PathGroups(self.paths.take(index), bounds)


def by_longest_stem(files: Mapping[T, str], last: str, stems: Container[str]) -> Scenes[T]:
    """Files whose names fit a template with `*` in it, by folder and by the longest of the images' stems that fits.

    >>> files = {0: "a_0", 1: "a_1_0", 2: "m/a_2", 3: "b"}
    >>> dict(by_longest_stem(files, "{stem}_*.png", {"a", "a_1"}))
    {('', 'a'): [0], ('', 'a_1'): [1], ('m', 'a'): [2]}
    """
    before, _, after = EXTENSION.sub("", unicodedata.normalize("NFC", last)).partition("{stem}")
    rest = re.compile("[^/]*".join(map(re.escape, after.split("*"))))
    scenes: Scenes[T] = defaultdict(list)
    for file, name in files.items():
        folder, _, base = name.rpartition("/")
        start = len(before) if base.startswith(before) else len(base)
        ends = range(len(base), start, -1)
        if (end := next((k for k in ends if base[start:k] in stems and rest.fullmatch(base[k:])), None)) is not None:
            scenes[folder, base[start:end]].append(file)
    return scenes
