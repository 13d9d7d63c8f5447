"""Pictures to show where no data are given: the demo's, drawn when a recipe first needs them."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from augrecipes.demo.dataset import draw_dataset, draw_scenes
from augrecipes.demo.slides import draw_slides
from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe

# Of the drawn scenes, by how many times smaller than the largest they are.
_FOLDERS = {
    1: "HR",
    2: "LR_bicubic/X2",
    4: "LR_bicubic/X4",
}
_TISSUE = ("tissue", "stain", "patholog", "slide")


class DemoPictures:
    """Draws into a folder of its own, which `close` removes."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def data_for(self, recipe: Recipe, targets: Sequence[str]) -> tuple[Any, Path | None]:
        """Data that suit a recipe, and masks where it needs some.

        Raises:
            DataError: the demo has no scenes at the recipe's scales.
        """
        facts = recipe.facts
        if facts.tiles:
            return str(self._drawn("slides", lambda at: draw_slides(at, bags=4, shrink=2))), None
        if facts.scales:
            return self._scenes(recipe, targets), None
        about = f"{recipe.name} {recipe.about}".lower()
        marked = recipe.inputs.boxes is not None or recipe.inputs.mask == "required"
        if not marked and not any(word in about for word in _TISSUE):
            return str(self._drawn("photos", lambda at: draw_dataset(at, tiles=0, photo_count=12)) / "photos"), None
        tissue = self._drawn("tissue", lambda at: draw_dataset(at, tiles=12, photo_count=0))
        if recipe.inputs.boxes is not None:
            return str(tissue / "tissue.csv"), None
        return str(tissue / "tissue"), tissue / "tissue-masks" if recipe.inputs.mask == "required" else None

    def _scenes(self, recipe: Recipe, targets: Sequence[str]) -> dict[str, str]:
        folder = self._drawn("pairs", lambda at: draw_scenes(at, count=6))
        most = max(recipe.scales.values())
        found = {name: most / recipe.scales[name] for name in targets}
        if strange := [name for name, times in found.items() if times not in _FOLDERS]:
            raise DataError(
                f"the demo's scenes come at three scales, 1, 2 and 4; none is that of {', '.join(strange)}: "
                "give your own with --data TARGET=FOLDER"
            )
        return {name: str(folder / _FOLDERS[int(times)]) for name, times in found.items()}

    def _drawn(self, name: str, draw: Callable[[Path], object]) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="augrecipes-studio-"))
            folder = self._folder / name
            if not folder.is_dir():
                staged = self._folder / f"{name}.new"
                draw(staged)
                staged.rename(folder)
        return folder

    def close(self) -> None:
        """Remove what was drawn."""
        with self._lock:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder = None
