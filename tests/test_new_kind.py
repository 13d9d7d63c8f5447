"""A kind of recipe is a folder, a name and facts: a stranger adds one, as ARCHITECTURE.md says, and all works."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from augrecipes.recipe import kinds

ROOT = Path(__file__).parent.parent
FACTS = "_FACTS: dict[str, Facts] = {\n"
OWN_FACTS = '    "twice": Facts("TwiceDrawn", "image"),\n'
LINE = 'Kind = Literal["image", "pair", "bag", "views"]'
STEPS = "[Resize: {height: 36, width: 44}, RandomCrop: {height: 24, width: 24}, HorizontalFlip, Blur]"
RECIPE = f"version: 1\nrecipe: two\nkind: twice\nsteps: {STEPS}\neval: []\n"
# What a newcomer writes: a folder of recipes of two draws of one image.
FILES = {
    "__init__.py": '''"""Recipes of kind twice: two draws of one image. What a newcomer writes."""
''',
    "dataset.py": '''"""Two views of each image, as a torch Dataset."""

from augrecipes.recipe.kinds import Kind
from augrecipes.kinds.image.dataset import ImageFolder


class TwiceDrawn(ImageFolder):
    """Samples `{"a": tensor, "b": tensor, ...}`; arguments as of ImageFolder."""

    kind: Kind = "twice"


DATASET = TwiceDrawn
''',
    "pipeline.py": '''"""Recipes of kind twice: one image through the steps twice, each time with draws of its own."""

from typing import Any

import numpy as np

from augrecipes.kinds.image.pipeline import ImagePipeline


class TwicePipeline(ImagePipeline):
    """A compiled recipe of kind twice: `image` goes in, `a` and `b` come out, drawn as tiles 0 and 1."""

    origins = {"a": "image", "b": "image"}

    def __init__(self, compiled: Any, *arrival: Any) -> None:
        super().__init__(compiled, *arrival)
        if not compiled.pauses:  # what is packed is the image: both views begin with the same steps
            self.outputs = ("a", "b")

    def sample(self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Any = np.empty) -> Any:
        """Both views."""
        if self.compiled.pauses:
            return super().sample(epoch, index, tile, targets, allocate)
        given = {name: value for name, value in targets.items() if name != "out"}
        made = [super(TwicePipeline, self).sample(epoch, index, k, dict(given)) for k in (0, 1)]
        return dict(zip(self.outputs, (one["image"] for one in made), strict=True))


PIPELINE = TwicePipeline
''',
    "reader.py": '''"""Views are made of image files: listing and checks are those of kind image."""

from augrecipes.kinds.image.reader import TABLE, check, find

__all__ = ["TABLE", "check", "find"]
''',
    "sheet.py": '''"""Sheets of views: both views of an image beside each other."""

from typing import Any

from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_output
from augrecipes.preview.rows import SheetRequest
from augrecipes.preview.sheet import Sheet


def sheet(recipe: Any, request: SheetRequest) -> Any:
    """The sheet of a recipe of kind twice."""
    pipeline, files = request.opened(recipe)
    drawn = [files.sample(k).run(pipeline, request.epoch) for k in range(min(request.rows, len(files)))]
    views = [[rgb_of_output(out[name], recipe.output) for name in pipeline.outputs] for out in drawn]
    return Sheet([SheetRow([CellGroup([Cell(image) for image in of_one])]) for of_one in views], title=recipe.name)
''',
}
PROGRAM = """
import numpy as np, augrecipes as ar
from augrecipes.cli import main
from augrecipes.sources.opening import open_data

recipe = ar.load("two.yaml")
pipeline = recipe.compile(seed=3)
given = open_data(recipe, pipeline.targets, "files").read(2)
first = given.run(pipeline, 0)
assert sorted(first) == ["a", "b"] and first["a"].shape == (3, 24, 24)
assert not np.array_equal(first["a"], first["b"])  # draws of their own
again = recipe.compile(seed=3, optimize="none").at(2)(image=given.images["image"])
assert all(np.array_equal(first[name], again[name]) for name in first)

ds = ar.TwiceDrawn("files", "two.yaml", seed=3)
assert np.array_equal(ds[0, 2]["b"].numpy(), first["b"])
(batch,) = ar.loader(ds, batch_size=4, seed=0)
assert batch["a"].shape == batch["b"].shape == (4, 3, 24, 24)

assert ar.pack("two.yaml", "files", "store").rows == 4
packed = ar.Packed("store", "two.yaml", seed=3)
assert np.array_equal(packed[0, 2]["a"].numpy(), first["a"])
(batch,) = ar.loader(packed, batch_size=4, seed=0)

assert ar.verify("two.yaml", "files", samples=4, optimize="exact").ok
assert "Blur#1" in [row.site for row in ar.explain("two.yaml").steps]
assert not ar.diff("two.yaml", ar.load("two.yaml", overrides={"HorizontalFlip.p": 1.0})).same
for words in ("check two.yaml", "check-data two.yaml files", "explain two.yaml", "preview two.yaml files -o sheet.png"):
    try:
        main(words.split())
    except SystemExit as left:
        assert not left.code, words

for text, wrong in (("scales: {lr: 1, hr: 2}", "of kind pair, and this is kind twice"), ("bag: {}", "of kind bag")):
    try:
        ar.load(open("two.yaml").read() + text)
    except ar.RecipeError as error:
        assert wrong in str(error), error
    else:
        raise AssertionError(text)
try:
    ar.ImageFolder("files", "two.yaml")
except ar.RecipeError as error:
    assert "for ar.TwiceDrawn" in str(error)
print("all is well")
"""


def _house(folder: Path, line: str) -> Path:
    """A copy of the package with the new kind's folder and facts, and the line with its name changed."""
    shutil.copytree(ROOT / "augrecipes", folder / "augrecipes")
    twice = folder / "augrecipes" / "kinds" / "twice"
    twice.mkdir()
    for name, source in FILES.items():
        (twice / name).write_text(source, encoding="utf-8")
    file = folder / "augrecipes" / "recipe" / "kinds.py"
    text = file.read_text(encoding="utf-8")
    assert text.count(LINE) == text.count(FACTS) == 1
    file.write_text(text.replace(LINE, line).replace(FACTS, FACTS + OWN_FACTS), encoding="utf-8")
    (folder / "files").mkdir()
    draw = np.random.default_rng(0)
    for k in range(4):
        cv2.imwrite(str(folder / "files" / f"{k}.png"), draw.integers(0, 256, (40, 48, 3), np.uint8))
    (folder / "two.yaml").write_text(RECIPE, encoding="utf-8")
    return folder


def _run(folder: Path) -> subprocess.CompletedProcess[str]:
    # What a stranger adds is no more than he adds: nothing of this test's environment helps.
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.soak
def test_a_folder_a_name_and_facts_make_a_kind(tmp_path: Path) -> None:
    done = _run(_house(tmp_path, LINE.replace('"views"]', '"views", "twice"]')))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all is well\n")


def test_without_the_name_there_is_no_such_kind(tmp_path: Path) -> None:
    done = _run(_house(tmp_path, LINE))
    assert "E204" in done.stderr


@pytest.mark.parametrize("part", ["pipeline", "reader", "dataset", "sheet"])
def test_each_kind_has_the_same_parts(part: str) -> None:
    """What rooms ask a kind for, each kind has: names in capitals, and functions that may be called alike."""
    files = {kind: Path(kinds.part(kind, part).__file__ or "") for kind in kinds.KINDS}
    assert {file.parent.name for file in files.values()} == set(kinds.KINDS)
    listed = (ROOT / "augrecipes" / "kinds" / "__init__.py").read_text(encoding="utf-8")
    (said,) = [line for line in listed.splitlines() if line.startswith(f"    {part}.py ")]
    for kind in kinds.KINDS:
        for name in ("PIPELINE", "TABLE", "find", "alone", "check", "DATASET", "sheet", "COLUMNS"):
            assert hasattr(kinds.part(kind, part), name) or name not in said.replace(":", " ").split()
