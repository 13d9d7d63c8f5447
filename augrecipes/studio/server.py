"""The studio's server on this machine's loopback, from the command line and in notebooks."""

import atexit
import os
import socket
import threading
from html import escape
from typing import Any

from augrecipes.errors import AugrecipesError
from augrecipes.recipe import model, parse
from augrecipes.sources.opening import Data
from augrecipes.studio.file import recipe_of
from augrecipes.studio.studio import Studio, open_studio

HOST = "127.0.0.1"


class StudioServer:
    """The HTTP server of a studio; notebooks show it as its page. It answers once `serve` or `start` is called.

    Args:
        studio: answers the requests.
        port: 0 takes a free one.
        height: of the page in a notebook, px.

    Attributes:
        address: URL of the page on this machine, with the token: whoever knows it has access.

    Raises:
        AugrecipesError: starlette or uvicorn is not installed, or the port is taken.
    """

    def __init__(self, studio: Studio, port: int = 0, height: int = 820) -> None:
        try:
            import uvicorn

            from augrecipes.studio.app import application
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("uvicorn", "starlette"):
                raise
            raise AugrecipesError("the studio needs starlette and uvicorn: pip install 'augrecipes[studio]'") from None
        self.studio, self._height, self._socket = studio, height, _bound_socket(port)
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{HOST}:{self.port}/?token={studio.token}"
        self.application = application(studio, (f"{HOST}:{self.port}", f"localhost:{self.port}"))
        config = uvicorn.Config(
            self.application, log_level="warning", access_log=False, server_header=False, date_header=False, ws="none",
            timeout_graceful_shutdown=1, limit_concurrency=256, h11_max_incomplete_event_size=64 << 10, http="h11",
            loop="asyncio", lifespan="off",
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self.serve, name="augrecipes-studio", daemon=True)

    def serve(self) -> None:
        """Serve until Ctrl-C or `close`."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.studio.close()

    def start(self) -> None:
        """Serve in a background thread until `close` or the end of the program."""
        atexit.register(self.close)
        self._thread.start()

    def close(self) -> None:
        """Stop the server; an open page keeps its text."""
        atexit.unregister(self.close)
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()

    def recipe(self) -> str:
        """Read the recipe's file from disk; without a file, the text that the page started with."""
        return str(recipe_of(self.studio)["text"])

    def _repr_html_(self) -> str:
        """Show the page in a frame; notebooks call this."""
        address = escape(self.address, quote=True)
        style = f"width:100%;height:{self._height}px;border:1px solid #8884;border-radius:6px"
        return f'<iframe src="{address}" title="augrecipes studio" style="{style}" allow="clipboard-write"></iframe>'

    def __repr__(self) -> str:
        return f"the studio is at {self.address}"


def _bound_socket(port: int) -> socket.socket:
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise AugrecipesError(f"port {port} of {HOST}: {why}; --port 0 takes a free one") from None
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it: answers are sent at once
    return listener


def studio(
    recipe: model.Recipe | parse.Source | None = None,
    data: Data | None = None,
    *,
    masks: Any = None,
    read_only: bool = False,
    port: int = 0,
    height: int = 820,
) -> StudioServer:
    """Write a recipe and see what it does: a page of this machine, shown in the notebook.

    Args:
        recipe: a file, which the page writes; or what else `augrecipes.load` takes; a Recipe; None: a small one.
        data: as `augrecipes.preview` takes them, or a source as `ar.Samples` takes it; None: images of the demo.
        masks: a folder of masks that match the images' names.
        read_only: never write the file.
        port: 0 takes a free one.
        height: of the page in the notebook, px.

    Returns:
        What notebooks show as the page. Its server listens on this machine only, and answers only who knows the token
        in its address; `close()` ends it, and so does the end of the program.

    Raises:
        RecipeError: no recipe is called so.
        AugrecipesError: the extra `studio` is not installed, or the port is taken.

    >>> view = studio("folder-128")
    >>> view.address.startswith("http://127.0.0.1:")
    True
    >>> view.close()
    """
    server = StudioServer(open_studio(recipe, data, masks=masks, read_only=read_only), port, height)
    server.start()
    return server
