"""What the basics cost: compiling, checking, keys, the output conversion, reading; each with its goal or a named peer.

python benchmarks/basics.py            prints
python benchmarks/basics.py --write    prints, and writes the section `basics` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import albumentations as A
import cv2
import numpy as np
import torch
from harness import Row, alone, in_turns, met, run
from peers import AbsentError, torchvision
from PIL import Image
from workloads import photos, stained

import augrecipes as ar
from augrecipes.bench.sides import compose
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.demo.dataset import draw_dataset
from augrecipes.sources.files import read_image
from augrecipes.sources.listing import list_folders

_METHOD = """\
One thread (`cv2.setNumThreads(0)`, `torch.set_num_threads(1)`), glibc's allocator tuned alike for both sides, medians
± median distance. Peers are measured in the same process, in turns; a ratio is the median over the turns, and above 1
ours is the faster. The plain side makes the output with `A.Normalize` and a contiguous transposition."""


def _compiling(options: Any) -> Iterator[Row]:
    turns = 3 if options.quick else 20
    names = {name: alone(lambda name=name: ar.load(name).compile(), turns) for name in ar.gallery_names()}
    slowest = max(names.values(), key=lambda timing: timing.median)
    what = "load and compile, the slowest of the gallery"
    yield Row(what, slowest.in_units("ms"), "goal < 50 ms", met(slowest.median < 50e-3))
    check = [sys.executable, "-m", "augrecipes", "check", "stained-tissue"]
    bare = [sys.executable, "-c", "pass"]
    pair = in_turns(*(lambda c=c: subprocess.run(c, check=True, capture_output=True) for c in (check, bare)), turns)
    peer = f"goal < 500 ms; bare Python {pair.peer.in_units('ms')}"
    yield Row("`augrecipes check`, the whole process", pair.ours.in_units("ms"), peer, met(pair.ours.median < 0.5))


def _samples(options: Any) -> Iterator[Row]:
    turns, tile = 6 if options.quick else 60, photos(256, 256)[0]
    counter = itertools.count()
    recipes = {"W1 of 256²": stained(256, 224), "imagenet-train": ar.load("imagenet-train")}
    for (name, recipe), optimize in itertools.product(recipes.items(), ("none", "exact")):
        plain, pipeline = compose(recipe), recipe.compile(optimize=optimize)
        pair = in_turns(
            lambda: pipeline.at(next(counter))(image=tile),  # noqa: B023  called within the turn of the loop
            lambda: np.ascontiguousarray(plain(image=tile)["image"].transpose(2, 0, 1)),  # noqa: B023
            turns, 20,
        )  # fmt: skip
        yield pair.row(f"{name}, `{optimize}`, 256² in memory → CHW", "plain albumentations", unit="µs")


def _policies(options: Any) -> Iterator[Row]:
    """RandAugment of torchvision on its tensors and on PIL images; nothing where it is not installed."""
    try:
        torchvision.LIBRARIES[0].find()
    except AbsentError as absent:
        yield Row("RandAugment", "not measured", f"torchvision {absent}", "")
        return
    peer, counter, turns = import_module("torchvision.transforms.v2").RandAugment(2, 9), itertools.count(), 4
    output = {"dtype": "uint8", "layout": "hwc"}
    recipe = ar.load({"version": 1, "recipe": "r", "steps": ["RandAugment"], "eval": [], "output": output})
    for size, optimize in itertools.product(((224, 224), (375, 500)), ("exact", "fast")):
        image, pipeline = photos(*size)[0], recipe.compile(optimize=optimize)
        forms = {"uint8 tensors": torch.from_numpy(image).permute(2, 0, 1), "PIL images": Image.fromarray(image)}
        for form, given in forms.items():
            pair = in_turns(
                lambda: pipeline.at(next(counter))(image=image),  # noqa: B023  called within the turn of the loop
                lambda: peer(given),  # noqa: B023
                turns if options.quick else 10 * turns, 50,
            )  # fmt: skip
            what = f"`RandAugment: {{n: 2, m: 9}}`, `{optimize}`, {size[1]}×{size[0]} of uint8"
            yield pair.row(what, f"torchvision on {form}", 3, "µs")


def _conversion(options: Any) -> Iterator[Row]:
    image = np.ascontiguousarray(photos(256, 256)[0][:224, :224])
    sink, plain = Sink(ar.load("stained-tissue").output), A.Normalize(mean=(0.5,) * 3, std=(0.5,) * 3)
    pair = in_turns(
        lambda: sink(image), lambda: np.ascontiguousarray(plain.apply(image).transpose(2, 0, 1)),
        6 if options.quick else 60, 50,
    )  # fmt: skip
    yield pair.row("224² uint8 → normalised CHW", "A.Normalize, transposed", unit="µs")


def _files(options: Any) -> Iterator[Row]:
    turns, data = 6 if options.quick else 60, draw_dataset(options.folder / "data", tiles=6, photo_count=4)
    for what, files in (("JPEG", data.photos.rglob("*.jpg")), ("PNG", data.tissue.rglob("*.png"))):
        path = max(files, key=lambda path: path.stat().st_size)
        height, width = read_image(path).shape[:2]
        peer = lambda path=path: cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)  # noqa: E731
        pair = in_turns(lambda path=path: read_image(path), peer, turns, 5)
        yield pair.row(f"read a {what}, {width}×{height}", "cv2.imread and cvtColor")
    many = options.folder / "many"
    for k in range(20_000):
        if k % 200 == 0:
            (many / f"class-{k // 200:03}").mkdir(parents=True)
        (many / f"class-{k // 200:03}" / f"{k:06}.jpg").touch()
    for what, cache in (("first time", False), ("from the index", True)):
        pair = in_turns(
            lambda cache=cache: list_folders([many], cache=cache), lambda: sorted(many.rglob("*.jpg")), turns // 6
        )
        yield pair.row(f"list 20,000 files, {what}", "sorted rglob")


def _views(options: Any) -> Iterator[Row]:
    turns, image = 6 if options.quick else 40, photos(512, 512)[0]
    evaluations: dict[str, list[Any]] = {
        "": [],
        ", resized to 448²": [{"Resize": {"height": 448, "width": 448}}],
        ", rotated": [{"Rotate": {"limit": [9, 9], "p": 1}}],
    }
    for what, evaluation in evaluations.items():
        said = {"version": 1, "recipe": "views", "steps": [], "eval": evaluation, "output": {"normalize": "imagenet"}}
        eight, one = (ar.tta({**said, "tta": {"views": views}}) for views in ("d4", "none"))

        def come_back(by: Any) -> Any:
            split = by.split(image=image)
            return split.merge((sample["image"] for sample in split), "mask", fill=0)

        pair = in_turns(lambda: come_back(eight), lambda: come_back(one), turns)  # noqa: B023
        times = pair.ours.median / pair.peer.median
        named = f"8 views of 512²{what}, made and merged"
        yield Row(named, pair.ours.in_units("ms"), f"{times:.1f} × one view; goal ≤ 8.5 ×", met(times <= 8.5))


if __name__ == "__main__":
    parts = {
        "compiling": _compiling, "samples": _samples, "policies": _policies, "conversion": _conversion,
        "files": _files, "views": _views,
    }  # fmt: skip
    run(__file__, __doc__, "Basics", _METHOD, parts)
