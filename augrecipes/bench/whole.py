"""Files that are written whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under a name of its own, and put it in place by renaming; missing folders are made.

    Raises:
        OSError: it cannot be written; what was at `path` before is still there.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a" / "b.txt", b"whole")
    ...     [(file.name, file.read_text()) for file in (Path(folder) / "a").iterdir()]
    [('b.txt', 'whole')]
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, staged = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(staged).chmod(0o644)  # mkstemp's 0600 would hide it from others
        Path(staged).replace(path)
    except BaseException:
        Path(staged).unlink(missing_ok=True)
        raise
