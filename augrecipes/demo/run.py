"""The demo: draws data, reads it through recipes, shows that it is reproducible, and how fast it went."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

import augrecipes as ar
from augrecipes.demo.arrivals import Arrival, arrivals
from augrecipes.demo.dataset import DemoData, draw_dataset
from augrecipes.demo.proofs import Proof, bag_ways, image_ways, pair_ways, prove
from augrecipes.demo.scenes import Scenes, draw_scenes
from augrecipes.demo.slides import BAGS, draw_slides
from augrecipes.demo.speed import BagSpeed, Speed, measure, measure_bags
from augrecipes.demo.tables import arrival_table, next_steps, proof_table, speed_table
from augrecipes.preview import preview
from augrecipes.progress import Progress
from augrecipes.recipe.model import Optimize

_BAG = "stained-tissue-bag"
_STAGES = ("stained-tissue", "real-esrgan-x4")

# Shows how far something named is: a function of (done, total).
Show = Callable[[str], AbstractContextManager[Progress]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Where the demo's data lie.

    Attributes:
        images: tissue and photos.
        scenes: pairs.
        slides: folder of bags.
    """

    images: DemoData
    scenes: Scenes
    slides: Path


@dataclass(frozen=True, slots=True)
class Report:
    """What the demo found.

    Attributes:
        data: what it drew.
        proofs: ways of reading one epoch, with digests, by what was read.
        grids: preview pictures that were written.
        arrivals: when bags were delivered.
        speeds: samples per second.
        tiles: tiles per second, or None where nothing was measured.
        seconds: what all of it took.
    """

    data: Drawn
    proofs: Mapping[str, tuple[Proof, ...]]
    grids: tuple[Path, ...]
    arrivals: tuple[Arrival, ...]
    speeds: tuple[Speed, ...]
    tiles: BagSpeed | None
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether every proof came out as it must."""
        return all(proof.holds for proofs in self.proofs.values() for proof in proofs)


def run_demo(
    out: Path,
    *,
    console: Console | None = None,
    tiles: int = 36,
    photos: int = 24,
    scenes: int = 8,
    bags: int = len(BAGS),
    seed: int = 0,
    shrink: int = 1,
    workers: int = 2,
    spawn: bool = True,
    seconds: float = 0.6,
    rows: int = 4,
    columns: int | None = None,
    progress: Show = lambda what: nullcontext(lambda done, total: None),
) -> Report:
    """Run the whole demo and write its files into `out`.

    Args:
        out: folder, made when missing.
        console: where to print; None is standard output.
        tiles: tissue tiles to draw.
        photos: photos to draw.
        scenes: pairs to draw.
        bags: slides to draw.
        seed: of data and draws.
        shrink: divides the height and width of the drawn tiles and photos, and the number of tiles of the slides. Pairs
            stay as large as the recipes' windows need them.
        workers: worker processes to compare with none.
        spawn: also start workers afresh.
        seconds: length of each speed measurement; 0 leaves them out.
        rows: pictures in a preview grid.
        columns: draws in a preview grid; None leaves it to the preview.
        progress: shows how far it is.

    Raises:
        OSError: the folder cannot be written.
        AugrecipesError: a recipe or a file is not as it should be.
    """
    console = console or Console()
    out, start = Path(out), perf_counter()
    with _report_once(console):
        console.print(Text("1  A small data set, drawn by formula", style="bold"))
        with _counted(progress, "drawing", tiles + photos + scenes + bags) as advance:
            images = draw_dataset(
                out, tiles=tiles, photo_count=photos, seed=seed, shrink=shrink, progress=lambda done, _: advance(done)
            )
            done = tiles + photos
            pairs = draw_scenes(out / "pairs", count=scenes, seed=seed, progress=lambda k, _: advance(done + k))
            slides = draw_slides(
                out / "slides", bags=bags, seed=seed, shrink=shrink, progress=lambda k, _: advance(done + scenes + k)
            )
        data = Drawn(images, pairs, slides)
        _say(
            console,
            f"{tiles} stained tissue tiles with masks and boxes, {photos} photos, {scenes} scenes at three "
            f"resolutions, {bags} slides as bags of tiles  ({_took(start)})",
        )
        console.print(Text("2  One epoch, read in several ways", style="bold"))
        proofs = _prove(data, progress, workers=workers, spawn=spawn)
        _show(console, proof_table(proofs))

        console.print(Text("3  What the recipes do", style="bold"))
        began = perf_counter()
        grids = tuple(_draw_grids(out / "grids", data, progress, seed=seed, rows=rows, columns=columns))
        _say(console, f"{len(grids)} pictures in {escape(str(out / 'grids'))}  ({_took(began)})")

        console.print(Text("4  Bags of very different size, delivered as soon as they are done", style="bold"))
        came = tuple(arrivals(os.fspath(slides), _BAG, workers=max(workers, 2)))
        _show(console, arrival_table(came, max(workers, 2)))

        speeds: list[Speed] = []
        per_second = None
        if seconds > 0:
            console.print(Text("5  Samples per second, measured now", style="bold"))
            jobs = _shown(data)
            with _counted(progress, "measuring", len(jobs) + 1) as advance:
                for k, one in enumerate(jobs):
                    speeds.append(measure(one.recipe, one.word, one.dataset, workers=workers, seconds=seconds))
                    advance(k + 1)
                per_second = measure_bags(os.fspath(slides), _BAG, seconds=seconds)
            _show(console, speed_table(speeds, per_second, workers))
    spent = perf_counter() - start
    console.print(next_steps(out, images.tissue, spent))
    return Report(data, proofs, grids, came, tuple(speeds), per_second, spent)


def _prove(data: Drawn, progress: Show, *, workers: int, spawn: bool) -> dict[str, tuple[Proof, ...]]:
    """Every kind of data, read in several ways."""
    tissue, pairs, slides = os.fspath(data.images.tissue), data.scenes.roots("hr", "lr"), os.fspath(data.slides)
    ways = {
        "images, stained-tissue": image_ways(tissue, "stained-tissue", workers=workers, spawn=spawn),
        "pairs, sr-x4": pair_ways(pairs, "sr-x4", workers=workers),
        f"bags, {_BAG}": bag_ways(slides, _BAG, workers=workers),
    }
    total = sum(map(len, ways.values()))
    with _counted(progress, "reading", total) as advance:
        done = iter(range(total))
        return {what: tuple(prove(some, lambda _: advance(next(done)))) for what, some in ways.items()}


class _Shown(NamedTuple):
    """A recipe of the gallery, the word for the data that it suits, and where these are."""

    recipe: str
    word: str
    source: Any
    masks: Path | None = None

    def dataset(self, optimize: Optimize) -> ar.ImageFolder | ar.PairedImages:
        """The recipe over its data."""
        if self.word == "pairs":
            return ar.PairedImages(self.source, self.recipe, optimize=optimize)
        where = {"files" if self.source.suffix == ".csv" else "root": self.source}
        return ar.ImageFolder(**where, recipe=self.recipe, masks=self.masks, optimize=optimize)


def _shown(data: Drawn) -> list[_Shown]:
    """What is previewed and measured."""
    images, roots = data.images, data.scenes.roots
    return [
        _Shown("stained-tissue", "tissue", images.tissue),
        _Shown("segmentation", "tissue, masks", images.tissue, images.masks),
        _Shown("detection", "tissue, boxes", images.table),
        *(_Shown(name, "photos", images.photos) for name in ("imagenet-train", "folder-128", "jpeg-crop-256")),
        _Shown("sr-x4", "pairs", roots("hr", "lr")),
        _Shown("sr-multiscale", "pairs", roots("hr", "x2", "lr")),
        _Shown("real-esrgan-x4", "pairs", roots("hr")),
    ]


def _draw_grids(
    folder: Path, data: Drawn, progress: Show, *, seed: int, rows: int, columns: int | None
) -> Iterator[Path]:
    """Write one preview a recipe, and some that show a recipe step by step."""
    shown = [*_shown(data), _Shown(_BAG, "bags", data.slides)]
    jobs = [(one, "") for one in shown] + [(one, "-stages") for one in shown if one.recipe in _STAGES]
    with _counted(progress, "drawing grids", len(jobs)) as advance:
        for k, (one, stages) in enumerate(jobs):
            yield preview(
                one.recipe, one.source, folder / f"{one.recipe}{stages}.png", masks=one.masks, seed=seed,
                rows=min(rows, 2) if stages else rows, columns=columns, stages=bool(stages),
            )  # fmt: skip
            advance(k + 1)


@contextmanager
def _report_once(console: Console) -> Iterator[None]:
    """Print each message that the library logs once, however often the same data are opened."""
    said: set[str] = set()

    class Once(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            message = record.getMessage()
            if message not in said:
                said.add(message)
                console.print(Padding(Text(message, style="dim"), (0, 0, 0, 3), expand=False))

    logger, handler = logging.getLogger("augrecipes"), Once(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def _counted(progress: Show, what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function of the number done, of so many."""
    with progress(what) as advance:
        yield lambda done: advance(done, total)


def _say(console: Console, line: str) -> None:
    console.print(Padding(line, (0, 0, 1, 3), expand=False), highlight=False)


def _show(console: Console, table: RenderableType) -> None:
    console.print(Padding(table, (0, 0, 1, 3), expand=False))


def _took(began: float) -> str:
    return f"{perf_counter() - began:.1f} s"
