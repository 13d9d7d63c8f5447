"""What the basics cost: compiling, checking, keys, the sink, reading; each beside its goal or a named peer.

python benchmarks/basics.py            prints
python benchmarks/basics.py --write    prints, and writes the section `basics` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import albumentations as A
import cv2
import numpy as np
from measure import Pair, Timing, alone, in_turns
from options import Part, parser, run
from results import Row, met, times

import augrecipes as ar
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.run.draws import Draws
from augrecipes.demo.dataset import draw_dataset
from augrecipes.ops.registry import construct
from augrecipes.recipe import gallery
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.files import read_image
from augrecipes.sources.listing import list_folders

_HALF = (0.5, 0.5, 0.5)
_LISTED = 20_000
_CHEAP = """
version: 1
recipe: cheap
steps:
  - Rotate: {limit: 25, border_mode: reflect_101, p: 1.0}
  - RandomCrop: {height: 24, width: 24}
  - HorizontalFlip
  - VerticalFlip
eval: []
output: {dtype: uint8, layout: hwc}
"""
_METHOD = """\
One thread (`cv2.setNumThreads(0)`, `torch.set_num_threads(1)`), glibc's allocator tuned alike for both sides, medians
± median distance. Peers are measured in the same process, in turns A B A B; a ratio is the median over the turns, and
above 1 ours is the quicker. `none` is compared with a plain `A.Compose` of the same steps: once on 32 px, with the
uint8 image copied on both sides, where little but the bookkeeping is left; and once on 256 px with the sink, which the
plain side does with `A.Normalize` and a contiguous transposition."""


def main() -> None:
    options = parser(__doc__).parse_args()
    turns = 6 if options.quick else 60
    parts: dict[str, Part] = {
        "compiling": lambda: _compiling(turns),
        "samples": lambda: _samples(turns),
        "kernels": lambda: _kernels(turns),
        "files": lambda: _files(turns),
    }
    run(__file__, "Basics", _METHOD, parts, options)


def _compiling(turns: int) -> Iterator[Row]:
    slowest = max(
        (alone(lambda name=name: ar.load(name).compile(), turns // 3 + 1) for name in gallery.gallery_names()),
        key=lambda timing: timing.median,
    )
    yield _goal("load and compile, the slowest of the gallery", slowest, "ms", 50e-3)
    command = [sys.executable, "-m", "augrecipes", "check", "stained-tissue"]
    pair = in_turns(lambda: _run(command), lambda: _run([sys.executable, "-c", "pass"]), turns // 4 + 1)
    beside = f"goal < 500 ms; bare Python {pair.peer.in_units('ms')}"
    yield Row("`augrecipes check`, the whole process", pair.ours.in_units("ms"), beside, met(pair.ours.median < 0.5))


def _samples(turns: int) -> Iterator[Row]:
    few, many = _draws(4), _draws(24)
    counter = itertools.count()
    pair = in_turns(lambda: many.position(3, next(counter)), lambda: few.position(3, next(counter)), turns, 500)
    step = Timing(pair.extra.median / 20, pair.extra.spread / 20)
    yield _goal("a step's key", step, "µs", 2e-6)

    bare, small = parse_text(_CHEAP, root=None), _image(32, 32)
    ours, plain = bare.compile(optimize="none"), A.Compose([construct(step) for step in bare.steps], seed=0)

    def peer() -> np.ndarray:
        return np.array(plain(image=small)["image"])

    pair = in_turns(lambda: ours.at(next(counter))(image=small), peer, turns, 200)
    beside = f"goal ≤ 15 µs; plain albumentations {pair.peer.in_units('µs')}"
    yield Row("`none` beyond plain, 4 steps on 32²", pair.extra.in_units("µs"), beside, met(pair.extra.median <= 15e-6))
    tile = _image(256, 256)
    for name in ("stained-tissue", "imagenet-train"):
        recipe = ar.load(name)
        mean, std = recipe.output.normalize.mean, recipe.output.normalize.std
        plain = A.Compose([*(construct(step) for step in recipe.steps), A.Normalize(mean=mean, std=std)], seed=0)
        for optimize in ("none", "exact"):
            pipeline = recipe.compile(optimize=optimize)
            pair = in_turns(
                lambda: pipeline.at(next(counter))(image=tile),  # noqa: B023  called within the turn of the loop
                lambda: np.ascontiguousarray(plain(image=tile)["image"].transpose(2, 0, 1)),  # noqa: B023
                turns,
                20,
            )
            yield _beside(f"{name}, `{optimize}`, 256² in memory → CHW", pair, "µs", "plain albumentations")


def _kernels(turns: int) -> Iterator[Row]:
    image = _image(224, 224)
    sink, plain = Sink(ar.load("stained-tissue").output), A.Normalize(mean=_HALF, std=_HALF)

    def peer() -> np.ndarray:
        return np.ascontiguousarray(plain.apply(image).transpose(2, 0, 1))

    pair = in_turns(lambda: sink(image), peer, turns, 50)
    yield _beside("sink: 224² uint8 → normalised CHW", pair, "µs", "A.Normalize, transposed")


def _files(turns: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _reading(Path(folder), turns)
        yield from _listing(Path(folder) / "many", turns)


def _reading(folder: Path, turns: int) -> Iterator[Row]:
    data = draw_dataset(folder / "data", tiles=6, photo_count=4)
    for what, path in (
        ("JPEG", max(data.photos.rglob("*.jpg"), key=lambda p: p.stat().st_size)),
        ("PNG", max(data.tissue.rglob("*.png"), key=lambda p: p.stat().st_size)),
    ):
        height, width = read_image(path).shape[:2]
        peer = lambda path=path: cv2.cvtColor(cv2.imread(os.fspath(path)), cv2.COLOR_BGR2RGB)  # noqa: E731
        pair = in_turns(lambda path=path: read_image(path), peer, turns, 5)
        yield _beside(f"read a {what}, {width}×{height}", pair, "ms", "cv2.imread and cvtColor")


def _listing(many: Path, turns: int) -> Iterator[Row]:
    for k in range(_LISTED):
        if k % 200 == 0:
            (many / f"class-{k // 200:03}").mkdir(parents=True)
        (many / f"class-{k // 200:03}" / f"{k:06}.jpg").touch()
    few = turns // 12 + 1
    fresh = alone(lambda: list_folders([many], cache=False), few)
    list_folders([many])
    pair = in_turns(lambda: list_folders([many]), lambda: sorted(many.rglob("*.jpg")), few)
    yield Row(
        f"list {_LISTED:,} files, first time",
        fresh.in_units("ms"),
        f"sorted rglob {pair.peer.in_units('ms')}",
        f"×{pair.peer.median / fresh.median:.1f}",
    )
    yield _beside(f"list {_LISTED:,} files, from the index", pair, "ms", "sorted rglob")


def _goal(what: str, timing: Timing, unit: str, goal: float) -> Row:
    limit = Timing(goal, 0).in_units(unit).split(" ± ")[0].removesuffix(".00")
    return Row(what, timing.in_units(unit), f"goal < {limit} {unit}", met(timing.median < goal))


def _beside(what: str, pair: Pair, unit: str, peer: str) -> Row:
    return Row(what, pair.ours.in_units(unit), f"{peer} {pair.peer.in_units(unit)}", times(pair.ratio))


def _draws(steps: int) -> Draws:
    draws = Draws(0)
    for k in range(steps):
        draws.add(f"Step#{k}")
    return draws


def _image(height: int, width: int) -> np.ndarray:
    """A tissue-like uint8 image: smooth, coloured and a little noisy."""
    rng = np.random.default_rng(0)
    coarse = cv2.resize(rng.integers(90, 230, (8, 8, 3), np.uint8), (width, height), interpolation=cv2.INTER_CUBIC)
    return cv2.add(coarse, rng.integers(0, 20, (height, width, 3), np.uint8))


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()
