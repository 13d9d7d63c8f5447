"""What the demo prints: proofs, arrivals, speeds, and where to go from here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from augrecipes.demo.arrivals import Arrival, Times
from augrecipes.demo.proofs import Proof
from augrecipes.demo.speed import BagSpeed, Speed
from augrecipes.machine import cores

_BUSY = 0.15  # of the time
_BAR = 24  # characters of the longest bar


def proof_table(proofs: Mapping[str, Sequence[Proof]]) -> Table:
    """A line for each way of reading, under the words for what was read."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(4):
        table.add_column(no_wrap=True)
    for number, (what, found) in enumerate(proofs.items()):
        if number:
            table.add_row()
        table.add_row(Text(what, style="dim"))
        for proof in found:
            mark = Text("✓", style="green") if proof.holds else Text("✗ NOT AS EXPECTED", style="bold red")
            said = {"reference": "", "same": "the same", "different": "differs, as it must"}[proof.expected]
            style = "dim" if proof.expected == "different" else "cyan"
            table.add_row(f"  {proof.how}", Text(proof.digest[:12], style=style), mark, Text(said, style="dim"))
    return table


def arrival_table(arrivals: Sequence[Arrival], workers: int) -> Group:
    """How long each bag was worked on, and how long it then waited: in order, and delivered as soon as it was done."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("bag", no_wrap=True)
    table.add_column("tiles", justify="right")
    for name in ("in order", "in_order=False"):
        table.add_column(f"{name}, ms", no_wrap=True, min_width=_BAR)
        table.add_column("waited", justify="right", no_wrap=True)
    longest = max(max(one.in_order.delivered, one.at_once.delivered) for one in arrivals)
    waited = [0.0, 0.0]
    for one in arrivals:
        cells: list[Text | str] = [one.bag, str(one.tiles)]
        for k, times in enumerate((one.in_order, one.at_once)):
            waited[k] += times.waited
            cells += [_bar(times, longest), Text(f"{times.waited:.0f}", style="yellow" if times.waited > 10 else "dim")]
        table.add_row(*cells)
    in_all = [Text(f"{value:.0f}", style="bold") for value in waited]
    table.add_row(Text("in all", style="dim"), "", "", in_all[0], "", in_all[1])
    note = (
        f"━ until the bag is done, ╌ until the training loop has it; {workers} workers. In order, small bags "
        "wait for the large one that was begun before them. The samples are the same."
    )
    return Group(table, Text(note, style="dim"))


def _bar(times: Times, longest: float) -> Text:
    done = max(round(min(times.done, times.delivered) / longest * _BAR), 1)
    return Text.assemble(
        ("━" * done, "cyan"), ("╌" * (max(round(times.delivered / longest * _BAR), 1) - done), "yellow")
    )


def speed_table(speeds: Sequence[Speed], bags: BagSpeed, workers: int) -> Group:
    """Samples per second of images and pairs, tiles per second of bags."""
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
        "none: the steps as albumentations runs them; exact: the optimised plan, the same bits; one thread each, "
        f"decoding and batching included. {cores()} cores, shared with whatever else runs now."
    )
    why = lost_to_workers(speeds, workers)
    tiles = Text.assemble(
        f"{bags.recipe}: ", (f"{bags.one:,.0f}", "bold"), " tiles per second with one thread, ",
        (f"{bags.two:,.0f}", "bold"), f" with two (×{bags.two / bags.one:.2f})",
    )  # fmt: skip
    return Group(table, Padding(tiles, (1, 0)), Text(note, style="dim"), *([Text(f"\n{why}")] if why else []))


def lost_to_workers(speeds: Sequence[Speed], workers: int) -> str:
    """Why some recipes are read more slowly with workers than without; nothing where none is.

    >>> print(lost_to_workers([Speed("folder-128", "photos", 600, 630, 410, waited=0.4)], 2))
    With 2 workers folder-128 is slower than with none. The machine is busy: this process waited for a core 40 % of ...
    """
    slower = [speed for speed in speeds if speed.parallel is not None and speed.parallel < speed.exact]
    if not slower:
        return ""
    names = ", ".join(dict.fromkeys(speed.recipe for speed in slower))
    waited = sum(speed.waited for speed in speeds) / len(speeds)
    why = (
        f"The machine is busy: this process waited for a core {100 * waited:.0f} % of the time, and so do workers, "
        "while each sample of theirs must still be handed over to this process."
        if waited > _BUSY
        else "Its samples take so little time that handing them over from another process costs more than a second "
        "core brings."
        if len(slower) == 1
        else "Their samples take so little time that handing them over from another process costs more than a second "
        "core brings."
    )
    are = "is" if len(slower) == 1 else "are"
    return (
        f"With {workers} workers {names} {are} slower than with none. {why} "
        'ar.loader(ds, 16, num_workers="auto") measures which is quicker, and takes that.'
    )


def next_steps(out: Path, tissue: Path, spent: float) -> Group:
    """Commands to try next."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    activate = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("augrecipes") is None and activate.is_file():
        table.add_row("first", f". {os.path.relpath(activate)}")
    table.add_row("look at", f"{out / 'grids'}{os.sep}*.png")
    table.add_row("see the plan", "augrecipes explain stained-tissue")
    table.add_row("your own images", "augrecipes preview imagenet-train FOLDER -o grid.png")
    table.add_row("your own pairs", "augrecipes preview sr-x4 hr=FOLDER lr=FOLDER -o pairs.png")
    table.add_row("your own slides", "augrecipes preview stained-tissue-bag FOLDER -o bags.png")
    table.add_row("your own recipe", "augrecipes check my-recipe.yaml")
    table.add_row("two side by side", "augrecipes bench A.yaml B.yaml --data FOLDER -o report/")
    table.add_row("in Python", "import augrecipes as ar")
    table.add_row("", f'ds = ar.ImageFolder("{tissue.as_posix()}", "stained-tissue")')
    table.add_row("", "dl = ar.loader(ds, batch_size=16, num_workers=2)")
    return Group(Text(f"Done in {spent:.0f} s. Next:", style="bold"), Padding(table, (0, 0, 0, 3), expand=False))
