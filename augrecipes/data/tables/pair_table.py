"""The pairs of a dataset: found by name or listed in a CSV file, checked by their headers, and kept as arrays."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from augrecipes.compiler.compile import check, steps_of
from augrecipes.data.tables.csvfile import choose_split, read_rows
from augrecipes.data.tables.pair_checks import Cropped, PairChecks
from augrecipes.data.tables.table import Columns, columns_of, digest_of
from augrecipes.errors import DataError
from augrecipes.images.reading import read_headers
from augrecipes.ops import groups
from augrecipes.progress import Progress
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.defects import Defect
from augrecipes.sources.pair_roots import Roots, roots_of
from augrecipes.sources.pairing import pair
from augrecipes.sources.paths import PathLike, PathTable

Check = Literal["headers", "names"]
_COLUMNS = ("label", "split", "group", "weight")


@dataclass(frozen=True, eq=False)
class PairTable(Columns):
    """The pairs of a dataset.

    Attributes:
        files: paths of each target, the largest scale first.
    """

    files: Mapping[str, PathTable]

    @classmethod
    def stored(cls, paths: Mapping[str, PathTable], columns: Mapping[str, Any], **common: Any) -> Self:
        """As every table."""
        del columns
        return cls(files=paths, **common)

    def __len__(self) -> int:
        return len(next(iter(self.files.values())))

    def images_by_target(self) -> Mapping[str, PathTable]:
        """As every table."""
        return self.files

    def digest(self) -> str:
        """16 hex digits that name the list of pairs: names below their roots, and labels."""
        parts: list[Any] = [part for table in self.files.values() for part in (table.blob, table.offsets)]
        return digest_of("\n".join(self.files).encode(), *parts, self.labels)


@dataclass(frozen=True)
class FoundScenes:
    """Scenes, before and after they were checked.

    Attributes:
        targets: their names, the largest scale first.
        scenes: the paths of each scene, in the order of `targets`.
        defects: what is wrong with files that are in no scene.
        cropped: what is cut off the images of a target.
        columns: of a CSV file, for the scenes.
        roots: of each target, for names that do not depend on where the data lies.
        listed: number of files of each target.
        unclaimed: files in folders that targets share which are of neither by their names.
    """

    targets: tuple[str, ...]
    scenes: list[tuple[str, ...]]
    defects: tuple[Defect, ...] = ()
    cropped: tuple[Cropped, ...] = ()
    columns: dict[str, Any] = field(default_factory=dict)
    roots: Mapping[str, Sequence[str]] = field(default_factory=dict)
    listed: Mapping[str, int] = field(default_factory=dict)
    unclaimed: tuple[str, ...] = ()

    def notes(self) -> list[str]:
        """What is no defect and should be known all the same."""
        said = "in a folder that targets share belong to none of them by their names, and are not read"
        left = [f"{len(self.unclaimed):,} files {said} (first: {self.unclaimed[0]})"] if self.unclaimed else []
        return [*left, *map(str, self.cropped)]

    def table(self) -> PairTable:
        """The scenes as a table."""
        files = {
            name: below([paths[k] for paths in self.scenes], self.roots.get(name, ()))
            for k, name in enumerate(self.targets)
        }
        return PairTable(files=files, **self.columns)


def targets_of(recipe: Recipe, mode: Mode) -> tuple[str, ...]:
    """The targets that have files: those that no Degrade makes. Does not import albumentations, as compiling does.

    Raises:
        RecipeError: no section for `mode`.
        LintError: a lint error that the recipe does not silence.
    """
    made = {step.args["target"] for step in steps_of(recipe, mode) if step.name == groups.DEGRADE}
    check(recipe)
    return tuple(name for name in recipe.scales if name not in made)


def find_scenes(
    recipe: Recipe,
    targets: tuple[str, ...],
    roots: Mapping[str, Roots] | None,
    files: PathLike | None,
    *,
    names: Mapping[str, str] | None = None,
    split: str | None = None,
    cache: bool = True,
    columns: Mapping[str, str] | None = None,
) -> FoundScenes:
    """The scenes that a dataset of these arguments has, by name; nothing is opened but the CSV file.

    Raises:
        DataError: folders for other targets than the recipe reads, or none for one of them.
    """
    scales = dict(recipe.scales)
    if (roots is None) == (files is None):
        raise TypeError("give folders for the targets, such as {'hr': ..., 'lr': ...}, or files= a CSV file, not both")
    if files is not None:
        if names:
            raise TypeError("names= goes with folders; a CSV file names every file")
        return find_in_csv(files, scales, targets, split, columns)
    if split is not None or columns is not None:
        raise TypeError("split= and columns= go with files=")
    if not isinstance(roots, Mapping):
        raise TypeError(f"roots must be a mapping of targets to folders, such as {{'hr': ...}}, got {roots!r}")
    check_roots(recipe, targets, roots)
    found = pair(roots, scales, names=names, cache=cache)
    # Of a folder that targets share every path is written as one of them has it.
    every = [root for given in roots.values() for root in roots_of(given)]
    return FoundScenes(
        found.targets,
        found.scenes,
        tuple(found.defects),
        roots=dict.fromkeys(roots, every),
        listed=found.listed,
        unclaimed=tuple(found.unclaimed),
    )


def check_roots(recipe: Recipe, targets: Sequence[str], roots: Collection[str]) -> None:
    """Refuse folders for targets that the recipe does not read, and targets without a folder; DataError."""
    wanted = " ".join(f"{name}=FOLDER" for name in sorted(targets, key=lambda name: -recipe.scales[name]))
    if made := [name for name in roots if name in recipe.scales and name not in targets]:
        text = f"{' and '.join(made)} is made by the recipe's Degrade and is not read"
    elif unknown := [name for name in roots if name not in targets]:
        text = f"no target is called {' or '.join(map(repr, unknown))}"
    elif missing := [name for name in targets if name not in roots]:
        text = f"no folder was given for {' and '.join(missing)}"
    else:
        return
    raise DataError(f"{text}; {recipe.name} takes {wanted}, or a CSV file with a column for each")


def find_in_csv(
    path: PathLike,
    scales: Mapping[str, int],
    targets: Sequence[str],
    split: str | None,
    renamed: Mapping[str, str] | None = None,
) -> FoundScenes:
    """Scenes by the rows of a CSV file: one column a target, relative paths taken from the file's folder."""
    order = sorted(targets, key=lambda name: -scales[name])
    every = read_rows(path, known=(*scales, *_COLUMNS), required=(), renamed=renamed)
    absent = [name for name in order if name not in every.columns]
    if absent:
        text = " and ".join(f"`{name}`" for name in absent)
        raise DataError(f"no column {text}; a list of pairs has a column for each of {', '.join(order)}", every.path)
    keep = choose_split(every, split)
    folder = Path(every.path).parent
    scenes: list[tuple[str, ...]] = []
    rows: list[int] = []
    defects: list[Defect] = []
    for row in keep:
        cells = [every.columns[name][row] for name in order]
        if all(cells):
            rows.append(row)
            scenes.append(tuple(str(folder / cell) for cell in cells))
        else:
            lacking = " and no ".join(name for name, cell in zip(order, cells, strict=True) if not cell)
            given = tuple(str(folder / cell) for cell in cells if cell)
            defects.append(
                Defect("missing", given, f"{every.where(row)}: no {lacking} ({', '.join(given) or 'empty'})")
            )
    columns = columns_of(every, np.array(rows, np.int64)) if rows else {}
    roots = {name: [str(folder)] for name in order}
    listed = {name: sum(bool(every.columns[name][row]) for row in keep) for name in order}
    return FoundScenes(tuple(order), scenes, tuple(defects), columns=columns, roots=roots, listed=listed)


def checked(
    found: FoundScenes, wanted: PairChecks, how: Check = "headers", advance: Progress | None = None
) -> FoundScenes:
    """The scenes of `found` with which nothing is wrong, as far as names (all exist) or headers tell."""
    paths = list(dict.fromkeys(path for scene in found.scenes for path in scene))
    if how == "names":
        missing = {path for path in paths if not os.path.lexists(path)}
        fine = [i for i, scene in enumerate(found.scenes) if missing.isdisjoint(scene)]
        wrong = [Defect("unreadable", (path,), f"{path}: no such file") for path in paths if path in missing]
        cropped: list[Cropped] = []
    else:
        fine, wrong, cropped = wanted.look(found.scenes, dict(zip(paths, read_headers(paths, advance), strict=True)))
    keep = np.array(fine, np.int64)
    columns = {name: value[keep] if isinstance(value, np.ndarray) else value for name, value in found.columns.items()}
    scenes = [found.scenes[i] for i in fine]
    return replace(found, scenes=scenes, defects=(*found.defects, *wrong), cropped=tuple(cropped), columns=columns)


def below(paths: Sequence[str], roots: Sequence[str]) -> PathTable:
    """A table of `paths` as names below those of `roots` that they lie in.

    >>> table = below(["a/1.png", "b/c/1.png"], ["b/c", "a"])
    >>> table.name(0), table.name(1), table[1].replace(os.sep, "/")
    ('1.png', '1.png', 'b/c/1.png')
    """
    prefixes = sorted((os.path.join(os.fsencode(root), b"") for root in roots), key=len, reverse=True)  # noqa: PTH118
    every = [b"", *prefixes]
    names, root_of = [], []
    for path in map(os.fsencode, paths):
        at = next((i for i, prefix in enumerate(every) if i and path.startswith(prefix)), 0)
        names.append(path[len(every[at]) :])
        root_of.append(at)
    table = PathTable.from_names(names)
    return PathTable(tuple(every), table.blob, table.offsets, np.array(root_of, np.int32))
