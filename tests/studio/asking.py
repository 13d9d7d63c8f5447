"""Asks a studio as its page does: over a socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.studio.server import StudioServer
from augrecipes.studio.studio import Studio


@dataclass
class Reply:
    """What a request was answered with."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Page:
    """A page of a studio."""

    running: StudioServer
    files: list[Path] = field(default_factory=list)
    tab: str = "tab-1"

    @property
    def studio(self) -> Studio:
        """That answers."""
        return self.running.studio

    @contextmanager
    def open(
        self, method: str, path: str, body: Any = None, headers: dict[str, str | None] | None = None
    ) -> Iterator[HTTPResponse]:
        """A request with the token; headers that are None are left out."""
        known: dict[str, str | None] = {
            "X-Studio-Token": self.studio.token,
            "X-Studio-Tab": self.tab,
            **(headers or {}),
        }
        connection = HTTPConnection("127.0.0.1", self.running.port, timeout=60)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.putrequest(method, path, skip_host="Host" in known, skip_accept_encoding=True)
            for name, value in known.items():
                if value is not None:
                    connection.putheader(name, value)
            if data is not None and "Content-Length" not in known:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            yield connection.getresponse()
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: Any = None, **headers: str | None) -> Reply:
        """The same, and all of the answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with self.open(method, path, body, named) as response:
            return Reply(
                response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            )

    def get(self, path: str) -> Any:
        """What a GET answers."""
        reply = self.ask("GET", path)
        assert reply.status == 200, reply.body
        return reply.json

    def post(self, path: str, /, **body: Any) -> Any:
        """What a POST answers."""
        reply = self.ask("POST", path, body)
        assert reply.status == 200, reply.body
        return reply.json

    def lines(self, path: str, /, **body: Any) -> list[Any]:
        """The lines that a POST answers."""
        reply = self.ask("POST", path, body)
        assert reply.status == 200, reply.body
        return [json.loads(line) for line in reply.body.splitlines()]

    def pixels(self, url: str) -> NDArray[np.uint8]:
        """An image, RGB or RGBA."""
        reply = self.ask("GET", url)
        assert reply.status == 200, reply.body
        found = cv2.imdecode(np.frombuffer(reply.body, np.uint8), cv2.IMREAD_UNCHANGED)
        assert found is not None
        how = cv2.COLOR_BGR2RGB if found.shape[2] == 3 else cv2.COLOR_BGRA2RGBA
        return np.asarray(cv2.cvtColor(found, how), np.uint8)


def picture(number: int, height: int = 120, width: int = 160) -> Any:
    """A smooth image with some noise, H×W×3."""
    random = np.random.default_rng(number)
    y, x = np.mgrid[0:height, 0:width]
    smooth = np.stack([np.sin(x / (9 + number)), np.cos(y / (7 + number)), np.sin((x + y) / 13)], axis=-1)
    return np.clip(smooth * 90 + 128 + random.normal(0, 6, smooth.shape), 0, 255).astype(np.uint8)
