"""W4: crops of 48 and 96 px of super-resolution pairs, PNGs of 2040×1356 and half of it: ours and every peer.

python benchmarks/w4_sr_pairs.py            prints
python benchmarks/w4_sr_pairs.py --write    prints, and writes its section of benchmarks/RESULTS.md
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from compare import METHOD, compare
from options import parser, run
from peers import sides_of
from sides import Side
from workloads import Pairs

import augrecipes as ar
from augrecipes.data.packed import Packed
from augrecipes.packing.run import pack
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

_BATCH, _PATCH, _SCALE = 16, 48, 2
_BATCHES = 40  # of a pass of ours
_HR = (1356, 2040)
_RECIPE = (
    "{version: 1, recipe: crops, kind: pair, scales: {lr: 1, hr: 2}, "
    f"steps: [RandomCrop: {{height: {_PATCH}, width: {_PATCH}, at: lr}}], eval: []}}"
)
_GOALS = {"augrecipes, packed": {"article, PNGs decoded whole": 1000, "article, patches in .npy": 4}}
_METHOD = f"""\
{METHOD} Batches of {_BATCH} pairs, all in one process without workers; files and stores in the page cache. augrecipes:
a packed store of whole pictures, `backend="batches"`. The article's patches were cut beforehand, float32, 64 of a pair.
Crops of ours are the decoded PNG at the window that was drawn, bit for bit."""


def main() -> None:
    options = parser(__doc__).parse_args()
    scenes, rounds = (4, 2) if options.quick else (16, 7)
    run(__file__, "W4: super-resolution pairs", _METHOD, {"W4": lambda: _crops(scenes, rounds)}, options)


def _crops(scenes: int, rounds: int) -> Iterator[str]:
    recipe = parse_text(_RECIPE)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        work = Pairs(scratch / "hr", scratch / "lr", _PATCH, _SCALE, _BATCH, scratch)
        write_pairs(work, scenes)
        pack(recipe, {"hr": str(work.hr), "lr": str(work.lr)}, scratch / "pairs")
        _same_pixels(work, scratch / "pairs", recipe)
        ds = Packed(scratch / "pairs", recipe, samples_per_epoch=_BATCHES * _BATCH)
        loader = ar.loader(ds, _BATCH, shuffle=True, backend="batches")
        mine = [Side("augrecipes", "packed", lambda: iter(loader))]
        title = f"W4: {_BATCH} crops of {_PATCH} and {_PATCH * _SCALE}"
        yield compare(title, mine, sides_of(work), rounds=rounds, goals=_GOALS, look_at=4 * _BATCH)


def write_pairs(work: Pairs, count: int, size: tuple[int, int] = _HR) -> None:
    """Coarse and noisy pictures of `size`, and their reduction."""
    rng = np.random.default_rng(1)
    for folder in (work.hr, work.lr):
        folder.mkdir()
    for i in range(count):
        coarse = cv2.resize(rng.integers(0, 246, (40, 60, 3), np.uint8), size[::-1], interpolation=cv2.INTER_CUBIC)
        large = cv2.add(coarse, rng.integers(0, 10, coarse.shape, np.uint8))
        small = cv2.resize(large, (size[1] // work.scale, size[0] // work.scale), interpolation=cv2.INTER_AREA)
        for path, picture in ((work.hr / f"{i:04}.png", large), (work.lr / f"{i:04}x2.png", small)):
            path.write_bytes(cv2.imencode(".png", picture)[1].tobytes())


def _same_pixels(work: Pairs, store: Path, recipe: Recipe) -> None:
    """What comes out is the decoded file at the window that was drawn."""
    ds = Packed(store, recipe, save_applied_params=True)
    for i, files in enumerate(zip(sorted(work.lr.iterdir()), sorted(work.hr.iterdir()), strict=True)):
        sample = ds[i]
        for name, path in zip(("lr", "hr"), files, strict=True):
            y0, x0, y1, x1 = sample["window"][name]
            whole = cv2.imread(str(path))[y0:y1, x0:x1, ::-1].transpose(2, 0, 1)
            if not np.array_equal(np.rint(sample[name].numpy() * 255).astype(np.uint8), whole):
                raise SystemExit(f"a crop of {path} is not what the file holds there")


if __name__ == "__main__":
    main()
