"""W3: a folder of small JPEGs, resized to 128², in shuffled batches: a packed store of ours and every peer.

python benchmarks/w3_image_folder.py            prints
python benchmarks/w3_image_folder.py --write    prints, and writes its section of benchmarks/RESULTS.md
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from compare import METHOD, compare
from options import parser, run
from peers import AHEAD, sides_of
from sides import FLOATS, Batch, Missing, Side
from workloads import FlippedFolder, Folder

import augrecipes as ar
from augrecipes.data.packed import Packed
from augrecipes.packing.run import pack
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

_BATCH, _SIDE, _CLASSES = 256, 128, 10
_BYTES = "uint8 H×W×C"
_OUTPUTS = {
    FLOATS: "{dtype: float32, layout: chw, range: [0, 1]}",
    _BYTES: "{dtype: uint8, layout: hwc}",
    "uint8 C×H×W": "{where: device}",
}
_GOALS = {
    f"augrecipes, {_BYTES}": {
        "numpy, one gather a batch": 0.5,
        "article, HDF5, 2 workers": 30,
        "article, image folder, 2 workers": 80,
    },
    f"augrecipes, {FLOATS}": AHEAD
    | {"article, HDF5, 2 workers": 15, "FFCV, raw file, float32, channels last, 2 workers": 1.3},
}
_METHOD = f"""\
{METHOD} JPEGs of about 160 px, resized to {_SIDE}², in shuffled batches of {_BATCH}; a turn is an epoch; files and
stores in the page cache. augrecipes: a packed store, in this one process and thread where no row says otherwise, for
float32, and for the uint8 that travels to a device. Every peer has two workers, which are kept from epoch to epoch;
those of torch's DataLoader are tuned like this process. FFCV reads its own file of resized pixels; the article's HDF5
file holds float32. `one gather` is `block[indices]` of our store, a batch at a time, and nothing else: what memory
allows. W3f is like for like: float32 on every side, and a horizontal flip drawn for each sample."""


def main() -> None:
    options = parser(__doc__).parse_args()
    count, rounds = (1024, 3) if options.quick else (4096, 9)
    run(
        __file__,
        "W3: a folder of small pictures",
        _METHOD,
        {"W3": lambda: _small(count, rounds), "W3f": lambda: _flipped(count, rounds)},
        options,
    )


def _small(count: int, rounds: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        write_jpegs(scratch / "jpegs", count)
        work = Folder(scratch / "jpegs", _SIDE, _BATCH, scratch)
        pack(_recipe(_OUTPUTS[FLOATS]), str(work.root), scratch / "small")
        stores = {makes: Packed(scratch / "small", _recipe(output)) for makes, output in _OUTPUTS.items()}
        mine = [Side("augrecipes", makes, _epochs(ds), makes) for makes, ds in stores.items()]
        gather = Side("numpy", "one gather a batch", _gathers(stores[_BYTES]), _BYTES, np.__version__)
        title = f"W3: {count:,} of {_SIDE}²"
        two = Side(
            "augrecipes", f"{FLOATS}, 2 threads", _epochs(stores[FLOATS], backend="threads", num_workers=2), FLOATS
        )
        yield compare(title, mine, _with([two, gather], work), rounds=rounds, goals=_GOALS, look_at=min(count, 1024))


def _flipped(count: int, rounds: int) -> Iterator[str]:
    """All sides make the same, and have something left to draw."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        write_jpegs(scratch / "jpegs", count)
        work = FlippedFolder(scratch / "jpegs", _SIDE, _BATCH, scratch)
        recipe = _recipe(_OUTPUTS[FLOATS], flipped=True)
        pack(recipe, str(work.root), scratch / "small")
        mine = Side("augrecipes", FLOATS, _epochs(Packed(scratch / "small", recipe)))
        title = f"W3f: {count:,} of {_SIDE}², flipped"
        goals = {mine.name: AHEAD}
        yield compare(title, [mine], sides_of(work), rounds=rounds, goals=goals, look_at=min(count, 1024))


def _with(first: Sequence[Side], work: Folder) -> Iterator[Side | Missing]:
    yield from first
    yield from sides_of(work)


def _recipe(output: str, *, flipped: bool = False) -> Recipe:
    resize, flip = f"Resize: {{height: {_SIDE}, width: {_SIDE}}}", "HorizontalFlip: {p: 0.5}"
    steps = ", ".join(f"{{{step}}}" for step in ([resize, flip] if flipped else [resize]))
    return parse_text(f"{{version: 1, recipe: small, steps: [{steps}], eval: [{{{resize}}}], output: {output}}}")


def write_jpegs(folder: Path, count: int) -> None:
    """Coarse and noisy pictures, each class in a colour of its own."""
    rng = np.random.default_rng(0)
    tints = rng.integers(0, 160, (_CLASSES, 3), np.uint8)
    for i in range(count):
        height, width = rng.integers(140, 180, 2).tolist()
        coarse = cv2.resize(rng.integers(0, 80, (9, 9, 3), np.uint8), (width, height), interpolation=cv2.INTER_CUBIC)
        picture = cv2.add(coarse + tints[i % _CLASSES], rng.integers(0, 16, coarse.shape, np.uint8))
        path = folder / f"class-{i % _CLASSES}" / f"{i:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes())


def _epochs(ds: Packed, **readers: Any) -> Any:
    loader = ar.loader(ds, _BATCH, shuffle=True, **(readers or {"backend": "batches"}))
    return lambda: iter(loader)


def _gathers(ds: Packed) -> Any:
    block = np.stack([ds.store.array("image", k) for k in range(len(ds))])
    labels = np.array([ds[i]["label"] for i in range(len(ds))])

    def run() -> Iterator[Batch]:
        order = np.random.default_rng(0).permutation(len(ds))
        for at in range(0, len(order), _BATCH):
            rows = order[at : at + _BATCH]
            yield {"image": block[rows], "label": labels[rows]}

    return run


if __name__ == "__main__":
    main()
