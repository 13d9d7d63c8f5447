"""How much of what other people have `augrecipes import` takes, by source, and what it refuses and why.

python benchmarks/importing.py --recipes FOLDER            prints a row for each source
python benchmarks/importing.py --write --recipes FOLDER    prints, and writes the section `importing` of RESULTS.md

FOLDER may hold a `pipelines.json` beside or above it: a list of objects whose `body` is a pipeline that people
published, as [class, arguments, children]. `--configs FOLDER` takes every file of a folder as a config of its own.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from options import Part, parser, run
from results import Row

from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.importing import draft_of, of_document, of_value
from augrecipes.bring.torchvision import steps as torchvision
from augrecipes.compat.albumentations import A
from augrecipes.errors import RecipeError
from augrecipes.ops import registry
from augrecipes.ops.groups import GROUPS, ONE_OR_OTHER
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED

_METHOD = """\
Nothing is timed. A class is imported when a pipeline of it becomes a recipe without anything left out. The signatures
of albumentations are those of every release since 1.0.0, one for each set of arguments and defaults that a class has
had (tests/bring/albumentations_releases.json, which the tests import one by one); what is refused is listed with the
reason that the user is told. Published pipelines are imported from their `body`."""
_RELEASES = Path(__file__).parents[1] / "tests" / "bring" / "albumentations_releases.json"
_BASES = ("BasicTransform", "DualTransform", "ImageOnlyTransform", "Transform3D", "Compose")


def main() -> None:
    known = parser(__doc__)
    known.add_argument("--recipes", type=Path, metavar="FOLDER", help="where recipes of published pipelines lie")
    known.add_argument("--configs", type=Path, metavar="FOLDER", help="configs, a file each")
    options = known.parse_args()
    parts: dict[str, Part] = {"albumentations": _albumentations, "torchvision": _torchvision}
    if options.recipes is not None:
        parts["published"] = lambda: _published(options.recipes)
    if options.configs is not None:
        parts["configs"] = lambda: _configs(options.configs)
    log = logging.getLogger("augrecipes")
    log.setLevel(logging.ERROR)
    run(__file__, "What is imported, and what is not", _METHOD, parts, options)


def _albumentations() -> Iterator[Row]:
    names = [name for name in registry.names() if hasattr(A, name)]
    known = {*names, *GROUPS, *OUTPUTS[:3], ONE_OR_OTHER}
    refused = {name: why for name, why in REFUSED.items() if hasattr(A, name) and name not in (*_BASES, *known)}
    yield Row("albumentations 2.0.8, classes", f"{len(known)} of {len(known) + len(refused)}", "", "")
    entries = json.loads(_RELEASES.read_text(encoding="utf-8"))
    classes = {entry["class"] for entry in entries}
    yield Row("albumentations 1.0.0 to 2.0.8, signatures", f"{len(entries)}", f"of {len(classes)} classes", "")
    reasons: dict[str, list[str]] = {}
    for name, why in refused.items():
        reasons.setdefault(why.partition(";")[0], []).append(name)
    for why, refused_names in reasons.items():
        yield Row(f"refused: {', '.join(refused_names)}", "", why, "")


def _torchvision() -> Iterator[Row]:
    made, apart = torchvision._MAKERS, torchvision._APART
    yield Row("torchvision v2, classes", f"{len(made)} of {len(made) + len(apart)}", "", "")
    for name, why in apart.items():
        yield Row(f"refused: {name}", "", why.partition("; ")[0], "")


def _published(folder: Path) -> Iterator[Row]:
    file = next(path for path in (folder / "pipelines.json", folder.parent / "pipelines.json") if path.is_file())
    entries = json.loads(file.read_text(encoding="utf-8"))
    found: Counter[str] = Counter()
    for entry in entries:
        found[_outcome(of_document(of_value({"body": entry["body"]}, entry["id"])))] += 1
    yield Row("pipelines that people published", f"{found['whole']} of {len(entries)}", "from their body", _rest(found))


def _configs(folder: Path) -> Iterator[Row]:
    by_suffix: dict[str, Counter[str]] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            found = _outcome(draft_of(str(path)))
        except RecipeError as error:
            found = str(error).partition(": ")[2][:60]
        by_suffix.setdefault(f"configs, {path.parent.name}", Counter())[found] += 1
    for name, outcomes in by_suffix.items():
        yield Row(name, f"{outcomes['whole']} of {outcomes.total()}", "", _rest(outcomes))


def _outcome(draft: RecipeDraft) -> str:
    """`whole`, or what is in the way."""
    try:
        draft.recipe()
    except RecipeError as error:
        return str(error).splitlines()[0][:60]
    left = draft.left_out()
    return "whole" if not left else f"without {', '.join(sorted({part.name for part in left}))}"


def _rest(found: Counter[str]) -> str:
    return "; ".join(f"{count} {what}" for what, count in found.items() if what != "whole")


if __name__ == "__main__":
    main()
