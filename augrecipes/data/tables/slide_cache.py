"""Which windows of slides were taken, kept from run to run: a slide is opened to be listed once, not at each start.

One memo for the slides of a folder and what is asked of them. It names the size, the resolution and the windows of
each slide, a bit a window, beside the state of the files that decided them. It is a hint: whatever is wrong with it,
or was changed since, is looked at again.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from augrecipes import memo
from augrecipes.caches import SLIDES, identity

_VERSION = "2"  # of how windows are chosen: what was chosen otherwise is not used
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
        # By the identity of each slide: its state, what it says, and the windows' bits.
        self._known = dict(memo.recall(SLIDES, self._name, _VERSION) or {})
        self._seen = dict[str, npt.NDArray[np.uint8]]()

    def get(self, path: str, state: str | None) -> FoundWindows | None:
        """What was found in a slide when its files were in this state; None where that is not known."""
        with contextlib.suppress(KeyError, OSError, ValueError):
            key = identity(path)
            said, bits = (entry := self._known[key]).tobytes().split(b"\n", 1)
            was, width, height, downsample, count = said.decode().rsplit(" ", 4)
            if was != state or len(bits) != -(-int(count) // 8):
                return None
            taken = np.unpackbits(np.frombuffer(bits, np.uint8), count=int(count))
            with self._lock:
                self._seen[key] = entry
            return FoundWindows(int(width), int(height), float(downsample), taken.astype(bool))
        return None

    def put(self, path: str, state: str | None, found: FoundWindows) -> None:
        """Keep what was found in a slide; `state` is that of its files before it was looked at."""
        if state is None:
            return
        said = f"{state} {found.width} {found.height} {found.downsample!r} {len(found.taken)}\n".encode()
        with contextlib.suppress(OSError), self._lock:
            self._seen[identity(path)] = memo.text(said + np.packbits(found.taken).tobytes())
            self._news = True

    def save(self) -> None:
        """Write what is new."""
        if self._news:
            every = {**self._seen, **self._known, **self._seen}
            memo.keep(SLIDES, self._name, _VERSION, dict(islice(every.items(), _MOST)))


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
    stamp = memo.stamp_of(*states)
    return None if stamp is None else blake2b(stamp.encode(), digest_size=16).hexdigest()
