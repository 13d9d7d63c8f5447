"""Ours and every peer of one workload: checked to make the same kind of sample, timed in rounds, shown as a table."""

from __future__ import annotations

import gc
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import cv2
import numpy as np
from harness import Timing, table, times, timing_of

import augrecipes as ar

Batch = Mapping[str, Any]  # what is in a batch, by name: arrays or tensors, the sample first
Batches = Callable[[], Iterable[Batch]]
Sample = Callable[[int, np.ndarray], None]  # one sample: the number of the call, and where to put the image

BATCH = 32
FLOATS = "float32 C×H×W"
METHOD = """\
In each round, all sides take turns in a new random order; a turn is a pass of whole batches, and no work of it
continues into another side's turn. Medians over the rounds ± median distance; a ratio is the median over the rounds
of that side's time divided by ours, and above 1 ours is faster. One thread each (`cv2.setNumThreads(0)`,
`torch.set_num_threads(1)`, `OMP_NUM_THREADS=1`, one thread or worker if a library has its own), unless a row says
otherwise, and glibc's allocator tuned alike for all. Before anything is timed, the samples of every side are compared
with ours: shape, dtype, range, means, spread and sharpness, colours of the classes, and whether pairs match."""

# The least ratio that a side of ours should reach beside a peer, or beside each side of a maker: goals[ours][peer].
Goals = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: it makes batches of the workload in its own way.

    Attributes:
        maker: who makes it: `augrecipes`, `kornia`.
        form: which of its ways: "`fast`", "on PIL images"; may be empty.
        batches: begins a pass; what is timed in one turn.
        makes: the images' dtype and layout.
        version: of its library.
    """

    maker: str
    form: str
    batches: Batches
    makes: str = FLOATS
    version: str = ""

    @property
    def name(self) -> str:
        """As goals name it.

        >>> Side("kornia", "batches of 8", list, version="0.9.0").name
        'kornia, batches of 8'
        """
        return ", ".join(part for part in (self.maker, self.form) if part)

    def __str__(self) -> str:
        return ", ".join(part for part in (f"{self.maker} {self.version}".rstrip(), self.form) if part)


@dataclass(frozen=True, slots=True)
class Missing:
    """A peer that is not measured, and why."""

    maker: str
    why: str

    def __str__(self) -> str:
        return f"{self.maker}: {self.why}"


class Each(Sequence[Any]):
    """What a function makes of each item, when it is read."""

    def __init__(self, items: Sequence[Any], make: Callable[[Any], Any]) -> None:
        self.items, self.make = items, make

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, k: int) -> Any:  # type: ignore[override]
        return self.make(self.items[k])


def in_batches(sample: Sample, shape: Sequence[int], dtype: Any = np.float32, batch: int = BATCH) -> Batches:
    """Passes of one batch each, filled sample by sample; call after call the samples go on."""
    turn, out = itertools.count(), np.zeros((batch, *shape), dtype)

    def run() -> Iterator[Batch]:
        for place in out:
            sample(next(turn), place)
        yield {"image": out}

    return run


def counted(sample: Sample, batch: np.ndarray) -> Callable[[], None]:
    """One sample a call, going through the batch again and again."""
    turn = itertools.count()

    def work() -> None:
        k = next(turn)
        sample(k, batch[k % len(batch)])

    return work


def ours(recipe: ar.Recipe, optimize: str, pool: Sequence[Any], **more: Any) -> Sample:
    """A compiled recipe, writing into the batch. `pool`: arrays or files' bytes; `more`: what else a sample has."""
    pipeline = recipe.compile(optimize=optimize)  # type: ignore[arg-type]

    def sample(k: int, out: np.ndarray) -> None:
        pipeline.at(k)(image=pool[k % len(pool)], out=out, **more)

    return sample


def whole_batches(
    recipe: ar.Recipe, optimize: str, pool: Sequence[Any], out: int, *, threads: int = 1, batch: int = BATCH
) -> Batches:
    """Passes of one batch each, by one call that may share it among threads; the samples are those of `ours`."""
    pipeline: Any = recipe.compile(optimize=optimize)  # type: ignore[arg-type]
    turn, made = itertools.count(0, batch), np.zeros((batch, 3, out, out), np.float32)

    def run() -> Iterator[Batch]:
        first = next(turn)
        images = [pool[k % len(pool)] for k in range(first, first + batch)]
        yield {"image": pipeline.batch(images, range(first, first + batch), out=made, threads=threads)}

    return run


def kind_of(side: Side, count: int) -> dict[str, Any]:
    """What `count` samples of a side, or more, are like: shape, means, spread and sharpness by name, and so on.

    Raises:
        SystemExit: they are not what the side says that it makes, or not finite.
    """
    parts: dict[str, list[np.ndarray]] = {}
    found = 0
    while found < count:
        for batch in side.batches():
            if found < count:
                for name in ("image", "lr", "hr", "label"):
                    if name in batch:
                        values = np.asarray(batch[name]).copy()  # a copy: the side may use the memory again
                        parts.setdefault(name, []).append(values if name == "label" else _floats(values, side))
                found += len(values)
    whole = {name: np.concatenate(values) for name, values in parts.items()}
    labels = whole.pop("label", None)
    kind: dict[str, Any] = {"side": str(side), "names": tuple(whole), "classes": {}, "apart": 0.0}
    for name, values in whole.items():
        edges = sum(float(np.abs(np.diff(values, axis=axis)).mean()) for axis in (2, 3))
        kind[name] = values.shape[1:], values.mean((0, 2, 3)), float(values.std()), edges
    if labels is not None:
        first = next(iter(whole.values()))
        kind["classes"] = {int(label): first[labels == label].mean((0, 2, 3)) for label in np.unique(labels)}
    if "lr" in whole:  # how far small images are from large ones reduced to their size
        size = whole["lr"].shape[:1:-1]
        small = (cv2.resize(a.transpose(1, 2, 0), size, interpolation=cv2.INTER_AREA) for a in whole["hr"])
        kind["apart"] = float(
            np.mean([np.abs(a - b.transpose(1, 2, 0)).mean() for a, b in zip(small, whole["lr"], strict=True)])
        )
    return kind


def same_kind(kind: Mapping[str, Any], like: Mapping[str, Any], loose: float = 1.0) -> None:
    """Compare what a side makes with what another does; `loose`: how much more than usual they may differ.

    Raises:
        SystemExit: they make different samples.
    """
    wrong = [] if kind["names"] == like["names"] else [f"{kind['names']} and {like['names']} in a batch"]
    for name in set(kind["names"]) & set(like["names"]):
        (shape, means, spread, edge), (shape_, means_, spread_, edge_) = kind[name], like[name]
        if shape != shape_ or np.abs(means - means_).max() >= 0.25 * loose * spread_:
            wrong.append(f"{name}: {shape} of means {means}, and {shape_} of {means_}")
        if abs(spread / spread_ - 1) >= 0.2 * loose or abs(edge / edge_ - 1) >= 0.4 * loose:
            wrong.append(f"{name}: spread {spread:.3f} and {spread_:.3f}, sharpness {edge:.4f} and {edge_:.4f}")
    if kind["classes"].keys() != like["classes"].keys():
        wrong.append("labels")
    elif any(
        np.abs(mean - like["classes"][label]).max() > 0.25 * loose * spread_ for label, mean in kind["classes"].items()
    ):
        wrong.append("colours of classes")
    if kind["apart"] > like["apart"] * 1.5 + 0.5 / 255:
        wrong.append(f"pairs {255 * kind['apart']:.2f} and {255 * like['apart']:.2f} levels apart")
    if wrong:
        raise SystemExit(f"{kind['side']} and {like['side']} make different samples: {'; '.join(wrong)}")


def _floats(images: np.ndarray, side: Side) -> np.ndarray:
    """As float32 N×C×H×W; uint8 as 0..1."""
    dtype, layout = side.makes.split()[:2]
    channels = {"C×H×W": 1, "H×W×C": -1}[layout]
    if images.ndim != 4 or str(images.dtype) != dtype or images.shape[channels] != 3:
        raise SystemExit(f"{side}: makes {images.dtype} {images.shape}, not batches of {side.makes}")
    images = images.transpose(0, 3, 1, 2) if channels == -1 else images
    floats = images.astype(np.float32) / (255 if dtype == "uint8" else 1)
    if not np.isfinite(floats).all():
        raise SystemExit(f"{side}: not all that it makes is finite")
    return floats


def compare(
    title: str,
    ours: Sequence[Side],
    peers: Iterable[Side | Missing],
    *,
    rounds: int,
    goals: Goals | None = None,
    samples: int = 64,
    loose: float = 1.0,
) -> str:
    """Check all sides, then time them.

    Args:
        title: the workload.
        ours: those that get a column of ratios; they may differ in what they make.
        peers: made one by one, so that workers of one are there before threads of the next.
        rounds: turns of each side.
        goals: by names of sides, or of their makers.
        samples: of each side, that are checked.
        loose: how much more than usual sides may differ.

    Returns:
        A Markdown table, and lines for those peers that are not measured.

    Raises:
        SystemExit: a side makes other samples.
    """
    goals = goals or {}
    first = kind_of(ours[0], samples)
    sides, missing = [ours[0]], []
    for side in itertools.chain(ours[1:], peers):
        if isinstance(side, Missing):
            missing.append(side)
        else:
            same_kind(kind_of(side, samples), first, loose)
            sides.append(side)
    there = {name for side in sides for name in (side.name, side.maker)} | {peer.maker for peer in missing}
    named = {name for wanted in goals.values() for name in wanted} | set(goals)
    if unknown := {name for name in named if name not in there and name.partition(",")[0] not in there}:
        raise ValueError(f"goals for {sorted(unknown)}, which nobody offers")
    seconds: dict[str, list[float]] = {side.name: [] for side in sides}
    rng = random.Random(0)
    for _ in range(rounds):
        for side in rng.sample(sides, len(sides)):
            seconds[side.name].append(_turn(side))
    columns = (title, "ms a sample", "samples/s", *(f"{side.form} is" for side in ours))
    text = table(columns, [_row(side, ours, seconds, goals) for side in sides])
    return "\n".join([text, "\nNot measured:\n", *(f"- {peer}" for peer in missing)]) if missing else text


def _turn(side: Side) -> float:
    """Seconds a sample, of one pass."""
    gc.disable()
    try:
        start, samples = perf_counter(), 0
        for batch in side.batches():
            samples += len(next(iter(batch.values())))
        return (perf_counter() - start) / samples
    finally:
        gc.enable()


def _row(side: Side, ours: Sequence[Side], seconds: Mapping[str, list[float]], goals: Goals) -> tuple[str, ...]:
    found: Timing = timing_of(seconds[side.name])
    name = str(side) if side.makes in (ours[0].makes, side.form) else f"{side}: {side.makes}"
    cells = []
    for lead in ours:
        wanted = goals.get(lead.name, {})
        ratio = median(b / a for a, b in zip(seconds[lead.name], seconds[side.name], strict=True))
        cells.append("" if side is lead else times(ratio, wanted.get(side.name, wanted.get(side.maker))))
    digits = 2 if found.median >= 1e-3 else 3 if found.median >= 1e-4 else 4
    milliseconds = f"{found.median * 1e3:.{digits}f} ± {found.spread * 1e3:.{digits}f}"
    return name, milliseconds, f"{1 / found.median:,.0f}", *cells
