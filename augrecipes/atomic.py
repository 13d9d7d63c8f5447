"""Atomic writes: a file is there whole, old or new, whatever happens meanwhile."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

STAGED = ".new"  # how files end that are not in place yet


def write(path: Path, data: bytes, *, lasting: bool = True, private: bool = False) -> None:
    """Write a file under a name of its own beside `path`, and put it in place by renaming; missing folders are made.

    Args:
        path: of the file.
        data: its content.
        lasting: wait until it would outlive a power failure; a cache need not.
        private: only this user may read it.

    Raises:
        OSError: it cannot be written; what was at `path` before is still there.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder) / "a" / "b.txt", b"whole")
    ...     [(file.name, file.read_text()) for file in (Path(folder) / "a").iterdir()]
    [('b.txt', 'whole')]
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, staged = tempfile.mkstemp(STAGED, f".{path.name}.", path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        if not private:
            Path(staged).chmod(0o644)  # mkstemp's 0600 would hide it from others
        Path(staged).replace(path)
    except BaseException:
        Path(staged).unlink(missing_ok=True)
        raise
