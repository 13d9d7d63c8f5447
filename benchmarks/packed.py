"""Packed stores beside the source articles' own Datasets: small pictures in batches, and crops of large pairs.

python benchmarks/packed.py            prints
python benchmarks/packed.py --write    prints, and writes the section `packed` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from articles import FolderDataset, Hdf5Dataset, NpyPairs, PngPairs, loader, write_hdf5, write_npy
from measure import Pair, conditions, in_turns, settle
from results import Row, put_section, table

import augrecipes as ar
from augrecipes.data.packed import Packed
from augrecipes.pack.run import pack
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

_BATCH, _SIDE = 256, 128
_PAIRS, _PATCH, _SCALE = 16, 48, 2
_HR = (1356, 2040)
_METHOD = """\
One thread for augrecipes (`cv2.setNumThreads(0)`, `torch.set_num_threads(1)`, `backend="batches"`), glibc's allocator
tuned alike for both sides and in the peers' workers; files and stores in the page cache; in turns A B A B, medians ±
median distance, a ratio is the median over the turns. Small pictures (W3): JPEGs of about 160 px resized to 128², in
shuffled batches of 256; the peers are the article's own Datasets under torch's DataLoader with two workers that are
kept, timed over whole epochs; `one gather` is `block[indices]` of the same store, a batch at a time, and nothing else.
Pairs (W4): batches of 16 crops, 48 and 96 px, of pictures of 2040×1356 and half of it; the peers are the article's
Dataset that decodes both PNGs whole, and its patches that were cut beforehand into .npy files of float32, both in
process. Before anything is timed, one batch of each side is compared: shape, dtype and values (for W4 the crop of the
decoded PNG at the window that was drawn, bit for bit)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    parser.add_argument("--quick", action="store_true", help="fewer files and turns: is everything still there?")
    parser.add_argument("--only", metavar="WORD", help="only the parts whose name holds it", default="")
    options = parser.parse_args()
    where = conditions()
    settle()
    parts: dict[str, Callable[[Path], Iterator[Row]]] = {
        "W3": lambda folder: _small(folder, 1024 if options.quick else 8192, 3 if options.quick else 9),
        "W4": lambda folder: _pairs(folder, 4 if options.quick else 16, 3 if options.quick else 25),
    }
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        chosen = [part(Path(temporary)) for name, part in parts.items() if options.only in name]
        for row in itertools.chain.from_iterable(chosen):
            print(row, flush=True)
            rows.append(row)
    if options.write and not (options.quick or options.only):
        body = table(Row.HEAD, rows)
        title = "## Packed stores (`python benchmarks/packed.py --write`)"
        put_section("packed", "\n\n".join((title, where, _METHOD, body)))


# -- W3: small pictures ------------------------------------------------------------------------------------------------


def _small_recipe(output: str) -> Recipe:
    text = f"{{version: 1, recipe: small, steps: [Resize: {{height: {_SIDE}, width: {_SIDE}}}], output: {output}}}"
    return parse_text(text)


def _small(root: Path, count: int, turns: int) -> Iterator[Row]:
    _draw_jpegs(root / "jpegs", count)
    floats = "{dtype: float32, layout: chw, range: [0, 1]}"
    pack(_small_recipe(floats), str(root / "jpegs"), root / "small")
    folder = FolderDataset(root / "jpegs", _SIDE)
    write_hdf5(root / "small.h5", folder)
    hdf5 = Hdf5Dataset(root / "small.h5")
    _same_pictures(Packed(root / "small", _small_recipe(floats)), folder, hdf5)
    for what, output, goals in (
        ("uint8 H×W×C", "{dtype: uint8, layout: hwc}", (0.5, 30.0, 80.0)),
        ("uint8 C×H×W, for the device", "{where: device}", (None, None, None)),
        ("float32 C×H×W", floats, (None, 12.0, None)),
    ):
        ds = Packed(root / "small", _small_recipe(output))
        ours = _epochs(ar.loader(ds, _BATCH, shuffle=True, backend="batches"))
        peers: dict[str, tuple[Callable[[], object], float | None]] = {
            "one gather": (_gathers(ds), goals[0]),
            "article's HDF5, 2 workers": (_epochs(loader(hdf5, _BATCH, 2)), goals[1]),
            "article's folder, 2 workers": (_epochs(loader(folder, _BATCH, 2)), goals[2]),
        }
        for name, (peer, goal) in peers.items():
            yield _rate(f"W3: {count:,} of {_SIDE}², {what}", in_turns(ours, peer, turns), name, goal, count)


def _draw_jpegs(folder: Path, count: int) -> None:
    numbers = np.random.default_rng(0)
    for i in range(count):
        height, width = numbers.integers(140, 180, 2).tolist()
        coarse = cv2.resize(
            numbers.integers(0, 256, (9, 9, 3), np.uint8), (width, height), interpolation=cv2.INTER_CUBIC
        )
        picture = cv2.add(coarse, numbers.integers(0, 16, coarse.shape, np.uint8))
        path = folder / f"class-{i % 10}" / f"{i:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        assert cv2.imwrite(str(path), picture, [cv2.IMWRITE_JPEG_QUALITY, 90])


def _same_pictures(ds: Packed, folder: FolderDataset, hdf5: Hdf5Dataset) -> None:
    """Shape, dtype, label and, but for the resizer's filter, values."""
    for i in (0, len(ds) // 2, len(ds) - 1):
        ours, (a, label), (b, again) = ds[i], folder[i], hdf5[i]
        assert ours["image"].shape == a.shape == b.shape
        assert ours["image"].dtype == a.dtype == b.dtype
        assert ours["label"] == label == again
        assert torch.equal(a, b)
        assert float((ours["image"] - a).abs().mean()) < 0.03


def _epochs(batches: Any) -> Callable[[], object]:
    """One epoch a call."""

    def run() -> int:
        return sum(1 for _ in batches)

    return run


def _gathers(ds: Packed) -> Callable[[], object]:
    """What a store's memory allows: each batch one gather of numpy's."""
    block: Any = ds.store.block("image")

    def run() -> int:
        order = np.random.default_rng(0).permutation(len(ds))
        batches = [torch.from_numpy(block[order[at : at + _BATCH]]) for at in range(0, len(order), _BATCH)]
        return len(batches)

    return run


# -- W4: crops of large pairs ------------------------------------------------------------------------------------------


def _pairs(root: Path, scenes: int, turns: int) -> Iterator[Row]:
    recipe = parse_text(
        "{version: 1, recipe: crops, kind: pair, scales: {lr: 1, hr: 2}, "
        f"steps: [RandomCrop: {{height: {_PATCH}, width: {_PATCH}, at: lr}}], eval: []}}"
    )
    _draw_pairs(root, scenes)
    pack(recipe, {"hr": str(root / "hr"), "lr": str(root / "lr")}, root / "pairs")
    pngs = PngPairs(root / "hr", root / "lr", _PATCH, _SCALE)
    write_npy(root / "npy", pngs, 64 * scenes)
    npys = NpyPairs(root / "npy")
    _same_crops(root / "pairs", recipe, pngs, npys)
    long = 1000 * _PAIRS
    ds = Packed(root / "pairs", recipe, samples_per_epoch=long)
    dl = ar.loader(ds, _PAIRS, shuffle=True, backend="batches")
    ours = _steps(lambda: iter(dl))
    for name, peer, calls, goal in (
        ("article's PNGs, decoded whole", loader(_Repeated(pngs, long), _PAIRS, 0), 1, 2000.0),
        ("article's patches in .npy", loader(_Repeated(npys, long), _PAIRS, 0), 40, 5.0),
    ):
        few = max(3, turns // 5) if calls == 1 else turns
        pair = in_turns(_times(ours, 40), _times(_steps(lambda peer=peer: iter(peer)), calls), few)
        yield _batches(f"W4: {_PAIRS} crops of {_PATCH} and {_PATCH * _SCALE} px", pair, 40, calls, name, goal)


class _Repeated(torch.utils.data.Dataset[Any]):
    """A dataset again and again, so that an epoch does not end while it is timed."""

    def __init__(self, inner: Any, length: int) -> None:
        self.inner, self.length = inner, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> Any:
        return self.inner[i % len(self.inner)]


def _draw_pairs(root: Path, count: int) -> None:
    numbers = np.random.default_rng(1)
    for name in ("hr", "lr"):
        (root / name).mkdir()
    for i in range(count):
        coarse = cv2.resize(numbers.integers(0, 256, (40, 60, 3), np.uint8), _HR[::-1], interpolation=cv2.INTER_CUBIC)
        picture = cv2.add(coarse, numbers.integers(0, 10, coarse.shape, np.uint8))
        assert cv2.imwrite(str(root / "hr" / f"{i:04}.png"), picture)
        half = cv2.resize(picture, (_HR[1] // _SCALE, _HR[0] // _SCALE), interpolation=cv2.INTER_AREA)
        assert cv2.imwrite(str(root / "lr" / f"{i:04}x2.png"), half)


def _same_crops(store: Path, recipe: Recipe, pngs: PngPairs, npys: NpyPairs) -> None:
    """What comes out is the decoded file at the window that was drawn; and the peers' samples are of that kind."""
    ds = Packed(store, recipe, save_applied_params=True)
    for i in range(4):
        sample, files = ds[i], {"lr": pngs.lr[i], "hr": pngs.hr[i]}
        for name, other in zip(("lr", "hr"), pngs[i], strict=True):
            y0, x0, y1, x1 = sample["window"][name]
            whole = cv2.imread(str(files[name]))[y0:y1, x0:x1, ::-1].transpose(2, 0, 1)
            assert np.array_equal(np.rint(sample[name].numpy() * 255).astype(np.uint8), whole)
            assert sample[name].shape == other.shape
            assert sample[name].dtype == other.dtype
    assert [part.shape for part in npys[0]] == [part.shape for part in pngs[0]]


def _steps(begin: Callable[[], Any]) -> Callable[[], object]:
    """The next batch, of epoch after epoch."""
    state = {"batches": begin()}

    def run() -> object:
        try:
            return next(state["batches"])
        except StopIteration:
            state["batches"] = begin()
            return next(state["batches"])

    return run


def _times(work: Callable[[], object], calls: int) -> Callable[[], object]:
    def run() -> None:
        for _ in range(calls):
            work()

    return run


# -- lines -------------------------------------------------------------------------------------------------------------


def _rate(what: str, pair: Pair, peer: str, goal: float | None, count: int) -> Row:
    ours, theirs = (f"{count / t.median:,.0f}/s ± {100 * t.spread / t.median:.0f}%" for t in (pair.ours, pair.peer))
    return Row(what, ours, f"{peer} {theirs}", _verdict(pair.ratio, goal))


def _batches(what: str, pair: Pair, ours: int, theirs: int, peer: str, goal: float) -> Row:
    mine, its = pair.ours.median / ours, pair.peer.median / theirs
    return Row(what, f"{mine * 1e3:.2f} ms", f"{peer} {its * 1e3:.2f} ms", _verdict(pair.ratio * ours / theirs, goal))


def _verdict(ratio: float, goal: float | None) -> str:
    told = f"×{ratio:,.0f}" if ratio >= 100 else f"×{ratio:.2f}"
    return told if goal is None else f"{told}, goal ×{goal:g}: {'met' if ratio >= goal else 'missed'}"


if __name__ == "__main__":
    main()
