"""Parts of a packing that are there: found, opened, and held against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from augrecipes.errors import StoreError
from augrecipes.pack.part import PackPart, part_named
from augrecipes.pack.store_plan import StorePlan
from augrecipes.pack.write import differences, notes_of
from augrecipes.sources.remote import Place
from augrecipes.sources.store import Store, open_part, schema
from augrecipes.sources.store.index import NAME, stage_folder
from augrecipes.sources.store.schema import Fields, Size

_SHOWN = 6  # parts that are missing, named


class _Data(Fields):
    units: Size
    epochs: Size


class _PlanOfPart(Fields):
    about: _Data
    format: str
    kind: str
    points: list[Literal["boxes", "keypoints"]]
    quality: Annotated[int, Field(ge=1, le=100)]
    rows: Size
    targets: list[Annotated[list[str], Field(min_length=2, max_length=2)]]


class _AboutPart(Fields):
    """What a part says about itself."""

    part: Annotated[list[Size], Field(min_length=2, max_length=2)]
    first: Size
    whole: _PlanOfPart


def find_parts(folder: Place) -> list[Place]:
    """The folders of the parts in a folder, in order: all of one packing, and each there.

    Raises:
        StoreError: they are not; it names those that are missing.
    """
    try:
        named: dict[Place, PackPart | None] = {path: part_named(path.name) for path in folder.iterdir()}
    except OSError as error:
        why = "no such folder" if isinstance(error, FileNotFoundError) else error.strerror or error
        raise StoreError(f"its parts cannot be listed: {why}", str(folder)) from None
    found = {part: path for path, part in named.items() if part is not None}
    if not found:
        raise StoreError("has no part of a store in it: augrecipes pack ... --part 1/8 --out writes one", str(folder))
    counts = sorted({part.of for part in found})
    if len(counts) > 1:
        several = " and ".join(map(str, counts))
        raise StoreError(f"has parts of {several}: keep those of one packing in a folder of their own", str(folder))
    parts = [PackPart(number, counts[0]) for number in range(1, counts[0] + 1)]
    if missing := [part for part in parts if part not in found]:
        begun = [part for part in missing if isinstance(folder, Path) and stage_folder(folder / part.name).exists()]
        more = f" (begun, and not finished: {_listed(begun)})" if begun else ""
        raise StoreError(
            f"has no part {_listed(missing)} of {counts[0]}{more}: pack them, and merge again", str(folder)
        )
    paths = [found[part] for part in parts]
    for _ in each_of(paths):
        pass
    return paths


def _listed(parts: Sequence[PackPart]) -> str:
    shown = ", ".join(str(part.number) for part in parts[:_SHOWN])
    return f"{shown} and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else shown


def each_of(paths: Iterable[Place]) -> Iterator[Store]:
    """The parts, all of one packing; one at a time is open: there may be more than files that a process may hold."""
    whole = None
    for part in map(_opened, paths):
        said = part.about["whole"]
        whole = whole or said
        if said != whole:
            names = ", ".join(differences(said, whole))
            raise StoreError(f"is of another packing than part 1 (other: {names}): pack it again", str(part.path))
        yield part


def _opened(path: Place) -> Store:
    store, part = open_part(path), part_named(path.name)
    about = store.about
    schema.check(_AboutPart, about, str(path / NAME), "about")
    if part is None or about["part"] != list(part):
        number, of = about["part"]
        raise StoreError(f"is part {number} of {of} by what it says: name its folder so", str(path))
    said = about["whole"]
    times, all_units = max(1, said["about"]["epochs"]), said["about"]["units"]
    units = part.units(all_units)
    rows = units.start * times, len(units) * times, all_units * times
    if (about["first"], store.rows, said["rows"]) != rows:
        raise StoreError("holds other rows than this part of its packing: pack it again", str(path))
    whole = said["format"], said["kind"], dict(said["targets"])
    if (store.format, store.kind, store.targets) != whole:
        raise StoreError("has another format, kind or targets than it says of the whole: pack it again", str(path))
    notes_of(store)
    return store


def whole_of(first: Store) -> StorePlan:
    """What the whole store will be, as its first part says."""
    prefix = "whole/"
    return StorePlan(
        first.about["whole"],
        {name.removeprefix(prefix): column for name, column in first.columns.items() if name.startswith(prefix)},
    )
