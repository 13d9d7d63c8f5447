"""The pictures of image folders and of pairs as sources of a user's own, in every form that pictures come in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from augrecipes.data.samples import Samples
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.files import read_image
from support.kinds import IMAGE, PAIR, Kind

# How one picture, a file, may be given.
FORMS: dict[str, Callable[[str], Any]] = {
    "array": read_image,
    "array that cannot be written to": lambda path: np.frombuffer(
        (image := read_image(path)).tobytes(), np.uint8
    ).reshape(image.shape),
    "view": lambda path: np.pad(read_image(path), ((1, 2), (3, 4), (0, 0)))[1:-2, 3:-4],
    "tensor": lambda path: torch.from_numpy(read_image(path)).permute(2, 0, 1),
    "Pillow": lambda path: Image.fromarray(read_image(path)),
    "bytes": lambda path: Path(path).read_bytes(),
    "path": Path,
    "text": str,
    "Hugging Face, undecoded": lambda path: {"bytes": Path(path).read_bytes(), "path": None},
    "Hugging Face, a path": lambda path: {"bytes": None, "path": path},
}


class Files:
    """The files of an image folder, or of pairs, as dicts; pickles.

    Args:
        kind: of the folder.
        root: it.
        form: of the pictures.
    """

    def __init__(self, kind: Kind, root: Path, form: str) -> None:
        self.form = form
        ds: Any = kind.open(root)
        targets = {"image": ds.path} if kind is IMAGE else {}
        self.rows = [{name: path(i) for name, path in targets.items()} or dict(ds.paths(i)) for i in range(len(ds))]
        self.targets = ds.labels
        self.classes = ds.classes
        self.paths = [ds.path(i) for i in range(len(ds))]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: FORMS[self.form](path) for name, path in self.rows[index].items()}


def source_of(kind: Kind, root: Path, form: str = "array", recipe: str | None = None, **options: Any) -> Samples:
    """`Samples` over the files of a kind."""
    return Samples(Files(kind, root, form), parse_text(recipe or kind.recipe), **options)


KINDS = (IMAGE, PAIR)


def annotated() -> list[dict[str, Any]]:
    """Rows with all that may lie on an image, and beside it."""
    rng = np.random.default_rng(5)
    return [
        {
            "image": rng.integers(0, 256, (32, 28, 3), np.uint8),
            "mask": rng.integers(0, 300, (32, 28)),
            "boxes": [[1, 2, 20.5, 25], [4, 4, 9, 9]][: k % 3],
            "box_labels": [7, 1][: k % 3],
            "keypoints": torch.tensor([[3.0, 4.0], [10.0, 11.0]]),
            "caption": f"no. {k}",
            "score": 0.5 * k,
            "label": np.int64(k),
        }
        for k in range(6)
    ]
