"""What the demo prints: proofs, and where to go from here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from augrecipes.demo.proofs import Proof


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
    table.add_row("how fast it is", f"augrecipes bench stained-tissue {tissue.as_posix()} --against stock")
    table.add_row("two side by side", "augrecipes bench A.yaml B.yaml --data FOLDER -o report/")
    table.add_row("in Python", "import augrecipes as ar")
    table.add_row("", f'ds = ar.ImageFolder("{tissue.as_posix()}", "stained-tissue")')
    table.add_row("", "dl = ar.loader(ds, batch_size=16)")
    there = find_spec("uvicorn") is not None and find_spec("starlette") is not None
    table.add_row("write your own", Text("augrecipes studio" if there else "pip install 'augrecipes[studio]'"))
    if not there:
        table.add_row("", "augrecipes studio")
    return Group(Text(f"Done in {spent:.0f} s. Next:", style="bold"), Padding(table, (0, 0, 0, 3), expand=False))
