"""Data on the command line: read as a Dataset's arguments are, and left as they were: names, bytes, times."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from support.checks import rows
from support.folders import draw_waves

import augrecipes as ar
from augrecipes.cli.arguments import data_of, is_data, split_words
from augrecipes.cli.parsing import UsageError
from augrecipes.errors import DataError
from augrecipes.recipe.parse import parse_text
from augrecipes.sources import opening
from augrecipes.sources.opening import open_data, words_of

PAIR = (
    "{version: 1, recipe: two, kind: pair, scales: {lr: 1, hr: 4}, steps: [RandomCrop: {height: 8, width: 8, at: lr}]}"
)
BAG = "{version: 1, recipe: bags, kind: bag, steps: [HorizontalFlip]}"


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """COCO, YOLO, CSV files with columns of other names, and their images in a folder that nobody looks into."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for split in ("train", "val"):
        for folder in ("scans", f"yolo/images/{split}", f"yolo/labels/{split}"):
            Path(folder).mkdir(parents=True, exist_ok=True)
    for name, side in (("a", 64), ("b", 64), ("a_s", 16), ("b_s", 16)):
        cv2.imwrite(f"scans/{name}.png", rng.integers(0, 256, (side, side, 3), np.uint8))
    for name, split in (("a", "train"), ("b", "val")):
        cv2.imwrite(f"yolo/images/{split}/{name}.png", rng.integers(0, 256, (64, 64, 3), np.uint8))
        Path(f"yolo/labels/{split}/{name}.txt").write_text("0 0.5 0.5 0.25 0.25\n")
    Path("yolo/data.yaml").write_text("path: .\ntrain: images/train\nval: images/val\nnames: [cat]\n")
    Path("coco").mkdir()
    Path("coco/boxes.json").write_text(json.dumps({
        "images": [{"id": k, "file_name": f"{name}.png", "width": 64, "height": 64} for k, name in enumerate("ab", 1)],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": [
            {"id": k, "image_id": 1, "category_id": k, "bbox": [4 * k, 8, 20, 20], "iscrowd": k - 1} for k in (1, 2)
        ],
    }))  # fmt: skip
    tables = {
        "boxes.csv": "pic,kind,part\nPATH/a.png,cat,train\nPATH/b.png,dog,val\n",
        "pairs.csv": "small,big,split\nPATH/a_s.png,PATH/a.png,train\nPATH/b_s.png,PATH/b.png,val\n",
        "bags.csv": "slide,tile,split\none,PATH/a.png,train\ntwo,PATH/b.png,val\n",
        "plain.csv": "image,label\nPATH/a.png,cat\n",
        "two.yaml": PAIR,
        "bags.yaml": BAG,
    }
    for name, text in tables.items():
        Path(name).write_text(text.replace("PATH", "scans"))
    return tmp_path


CSV = {"image": "pic", "label": "kind", "split": "part"}
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("detection", "coco/boxes.json", {"images": "scans", "crowds": "keep"}),
    ("detection", "coco/boxes.json", {"images": "scans", "box_classes": ["dog", "cat"]}),
    ("detection", "yolo/data.yaml", {"split": "val"}),
    ("detection", "boxes.csv", {"columns": CSV, "split": "val"}),
    ("two.yaml", "pairs.csv", {"columns": {"lr": "small", "hr": "big"}, "split": "val"}),
    ("bags.yaml", "bags.csv", {"columns": {"bag": "slide", "image": "tile"}, "split": "train"}),
]


def words(file: str, more: dict[str, Any]) -> list[str]:
    """The data as words of a command."""
    return words_of({"files": file, **more}).removeprefix("files=").split()


def dataset(recipe: str, file: str, more: dict[str, Any]) -> Any:
    """The Dataset of the same arguments."""
    loaded = ar.load(recipe)
    root = {"root": more["images"]} if "images" in more else {}
    arguments = {key: value for key, value in more.items() if key != "images"}
    return getattr(ar, loaded.facts.dataset)(recipe=recipe, files=file, **root, **arguments)


def same(recipe: str, file: str, more: dict[str, Any]) -> None:
    """The words list what the Dataset lists."""
    ds, loaded, given = dataset(recipe, file, more), ar.load(recipe), data_of(words(file, more))
    assert given == {"files": file, **more}
    table = open_data(loaded, ds.pipeline.targets, given).table
    assert len(table) == len(ds)
    assert table.digest() == ds.table.digest()
    assert table.box_classes == ds.table.box_classes


@pytest.mark.parametrize(("recipe", "file", "more"), CASES)
def test_words_are_the_arguments_of_a_dataset(lists: Path, recipe: str, file: str, more: dict[str, Any]) -> None:
    same(recipe, file, more)


@pytest.mark.parametrize("forgotten", ["split", "columns", "box_classes", "crowds", "images"])
def test_an_argument_that_is_forgotten_is_found(lists: Path, forgotten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    true = opening.data_arguments

    def forget(recipe: Any, data: Any) -> Any:
        return true(recipe, {key: value for key, value in data.items() if key != forgotten})

    monkeypatch.setattr("augrecipes.sources.opening.data_arguments", forget)
    with pytest.raises((AssertionError, DataError, ValueError)):
        for case in CASES:
            same(*case)


@pytest.mark.parametrize(("recipe", "file", "more"), CASES)
def test_every_command_takes_them(lists: Path, run: Any, recipe: str, file: str, more: dict[str, Any]) -> None:
    given = words(file, more)
    by_option = [part for word in given for part in ("--data", word)]
    for command in (
        ["check-data", recipe, *given],
        ["check-data", recipe, *by_option],
        ["preview", recipe, *given, "--rows", "1", "-o", "sheet.png"],
        ["verify", recipe, *given, "--samples", "1"],
        ["pack", recipe, *given, "-o", "store", "--workers", "0"],
        ["diff", recipe, *given, "-o", "diff.png"],
        ["bench", recipe, *given, "--seconds", "0.01", "--samples", "1", "--no-effects", "--json=bench.json"],
    ):
        result = run(*command)
        assert result.exit_code == 0, (command, result.output)
    assert json.loads(Path("bench.json").read_text())["data"] == {"files": file, **more}


@pytest.mark.parametrize(("command", "said"), rows(__file__, "words_that_make_no_sense"))
def test_words_that_make_no_sense(lists: Path, run: Any, command: str, said: str) -> None:
    result = run(*command.split())
    assert (result.exit_code, said in " ".join(result.stderr.split())) == (2, True), result.output


@pytest.mark.parametrize(("recipe", "name"), [("two.yaml", "crowds"), ("bags.yaml", "images"), ("detection", "masks")])
def test_names_that_a_kind_does_not_have(lists: Path, recipe: str, name: str) -> None:
    loaded = ar.load(recipe)
    with pytest.raises(DataError, match=f"{name}=: a recipe of kind {loaded.kind} takes "):
        open_data(loaded, ("image",), {"files": "pairs.csv", name: "x"})


def test_annotations_are_not_taken_for_recipes(lists: Path) -> None:
    """Both may be JSON or YAML; a recipe, and what is meant as one, stays one."""
    Path("mine.json").write_text(json.dumps({"version": 1, "recipe": "mine", "steps": ["D4"]}))
    Path("saved.json").write_text('{"transform": {"__class_fullname__": "Compose"}}')
    Path("mine.yaml").write_text(ar.load("detection").to_yaml())
    recipes = ["mine.json", "saved.json", "mine.yaml", "none.json", "detection"]
    data = ["coco/boxes.json", "yolo/data.yaml", "split=val", "files=coco/boxes.json"]
    assert split_words([*recipes, *data]) == (recipes, data)
    assert not is_data("two.yaml")


def test_a_file_may_be_called_like_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hr=1").mkdir()
    assert (data_of(["hr=1"]), data_of(["a/b=c"])) == ("hr=1", "a/b=c")
    assert data_of(["hr=1", "lr=x"]) == {"hr": "1", "lr": "x"}
    for given in (["hr="], ["a", "b"], ["hr=a", "b"]):
        with pytest.raises(UsageError):
            data_of(given)


RECIPES = {
    "image": "{version: 1, recipe: i, steps: [RandomCrop: {height: 24, width: 24}, HorizontalFlip], eval: []}",
    "pair": "{version: 1, recipe: p, kind: pair, scales: {lr: 1, hr: 2}, eval: [], "
    "steps: [RandomCrop: {height: 12, width: 12, at: lr}, HorizontalFlip]}",
    "bag": "{version: 1, recipe: b, kind: bag, steps: [D4: {p: 1.0}], eval: []}",
}
ON_PAIRS = "hr=ROOT/hr lr=ROOT/lr"
COMMANDS = [
    ("image", "preview RECIPE ROOT -o OUT.png"),
    ("image", "bench RECIPE ROOT --samples 4 --seconds 0.1 -o OUT"),
    ("image", "pack RECIPE ROOT --out OUT-store --workers 0"),
    ("image", "verify RECIPE ROOT --samples 2"),
    ("image", "diff RECIPE --set HorizontalFlip.p=0.3 ROOT -o OUT-diff.png"),
    ("image", "explain RECIPE ROOT/a/0.png --seconds 0.01"),
    ("pair", f"preview RECIPE {ON_PAIRS} -o OUT.png"),
    ("pair", f"check-data RECIPE {ON_PAIRS} --content"),
    ("pair", f"pack RECIPE {ON_PAIRS} --out OUT-store --workers 0"),
    ("pair", f"verify RECIPE {ON_PAIRS} --samples 2"),
    ("bag", "preview RECIPE ROOT -o OUT.png"),
    ("bag", "pack RECIPE ROOT --out OUT-store --workers 0"),
    ("bag", "verify RECIPE ROOT --samples 2"),
]
OPEN: dict[str, Callable[[Path, Any], Any]] = {
    "image": lambda root, recipe: ar.ImageFolder(root, recipe, masks=None),
    "pair": lambda root, recipe: ar.PairedImages({"hr": root / "hr", "lr": root / "lr"}, recipe),
    "bag": ar.TileBags,
}


def fill(root: Path, kind: str) -> None:
    sizes = {"hr": 48, "lr": 24} if kind == "pair" else {"a": 32, "b": 32}
    for folder, side in sizes.items():
        draw_waves(root / folder, size=(side, side))
    (root / "notes.txt").write_text("mine")


def state(root: Path) -> dict[str, Any]:
    """Everything that can be seen of a folder, but for when it was looked at."""
    found = {}
    for path in [root, *sorted(root.rglob("*"))]:
        about = path.lstat()
        content = path.read_bytes() if path.is_file() else sorted(os.listdir(path))  # noqa: PTH208
        found[str(path.relative_to(root))] = (content, about.st_mtime_ns, about.st_ctime_ns, about.st_mode)
    return found


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and folders that are at rest, so that their listings are kept."""
    monkeypatch.setenv("AUGRECIPES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("augrecipes.cache.now_ns", lambda: time.time_ns() + 10**10)
    return tmp_path / "cache"


def read(kind: str, root: Path) -> None:
    for _ in range(2):
        ds = OPEN[kind](root, parse_text(RECIPES[kind]))
        ds[0], ds.path(0)
        list(ar.loader(ds, 2, collate="list", backend="threads", num_workers=1))


@pytest.mark.parametrize("kind", RECIPES)
def test_datasets_leave_no_trace(tmp_path: Path, cache: Path, kind: str) -> None:
    root = tmp_path / "data"
    fill(root, kind)
    before = state(root)
    read(kind, root)
    assert state(root) == before
    assert list(cache.rglob("*.memo"))


@pytest.mark.parametrize(("kind", "command"), COMMANDS)
def test_commands_leave_no_trace(run: Any, tmp_path: Path, cache: Path, kind: str, command: str) -> None:
    root = tmp_path / "data"
    fill(root, kind)
    (tmp_path / "recipe.yaml").write_text(RECIPES[kind])
    before = state(root)
    for name, value in {"RECIPE": "recipe.yaml", "ROOT": "data", "OUT": "out"}.items():
        command = command.replace(name, str(tmp_path / value))
    result = run(*command.split())
    assert result.exit_code in (0, 1), result.output  # differences, and images that are no scene, are 1
    assert state(root) == before


def test_a_planted_fault_is_caught(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "data"
    fill(root, "image")
    before = state(root)
    monkeypatch.setenv("AUGRECIPES_CACHE", str(root / ".augrecipes-index"))
    read("image", root)
    assert state(root) != before
