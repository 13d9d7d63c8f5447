"""Reading annotation files, and finding the folder of their images."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from augrecipes.errors import DataError
from augrecipes.machine import no_collection
from augrecipes.paths import SKIPPED, is_image
from augrecipes.sources.annotations.records import AnnotationOptions, AnnotationSet
from augrecipes.sources.paths import local_name

_HEAD = 1 << 16  # bytes
_TRIED = 20  # names of images


class PathView:
    """A user's file or folder, listed once, by which each format tells whether the data is its own.

    Attributes:
        path: the path as given.
        is_folder: whether `path` is a folder.
        folder: `path` itself if it is a folder, else its parent.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.is_folder = path, is_there(path, folder=True)
        self.folder = path if self.is_folder else path.parent

    @cached_property
    def names(self) -> list[str]:
        """Names of the files below the folder, relative to it, sorted as bytes; or the file's own name."""
        if self.is_folder:
            return sorted(_walk(self.path), key=os.fsencode)
        return [self.path.name] if is_there(self.path) else []

    @property
    def has_images(self) -> bool:
        """Whether the folder has an image in it; stops at the first."""
        return self.is_folder and any(map(is_image, _walk(self.path)))

    def ending(self, *suffixes: str) -> list[str]:
        """The `names` with one of these suffixes."""
        return [name for name in self.names if name.lower().endswith(suffixes)]

    def head(self, suffix: str) -> bytes:
        """The first 64 KiB of the first file with this suffix; empty where there is no such file."""
        names = self.ending(suffix)
        return read_whole(self.folder / names[0], _HEAD) if names else b""


def _walk(root: Path) -> Iterator[str]:
    """Yield the files below a folder. Skips hidden files, and does not follow links to folders."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not SKIPPED.match(os.fsencode(name))]
        below = os.path.relpath(folder, root).replace(os.sep, "/")
        yield from (name if below == "." else f"{below}/{name}" for name in files if not name.startswith("."))


def read_whole(path: Path, most: int = -1) -> bytes:
    """A file's bytes, at most `most` of them; DataError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", str(path)) from error


def read_lines(path: Path, errors: str = "replace") -> list[str]:
    """The lines of a UTF-8 text file; `errors` as in `bytes.decode`."""
    return read_whole(path).decode("utf-8-sig", errors).splitlines()


def read_json(path: Path) -> Any:
    """The value in a JSON file; DataError where it is not valid JSON in UTF-8."""
    data = read_whole(path)
    try:
        with no_collection():  # the collector would visit millions of live objects, which doubles the time
            return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 text: {error.reason}", str(path)) from None
    except json.JSONDecodeError as error:
        raise DataError(f"not valid JSON: {error.msg}", f"{path}:{error.lineno}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid JSON: {error}", str(path)) from None


def class_list(folders: Sequence[Path], *names: str) -> list[str] | None:
    """The class names in the first of these files that exists in one of the folders, one a line; None without any."""
    files = [folder / name for folder in folders for name in names if is_there(folder / name)]
    try:
        return list(filter(None, map(str.strip, read_lines(files[0], "strict")))) if files else None
    except UnicodeDecodeError:
        raise DataError("is not UTF-8 text: save it as such", str(files[0])) from None


def folder_of(options: AnnotationOptions, names: Iterable[str], places: Sequence[Path], path: Path) -> Path:
    """The folder of the images: the user's, or else the first of `places` that has one of the first images.

    Args:
        options: its `folder` is the user's, if any.
        names: file names of images.
        places: folders to try, the likeliest first.
        path: the annotations, for messages.

    Raises:
        DataError: none of the folders has any of the images; the message lists them all.
    """
    if options.folder is not None:
        return options.folder
    places, wanted = list(dict.fromkeys(places)), list(islice(names, _TRIED))
    for place in places:
        if not wanted or any("://" in name or is_there(place / local_name(place, name)) for name in wanted):
            return place
    looked = ", ".join(map(str, places))
    what = f"its images were not found: no {wanted[0]!r} in {looked}; give their folder (root=, or images=FOLDER)"
    raise DataError(what, str(path))


def is_there(path: Path | str, *, folder: bool = False) -> bool:
    """Whether the file, or the folder, exists; False for impossible names, such as very long ones: pathlib raises."""
    return (os.path.isdir if folder else os.path.isfile)(path)


def tally_others(annotations: AnnotationSet, names: Iterable[str], what: str) -> None:
    """Tally the images in the folders of annotated images that no annotation names."""
    known = set(annotations.names)
    folders = {name.rpartition("/")[0] for name in known}
    others = [name for name in names if is_image(name) and name not in known and name.rpartition("/")[0] in folders]
    annotations.tally("image", what, "".join(others[:1]), len(others))
