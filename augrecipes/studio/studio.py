"""One studio: a recipe, data, and what is cached between requests."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augrecipes import __version__, machine
from augrecipes.errors import RecipeError
from augrecipes.recipe import gallery
from augrecipes.recipe.gallery import find
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import Source, load
from augrecipes.recipe.write import text_of, to_yaml
from augrecipes.sources.opening import Data
from augrecipes.studio.data import StudioData
from augrecipes.studio.images import ImageCache
from augrecipes.studio.jobs import WorkThreads, WorkTurns
from augrecipes.studio.workbench import LruCache, Workbench

NEW = """version: 1
recipe: my-recipe
steps:
  - RandomResizedCrop: {size: [224, 224], scale: [0.5, 1.0]}
  - HorizontalFlip
  - ColorJitter: {brightness: 0.2, contrast: 0, saturation: 0.2, hue: 0.05}
eval: derived
output: {dtype: float32, layout: chw, normalize: imagenet}
"""


@dataclass
class Studio:
    """What the routes work with.

    Attributes:
        data: the samples that are shown.
        file: of the recipe; None: there is none yet.
        text: that the page starts with.
        read_only: nothing is written.
        token: that every request carries.
        server: names this process.
        version: of the package.
    """

    data: StudioData
    file: Path | None = None
    text: str = ""
    read_only: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    server: str = field(default_factory=lambda: secrets.token_hex(8))
    version: str = __version__
    turns: WorkTurns = field(default_factory=WorkTurns)
    threads: WorkThreads = field(default_factory=lambda: WorkThreads(min(machine.cores(), 8)))
    checker: WorkThreads = field(default_factory=lambda: WorkThreads(1))
    images: ImageCache = field(default_factory=ImageCache)
    measuring: threading.Lock = field(default_factory=threading.Lock)  # one at a time, or it measures the others
    drawn: LruCache[dict[str, Any]] = field(default_factory=lambda: LruCache(8_000))

    def __post_init__(self) -> None:
        self.bench = Workbench(self.file, resumes=self.data.store is not None)

    @property
    def source(self) -> str:
        """What `ar.load` finds the recipe by."""
        return self.bench.name if self.file is None else os.fspath(self.file)

    def close(self) -> None:
        """End all work and remove what was drawn for the demo."""
        for turn in self.turns.running:
            turn.end()
        self.threads.close()
        self.checker.close()
        self.data.close()


def opened(
    recipe: Recipe | Source | None, data: Data | None = None, *, masks: Any = None, read_only: bool = False
) -> Studio:
    """A studio for a recipe and data as users name them; nobody has access yet.

    Args:
        recipe: a file, which may be missing still, and which is what the page writes; or what else `augrecipes.load`
            takes, a Recipe, or None for a small one to begin with: these have no file.
        data: as `augrecipes.preview` takes them, or a packed dataset; None: the demo's images.
        masks: a folder of masks that match the images' names.
        read_only: never write the file.

    Raises:
        RecipeError: no recipe is called so.
        StoreError: the data are a packed dataset that is damaged.
        DataError: masks together with a packed dataset.
    """
    if recipe is not None and not isinstance(recipe, Recipe):
        with suppress(RecipeError):  # the page shows what is wrong
            load(recipe)  # runs the plugins that it names, for whoever opens it; what pages send later runs none
    files, text, path = StudioData(data, masks), "", None
    if recipe is None:
        text = NEW
    elif isinstance(recipe, Recipe):
        text = to_yaml(recipe)
    elif isinstance(recipe, Mapping):
        text = text_of(recipe)
    elif isinstance(recipe, str) and "\n" in recipe:
        text = recipe
    else:
        path = find(recipe)
        if isinstance(recipe, str) and recipe in gallery.gallery_names():
            text, path = path.read_text(encoding="utf-8"), None
        elif path.is_dir() or not path.resolve().parent.is_dir():
            raise RecipeError(f"{path}: no file, and none can be written there")
        else:
            text, path = "" if path.exists() else NEW, path.resolve()
    return Studio(files, path, text, read_only)
