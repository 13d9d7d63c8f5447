"""How fast windows of a JPEG slide are read, compared with OpenSlide, and what a bag of 3,000 tiles takes.

python benchmarks/slides.py            prints
python benchmarks/slides.py --write    prints, and writes the section `slides` of benchmarks/RESULTS.md

Needs the extra `slides`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import Row, in_turns, memory, run

import augrecipes as ar
from augrecipes.demo.slides import reduced, write_pyramid
from augrecipes.demo.tissue import CLASSES, LABORATORIES, render_tile
from augrecipes.sources.slides import pyramid
from augrecipes.sources.slides.opened import open_slide

_SIDE = 14_336  # px of the slide: 56 tiles of 256 in a row, 55 windows of 512 with every other one
_TILES = 3000
_READS = 60  # windows a turn, each another one
_ALIGNED, _OTHER = 3.0, 1.6  # times as fast as OpenSlide
_TWO_THREADS = 1.8
_GRID = "on the grid of tiles"
_METHOD = f"""\
A drawn slide of {_SIDE}² px, a TIFF of JPEG tiles of 256² (4:2:0, quality 85, tables once) with levels of a quarter and
a sixteenth. Windows at random places, or row by row as a bag has them, the same for both sides, which take turns in one
process and one thread (A B A B), {_READS} windows a turn; medians ± median distance, and a ratio is the median over the
turns. OpenSlide is openslide-python's `read_region`, converted to RGB as its users do; each side caches 32 MiB of
decoded tiles. A bag is
{_TILES} tiles of 512², uint8, through a flip; two threads and one in turns; memory is the highest resident memory
of the process less what was resident before and less the result."""


def _slide(options: Any) -> Path:
    folder, side = options.folder, _SIDE // 8 // 256 * 256 if options.quick else _SIDE
    patch = render_tile(CLASSES[0], (512, 512), LABORATORIES[0], np.random.default_rng(0)).image
    image = np.pad(patch, ((0, side - 512), (0, side - 512), (0, 0)), mode="symmetric")
    write_pyramid(folder / "slide.tif", [image, reduced(image, 4), reduced(image, 16)])
    return folder / "slide.tif"


def _windows(options: Any) -> Iterator[Row | str]:
    import openslide

    path, turns = _slide(options), 3 if options.quick else 15
    reader, slide = open_slide(str(path)), openslide.OpenSlide(path)
    width = reader.levels[0].width
    for size in (256, 512):
        for where, places in _places(size, width).items():
            theirs = _each(places, lambda x, y, s=size: np.asarray(slide.read_region((x, y), 0, (s, s)).convert("RGB")))
            ours = _each(places, lambda x, y, s=size: reader.read(0, pyramid.Part(x, y, s, s)))
            pair, goal = in_turns(ours, theirs, turns, _READS), _ALIGNED if where == _GRID else _OTHER
            yield pair.row(f"a window of {size}², {where}", "OpenSlide", goal, "µs")


def _places(size: int, width: int) -> dict[str, np.ndarray]:
    """Corners of windows by how they lie, (n, 2)."""
    draw = np.random.default_rng(size)
    grid = draw.integers(0, width // 256 - 2, (4000, 2)) * 256
    rows = np.arange(draw.integers(1, 255), width - size, size)
    return {
        _GRID: grid,
        "anywhere": grid + draw.integers(1, 255, grid.shape),
        "side by side, off the grid": np.stack(np.meshgrid(rows, rows), 2).reshape(-1, 2),
    }


def _each(places: np.ndarray, read: Callable[[int, int], Any]) -> Callable[[], Any]:
    """Reads the next window with every call."""
    corners = itertools.cycle(places.tolist())
    return lambda: read(*next(corners))


def _bags(options: Any) -> Iterator[Row]:
    path, turns, tiles = _slide(options), 2 if options.quick else 5, 50 if options.quick else _TILES
    bag = {"version": 1, "recipe": "flips", "kind": "bag", "steps": ["HorizontalFlip"], "eval": []}
    recipe = ar.load({**bag, "output": {"dtype": "uint8", "layout": "hwc"}})

    def dataset(threads: int) -> Any:
        how = {"tissue": None, "max_white": 1, "max_tiles": tiles, "threads": threads}
        return ar.SlideBags(path, recipe, tile=512, stride=256, level=0, **how)

    one, two = dataset(1), dataset(2)
    before = memory("VmRSS")
    start = time.perf_counter()
    result = one[0]["image"].numpy().nbytes / 1e6
    seconds = time.perf_counter() - start
    above = max(memory("VmHWM") - before - result, 0)
    yield Row(f"a bag of {tiles:,} tiles of 512²", f"{seconds:.1f} s", f"{above:.0f} MB beyond it", "one thread")
    yield in_turns(lambda: two[0], lambda: one[0], turns).row("the same, two threads", "one thread", _TWO_THREADS)


if __name__ == "__main__":
    run(__file__, __doc__, "Slides", _METHOD, {"windows": _windows, "bags": _bags})
