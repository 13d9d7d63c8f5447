"""How much of what other people have `augrecipes import` takes, by source, and what it refuses and why.

python benchmarks/importing.py                              classes of albumentations and of torchvision
python benchmarks/importing.py --recipes DIR --configs DIR  and published pipelines, and configs
python benchmarks/importing.py --write --recipes DIR --configs DIR    all that into section `importing` of RESULTS.md

--recipes: beside or above the folder lies `pipelines.json`, a list of objects whose `body` is a pipeline that people
published, as [class, arguments, children]. --configs: the folder holds one a source, such as `BasicSR`. Every file in
it counts, at any depth; where a source has a file `FILES.txt`, only those that it lists, one path a line: the others
are there because these extend them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from options import Part, parser, run
from results import Row

from augrecipes.compat.albumentations import A
from augrecipes.errors import RecipeError
from augrecipes.interop.draft import RecipeDraft
from augrecipes.interop.importing import draft_of, of_document, of_value
from augrecipes.interop.torchvision import signatures
from augrecipes.interop.torchvision import steps as torchvision
from augrecipes.ops import registry
from augrecipes.ops.groups import GROUPS, ONE_OR_OTHER
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED

_METHOD = """\
Nothing is timed. A class is imported when a pipeline of it becomes a recipe without anything left out. The signatures
of albumentations are those of every release since 1.0.0, one for each set of arguments and defaults that a class has
had (tests/interop/albumentations_releases.json, which the tests import one by one); what is refused is listed with the
reason that the user is told. Published pipelines are imported from their `body`, configs as the command does it, and
the recipe is checked as any other is. `whole`: nothing is left out. `in part`: a recipe that holds what it can, and
names the rest, with what comes nearest; the rows below a source count these parts, once a file. `refused`: no recipe,
and the rows say why. Configs are those of public repositories of the date above that name transforms in the forms that
are imported, found by searching their text, not chosen by hand."""
_RELEASES = Path(__file__).parents[1] / "tests" / "interop" / "albumentations_releases.json"
_BASES = ("BasicTransform", "DualTransform", "ImageOnlyTransform", "Transform3D", "Compose")
_LISTED = "FILES.txt"
_MOST = 12  # reasons that are shown of a source


class Outcome(NamedTuple):
    """What came of one pipeline."""

    verdict: str
    reasons: tuple[str, ...] = ()


def main() -> None:
    """Import everything, and tell."""
    known = parser(str(__doc__))
    known.add_argument("--recipes", type=Path, metavar="DIR", help="where recipes of published pipelines lie")
    known.add_argument("--configs", type=Path, metavar="DIR", help="configs of sources, a folder each")
    options = known.parse_args()
    parts: dict[str, Part] = {"albumentations": _albumentations, "torchvision": _torchvision}
    if options.recipes is not None:
        parts["published"] = lambda: _published(options.recipes)
    if options.configs is not None:
        parts["configs"] = lambda: _configs(options.configs)
    run(__file__, "What is imported, by source, and what is not", _METHOD, parts, options)


def _albumentations() -> Iterator[Row]:
    known = {*(name for name in registry.names() if hasattr(A, name)), *GROUPS, *OUTPUTS[:3], ONE_OR_OTHER}
    refused = {name: why for name, why in REFUSED.items() if hasattr(A, name) and name not in (*_BASES, *known)}
    yield Row("albumentations 2.0.8, classes", f"{len(known)} of {len(known) + len(refused)}", "", "")
    entries = json.loads(_RELEASES.read_text(encoding="utf-8"))
    classes = {entry["class"] for entry in entries}
    yield Row("albumentations 1.0.0 to 2.0.8, signatures", f"{len(entries)}", f"of {len(classes)} classes", "")
    reasons: dict[str, list[str]] = {}
    for name, why in refused.items():
        reasons.setdefault(why.partition(";")[0], []).append(name)
    for why, names in reasons.items():
        yield Row(f"  refused: {', '.join(names)}", "", why, "")


def _torchvision() -> Iterator[Row]:
    made, apart = signatures.MAKERS, torchvision.APART
    yield Row("torchvision v2, classes", f"{len(made)} of {len(made) + len(apart)}", "", "")
    for name, why in apart.items():
        yield Row(f"  refused: {name}", "", why.partition("; ")[0], "")


def _published(folder: Path) -> Iterator[Row]:
    file = next(path for path in (folder / "pipelines.json", folder.parent / "pipelines.json") if path.is_file())
    entries = json.loads(file.read_text(encoding="utf-8"))

    def draft(entry: Any) -> RecipeDraft:
        return of_document(of_value({"body": entry["body"]}, entry["id"]))

    yield from _source("pipelines that people published, from their body", "pipelines", draft, entries)


def _configs(folder: Path) -> Iterator[Row]:
    for source in sorted(path for path in folder.iterdir() if path.is_dir()):
        yield from _source(source.name, "files", lambda file: draft_of(str(file)), _files_of(source))


def _files_of(source: Path) -> list[Path]:
    listed = source / _LISTED
    if listed.exists():
        return [source / line for line in listed.read_text(encoding="utf-8").splitlines() if line]
    return sorted(file for file in source.rglob("*") if file.is_file())


def _source(name: str, what: str, draft: Callable[[Any], RecipeDraft], given: Iterable[Any]) -> Iterator[Row]:
    """A row for a source, and for what is left out of it, or refused."""
    found = [outcome(lambda one=one: draft(one)) for one in given]
    count = Counter(each.verdict for each in found)
    reasons = Counter(reason for each in found for reason in each.reasons)
    share = (count["whole"] + count["in part"]) / len(found) if found else 0.0
    said = ", ".join(f"{count[verdict]} {verdict}" for verdict in ("whole", "in part", "refused") if count[verdict])
    yield Row(name, said, f"of {len(found)} {what}", f"{share:.0%} give a recipe")
    for reason, number in reasons.most_common(_MOST):
        yield Row(f"  {reason}", f"in {number}", "", "")


def outcome(make: Callable[[], RecipeDraft]) -> Outcome:
    """What comes of importing something."""
    try:
        draft = make()
        draft.recipe()
    except RecipeError as error:
        message = error.problems[0].message if error.problems else str(error)
        return Outcome("refused", (f"refused: {_short(message)}",))
    left = sorted({f"left out: {part.name}, {_short(part.message)}" for part in draft.left_out()})
    return Outcome("in part" if left else "whole", tuple(left))


def _short(message: str) -> str:
    """A reason without what only one file says."""
    if "computes `" in message:
        return "computed in Python"
    return message.partition(":")[0].partition(";")[0].replace("|", "/")[:90]


if __name__ == "__main__":
    main()
