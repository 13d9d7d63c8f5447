"""A server of S3 (moto's) as a process of its own, on a free port of this machine, that fails when it is told to.

    python s3_server.py

prints its port and serves until its standard input ends. `GET /fault/KIND/TIMES/NAME` says that the next so many
requests for the bytes of an object whose key ends so are answered with an `error` 500, `cut` in the middle, or `slow`.
`GET /rate/BYTES` says how many bytes a second all answers together have from then on; 0: as many as can be.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

_PIECE = 1 << 18  # bytes


class Faulty:
    """The server, and the faults in front of it."""

    def __init__(self) -> None:
        self.serve: Any = DomainDispatcherApplication(create_backend_app)
        self.kind, self.times, self.name = "", 0, ""
        self.rate, self.sent = 0, 0.0  # bytes a second; when the line has sent all that it was given
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
        """A body in pieces, each when the line that all answers share has room for it."""
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
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = make_server("127.0.0.1", 0, Faulty(), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
