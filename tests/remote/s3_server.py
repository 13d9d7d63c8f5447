"""A server of S3 (moto's) as a process of its own, on a free port of this machine, that fails when it is told to.

    python s3_server.py

prints its port and serves until its standard input ends. `GET /fault/KIND/TIMES/NAME` says that the next so many
requests for the bytes of an object whose key ends so are answered with an `error` 500, `cut` in the middle, or `slow`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


class Faulty:
    """The server, and the faults in front of it."""

    def __init__(self) -> None:
        self.serve: Any = DomainDispatcherApplication(create_backend_app)
        self.kind, self.times, self.name = "", 0, ""

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith("/fault/"):
            self.kind, times, self.name = path.removeprefix("/fault/").split("/", 2)
            self.times = int(times)
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
        return halved(body) if happens == "cut" else body


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
