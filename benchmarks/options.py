"""What every script here shares: its command line, telling what it measures, and writing its section."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from measure import conditions, settle
from results import HEAD, Row, put_section, table

# A part of a script: rows, gathered into one table, or texts that are told as they are.
Part = Callable[[], Iterable[Row | str]]


def parser(doc: str) -> ArgumentParser:
    """The options of every script; one may add its own."""
    parser = ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    parser.add_argument("--quick", action="store_true", help="a tenth of the turns: is everything still there?")
    parser.add_argument("--only", metavar="WORD", help="only the parts whose name holds it", default="")
    return parser


def run(script: str, title: str, method: str, parts: Mapping[str, Part], options: Any) -> None:
    """Measure the parts one after another, tell each row as it comes, and write the section when all were measured.

    Args:
        script: the script's `__file__`: the section bears its name.
        title: of the section.
        method: how it was measured.
        parts: by name, for `--only`.
        options: those of `parser`.
    """
    chosen = {name: part for name, part in parts.items() if options.only in name}
    if not chosen:
        raise SystemExit(f"--only {options.only}: no part has that in its name; there are {', '.join(parts)}")
    where = conditions()
    settle()
    blocks: list[str | list[Row]] = []
    for part in chosen.values():
        for found in part():
            print(found, flush=True)
            if isinstance(found, str):
                blocks.append(found)
            elif blocks and isinstance(blocks[-1], list):
                blocks[-1].append(found)
            else:
                blocks.append([found])
    if options.write and not options.quick and len(chosen) == len(parts):
        name = Path(script).stem
        tables = [block if isinstance(block, str) else table(HEAD, block) for block in blocks]
        title_line = f"## {title} (`python benchmarks/{name}.py --write`)"
        put_section(name, "\n\n".join((title_line, where, method, *tables)))
