"""Which format a file or folder of annotations is of."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from augrecipes.data.annotations import formats
from augrecipes.data.annotations.pictures import is_picture
from augrecipes.data.annotations.source import PathView
from augrecipes.errors import DataError
from augrecipes.sources.paths import PathLike

_TABLES = (".csv", ".tsv")


def formats_of(source: PathView) -> list[Any]:
    """The formats that a file or folder could be of."""
    return [format for format in formats.every().values() if format.claims(source)]


def format_of(source: PathView) -> Any:
    """The one format of a file or folder.

    Raises:
        DataError: it is of none, or of several; says what there is.
    """
    if not source.path.exists():
        raise DataError("no such file or folder", str(source.path))
    found = formats_of(source)
    if len(found) == 1:
        return found[0]
    if found:
        titles = " or ".join(format.TITLE for format in found)
        raise DataError(
            f"holds annotations of {titles}: give a file or a folder with those of one alone", str(source.path)
        )
    looks = "".join(f"\n  {format.TITLE}: {format.LOOKS}" for format in formats.every().values())
    raise DataError(
        f"no annotations of a format that is known; CVAT and most other tools export COCO:{looks}", str(source.path)
    )


def is_annotated(path: PathLike) -> bool:
    """Whether `files=` names annotations: anything but a CSV file, which has one row a picture."""
    return not os.fsdecode(path).lower().endswith(_TABLES)


def is_given_as_data(path: PathLike, *, points: bool) -> bool:
    """Whether `--data` names annotations, and no pictures.

    A folder with pictures in it is one of pictures, unless the recipe takes boxes or keypoints (`points`) and the
    folder has some.
    """
    place = Path(os.fsdecode(path))
    if not place.exists() or is_picture(place.name):
        return False
    source = PathView(place)
    if not source.is_folder:
        return source.suffix not in _TABLES and bool(formats_of(source))
    if not points and _has_picture(place):
        return False
    return bool(formats_of(source))


def _has_picture(folder: Path) -> bool:
    return any(is_picture(name) for _, _, names in os.walk(folder) for name in names)
