"""Configs that other people wrote: how many `augrecipes import` reads whole, in part, or refuses, and why.

python benchmarks/imports.py --configs FOLDER            prints a row for each folder in FOLDER
python benchmarks/imports.py --write --configs FOLDER    prints, and writes the section `imports` of RESULTS.md

FOLDER holds a folder a source, such as `BasicSR`. Every file in it counts, at any depth; where a source has a file
`FILES.txt`, only those that it lists, one path a line: the others are there because these extend them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from options import parser, run
from results import Row

import augrecipes as ar
from augrecipes.bring.importing import draft_of

_METHOD = """\
Each file is imported as the command does, and the recipe is checked as any other is. `whole`: nothing is left out. `in
part`: a recipe that holds what it can, and names the rest, with what comes nearest; the rows below a source count these
parts, once a file. `refused`: no recipe, and the rows say why. Files are those of public repositories of the date above
that name transforms in the forms that are imported, found by searching their text, not chosen by hand."""
_LISTED = "FILES.txt"
_MOST = 12  # reasons that are shown of a source


class Outcome(NamedTuple):
    """What came of one file."""

    verdict: str
    reasons: tuple[str, ...] = ()


def outcome(file: Path) -> Outcome:
    """Import one file."""
    try:
        draft = draft_of(str(file))
        draft.to_yaml()
    except ar.RecipeError as error:
        message = error.problems[0].message if error.problems else str(error)
        return Outcome("refused", (f"refused: {_short(message)}",))
    left = sorted({f"left out: {part.name}, {_short(part.message)}" for part in draft.left_out()})
    return Outcome("in part" if left else "whole", tuple(left))


def _short(message: str) -> str:
    """A reason without what only one file says."""
    if "computes `" in message:
        return "computed in Python"
    return message.partition(":")[0].partition(";")[0].replace("|", "/")[:90]


def files_of(source: Path) -> list[Path]:
    """The files of a source that count."""
    listed = source / _LISTED
    if listed.exists():
        return [source / line for line in listed.read_text(encoding="utf-8").splitlines() if line]
    return sorted(file for file in source.rglob("*") if file.is_file())


def coverage(folder: Path) -> Iterator[Row]:
    """A row for each source, and for what was left out of it."""
    for source in sorted(path for path in folder.iterdir() if path.is_dir()):
        found = [outcome(file) for file in files_of(source)]
        count = Counter(each.verdict for each in found)
        reasons = Counter(reason for each in found for reason in each.reasons)
        share = (count["whole"] + count["in part"]) / len(found) if found else 0.0
        said = ", ".join(f"{count[verdict]} {verdict}" for verdict in ("whole", "in part", "refused") if count[verdict])
        yield Row(source.name, said, f"of {len(found)} files", f"{share:.0%} give a recipe")
        for reason, number in reasons.most_common(_MOST):
            yield Row(f"  {reason}", f"in {number}", "", "")


def main() -> None:
    """Import every file, and tell."""
    options = parser(str(__doc__))
    options.add_argument("--configs", metavar="FOLDER", type=Path, required=True, help="of sources, a folder each")
    chosen = options.parse_args()
    run(__file__, "Import coverage by source", _METHOD, {"coverage": lambda: coverage(chosen.configs)}, chosen)


if __name__ == "__main__":
    main()
