"""A dataset that reads batches at once, as packed stores do, over pictures in memory."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from augrecipes.data.batching import Take, room
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import DataError
from augrecipes.recipe.parse import parse_text
from augrecipes.seeds import mix

RECIPE = "{version: 1, recipe: gathered, steps: [], eval: []}"


class Names:
    """A table of `n` rows without files."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.labels = np.arange(n, dtype=np.int64) % 3
        self.classes, self.class_to_idx = ("a", "b", "c"), {"a": 0, "b": 1, "c": 2}
        self.groups = self.weights = None

    def __len__(self) -> int:
        return self.n

    def digest(self) -> str:
        return str(self.n)


class Gathering(RecipeDataset):
    """Row r is a picture of r, drawn over with a hash of the key.

    Args:
        n: of rows.
        size: of the pictures.
        broken: rows that cannot be read.
        ragged: pictures differ in size, and are never read at once.
    """

    kind = "image"

    def __init__(
        self, n: int, size: int = 8, broken: frozenset[int] = frozenset(), ragged: bool = False, **options: Any
    ) -> None:
        super().__init__(Names(n), parse_text(RECIPE), **options)  # type: ignore[arg-type]
        self.size, self.broken, self.ragged = size, broken, ragged
        self.asked: list[tuple[str, int]] = []
        self.pixels = np.arange(n, dtype=np.uint8)[:, None, None, None] + np.zeros((n, 3, size, size), np.uint8)

    def _runs_at_once(self) -> bool:
        return True

    def _path(self, row: int) -> str:
        return f"{row}.png"

    def _mark(self, epoch: int, virtual: int) -> npt.NDArray[np.uint8]:
        return np.frombuffer(mix(epoch, virtual).to_bytes(8, "little"), np.uint8)

    def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        self.asked.append((threading.current_thread().name, 1))
        if row in self.broken:
            raise DataError("broken")
        size = self.size + (row % 2 if self.ragged else 0)
        allocate = room("image") or np.empty
        image = allocate((3, size, size), np.dtype(np.uint8))
        image[:, : self.size, : self.size] = self.pixels[row]
        image[0, 0, :8] = self._mark(epoch, virtual)
        return {"image": torch.from_numpy(image)}

    def _batch(
        self, rows: npt.NDArray[np.int64], epoch: int, virtual: npt.NDArray[np.int64], take: Take
    ) -> dict[str, Any] | None:
        if self.ragged:
            return None
        self.asked.append((threading.current_thread().name, len(rows)))
        if self.broken & set(rows.tolist()):
            raise DataError("broken")
        image = take("image", (3, self.size, self.size), np.dtype(np.uint8))
        np.take(self.pixels, rows, axis=0, out=image)
        image[:, 0, 0, :8] = [self._mark(epoch, int(v)) for v in virtual]
        return {"image": image}
