"""PNG: a window, the whole, pairs for super-resolution and masks of photographs, beside OpenCV and a plain Dataset.

python benchmarks/png.py             prints
python benchmarks/png.py --write     prints, and writes the section `png` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import io
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import cv2
import numpy as np
import torch
from options import Part, parser, run
from PIL import Image
from results import Row, times
from torch.utils.data import DataLoader, Dataset
from workloads import photos

import augrecipes as ar
from augrecipes.images.encoded import encoded
from augrecipes.recipe.parse import parse_text

_SIZE, _WINDOW, _LOW, _FACTOR = (1356, 2040), 192, 48, 4
_METHOD = f"""\
Files in the page cache. Decoding: one thread, CPU time, in turns A B A B, of drawn photographs of 2040×1356 that OpenCV
(filter Sub) and Pillow (mostly Paeth) wrote; windows of {_WINDOW} px at random, for which OpenCV decodes all of it.
Loaders: samples a second of whole passes, in turns; ours with two threads, a plain Dataset of torch with two workers
that stay. Pairs: crops of {_LOW} and {_WINDOW} px, turned; the peer reads with OpenCV and slices. Masks: JPEGs of
500×375 with PNGs of a palette, crops of 256 px, mirrored and normalised; the peer reads masks with Pillow. Medians;
above 1 augrecipes is the quicker."""


def main() -> None:
    options = parser(__doc__).parse_args()
    parts: dict[str, Part] = {
        "decode": lambda: _decode(3 if options.quick else 30),
        "pairs": lambda: _pairs(options.quick),
        "masks": lambda: _masks(options.quick),
    }
    run(__file__, "PNG", _METHOD, parts, options)


def _decode(turns: int) -> Iterator[Row]:
    (picture, *_) = photos(*_SIZE)
    by_pillow = io.BytesIO()
    Image.fromarray(picture).save(by_pillow, "png")
    by_opencv = cv2.imencode(".png", picture[:, :, ::-1])[1].tobytes()
    for name, data in (("OpenCV", by_opencv), ("Pillow", by_pillow.getvalue())):
        rng = random.Random(0)
        at = [(rng.randrange(_SIZE[0] - _WINDOW), rng.randrange(_SIZE[1] - _WINDOW)) for _ in range(16)]
        work: dict[str, Callable[[], Any]] = {
            "peer": lambda data=data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR),
            "whole": lambda data=data: encoded(data, name="it").array(),
            "window": lambda data=data, at=at: [
                encoded(data, name="it").view(y, x, y + _WINDOW, x + _WINDOW) for y, x in at
            ],
        }
        if not np.array_equal(work["peer"]()[:, :, ::-1], work["whole"]()):
            raise SystemExit("other pixels")
        found: dict[str, list[float]] = {key: [] for key in work}
        for _ in range(turns):
            for key, call in work.items():
                start = process_time()
                call()
                found[key].append((process_time() - start) / (len(at) if key == "window" else 1))
        took = {key: median(values) for key, values in found.items()}
        for key, goal in (("whole", 1.7), ("window", 3.0)):
            what = f"{key} of a PNG that {name} wrote"
            beside = f"OpenCV {took['peer'] * 1e3:.1f} ms"
            yield Row(what, f"{took[key] * 1e3:.1f} ms", beside, times(took["peer"] / took[key], goal))


class Plain(Dataset[Any]):
    """A Dataset as people write it."""

    def __init__(self, read: Callable[[int], Any], count: int) -> None:
        self.read, self.count = read, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.read(index)


def _tensor(image: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))).float() / 255


class ReadPair:
    def __init__(self, root: Path) -> None:
        self.files = sorted((root / "hr").iterdir())

    def __call__(self, k: int) -> Any:
        file = self.files[k]
        high = cv2.imread(str(file))[:, :, ::-1]
        low = cv2.imread(str(file.parent.parent / "lr" / file.name))[:, :, ::-1]
        y, x = random.randrange(low.shape[0] - _LOW), random.randrange(low.shape[1] - _LOW)
        turns, mirrored = random.randrange(4), random.random() < 0.5
        made = []
        for image, scale in ((high, _FACTOR), (low, 1)):
            cut = image[y * scale : (y + _LOW) * scale, x * scale : (x + _LOW) * scale]
            cut = np.rot90(cut[:, ::-1] if mirrored else cut, turns)
            made.append(_tensor(cut))
        return made


class ReadMasked:
    def __init__(self, root: Path) -> None:
        self.files = sorted((root / "images").iterdir())
        self.mean = np.array([0.485, 0.456, 0.406], np.float32) * 255
        self.scale = 1 / (np.array([0.229, 0.224, 0.225], np.float32) * 255)

    def __call__(self, k: int) -> Any:
        file = self.files[k]
        image = cv2.cvtColor(cv2.imread(str(file)), cv2.COLOR_BGR2RGB)
        mask = np.asarray(Image.open(file.parent.parent / "masks" / f"{file.stem}.png"))
        y, x = random.randrange(image.shape[0] - 256), random.randrange(image.shape[1] - 256)
        image, mask = image[y : y + 256, x : x + 256], mask[y : y + 256, x : x + 256]
        if random.random() < 0.5:
            image, mask = image[:, ::-1], mask[:, ::-1]
        values = (image - self.mean) * self.scale
        made = torch.from_numpy(np.ascontiguousarray(values.transpose(2, 0, 1)))
        return made, torch.from_numpy(mask.astype(np.int64))


def _rates(ours: Iterable[Any], peer: Iterable[Any], count: int, turns: int) -> tuple[float, float, float]:
    """Samples a second of both, and the median ratio."""
    found = []
    for turn in range(turns + 1):
        took = []
        for passing in (ours, peer):
            start = perf_counter()
            for _ in passing:
                pass
            took.append(count / (perf_counter() - start))
        if turn:  # the first starts workers and threads
            found.append(took)
    return median(a for a, _ in found), median(b for _, b in found), median(a / b for a, b in found)


def _compared(what: str, ds: Any, read: Callable[[int], Any], goal: float, quick: bool) -> Iterator[Row]:
    peer = DataLoader(Plain(read, len(ds)), 16, shuffle=True, num_workers=2, persistent_workers=True)
    ours = ar.loader(ds, 16, num_workers=2, backend="threads")
    mine, theirs, ratio = _rates(ours, peer, len(ds), 2 if quick else 7)
    yield Row(what, f"{mine:,.0f} a second", f"a plain Dataset {theirs:,.0f}", times(ratio, goal))


def _pairs(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for k, picture in enumerate(photos(*_SIZE)[:4]):
            for n in range(16):
                for target, image in (("hr", picture), ("lr", cv2.resize(picture, None, fx=1 / 4, fy=1 / 4))):
                    (root / target).mkdir(exist_ok=True)
                    Image.fromarray(image).save(root / target / f"{k}-{n}.png") if n == 0 else None
                    if n:
                        (root / target / f"{k}-{n}.png").hardlink_to(root / target / f"{k}-0.png")
        recipe = parse_text(
            f"{{version: 1, recipe: p, kind: pair, scales: {{lr: 1, hr: {_FACTOR}}}, "
            f"steps: [RandomCrop: {{height: {_LOW}, width: {_LOW}}}, D4: {{p: 1.0}}], eval: []}}"
        )
        ds = ar.PairedImages({"hr": root / "hr", "lr": root / "lr"}, recipe)
        yield from _compared("pairs of PNGs", ds, ReadPair(root), 2.5, quick)


def _masks(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "images").mkdir()
        (root / "masks").mkdir()
        for k, picture in enumerate(photos(375, 500)[:32]):
            cv2.imwrite(str(root / "images" / f"{k}.jpg"), picture[:, :, ::-1])
            smooth = cv2.GaussianBlur(picture[:, :, 1], (0, 0), 5)  # regions, as masks have them
            labels = Image.fromarray(smooth // 32)
            labels.putpalette(bytes(range(24)))
            labels.save(root / "masks" / f"{k}.png")
            for n in range(7):
                (root / "images" / f"{k}-{n}.jpg").hardlink_to(root / "images" / f"{k}.jpg")
                (root / "masks" / f"{k}-{n}.png").hardlink_to(root / "masks" / f"{k}.png")
        recipe = parse_text(
            "{version: 1, recipe: m, inputs: {mask: required}, "
            "steps: [RandomCrop: {height: 256, width: 256}, HorizontalFlip: {p: 0.5}], "
            "output: {normalize: imagenet}, eval: []}"
        )
        ds = ar.ImageFolder(root / "images", recipe, masks=root / "masks")
        yield from _compared("photographs with masks", ds, ReadMasked(root), 2.0, quick)


if __name__ == "__main__":
    main()
