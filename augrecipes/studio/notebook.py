"""`ar.studio` in a notebook: the same page, inside of it."""

from __future__ import annotations

import atexit
from html import escape
from typing import Any

from augrecipes.recipe.loading import Source
from augrecipes.recipe.model import Recipe
from augrecipes.sources.opening import Data
from augrecipes.studio.opening import opened
from augrecipes.studio.running import Running

HEIGHT_PX = 820


class StudioView:
    """A studio that answers until it is closed; notebooks show it as its page.

    Attributes:
        address: of the page, for a browser of this machine; whoever knows it may ask.
    """

    def __init__(self, running: Running, height: int) -> None:
        self._running, self._height = running, height
        self.address = running.address
        atexit.register(self.close)

    def _repr_html_(self) -> str:
        """The page as a frame; notebooks ask for it by this name."""
        address = escape(self.address, quote=True)
        style = f"width:100%;height:{self._height}px;border:1px solid #8884;border-radius:6px"
        return f'<iframe src="{address}" title="augrecipes studio" style="{style}" allow="clipboard-write"></iframe>'

    def __repr__(self) -> str:
        return f"the studio is at {self.address}"

    def recipe(self) -> str:
        """The recipe's file as it is on disk now; of a recipe without a file what the page began with."""
        from augrecipes.studio.saving import recipe_of

        return str(recipe_of(self._running.studio)["text"])

    def close(self) -> None:
        """End the server; the page keeps what has been typed."""
        atexit.unregister(self.close)
        self._running.stop()


def studio(
    recipe: Recipe | Source | None = None,
    data: Data | None = None,
    *,
    masks: Any = None,
    read_only: bool = False,
    port: int = 0,
    height: int = HEIGHT_PX,
) -> StudioView:
    """Write a recipe and see what it does: a page of this machine, shown in the notebook.

    Args:
        recipe: a file, which the page writes; or what `augrecipes.load` takes beside; a Recipe; None: a small one.
        data: as `augrecipes.preview` takes them, or a source as `ar.Samples` takes it; None: pictures that the
            demo draws.
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
    running = Running(opened(recipe, data, masks=masks, read_only=read_only), port)
    running.start()
    return StudioView(running, height)
