"""The demo: draws data, reads it through recipes, shows that it is reproducible, and draws what recipes do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

import augrecipes as ar
from augrecipes.demo.dataset import DemoData, draw_dataset
from augrecipes.demo.proofs import Proof, more_ways, prove, ways_of
from augrecipes.demo.scenes import Scenes, draw_scenes
from augrecipes.demo.slides import BAGS, draw_slides
from augrecipes.demo.tables import next_steps, proof_table
from augrecipes.preview import preview
from augrecipes.progress import Parts

_BAG = "stained-tissue-bag"
_STAGES = ("stained-tissue", "real-esrgan-x4")

# Shows what is being done, and how far that is: a function of (what, done, total).
Show = Callable[[], AbstractContextManager[Parts]]


@dataclass(frozen=True, slots=True)
class DemoFolders:
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
class DemoReport:
    """What the demo found.

    Attributes:
        data: what it drew.
        proofs: ways of reading one epoch, with digests, by what was read.
        grids: preview pictures that were written.
        seconds: what all of it took.
    """

    data: DemoFolders
    proofs: Mapping[str, tuple[Proof, ...]]
    grids: tuple[Path, ...]
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
    rows: int = 4,
    columns: int | None = None,
    progress: Show = lambda: nullcontext(lambda what, done, total: None),
) -> DemoReport:
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
        rows: pictures in a preview grid.
        columns: draws in a preview grid; None leaves it to the preview.
        progress: shows how far it is.

    Raises:
        OSError: the folder cannot be written.
        AugrecipesError: a recipe or a file is not as it should be.
    """
    console = console or Console()
    out, start = Path(out), perf_counter()
    console.print(Text("1  A small data set, drawn by formula", style="bold"))
    with progress() as advance:
        done, everything = tiles + photos, tiles + photos + scenes + bags

        def drawn(before: int) -> Callable[[int, int], None]:
            return lambda k, _: advance("drawing", before + k, everything)

        advance("drawing", 0, everything)
        images = draw_dataset(out, tiles=tiles, photo_count=photos, seed=seed, shrink=shrink, progress=drawn(0))
        pairs = draw_scenes(out / "pairs", count=scenes, seed=seed, progress=drawn(done))
        slides = draw_slides(out / "slides", bags=bags, seed=seed, shrink=shrink, progress=drawn(done + scenes))
    data = DemoFolders(images, pairs, slides)
    _say(
        console,
        f"{tiles} stained tissue tiles with masks and boxes, {photos} photos, {scenes} scenes at three "
        f"resolutions, {bags} slides as bags of tiles  ({_took(start)})",
    )
    console.print(Text("2  One epoch, read in several ways", style="bold"))
    proofs = _prove(data, progress, workers=workers, spawn=spawn)
    _say(console, proof_table(proofs))

    console.print(Text("3  What the recipes do", style="bold"))
    began = perf_counter()
    grids = tuple(_render_grids(out / "grids", data, progress, seed=seed, rows=rows, columns=columns))
    _say(console, f"{len(grids)} pictures in {escape(str(out / 'grids'))}  ({_took(began)})")

    spent = perf_counter() - start
    console.print(next_steps(out, images.tissue, spent))
    return DemoReport(data, proofs, grids, spent)


def _prove(data: DemoFolders, progress: Show, *, workers: int, spawn: bool) -> dict[str, tuple[Proof, ...]]:
    """Every kind of data, read in several ways."""
    tissue, pairs, slides = os.fspath(data.images.tissue), data.scenes.roots("hr", "lr"), os.fspath(data.slides)
    images = partial(ar.ImageFolder, tissue, "stained-tissue", optimize="exact")
    ways = {
        "images, stained-tissue": [*ways_of(images, 8, 3, workers), *more_ways(images, 8, workers, spawn=spawn)],
        "pairs, sr-x4": ways_of(partial(ar.PairedImages, pairs, "sr-x4", optimize="exact"), 4, 3, workers),
        f"bags, {_BAG}": ways_of(partial(ar.TileBags, slides, _BAG, optimize="exact"), 1, 1, workers),
    }
    total = sum(map(len, ways.values()))
    with progress() as advance:
        done = iter(range(total))

        def shown(what: str) -> Callable[[str], None]:
            return lambda how: advance(f"reading {what}, {how}", next(done), total)

        return {what: tuple(prove(some, shown(what))) for what, some in ways.items()}


class _GallerySheet(NamedTuple):
    """A recipe of the gallery, and data that suit it."""

    recipe: str
    source: Any
    masks: Path | None = None


def _shown(data: DemoFolders) -> list[_GallerySheet]:
    """What is previewed."""
    images, roots = data.images, data.scenes.roots
    return [
        _GallerySheet("stained-tissue", images.tissue),
        _GallerySheet("segmentation", images.tissue, images.masks),
        _GallerySheet("detection", images.table),
        *(_GallerySheet(name, images.photos) for name in ("imagenet-train", "folder-128", "jpeg-crop-256")),
        _GallerySheet("sr-x4", roots("hr", "lr")),
        _GallerySheet("sr-multiscale", roots("hr", "x2", "lr")),
        _GallerySheet("real-esrgan-x4", roots("hr")),
        _GallerySheet(_BAG, data.slides),
    ]


def _render_grids(
    folder: Path, data: DemoFolders, progress: Show, *, seed: int, rows: int, columns: int | None
) -> Iterator[Path]:
    """Write one preview a recipe, and some that show a recipe step by step."""
    shown = _shown(data)
    jobs = [(one, "") for one in shown] + [(one, "-stages") for one in shown if one.recipe in _STAGES]
    with progress() as advance:
        for k, (one, stages) in enumerate(jobs):
            advance(f"drawing what {one.recipe} does", k, len(jobs))
            yield preview(
                one.recipe, one.source, folder / f"{one.recipe}{stages}.png", masks=one.masks, seed=seed,
                rows=min(rows, 2) if stages else rows, columns=columns, stages=bool(stages),
            )  # fmt: skip


def _say(console: Console, what: RenderableType) -> None:
    console.print(Padding(what, (0, 0, 1, 3), expand=False), highlight=False)


def _took(began: float) -> str:
    return f"{perf_counter() - began:.1f} s"
