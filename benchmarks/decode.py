"""What it saves to decode only what is used: windows of JPEGs, thumbnails, and training crops, beside whole decodes.

python benchmarks/decode.py                    prints
python benchmarks/decode.py --write            prints, and writes the section `decode` of benchmarks/RESULTS.md
python benchmarks/decode.py --photos FOLDER    takes photographs from there instead of drawn ones
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import albumentations as A
import cv2
import numpy as np
import simplejpeg
import torch
from albumentations.pytorch import ToTensorV2
from jpegs import QUALITY, jpegs
from measure import Pair, Timing, alone, conditions, in_turns, settle
from results import Row, put_section, table
from workloads import Sample, same_kind, stock

import augrecipes as ar
from augrecipes.errors import DecoderError
from augrecipes.ops.registry import construct
from augrecipes.recipe.parse import parse_text
from augrecipes.sources import decoders
from augrecipes.sources.encoded import encoded
from augrecipes.sources.files import decode_image

_BATCH = 32
_CROP = "jpeg-crop-256"
_TRAIN = "imagenet-train"
_THUMBNAILS = """
version: 1
recipe: thumbnails
steps:
  - SmallestMaxSize: {max_size: 256}
  - CenterCrop: {height: 224, width: 224}
eval: []
output: {dtype: float32, layout: chw, normalize: imagenet}
"""
_METHOD = f"""\
JPEGs in memory, quality {QUALITY}, 4:2:0, baseline, without restart markers (but for the rows that say so); drawn
photographs of the demo, or those of `--photos`, scaled. One thread (`cv2.setNumThreads(0)`,
`torch.set_num_threads(1)`), glibc's allocator tuned alike for both sides, both in one process, in turns A B A B, a
sample at a time, written into the same batch of {_BATCH} as float32 C×H×W; medians ± median distance, a ratio is the
median over the turns, and above 1 augrecipes is the quicker. `whole` is the same compiled recipe on the whole decode of
the same library. Stock is `A.Compose` of the same steps with `A.Normalize`, on what the named library decodes. As a
user runs it: stock in a process of its own, with `ToTensorV2` and `torch.stack`, glibc's allocator and OpenCV's threads
as they come; augrecipes in another, with what `ar.loader` sets. Two threads: the same samples dealt out to one and to
two, a pipeline each. The rows with `AUGRECIPES_DECODER` are there where `augrecipes[nvimgcodec]` is installed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    parser.add_argument("--quick", action="store_true", help="a tenth of the turns: is everything still there?")
    parser.add_argument("--photos", type=Path, metavar="FOLDER", help="of photographs")
    parser.add_argument("--only", metavar="WORD", help="only the parts whose name holds it", default="")
    parser.add_argument("--alone", choices=("ours", "stock"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(_alone(options.alone, options.photos, 4 if options.quick else 30))
        return
    where = conditions()
    settle()
    turns = 20 if options.quick else 400
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "W5": lambda: _crops(options.photos, turns),
        "large": lambda: _large(options.photos, turns // 10),
        "W2": lambda: _train(options.photos, turns),
        "user": lambda: _as_a_user(options.photos, 2 if options.quick else 7, quick=options.quick),
        "threads": lambda: _threads(options.photos, turns),
        "nvimgcodec": lambda: _nvimgcodec(options.photos, turns),
    }
    rows = []
    for row in itertools.chain.from_iterable(part() for name, part in parts.items() if options.only in name):
        print(row, flush=True)
        rows.append(row)
    if options.write and not (options.quick or options.only):
        body = table(Row.HEAD, rows)
        put_section("decode", f"## Decoding (`python benchmarks/decode.py --write`)\n\n{where}\n\n{_METHOD}\n\n{body}")


def _crops(folder: Path | None, turns: int) -> Iterator[Row]:
    recipe, pool = ar.load(_CROP), jpegs(folder, 533, 800)
    what = "W5: 800×533 → window 256"
    exact, whole, plain = (
        _reading(recipe, "exact", pool),
        _whole(recipe, "exact", pool),
        _stock(recipe, pool, _simplejpeg),
    )
    same_kind({"exact": exact, "whole": whole, "stock": plain}, (3, 256, 256), 64)
    yield _row(f"{what}, `exact`", _in_batch(exact, whole, 256, turns), "whole", 1.35)
    yield _row(f"{what}, `exact`", _in_batch(exact, plain, 256, turns), "stock on simplejpeg", 1.35)
    cv2_plain = _stock(recipe, pool, _opencv)
    yield _row(f"{what}, `exact`", _in_batch(exact, cv2_plain, 256, turns), "stock on cv2", None)
    marked = jpegs(folder, 533, 800, restart=True)
    pair = _in_batch(_reading(recipe, "exact", marked), _whole(recipe, "exact", marked), 256, turns)
    yield _row("the same with restart markers", pair, "whole", None)


def _large(folder: Path | None, turns: int) -> Iterator[Row]:
    pool = jpegs(folder, 3000, 4000)
    recipe = ar.load(_CROP)
    pair = _in_batch(_reading(recipe, "exact", pool), _whole(recipe, "exact", pool), 256, turns)
    yield _row("12 MP → window 256, `exact`", pair, "whole", 1.5, "ms")
    recipe = parse_text(_THUMBNAILS, root=None)
    fast, whole = _reading(recipe, "fast", pool), _whole(recipe, "fast", pool)
    pair = _in_batch(fast, whole, 224, turns)
    yield _row("12 MP → thumbnail 224, `fast`", pair, "whole", 1.5, "ms")
    marked = jpegs(folder, 3000, 4000, restart=True)
    recipe = ar.load(_CROP)
    pair = _in_batch(_reading(recipe, "exact", marked), _whole(recipe, "exact", marked), 256, turns)
    yield _row("12 MP with restart markers → window 256, `exact`", pair, "whole", None, "ms")


def _train(folder: Path | None, turns: int) -> Iterator[Row]:
    recipe, pool = ar.load(_TRAIN), jpegs(folder, 375, 500)
    what = "W2: 500×375 → random resized crop 224"
    sides = {optimize: _reading(recipe, optimize, pool) for optimize in ("exact", "fast")}
    plain = _stock(recipe, pool, _opencv)
    same_kind({"stock": plain, **sides}, (3, 224, 224), 64)
    for optimize, sample in sides.items():
        yield _row(f"{what}, `{optimize}`", _in_batch(sample, plain, 224, turns), "stock on cv2", 1.35)
    pair = _in_batch(sides["fast"], _whole(recipe, "fast", pool), 224, turns)
    yield _row(f"{what}, `fast`", pair, "whole", None)


def _as_a_user(folder: Path | None, rounds: int, *, quick: bool) -> Iterator[Row]:
    options = [*(["--quick"] if quick else []), *(["--photos", str(folder)] if folder else [])]
    found: dict[str, list[float]] = {"ours": [], "stock": []}
    for _ in range(rounds):
        for side, times in found.items():
            command = [sys.executable, __file__, "--alone", side, *options]
            times.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    times = list(zip(*found.values(), strict=True))
    extra = _timing([ours - plain for ours, plain in times])
    pair = Pair(*map(_timing, found.values()), median(plain / ours for ours, plain in times), extra)
    yield _row("W2 as a user runs it, `fast`", pair, "stock on cv2", 2.0)


def _alone(side: str, folder: Path | None, batches: int) -> float:
    """Seconds a sample of W2, collated, in a process of its own."""
    recipe, pool = ar.load(_TRAIN), jpegs(folder, 375, 500)
    counter = itertools.count()
    if side == "ours":
        settle()
        sample, batch = _reading(recipe, "fast", pool), np.zeros((_BATCH, 3, 224, 224), np.float32)

        def work() -> None:
            for k in range(_BATCH):
                sample(next(counter), batch[k])
    else:
        normal = recipe.output.normalize
        steps = [construct(step) for step in recipe.steps]
        plain = A.Compose([*steps, A.Normalize(mean=normal.mean, std=normal.std), ToTensorV2()])

        def work() -> None:
            torch.stack([plain(image=_opencv(pool[next(counter) % len(pool)]))["image"] for _ in range(_BATCH)])

    return alone(work, batches).median / _BATCH


def _threads(folder: Path | None, turns: int) -> Iterator[Row]:
    for name, recipe, size, out in (("W2", ar.load(_TRAIN), (375, 500), 224), ("W5", ar.load(_CROP), (533, 800), 256)):
        pool = jpegs(folder, *size)
        samples = [_reading(recipe, "fast", pool) for _ in range(2)]
        batches = [np.zeros((_BATCH, 3, out, out), np.float32) for _ in samples]

        def deal(thread: int, threads: int, samples: list[Sample] = samples, batches: list = batches) -> None:
            for k in range(thread, _BATCH, threads):
                samples[thread](k, batches[thread][k])

        with ThreadPoolExecutor(2) as threads:
            both = lambda deal=deal: list(threads.map(deal, (0, 1), (2, 2)))  # noqa: E731
            pair = in_turns(both, lambda deal=deal: list(threads.map(deal, (0,), (1,))), turns // 10)
        yield _row(f"{name}, `fast`, {_BATCH} samples by two threads", pair, "by one", 1.7, "ms")


def _nvimgcodec(folder: Path | None, turns: int) -> Iterator[Row]:
    """Some of the rows above by the optional decoder, where it is installed."""
    try:
        _by_nvimgcodec(decoders.asked)()
    except DecoderError as error:
        print(error, file=sys.stderr)
        return
    for name, which, optimize, size, out, goal in (
        ("W5", _CROP, "exact", (533, 800), 256, 1.35),
        ("W2", _TRAIN, "fast", (375, 500), 224, 1.35),
        ("12 MP", _CROP, "exact", (3000, 4000), 256, 1.5),
    ):
        recipe, pool = ar.load(which), jpegs(folder, *size)
        ours, plain = _by_nvimgcodec(_reading(recipe, optimize, pool)), _reading(recipe, optimize, pool)
        whole, stocks = _whole(recipe, optimize, pool), _stock(recipe, pool, _simplejpeg)
        count, unit = (turns // 10, "ms") if name == "12 MP" else (turns, "µs")
        what = f"{name}, `{optimize}`, `{decoders.ENVIRONMENT}=nvimgcodec`"
        yield _row(what, _in_batch(ours, whole, out, count), "whole", goal, unit)
        yield _row(what, _in_batch(ours, stocks, out, count), "stock on simplejpeg", goal, unit)
        yield _row(what, _in_batch(ours, plain, out, count), "without it", None, unit)


def _by_nvimgcodec(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with that decoder asked first."""

    def calling(*args: Any) -> Any:
        os.environ[decoders.ENVIRONMENT] = "nvimgcodec"
        try:
            return function(*args)
        finally:
            del os.environ[decoders.ENVIRONMENT]

    return calling


def _reading(recipe: ar.Recipe, optimize: str, pool: Sequence[bytes]) -> Sample:
    """A compiled recipe that is given pictures that are not decoded."""
    pipeline = recipe.compile(optimize=optimize)  # type: ignore[arg-type]

    def sample(k: int, out: np.ndarray) -> None:
        pipeline.at(k)(image=encoded(pool[k % len(pool)], name="photo.jpg"), out=out)

    return sample


def _whole(recipe: ar.Recipe, optimize: str, pool: Sequence[bytes]) -> Sample:
    """The same recipe, given arrays."""
    pipeline = recipe.compile(optimize=optimize)  # type: ignore[arg-type]

    def sample(k: int, out: np.ndarray) -> None:
        pipeline.at(k)(image=decode_image(pool[k % len(pool)], name="photo.jpg"), out=out)

    return sample


def _stock(recipe: ar.Recipe, pool: Sequence[bytes], decode: Callable[[bytes], np.ndarray]) -> Sample:
    """`A.Compose` of the same steps."""

    class Decoded(Sequence[np.ndarray]):
        def __len__(self) -> int:
            return len(pool)

        def __getitem__(self, k: int) -> np.ndarray:  # type: ignore[override]
            return decode(pool[k])

    return stock(recipe, Decoded())


def _simplejpeg(data: bytes) -> np.ndarray:
    return simplejpeg.decode_jpeg(data)


def _opencv(data: bytes) -> np.ndarray:
    return cv2.cvtColor(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def _in_batch(a: Sample, b: Sample, size: int, turns: int) -> Pair:
    """Both in turns, sample by sample, each going through the pool and the batch by itself."""
    batch = np.zeros((_BATCH, 3, size, size), np.float32)

    def counted(sample: Sample) -> Callable[[], None]:
        turn = itertools.count()

        def work() -> None:
            k = next(turn)
            sample(k, batch[k % _BATCH])

        return work

    return in_turns(counted(a), counted(b), turns)


def _timing(values: Sequence[float]) -> Timing:
    return Timing(median(values), median(abs(v - median(values)) for v in values))


def _row(what: str, pair: Pair, peer: str, goal: float | None, unit: str = "µs") -> Row:
    verdict = f"×{pair.ratio:.2f}"
    if goal is not None:
        verdict += f", goal ×{goal:g}: {'met' if pair.ratio >= goal else 'missed'}"
    return Row(what, pair.ours.in_units(unit), f"{peer} {pair.peer.in_units(unit)}", verdict)


if __name__ == "__main__":
    main()
