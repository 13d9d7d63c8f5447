"""Whatever reads a folder of the user leaves it as it was: every name, byte and time, also of the folders."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.folders import draw_waves

import augrecipes as ar
from augrecipes.recipe.parse import parse_text

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
