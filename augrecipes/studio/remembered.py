"""The token and port of a studio that was killed: started again for the same recipe and data it takes them up, and the
page that is still open goes on. A studio that ends as it should leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import stat
from hashlib import blake2b
from pathlib import Path
from typing import Any

from augrecipes.cache import STUDIOS

_TOKEN = re.compile(r"[\w-]{43,}")


class Remembered:
    """What one studio leaves for the next, in a file that its user alone can read.

    Args:
        folder: where such files lie.
        what: names the recipe and the data.
    """

    def __init__(self, folder: Path, *what: Any) -> None:
        name = blake2b(repr(what).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        self._path = folder / f"{name}{STUDIOS.suffix}"

    def read(self) -> tuple[str, int] | None:
        """Token and port of the studio that was killed; None where none was, or somebody else could have written it."""
        try:
            with self._path.open("rb") as file:
                found = os.fstat(file.fileno())
                mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
                if not mine or stat.S_IMODE(found.st_mode) & 0o077 or found.st_size > 1000:
                    return None
                said = json.loads(file.read())
            token, port = said["token"], said["port"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        fine = isinstance(token, str) and _TOKEN.fullmatch(token) and type(port) is int and 0 < port < 65536
        return (token, port) if fine else None

    def write(self, token: str, port: int) -> None:
        """Leave them; where the folder cannot be written, a killed studio is not taken up."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.forget()
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                json.dump({"token": token, "port": port}, file)
        except OSError:
            return

    def forget(self) -> None:
        """Leave nothing."""
        self._path.unlink(missing_ok=True)
