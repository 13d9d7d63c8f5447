"""Remote stores: `shop://`, a local folder that counts requests and fails on demand; and a server of S3.

The environment variable SHOP names the folder; other processes import this module to reach it. As a program, the module
runs moto's server on a free port that it prints, until its standard input ends. `GET /fault/KIND/TIMES/NAME` sets a
fault for the next TIMES reads of objects whose keys end in NAME: an `error` 500, `cut` in the middle, or `slow`.
`GET /rate/BYTES` limits the total bytes per second; 0: no limit.
"""

import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

Fault = Callable[[str, str, int], str | None]
"""Returns the fault of a request, by its kind, file name and count: None, `error`, `cut`, `short` or `slow`."""

_ROOT, _LOG = "SHOP", "asked.log"


class Shop(LocalFileSystem):
    """The file system of `shop://`, which logs requests and fails by `fault`."""

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
        """Log a request, and apply its fault; yield whether to transfer only the first half."""
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
    """Create a new, empty shop, and return the folder behind `shop://`."""
    (root / "shop").mkdir(parents=True)
    os.environ[_ROOT] = str(root)
    Shop.fault = None
    return root / "shop"


def asked() -> Counter[str]:
    """Count the requests of all processes: `get NAME`, `cat NAME`, `put NAME`."""
    log = Path(os.environ[_ROOT], _LOG)
    return Counter(log.read_text().splitlines() if log.exists() else ())


_PIECE = 1 << 18  # bytes


class Faulty:
    """A WSGI application that adds faults and a rate limit to moto's server."""

    def __init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app

        self.serve: Any = DomainDispatcherApplication(create_backend_app)
        self.kind, self.times, self.name = "", 0, ""
        self.rate, self.sent = 0, 0.0  # bytes per second; when the shared line is free again
        self.line = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith("/fault/"):
            self.kind, times, self.name = path.removeprefix("/fault/").split("/", 2)
            self.times = int(times)
            start("200 OK", [])
            return [b""]
        if path.startswith("/rate/"):
            self.rate = int(path.removeprefix("/rate/"))
            start("200 OK", [])
            return [b""]
        happens = ""
        if environ["REQUEST_METHOD"] == "GET" and self.times and path.endswith(self.name):
            self.times, happens = self.times - 1, self.kind
        if happens == "error":
            start("500 Internal Server Error", [("Content-Length", "0")])
            return [b""]
        if happens == "slow":
            time.sleep(0.3)
        body = self.serve(environ, start)
        if self.rate and environ["REQUEST_METHOD"] == "GET":
            body = self.paced(body)
        return halved(body) if happens == "cut" else body

    def paced(self, body: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a body in pieces, at the rate that all answers share."""
        for whole in body:
            for at in range(0, len(whole), _PIECE):
                piece = whole[at : at + _PIECE]
                with self.line:
                    begins = max(self.sent, time.monotonic())
                    self.sent = begins + len(piece) / self.rate
                time.sleep(max(0.0, self.sent - time.monotonic()))
                yield piece


def halved(body: Iterable[bytes]) -> Iterator[bytes]:
    data = b"".join(body)
    yield data[: len(data) // 2]
    raise ConnectionAbortedError("cut, as it was told")


def main() -> None:
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = make_server("127.0.0.1", 0, Faulty(), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
