"""A file system of fsspec that counts what it is asked, and fails as it is told: `shop://`, a folder of this machine.

Other processes find it by importing this module: the folder is that of the environment variable SHOP.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

Fault = Callable[[str, str, int], str | None]
"""What happens to a request, given its kind, the path and how often it came: None, `error`, `cut`, `short`, `slow`."""

_ROOT, _LOG = "SHOP", "asked.log"


class Shop(LocalFileSystem):
    """See the module."""

    protocol = "shop"
    fault: Fault | None = None

    @classmethod
    def _strip_protocol(cls, path: Any) -> str:
        text = os.fspath(path)
        found = f"{os.environ[_ROOT]}/shop/{text[7:]}" if text.startswith("shop://") else text
        return found.rstrip("/")

    def info(self, path: Any, **more: Any) -> Any:
        return super().info(path, **more)

    def get_file(self, path: Any, local: Any, callback: Any = None, **more: Any) -> None:
        with self._asked("get", path) as happens:
            data = Path(self._strip_protocol(path)).read_bytes()
            Path(local).write_bytes(data[: len(data) // 2] if happens else data)

    def cat_file(self, path: Any, start: Any = None, end: Any = None, **more: Any) -> bytes:
        with self._asked("cat", path):
            return Path(self._strip_protocol(path)).read_bytes()[start:end]

    def put_file(self, local: Any, path: Any, callback: Any = None, **more: Any) -> None:
        with self._asked("put", path) as happens:
            data = Path(local).read_bytes()
            Path(self._strip_protocol(path)).write_bytes(data[: len(data) // 2] if happens else data)

    def pipe_file(self, path: Any, value: bytes, **more: Any) -> None:
        with self._asked("put", path) as happens:
            Path(self._strip_protocol(path)).write_bytes(value[: len(value) // 2] if happens else value)

    @contextmanager
    def _asked(self, what: str, path: Any) -> Iterator[bool]:
        """Whether only a half is to be handled; ends in an error as it was told."""
        name = Path(self._strip_protocol(path)).name
        with Path(os.environ[_ROOT], _LOG).open("a") as log:
            log.write(f"{what} {name}\n")
        happens = None
        if Shop.fault is not None:
            happens = Shop.fault(what, name, asked()[f"{what} {name}"])
        if happens == "slow":
            time.sleep(0.05)
        if happens == "error":
            raise OSError("500 Internal Server Error")
        yield happens in ("cut", "short")
        if happens == "cut":
            raise ConnectionResetError("the connection was cut")


fsspec.register_implementation("shop", Shop, clobber=True)


def opened(root: Path) -> Path:
    """A new, empty one; the folder that its addresses are in."""
    (root / "shop").mkdir(parents=True)
    os.environ[_ROOT] = str(root)
    Shop.fault = None
    return root / "shop"


def asked() -> Counter[str]:
    """How often it was asked for what, by any process: `get NAME`, `cat NAME`, `put NAME`."""
    log = Path(os.environ[_ROOT], _LOG)
    return Counter(log.read_text().splitlines() if log.exists() else ())
