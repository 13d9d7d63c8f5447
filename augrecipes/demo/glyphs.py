"""Draw glyphs, some of them mirror images or half turns of others, so that it is known which recipes help."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.brushes import Random, noise
from augrecipes.demo.dataset import random_of, remove_drawings, write_image
from augrecipes.paths import write_file
from augrecipes.progress import Progress

# For each class: whether the stem is bent, and the signs (x, y) that mirror a 6 or a b into it.
_GLYPHS = {"6": (True, 1, 1), "9": (True, -1, -1),
           "b": (False, 1, 1), "d": (False, -1, 1), "p": (False, 1, -1), "q": (False, -1, -1)}  # fmt: skip
GLYPHS = tuple(_GLYPHS)
_SIDE, _FINE = 32, 4  # px of an image, and lines of the finer grid in a pixel, on which strokes are drawn
_CARE = 0.9  # of training glyphs; validation glyphs have 0
_DIGITS = 40  # training images of each digit

# The recipes of the demo's trial, in this order.
RECIPES = tuple(
    Path(__file__).parent / "recipes" / f"{name}.yaml" for name in ("plain", "shifts", "mirrors", "half-turns")
)


def draw_glyphs(
    out: str | Path, *, count: int = 40, seed: int = 0, progress: Progress = lambda done, total: None
) -> Path:
    """Draw glyphs, and write recipes for a trial; the same arguments write the same bytes (with the same libraries).

    By construction small shifts help, as training glyphs are drawn with care and validation glyphs without; mirrors
    merge b with d and p with q; half turns merge 6 with 9, b with q and d with p. Where scikit-learn is
    installed, its digits come too, in `digits/`.

    Args:
        out: folder, created when missing: grey PNGs of 32×32 px in `train/CLASS/` and `valid/CLASS/`; `plain.yaml`,
            `shifts.yaml`, `mirrors.yaml` and `half-turns.yaml`. Earlier drawings in it are removed, nothing else.
        count: training glyphs of each class, and as many for validation.
        seed: any integer.
        progress: called with (done, total) after each class.

    Returns:
        The folder.

    Raises:
        OSError: the folder cannot be written.
    """
    out, jobs = Path(out), list(product(("train", "valid"), GLYPHS))
    for k, (split, kind) in enumerate(jobs):
        care = _CARE if split == "train" else 0.0
        _write(out / split / kind, (render_glyph(kind, random_of(seed, 6 + k, n), care) for n in range(count)))
        progress(k + 1, len(jobs))
    _write_digits(out / "digits")
    for recipe in RECIPES:
        write_file(out / recipe.name, recipe.read_bytes(), lasting=False)
    return out


def render_glyph(kind: str, rng: Random, care: float = 0.0) -> NDArray[np.uint8]:
    """Draw one glyph on uneven paper, with a grainy camera; the same generator state draws the same glyph.

    Args:
        kind: one of `GLYPHS`.
        rng: decides everything else.
        care: 0..1; at 1 every glyph is upright, centred and of one size.

    >>> image = render_glyph("b", np.random.default_rng(7))
    >>> image.shape, image.dtype
    ((32, 32), dtype('uint8'))
    """
    is_bent, *mirror = _GLYPHS[kind]
    t = np.linspace(0, 1, 24)
    bend = rng.uniform(0.75, 1.05) if is_bent else rng.uniform(-0.1, 0.15)
    bowl = [0.5 * np.cos(2 * np.pi * t), 0.45 + 0.5 * np.sin(2 * np.pi * t)]
    stem = [bend * t**2 - 0.5, 0.95 - rng.uniform(1.75, 2.0) * t]
    angle, slant = rng.normal(0, (1 - care) * np.array([0.25, 0.12]))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    place = turn @ [[1, slant], [0, 1]] @ np.diag((10.3 + (1 - care) * rng.uniform(-2.8, 2.8, 2)) * mirror)
    centre = _SIDE / 2 + (1 - care) * rng.uniform(-3.5, 3.5, (2, 1))
    strokes = [np.rint((place @ stroke + centre).T * _FINE * 16).astype(np.int32) for stroke in (bowl, stem)]
    ink = np.zeros((_SIDE * _FINE,) * 2, np.uint8)
    cv2.polylines(ink, strokes, False, 255, int(rng.integers(6, 14)), cv2.LINE_AA, shift=4)
    cover = cv2.resize(ink, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    light = rng.uniform(150, 200) - rng.uniform(45, 110) * cover + 8 * noise(rng, (_SIDE, _SIDE), 8, 2)
    return np.clip(np.rint(light + 12 * rng.standard_normal(cover.shape)), 0, 255).astype(np.uint8)


def _write_digits(out: Path) -> None:
    """Write scikit-learn's digits, enlarged to 16×16 px, into `train` and `valid`; do nothing without scikit-learn."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return
    digits = load_digits()
    for digit in range(10):
        images = [np.kron(each, np.ones((2, 2))) * 15.9375 for each in digits.images[digits.target == digit]]
        for split, part in (("train", images[:_DIGITS]), ("valid", images[_DIGITS:])):
            _write(out / split / str(digit), (image.astype(np.uint8) for image in part))


def _write(folder: Path, images: Iterable[NDArray[Any]]) -> None:
    """Write images as `glyph-000.png`, ..., replacing earlier ones."""
    remove_drawings(folder, "*", r"glyph-\d+\.png")
    for number, image in enumerate(images):
        write_image(folder / f"glyph-{number:03d}.png", image)
