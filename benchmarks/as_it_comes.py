"""Pipelines as people write them, from JPEG files to batches, with nothing set: `ar.loader(ds)` beside torch's.

python benchmarks/as_it_comes.py                      the gallery's recipes of one picture
python benchmarks/as_it_comes.py --recipes FOLDER     16 of a folder of recipes that other people published
python benchmarks/as_it_comes.py --write ...          prints, and writes its section of benchmarks/RESULTS.md

A folder is as `wild.py` takes it: recipes (`*.yaml`), and maybe a `pipelines.json` that says how large pictures are.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import cv2
import numpy as np
from augrecipes.bench.baseline import last_of
from options import Part, parser, run
from results import Row, met, times
from torch.utils.data import DataLoader, Dataset
from wild import _sizes as sizes_in

import augrecipes as ar
from augrecipes.compat.albumentations import A
from augrecipes.compiler.lowering.lower import lower, transforms_of
from augrecipes.demo.photos import CLASSES, render_photo
from augrecipes.errors import AugrecipesError
from augrecipes.recipe.parse import parse_text

_WORKERS = 2  # of torch's DataLoader
_BATCH = 32
_PHOTOS, _FILES = 12, 192
_ROUNDS = 3
_GOAL = 2.3
_METHOD = f"""\
From JPEG files to batches of {_BATCH}, shuffled; an epoch is {_FILES} files, its beginning and end included. Ours is
`ar.loader(ar.ImageFolder(root, recipe), {_BATCH}, shuffle=True)`, with nothing else set. Beside it stands torch's
DataLoader with {_WORKERS} workers around `cv2.imread` and an `A.Compose` of the same steps, with `A.Normalize` and
`ToTensorV2`, as their users write it. Wall time; the sides take turns, and ratios are medians over {_ROUNDS} rounds of
what stands beside each other in a round, after one that is not counted. Tiny: 32² px, JPEG files and an array in
memory, batches of 64: threads beside this thread alone. Beginning: from `iter(loader)` to the first batch of 16
pictures of 96² px, a pass that is broken off then. Where others use the machine at the same time, read ratios only."""


def main() -> None:
    known = parser(__doc__)
    known.add_argument("--recipes", type=Path, metavar="FOLDER", help="where recipes of other people lie")
    known.add_argument("--count", type=int, default=16, help="recipes of the folder (%(default)s)")
    known.add_argument("--optimize", default="fast", choices=("none", "exact", "fast"))
    options = known.parse_args()
    log = logging.getLogger("augrecipes")
    before = log.level
    log.setLevel(logging.ERROR)  # other people's recipes are not here for their lints
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            parts: dict[str, Part] = {
                "pipelines": lambda: _pipelines(folder, options),
                "tiny": lambda: _tiny(folder, options.quick),
                "beginning": lambda: _beginning(folder, options.quick),
            }
            run(__file__, "As it comes", _METHOD, parts, options)
    finally:
        log.setLevel(before)


# -- pipelines --------------------------------------------------------------------------------------------------------


def _pipelines(folder: Path, options: Any) -> Iterator[Row]:
    rounds, files = (1, _BATCH) if options.quick else (_ROUNDS, _FILES)
    ratios = []
    for recipe, size in _chosen(options.recipes, 2 if options.quick else options.count):
        root = photographs(folder / f"{size[0]}x{size[1]}", size, files)
        made: dict[str, Iterable[Any]] = {
            "ours": ar.loader(
                ar.ImageFolder(root, recipe, optimize=options.optimize, cache=False), _BATCH, shuffle=True
            ),
            "torch": DataLoader(Plain(root, recipe), _BATCH, shuffle=True, num_workers=_WORKERS),
        }
        try:
            seconds = _in_turns({side: partial(_epoch, batches) for side, batches in made.items()}, rounds)
        except (AugrecipesError, RuntimeError) as error:  # pictures that come out in different sizes make no batch
            yield Row(recipe.name, "not measured", str(error).splitlines()[0][:50], "")
            continue
        ratio = median(theirs / ours for theirs, ours in zip(seconds["torch"], seconds["ours"], strict=True))
        ratios.append(ratio)
        rate = {side: files / median(taken) for side, taken in seconds.items()}
        yield Row(recipe.name, f"{rate['ours']:,.0f} samples/s", f"torch {rate['torch']:,.0f}", times(ratio))
    if ratios:
        mean, least = geometric_mean(ratios), min(ratios)
        yield Row(f"geometric mean of {len(ratios)}", "", "torch, 2 workers", times(mean, _GOAL))
        yield Row("least", "", "goal ×1", f"×{least:.2f}, {met(least >= 1)}")


def _chosen(folder: Path | None, count: int) -> Iterator[tuple[Any, tuple[int, int]]]:
    """Recipes of one picture, spread over the folder, or the gallery's; and the size of the pictures."""
    sizes = {} if folder is None else sizes_in(folder)
    given = (
        [ar.load(path) for path in sorted(folder.rglob("*.yaml"))] if folder else [*map(ar.load, ar.gallery_names())]
    )
    alone = [one for one in given if one.kind == "image" and one.inputs.boxes is None and one.inputs.keypoints is None]
    for k in dict.fromkeys(np.linspace(0, len(alone) - 1, min(count, len(alone))).round().astype(int).tolist()):
        yield alone[k], sizes.get(alone[k].name, sizes.get(Path(alone[k].file).stem, (512, 512)))


class Plain(Dataset[Any]):
    """What people write without us: cv2, and albumentations' Compose."""

    def __init__(self, root: Path, recipe: Any) -> None:
        self.files = sorted(map(str, root.glob("*.jpg")))
        self.transform = A.Compose([*transforms_of(lower(recipe.steps)[0]), *last_of(recipe.output), A.ToTensorV2()])

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> tuple[Any, int]:
        image = cv2.cvtColor(cv2.imread(self.files[i]), cv2.COLOR_BGR2RGB)
        return self.transform(image=image)["image"], i


def photographs(folder: Path, size: tuple[int, int], count: int) -> Path:
    """A folder of so many JPEG files, of a few drawn photographs."""
    folder.mkdir(exist_ok=True)
    if not any(folder.iterdir()):
        rng = np.random.default_rng(0)
        for k in range(min(_PHOTOS, count)):
            picture = cv2.cvtColor(render_photo(CLASSES[k % len(CLASSES)], size, rng), cv2.COLOR_RGB2BGR)
            encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()
            for copy in range(k, count, _PHOTOS):
                (folder / f"{copy:04}.jpg").write_bytes(encoded)
    return folder


# -- tiny samples, and beginning --------------------------------------------------------------------------------------


def _tiny(folder: Path, quick: bool) -> Iterator[Row]:
    text = (
        "{version: 1, recipe: tiny, steps: [PadIfNeeded: {min_height: 40, min_width: 40}, "
        "RandomCrop: {height: 32, width: 32}, HorizontalFlip], output: {normalize: imagenet}, eval: []}"
    )
    pixels = np.random.default_rng(0).integers(0, 256, (256, 32, 32, 3), np.uint8)
    (folder / "tiny").mkdir()
    for k, picture in enumerate(pixels):
        cv2.imwrite(os.fspath(folder / "tiny" / f"{k}.jpg"), picture)
    sources = {
        "files": ar.ImageFolder(folder / "tiny", parse_text(text), cache=False),
        "an array": ar.Samples(pixels, parse_text(text)),
    }
    ways: dict[str, dict[str, Any]] = {"this thread": {"num_workers": 0}} | {
        f"threads:{count}": {"backend": "threads", "num_workers": count} for count in (1, 2, 4)
    }
    samples = 512 if quick else 8192
    for name, ds in sources.items():
        sides = {way: partial(_epoch, ar.loader(ds, 64, shuffle=True, samples_per_epoch=samples, **how))
                 for way, how in ways.items()}  # fmt: skip
        seconds = _in_turns(sides, 1 if quick else 5)
        alone = seconds["this thread"]
        for way, taken in seconds.items():
            ratio = median(one / two for one, two in zip(alone, taken, strict=True))
            yield Row(f"tiny, {name}, {way}", f"{samples / median(taken):,.0f} samples/s", "this thread", times(ratio))


def _beginning(folder: Path, quick: bool) -> Iterator[Row]:
    root = photographs(folder / "beginning", (96, 96), 256)
    recipe = parse_text("{version: 1, recipe: beginning, steps: [HorizontalFlip], eval: []}")
    ds = ar.ImageFolder(root, recipe, cache=False)
    sides: dict[str, Iterable[Any]] = {
        "as it comes": ar.loader(ds, 16, shuffle=True),
        "this thread": ar.loader(ds, 16, shuffle=True, num_workers=0),
        "processes:2": ar.loader(ds, 16, shuffle=True, backend="processes", num_workers=_WORKERS),
        "torch": DataLoader(Plain(root, recipe), 16, shuffle=True, num_workers=_WORKERS),
    }
    seconds = _in_turns({side: partial(_first, batches) for side, batches in sides.items()}, 3 if quick else 15)
    theirs = seconds.pop("torch")
    for side, taken in seconds.items():
        ratio = median(one / two for one, two in zip(theirs, taken, strict=True))
        yield Row(
            f"to the first batch, {side}", f"{1e3 * median(taken):.1f} ms", f"torch {1e3 * median(theirs):.1f} ms",
            times(ratio, 1 if side != "this thread" else None),
        )  # fmt: skip


# -- time -------------------------------------------------------------------------------------------------------------


def _epoch(batches: Iterable[Any]) -> float:
    start = time.perf_counter()
    for _ in batches:
        pass
    return time.perf_counter() - start


def _first(batches: Iterable[Any]) -> float:
    start = time.perf_counter()
    passing = iter(batches)
    next(passing)
    taken = time.perf_counter() - start
    del passing
    return taken


def _in_turns(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each side in each round, forwards and backwards, after a round that is not counted."""
    found: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(1 + rounds):
        for side, taken in [*sides.items()][:: -1 if turn % 2 else 1]:
            seconds = taken()
            if turn:
                found[side].append(seconds)
    return found


if __name__ == "__main__":
    main()
