"""Which windows of slides were taken, kept from run to run: a slide is opened to be listed once, not at each start.

One file for the slides of a folder and what is asked of them. It names the size, the resolution and the windows of
each slide, a bit a window, beside the state of the files that decided them. It is a hint: whatever is wrong with it,
or was changed since, is looked at again.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import zlib
from base64 import b85decode, b85encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.caches import SLIDES, identity
from augrecipes.sources import folder_cache
from augrecipes.sources.folder_cache import SETTLED_NS

_VERSION = "1"  # of how windows are chosen: what was chosen otherwise is not used
_CRC = 4  # bytes in front
_MOST = 100_000  # slides in a file
_IN_FOLDER_BELOW = (".mrxs",)  # whose pixels lie in a folder of their name
_IN_FOLDER_BESIDE = (".vms", ".vmu", ".dcm")


@dataclass(frozen=True, slots=True)
class FoundWindows:
    """What was found in a slide.

    Attributes:
        width: of level 0, px.
        height: of level 0, px.
        downsample: so many pixels of level 0 are one of a window.
        taken: bool (n,), of all windows that lie on it, row by row.
    """

    width: int
    height: int
    downsample: float
    taken: npt.NDArray[np.bool_]


class SlideCache:
    """What is known of slides, and what will be; for threads.

    Args:
        asked: what decides which windows are taken; its `repr` tells it from others.
        paths: of the slides.
    """

    def __init__(self, asked: object, paths: Sequence[str]) -> None:
        name = blake2b(f"{_VERSION} {asked!r}".encode(errors="surrogateescape"), digest_size=16)
        for folder in sorted({str(Path(path).parent) for path in paths}):
            with contextlib.suppress(OSError):
                name.update(f" {identity(folder)}".encode())
        self._name, self._lock, self._news = name.hexdigest(), threading.Lock(), False
        self._known, self._seen = _parsed(SLIDES.read(self._name)), dict[str, list[Any]]()

    def get(self, path: str, state: str | None) -> FoundWindows | None:
        """What was found in a slide when its files were in this state; None where that is not known."""
        with contextlib.suppress(KeyError, OSError, ValueError, TypeError, zlib.error):
            key = identity(path)
            said, width, height, downsample, count, bits = entry = self._known[key]
            if state is None or said != state:
                return None
            taken = np.unpackbits(np.frombuffer(zlib.decompress(b85decode(bits)), np.uint8), count=int(count))
            with self._lock:
                self._seen[key] = entry
            return FoundWindows(int(width), int(height), float(downsample), taken.astype(bool))
        return None

    def put(self, path: str, state: str | None, found: FoundWindows) -> None:
        """Keep what was found in a slide; `state` is that of its files before it was looked at."""
        if state is None:
            return
        bits = b85encode(zlib.compress(np.packbits(found.taken).tobytes(), 1)).decode("ascii")
        entry = [state, found.width, found.height, found.downsample, len(found.taken), bits]
        with contextlib.suppress(OSError), self._lock:
            self._seen[identity(path)], self._news = entry, True

    def save(self) -> None:
        """Write what is new."""
        if self._news:
            text = json.dumps(dict(islice({**self._seen, **self._known, **self._seen}.items(), _MOST))).encode()
            SLIDES.write(self._name, zlib.crc32(text).to_bytes(_CRC, "little") + text)


def state_of(path: str, mask: str | None, folders: dict[Path, str | None]) -> str | None:
    """What tells the files that decide a slide's windows from others; None where they cannot be told from later ones.

    Args:
        path: of the slide.
        mask: of the file that says where its tissue is.
        folders: what was found of folders that slides lie in, and is looked at once for all of them; filled here.
    """
    here = Path(path)
    kind = here.suffix.lower()
    folder = here.with_suffix("") if kind in _IN_FOLDER_BELOW else here.parent
    states = [_state_of_files([path] if mask is None else [path, mask])]
    if kind in (*_IN_FOLDER_BELOW, *_IN_FOLDER_BESIDE) and folder.is_dir():
        if folder not in folders:
            folders[folder] = _state_of_folder(folder)
        states.append(folders[folder])
    known = [state for state in states if state is not None]
    return " ".join(known) if len(known) == len(states) else None


def _state_of_folder(folder: Path) -> str | None:
    try:
        return _state_of_files(sorted(str(file) for file in folder.iterdir() if file.is_file()))
    except OSError:
        return None


def _state_of_files(files: Sequence[str]) -> str | None:
    try:
        states = [os.stat(file) for file in files]  # noqa: PTH116  the text of a path that the user gave
    except (OSError, ValueError):
        return None
    if any(max(about.st_mtime_ns, about.st_ctime_ns) >= folder_cache.now_ns() - SETTLED_NS for about in states):
        return None  # written again in the same tick of the clock, its times might stay
    stamps = [(about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns) for about in states]
    return blake2b(repr(stamps).encode(), digest_size=16).hexdigest()


def _parsed(content: bytes | None) -> dict[str, list[Any]]:
    """What is in a file of this cache; nothing where it is damaged."""
    if content is None or zlib.crc32(content[_CRC:]).to_bytes(_CRC, "little") != content[:_CRC]:
        return {}
    try:
        found = json.loads(content[_CRC:])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
