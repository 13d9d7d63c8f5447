"""Draws a small super-resolution set, with folders and names as the field has them: HR, LR_bicubic/X2 and X4."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from augrecipes.demo.brushes import Size
from augrecipes.demo.files import random_of, remove_drawings, shrunk, write_picture
from augrecipes.demo.photos import CLASSES, render_photo
from augrecipes.ops.matlab_bicubic import imresize
from augrecipes.progress import Progress

# The third does not divide by 4: its last rows and columns have no partner in the LR pictures.
SIZES: tuple[Size, ...] = ((384, 512), (416, 416), (386, 515), (512, 384))
FACTORS = (2, 4)


@dataclass(frozen=True, slots=True)
class Scenes:
    """Where the drawn pairs lie.

    Attributes:
        hr: folder of PNGs 0001.png, 0002.png, ...
        x2: the same scenes at half the size, 0001x2.png, ...
        lr: at a quarter, 0001x4.png, ...
    """

    hr: Path
    x2: Path
    lr: Path

    def roots(self, *targets: str) -> dict[str, str]:
        """The folders of these targets, as PairedImages takes them.

        >>> sorted(Scenes(Path("a"), Path("b"), Path("c")).roots("hr", "lr").items())
        [('hr', 'a'), ('lr', 'c')]
        """
        return {name: os.fspath(getattr(self, name)) for name in targets}


def draw_scenes(
    out: Path,
    *,
    count: int = 8,
    seed: int = 0,
    shrink: int = 1,
    progress: Progress = lambda done, total: None,
) -> Scenes:
    """Draw the pairs into `out`; the same arguments write the same bytes (with the same OpenCV and numpy).

    LR pictures are made by MATLAB's bicubic from the HR picture without its last odd rows and columns (the field's
    mod-crop), which the HR file keeps.

    Args:
        out: folder, made when missing. Earlier drawings in it are removed, nothing else is touched.
        count: scenes.
        seed: any integer.
        shrink: divides every picture's height and width (for tests).
        progress: called with (done, all) after each scene.

    Raises:
        OSError: the folder cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     drawn = draw_scenes(Path(folder), count=2, shrink=4)
    ...     [sorted(path.name for path in root.iterdir()) for root in (drawn.hr, drawn.lr)]
    [['0001.png', '0002.png'], ['0001x4.png', '0002x4.png']]
    """
    drawn = Scenes(out / "HR", *(out / "LR_bicubic" / f"X{factor}" for factor in FACTORS))
    for folder in (drawn.hr, drawn.x2, drawn.lr):
        remove_drawings(folder, "*", r"\d{4}(x\d)?\.png")
    for k in range(count):
        size = shrunk(SIZES[k % len(SIZES)], shrink)
        image = render_photo(CLASSES[k % len(CLASSES)], size, random_of(seed, 3, k))
        write_picture(drawn.hr / f"{k + 1:04d}.png", image)
        for factor, folder in zip(FACTORS, (drawn.x2, drawn.lr), strict=True):
            rows, columns = size[0] // factor, size[1] // factor
            small = imresize(image[: rows * factor, : columns * factor], rows, columns)
            write_picture(folder / f"{k + 1:04d}x{factor}.png", small)
        progress(k + 1, count)
    return drawn
