"""The demo: draws data, reads it through recipes, shows that it is reproducible, and how fast it went."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console, Group
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Table
from rich.text import Text

from augrecipes.demo.dataset import DemoData, draw_dataset
from augrecipes.demo.proofs import Proof, prove
from augrecipes.demo.speed import Speed, measure
from augrecipes.preview import preview
from augrecipes.recipe import load

# Each gallery recipe, the data it suits, and the word for them.
_SHOWN = (
    ("stained-tissue", "tissue"),
    ("segmentation", "tissue, masks"),
    ("detection", "tissue, boxes"),
    ("imagenet-train", "photos"),
    ("folder-128", "photos"),
    ("jpeg-crop-256", "photos"),
)
_PROVEN = "stained-tissue"


@dataclass(frozen=True, slots=True)
class Report:
    """What the demo found.

    Attributes:
        data: where the data set lies.
        proofs: ways of reading one epoch, with digests.
        grids: preview pictures that were written.
        speeds: samples per second.
        seconds: what all of it took.
    """

    data: DemoData
    proofs: tuple[Proof, ...]
    grids: tuple[Path, ...]
    speeds: tuple[Speed, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether every proof came out as it must."""
        return all(proof.holds for proof in self.proofs)


def run_demo(
    out: Path,
    *,
    console: Console | None = None,
    tiles: int = 36,
    photos: int = 24,
    seed: int = 0,
    shrink: int = 1,
    workers: int = 2,
    spawn: bool = True,
    seconds: float = 0.6,
    rows: int = 4,
    columns: int = 6,
) -> Report:
    """Run the whole demo and write its files into `out`.

    Args:
        out: folder, made when missing.
        console: where to print; None is standard output. Progress bars appear on standard error, on a terminal only.
        tiles: tissue tiles to draw.
        photos: photos to draw.
        seed: of data and draws.
        shrink: divides the height and width of the drawn images.
        workers: worker processes to compare with none.
        spawn: also start workers afresh.
        seconds: length of each speed measurement; 0 leaves them out.
        rows: pictures in a preview grid.
        columns: draws in a preview grid.

    Raises:
        OSError: the folder cannot be written.
        AugrecipesError: a recipe or a file is not as it should be.
    """
    console = console or Console()
    start = perf_counter()
    out = Path(out)
    console.print(Text("1  A small data set, drawn by formula", style="bold"))
    began = perf_counter()
    with _bar(console, "drawing", tiles + photos) as advance:
        data = draw_dataset(
            out, tiles=tiles, photo_count=photos, seed=seed, shrink=shrink, progress=lambda done, _: advance(done)
        )
    _say(console, f"{tiles} stained tissue tiles with masks and boxes, {photos} photos  ({_took(began)})")

    console.print(Text("2  One epoch, read in several ways", style="bold"))
    recipe = load(_PROVEN)
    ways = 8 if spawn else 7
    with _bar(console, "reading", ways) as advance:
        done = iter(range(ways))
        proofs = prove(
            os.fspath(data.tissue), recipe, workers=workers, spawn=spawn, step=lambda _: advance(next(done, ways))
        )
    console.print(Padding(_proof_table(proofs), (0, 0, 1, 3), expand=False))

    console.print(Text("3  What the recipes do", style="bold"))
    began = perf_counter()
    grids = list(_draw_grids(out / "grids", data, console, seed=seed, rows=rows, columns=columns))
    _say(console, f"{len(grids)} pictures in {escape(str(out / 'grids'))}  ({_took(began)})")

    speeds: list[Speed] = []
    if seconds > 0:
        console.print(Text("4  Samples per second, measured now", style="bold"))
        with _bar(console, "measuring", len(_SHOWN)) as advance:
            for k, (name, source) in enumerate(_SHOWN):
                speeds.append(measure(name, source, _where(data, source), workers=workers, seconds=seconds))
                advance(k + 1)
        console.print(Padding(_speed_table(speeds, workers), (0, 0, 1, 3), expand=False))
    spent = perf_counter() - start
    console.print(_next_steps(out, data, spent))
    return Report(data, tuple(proofs), tuple(grids), tuple(speeds), spent)


def _where(data: DemoData, source: str) -> dict[str, Any]:
    """What tells ImageFolder to read this kind of data."""
    tissue = os.fspath(data.tissue)
    return {
        "tissue": {"root": tissue},
        "tissue, masks": {"root": tissue, "masks": os.fspath(data.masks)},
        "tissue, boxes": {"files": os.fspath(data.table)},
        "photos": {"root": os.fspath(data.photos)},
    }[source]


def _draw_grids(
    folder: Path, data: DemoData, console: Console, *, seed: int, rows: int, columns: int
) -> Iterator[Path]:
    """Write one preview a recipe, and one that shows a recipe step by step."""
    jobs = [(name, source, False) for name, source in _SHOWN] + [("stained-tissue", "tissue", True)]
    with _bar(console, "drawing grids", len(jobs)) as advance:
        for k, (name, source, stages) in enumerate(jobs):
            target = folder / (f"{name}-stages.png" if stages else f"{name}.png")
            where = _where(data, source)
            source_path, masks = where.get("root") or where["files"], where.get("masks")
            yield preview(
                name, source_path, target, masks=masks, rows=2 if stages else rows, columns=columns, seed=seed,
                stages=stages,
            )  # fmt: skip
            advance(k + 1)


@contextmanager
def _bar(console: Console, what: str, total: int) -> Iterator[Any]:
    """A progress bar on standard error, gone when it is done; yields a function that takes the number done."""
    errors = Console(stderr=True, no_color=console.no_color)
    columns = (TextColumn("   {task.description}"), BarColumn(bar_width=32), MofNCompleteColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task: TaskID = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


def _say(console: Console, line: str) -> None:
    console.print(Padding(line, (0, 0, 1, 3), expand=False), highlight=False)


def _took(began: float) -> str:
    return f"{perf_counter() - began:.1f} s"


def _proof_table(proofs: list[Proof]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(4):
        table.add_column(no_wrap=True)
    for proof in proofs:
        mark = Text("✓", style="green") if proof.holds else Text("✗ NOT AS EXPECTED", style="bold red")
        said = {"reference": "", "same": "the same", "different": "differs, as it must"}[proof.expected]
        style = "dim" if proof.expected == "different" else "cyan"
        table.add_row(proof.how, Text(proof.digest[:12], style=style), mark, Text(said, style="dim"))
    return table


def _speed_table(speeds: list[Speed], workers: int) -> Group:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("recipe", no_wrap=True)
    table.add_column("data", no_wrap=True)
    table.add_column("none", justify="right")
    table.add_column("exact", justify="right", style="bold")
    table.add_column("gain", justify="right")
    table.add_column(f"exact, {workers} workers", justify="right")
    for speed in speeds:
        parallel = f"{speed.parallel:,.0f}" if speed.parallel else ""
        gain = f"×{speed.exact / speed.none:.2f}"
        table.add_row(speed.recipe, speed.source, f"{speed.none:,.0f}", f"{speed.exact:,.0f}", gain, parallel)
    note = (
        "none: the steps as albumentations runs them; exact: the optimised plan, the\n"
        "same bits; one thread each, decoding and batching included.\n"
        f"{os.cpu_count()} cores, shared with whatever else runs now."
    )
    return Group(table, Text(note, style="dim"))


def _next_steps(out: Path, data: DemoData, spent: float) -> Group:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    activate = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("augrecipes") is None and activate.is_file():
        table.add_row("first", f". {os.path.relpath(activate)}")
    table.add_row("look at", f"{out / 'grids'}{os.sep}*.png")
    table.add_row("see the plan", "augrecipes explain stained-tissue")
    table.add_row("your own images", "augrecipes preview imagenet-train FOLDER -o grid.png")
    table.add_row("your own recipe", "augrecipes check my-recipe.yaml")
    table.add_row("in Python", "import augrecipes as ar")
    table.add_row("", f'ds = ar.ImageFolder("{data.tissue.as_posix()}", "stained-tissue")')
    table.add_row("", "dl = ar.loader(ds, batch_size=16, num_workers=2)")
    return Group(Text(f"Done in {spent:.0f} s. Next:", style="bold"), Padding(table, (0, 0, 0, 3), expand=False))
