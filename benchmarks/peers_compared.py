"""The workloads W1 to W6 by ours and by every peer.

python benchmarks/peers_compared.py                    prints
python benchmarks/peers_compared.py --only W2          prints one workload
python benchmarks/peers_compared.py --write            prints, and writes its section of benchmarks/RESULTS.md
python benchmarks/peers_compared.py --photos FOLDER    takes photographs for W2 and W5 from there

W1: tiles of tissue in memory, rotated by up to 25°, cropped (scale 0.5 to 1, ratio 0.8 to 1.2), resized, flipped both
ways, colours jittered, normalised; W1b from 1024 to 256 px; W1s varies the stains of tiles of 224 instead. W2: JPEGs to
random resized crops. W3: a folder of small JPEGs to shuffled batches; W3f with flips. W4: crops of super-resolution
pairs of PNGs. W5: JPEGs to random windows. W6: small images in memory, padded, cropped, flipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import workloads
from comparison import BATCH, FLOATS, METHOD, Batch, Each, Goals, Side, compare, in_batches, ours, whole_batches
from harness import run
from peers import AHEAD, sides_of
from workloads import QUALITY, Folder, Pairs, ResizedCrops, Small, Stains, Tiles, Windows, as_file, jpegs, small, tissue

import augrecipes as ar
from augrecipes.data.packed import Packed
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text

_BYTES = "uint8 H×W×C"
_METHOD = f"""\
{METHOD} W1, W2, W5 and W6 in batches of {BATCH}, in memory, of uint8 images (more of them than the caches hold) or of
JPEGs of quality {QUALITY}, 4:2:0, baseline: drawn tissue and photographs of the demo, or those of `--photos`.
Libraries that cannot reflect at the border fill bare corners with the tiles' mean colour, or with the border (DALI).
The stain jitters are different transformations, so only shape, dtype and range are compared for them. W3: JPEGs of
about 160 px, resized to 128², in shuffled batches of 256; a turn is an epoch; files and packed datasets in the page
cache. augrecipes reads a packed dataset in one process and thread unless a row says otherwise; every peer has two
workers, which are kept from epoch to epoch. `one gather` is `block[indices]` of the packed dataset: the limit of the
memory. W4: batches of 16 pairs of 2040×1356 and half of it, all in one process without workers, augrecipes from a
packed dataset of whole images; the article's patches were cut beforehand. Our crops equal the decoded PNG, bit for
bit."""


def _tiles(name: str, size: int, out: int, options: Any) -> Iterator[str]:
    work = Tiles(tissue(size), size, out)
    fast, exact, none = (
        Side("augrecipes", f"`{level}`", in_batches(ours(work.recipe, level, work.pool), (3, out, out)))
        for level in ("fast", "exact", "none")
    )
    whole = Side("augrecipes", "`fast`, a batch at once", whole_batches(work.recipe, "fast", work.pool, out))
    goals = {
        "W1": {whole.name: {"albumentations": 15.0}, fast.name: {"albumentations": 10.0},
               exact.name: {"albumentations": 1.5}},
        "W1b": {whole.name: {"albumentations": 17.0}, fast.name: {"albumentations": 13.0}},
    }[name]  # fmt: skip
    peers = (side for sides in ([none], sides_of(work)) for side in sides)
    rounds = 3 if options.quick else 15
    yield compare(f"{name}: tissue, {size} → {out}", [whole, fast, exact], peers, rounds=rounds, goals=goals)


def _stains(options: Any) -> Iterator[str]:
    work = Stains([np.ascontiguousarray(tile[:224, :224]) for tile in tissue(512)])
    text = "{version: 1, recipe: stain, steps: [StainJitter: {p: 1.0}], eval: [], output: {dtype: uint8, layout: hwc}}"
    sample = ours(parse_text(text, root=None), "fast", work.pool)
    side = Side("augrecipes", "`fast`", in_batches(sample, (224, 224, 3), np.uint8), _BYTES)
    goals = {side.name: {"albumentations, HEStain, random preset": 40.0}}
    rounds = 3 if options.quick else 15
    yield compare("W1s: stains of 224²", [side], sides_of(work), rounds=rounds, goals=goals, loose=4)


def _photographs(
    title: str, kind: Any, recipe: str, size: tuple[int, int], out: int, goals: Mapping[str, Any], options: Any
) -> Iterator[str]:
    """W2 and W5; `goals`: by the setting of the optimiser."""
    work = kind(jpegs(options.photos, *size), ar.load(recipe), out, options.folder)
    pool = Each(work.pool, as_file)
    mine = [Side("augrecipes", f"`{o}`", in_batches(ours(work.recipe, o, pool), (3, out, out))) for o in goals]
    mine += [Side("augrecipes", f"`{o}`, a batch at once", whole_batches(work.recipe, o, pool, out)) for o in goals]
    named: Goals = {f"augrecipes, `{o}`": wanted for o, wanted in goals.items()}
    rounds = 3 if options.quick else 25
    # A window shows the sky or the ground, so that the means of few samples differ by chance.
    yield compare(
        f"{title}: {size[1]}×{size[0]} → {out}", mine, sides_of(work), rounds=rounds, goals=named, samples=384
    )


def _small(size: int, options: Any) -> Iterator[str]:
    work, pool = Small(small(size), size, size // 8), small(size)
    mine = [Side("augrecipes", "`exact`, a batch at once", whole_batches(work.recipe, "exact", pool, size))]
    mine += [
        Side("augrecipes", f"`{level}`", in_batches(ours(work.recipe, level, pool), (3, size, size)))
        for level in ("exact", "none")
    ]
    goals = {side.name: AHEAD | {"albumentations": 1.0, "torchvision": 1.0} for side in mine[:2]}
    title = f"W6: {size}², {work.pad} px of padding"
    yield compare(title, mine, sides_of(work), rounds=15 if options.quick else 101, goals=goals)


def _folder(options: Any) -> Iterator[str]:
    count, rounds = (1024, 3) if options.quick else (4096, 9)
    work = Folder(workloads.write_classes(options.folder / "jpegs", count), 128, 256, options.folder)
    outputs = {FLOATS: "{range: [0, 1]}", _BYTES: "{dtype: uint8, layout: hwc}", "uint8 C×H×W": "{where: device}"}
    pack(_resized(outputs[FLOATS]), str(work.root), options.folder / "small")
    packed = {makes: Packed(options.folder / "small", _resized(output)) for makes, output in outputs.items()}
    mine = [Side("augrecipes", makes, _epochs(ds), makes) for makes, ds in packed.items()]
    threads = _epochs(packed[FLOATS], backend="threads", num_workers=2)
    extra = [Side("augrecipes", f"{FLOATS}, 2 threads", threads, FLOATS)]
    extra.append(Side("numpy", "one gather a batch", _gathers(packed[_BYTES]), _BYTES, np.__version__))
    goals = {
        f"augrecipes, {_BYTES}": {"numpy, one gather a batch": 0.5, "article, HDF5, 2 workers": 30,
                                  "article, image folder, 2 workers": 80},
        f"augrecipes, {FLOATS}": AHEAD | {"article, HDF5, 2 workers": 15},
    }  # fmt: skip
    peers = (side for sides in (extra, sides_of(work)) for side in sides)
    yield compare(f"W3: {count:,} of 128²", mine, peers, rounds=rounds, goals=goals, samples=1024)


def _flipped(options: Any) -> Iterator[str]:
    """All sides make the same, and have something left to draw."""
    count, rounds = (1024, 3) if options.quick else (4096, 9)
    work = Folder(workloads.write_classes(options.folder / "jpegs", count), 128, 256, options.folder, flip=True)
    recipe = _resized("{range: [0, 1]}", flip=True)
    pack(recipe, str(work.root), options.folder / "small")
    mine = Side("augrecipes", FLOATS, _epochs(Packed(options.folder / "small", recipe)))
    title, goals = f"W3f: {count:,} of 128², flipped", {mine.name: AHEAD}
    yield compare(title, [mine], sides_of(work), rounds=rounds, goals=goals, samples=1024)


def _resized(output: str, *, flip: bool = False) -> ar.Recipe:
    resize, more = "Resize: {height: 128, width: 128}", ", HorizontalFlip: {p: 0.5}" if flip else ""
    return parse_text(f"{{version: 1, recipe: small, steps: [{resize}{more}], eval: [{resize}], output: {output}}}")


def _epochs(ds: Packed, **how: Any) -> Any:
    loader = ar.loader(ds, 256, shuffle=True, **({"num_workers": 0} | how))
    return lambda: iter(loader)


def _gathers(ds: Packed) -> Any:
    """One gather a batch of the stored images, and of the labels."""
    block = np.stack([ds.store.array("image", k) for k in range(len(ds))])
    labels, rng = np.asarray(ds.labels), np.random.default_rng(0)

    def run() -> Iterator[Batch]:
        order = rng.permutation(len(block))
        for start in range(0, len(order), 256):
            rows = order[start : start + 256]
            yield {"image": block[rows], "label": labels[rows]}

    return run


def _pairs(options: Any) -> Iterator[str]:
    scenes, rounds = (4, 2) if options.quick else (16, 7)
    work = Pairs(options.folder / "hr", options.folder / "lr", 48, 2, 16, options.folder)
    workloads.write_pairs(work, scenes)
    crop = "RandomCrop: {height: 48, width: 48, at: lr}"
    recipe = parse_text(
        f"{{version: 1, recipe: crops, kind: pair, scales: {{lr: 1, hr: 2}}, steps: [{crop}], eval: []}}"
    )
    pack(recipe, {"hr": str(work.hr), "lr": str(work.lr)}, options.folder / "pairs")
    _same_pixels(work, options.folder / "pairs", recipe)
    ds = Packed(options.folder / "pairs", recipe, samples_per_epoch=40 * 16)
    loader = ar.loader(ds, 16, shuffle=True, backend="batches")
    mine = Side("augrecipes", "packed", lambda: iter(loader))
    goals = {mine.name: {"article, PNGs decoded whole": 1000, "article, patches in .npy": 4}}
    yield compare("W4: 16 crops of 48 and 96", [mine], sides_of(work), rounds=rounds, goals=goals)


def _same_pixels(work: Pairs, packed: Path, recipe: ar.Recipe) -> None:
    """What comes out is the decoded file at the window that was drawn."""
    ds = Packed(packed, recipe, save_applied_params=True)
    for i, files in enumerate(zip(sorted(work.lr.iterdir()), sorted(work.hr.iterdir()), strict=True)):
        sample = ds[i]
        for name, path in zip(("lr", "hr"), files, strict=True):
            y0, x0, y1, x1 = sample["window"][name]
            whole = cv2.imread(str(path))[y0:y1, x0:x1, ::-1].transpose(2, 0, 1)
            if not np.array_equal(np.rint(sample[name].numpy() * 255).astype(np.uint8), whole):
                raise SystemExit(f"a crop of {path} is not what the file holds there")


_W2 = {"fast": AHEAD | {"albumentations, on cv2": 1.35}, "exact": {"albumentations, on cv2": 1.35}}
_W5 = {"exact": AHEAD | {"albumentations, on simplejpeg": 1.35}}
PARTS = {
    "W1": lambda options: _tiles("W1", 512, 224, options),
    "W1b": lambda options: _tiles("W1b", 1024, 256, options),
    "W1s": _stains,
    "W2": lambda options: _photographs("W2", ResizedCrops, "imagenet-train", (375, 500), 224, _W2, options),
    "W3": _folder,
    "W3f": _flipped,
    "W4": _pairs,
    "W5": lambda options: _photographs("W5", Windows, "jpeg-crop-256", (533, 800), 256, _W5, options),
    "W6-32": lambda options: _small(32, options),
    "W6-64": lambda options: _small(64, options),
    "W6-128": lambda options: _small(128, options),
}

if __name__ == "__main__":
    photographs = {"type": Path, "metavar": "FOLDER", "help": "of photographs, for W2 and W5"}
    run(__file__, __doc__, "W1 to W6, and every peer", _METHOD, PARTS, more={"photos": photographs})
