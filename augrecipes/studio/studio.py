"""One studio: a recipe, data, and what is kept between requests."""

from __future__ import annotations

import os
import secrets
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augrecipes import __version__, machine
from augrecipes.sources.opening import Data
from augrecipes.studio.jobs import WorkThreads, WorkTurns
from augrecipes.studio.kept import Kept
from augrecipes.studio.pictures import Pictures
from augrecipes.studio.shelf import Shelf
from augrecipes.studio.working import Workbench


@dataclass
class Studio:
    """What the routes work with.

    Attributes:
        file: of the recipe; None: there is none yet.
        text: that the page starts with.
        data: see Shelf.
        masks: see Shelf.
        read_only: nothing is written.
        token: what every request has to know.
        server: names this process.
        version: of the package.
    """

    file: Path | None = None
    text: str = ""
    data: Data | None = None
    masks: Any = None
    read_only: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    server: str = field(default_factory=lambda: secrets.token_hex(8))
    version: str = __version__
    turns: WorkTurns = field(default_factory=WorkTurns)
    crew: WorkThreads = field(default_factory=lambda: WorkThreads(min(machine.cores(), 8)))
    checker: WorkThreads = field(default_factory=lambda: WorkThreads(1))
    pictures: Pictures = field(default_factory=Pictures)
    measuring: threading.Lock = field(default_factory=threading.Lock)  # one at a time, or it measures the others
    stamped: tuple[tuple[int, ...], str] | None = None  # of the file when its bytes were last named
    drawn: Kept[dict[str, Any]] = field(default_factory=lambda: Kept(8_000))

    def __post_init__(self) -> None:
        self.shelf = Shelf(self.data, self.masks)
        self.bench = Workbench(self.file, resumes=self.shelf.store is not None)

    @property
    def source(self) -> str:
        """What `ar.load` finds the recipe by."""
        return self.bench.name if self.file is None else os.fspath(self.file)

    def close(self) -> None:
        """End all work and remove what was drawn for the demo."""
        self.turns.end()
        self.crew.close()
        self.checker.close()
        self.shelf.close()
