"""The server on this machine's loopback: a free port, and an end when it is asked for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

from augrecipes.errors import AugrecipesError
from augrecipes.studio.remembered import Remembered
from augrecipes.studio.studio import Studio

HOST = "127.0.0.1"
_INSTALL = "the studio needs starlette and uvicorn: pip install 'augrecipes[studio]'"


class Running:
    """A studio that answers at an address of this machine.

    Args:
        studio: that answers.
        port: 0 takes a free one.

    Raises:
        AugrecipesError: starlette or uvicorn is not installed, or the port is taken.
    """

    def __init__(self, studio: Studio, port: int = 0) -> None:
        uvicorn, application = _server()
        self.studio = studio
        self._socket = _listening(port)
        self.listening: tuple[str, int] = self._socket.getsockname()
        self.port = self.listening[1]
        self.application = application(studio, (f"{HOST}:{self.port}", f"localhost:{self.port}"))
        config = uvicorn.Config(
            self.application, log_level="warning", access_log=False, server_header=False, date_header=False, ws="none",
            timeout_graceful_shutdown=1, limit_concurrency=256, h11_max_incomplete_event_size=64 << 10, http="h11",
            loop="asyncio",
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """Of the page, with the token: whoever knows it may ask."""
        return f"http://{HOST}:{self.port}/?token={self.studio.token}"

    def serve(self, ready: Callable[[], object] = lambda: None) -> None:
        """Answer until Ctrl-C; `ready` is called when that begins."""
        threading.Thread(target=self._when_started, args=(ready,), daemon=True).start()
        self._server.run(sockets=[self._socket])

    def _when_started(self, ready: Callable[[], object]) -> None:
        while not self._server.started and not self._server.should_exit:
            threading.Event().wait(0.02)
        if self._server.started:
            ready()

    def start(self) -> None:
        """Answer in a thread of its own, until `stop`."""
        self._thread = threading.Thread(target=self.serve, name="augrecipes-studio", daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            threading.Event().wait(0.01)

    def stop(self) -> None:
        """End it."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(10)
        self._socket.close()


def taken_up(studio: Studio, port: int, left: Remembered) -> Running:
    """A studio at the address of the one that was killed, where there was one for the same, and its port is free.

    Args:
        studio: that answers.
        port: that is asked for; 0: that of the one before, or a free one.
        left: what that one has left.

    Raises:
        AugrecipesError: as Running.
    """
    before = left.read()
    running = None
    if before is not None and port in (0, before[1]):
        mine, studio.token = studio.token, before[0]
        try:
            running = Running(studio, before[1])
        except PortTakenError:  # perhaps by that very one, which has not been killed
            studio.token = mine
    running = running or Running(studio, port)
    left.write(studio.token, running.port)
    return running


class PortTakenError(AugrecipesError):
    """Somebody listens there already."""


def _server() -> tuple[Any, Any]:
    try:
        import uvicorn

        from augrecipes.studio.serving import application
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("uvicorn", "starlette"):
            raise
        raise AugrecipesError(_INSTALL) from None
    return uvicorn, application


def _listening(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so named, asyncio sends at once
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise PortTakenError(f"port {port} of {HOST}: {error.strerror}; --port 0 takes a free one") from None
    return made
