"""Samples of tar archives: those of the files that were put in, for every dataset law, loader, store and command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import tars as made
from support.kind_laws import LAWS, OF_SAMPLES, drawn
from support.kinds import IMAGE, Files, Kind, N
from support.kinds import KINDS_GIVEN as KINDS

import augrecipes as ar
from augrecipes.data.samples import Samples
from augrecipes.errors import DataError, RecipeError
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.tar.shards import TarShards
from augrecipes.store import open_store

by_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
PLAIN = "{version: 1, recipe: plain, steps: [HorizontalFlip, RandomGamma: {p: 1.0}], eval: []}"


def archives_of(kind: Kind, root: Path, folder: Path, each: int = 5) -> str:
    """The files of a kind, so many samples an archive, and a pattern that names the archives."""
    folder.mkdir(exist_ok=True)
    files = Files(kind, root, "bytes")
    for start in range(0, len(files), each):
        inside: dict[str, bytes] = {}
        for k in range(start, min(start + each, len(files))):
            for name, data in files[k].items():
                inside[f"x/{k:04}.{name}.png"] = data
            inside |= {} if files.targets is None else {f"x/{k:04}.cls": b"%d" % files.targets[k]}
        made.write(folder / f"train-{start // each}.tar", inside)
    return f"{folder}/train-{{0..{(len(files) - 1) // each}}}.tar"


@pytest.fixture(scope="module")
def patterns(roots: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {kind.name: archives_of(kind, roots[kind.name], tmp_path_factory.mktemp(kind.name)) for kind in KINDS}


@pytest.mark.parametrize("law", OF_SAMPLES)
def test_law(patterns: dict[str, str], law: str) -> None:
    LAWS[law](lambda **options: Samples(patterns["image"], parse_text(IMAGE.recipe), **{"seed": 3, **options}))


def of_the_files(kind: Kind, root: Path, pattern: str) -> None:
    """The law: samples of archives are those of the files that are in them, to the bit."""
    files, found = kind.open(root, seed=3), Samples(pattern, parse_text(kind.recipe), seed=3)
    assert len(found) == len(files) == N
    for i in range(N):
        ours, theirs = found[1, i], files[1, i]
        assert ours.pop("__key__") == f"x/{i:04}"
        assert {*ours} == {*theirs}
        assert drawn(ours) == drawn(theirs)
        assert ours.get("label") == theirs.get("label")
    assert found.labels is None if files.labels is None else found.labels.tolist() == files.labels.tolist()


@by_kind
def test_samples_are_those_of_the_files(roots: dict[str, Path], patterns: dict[str, str], kind: Kind) -> None:
    of_the_files(kind, roots[kind.name], patterns[kind.name])


def test_bytes_of_a_neighbour_are_caught(
    roots: dict[str, Path], patterns: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = TarShards.__getitem__
    monkeypatch.setattr(TarShards, "__getitem__", lambda self, i: real(self, i ^ 1))
    with pytest.raises(AssertionError):
        of_the_files(IMAGE, roots["image"], patterns["image"])


def test_errors_name_archive_and_key(tmp_path: Path) -> None:
    path = made.write(tmp_path / "a.tar", {"0.jpg": b"nonsense", "1.cls": b"3"})
    ds = Samples(path, parse_text(PLAIN))
    with pytest.raises(DataError, match=r"a\.tar/0: .*not an image"):
        ds[0]
    with pytest.raises(DataError, match=r"a\.tar/1: .*has no image; there is '__key__', 'label'"):
        ds[1]
    skipping = Samples(path, parse_text(PLAIN), on_error="skip")
    with pytest.raises(DataError, match=r"a\.tar"):
        next(iter(ar.loader(skipping, 2)))  # nothing is left
    with pytest.raises(DataError, match=r"whose samples ar\.Samples takes"):
        ar.ImageFolder(path, parse_text(PLAIN))
    with pytest.raises(RecipeError, match="TileBags"):
        Samples(path, "stained-tissue-bag")


# -- what else reads them ---------------------------------------------------------------------------------------------


@by_kind
def test_stores_of_archives_are_those_of_files(
    roots: dict[str, Path], patterns: dict[str, str], kind: Kind, tmp_path: Path
) -> None:
    recipe = parse_text(kind.recipe)
    ar.pack(recipe, patterns[kind.name], tmp_path / "store", workers=0)
    for number in (2, 1):
        ar.pack(recipe, patterns[kind.name], tmp_path / "parts", part=f"{number}/2", workers=0)
    ar.merge_parts(tmp_path / "parts")
    files = kind.open(roots[kind.name], seed=3)
    for store in ("store", "parts"):
        packed = ar.Packed(tmp_path / store, recipe, seed=3)
        assert [drawn(packed[i]) for i in range(N)] == [drawn(files[i]) for i in range(N)]
    one, merged = (open_store(tmp_path / store) for store in ("store", "parts"))
    assert one.about == merged.about
    assert {name: list(column) for name, column in one.columns.items()} == {
        name: list(column) for name, column in merged.columns.items()
    }


def npy_folder(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    for k in range(6):
        (folder / "ab"[k // 3]).mkdir(parents=True, exist_ok=True)
        np.save(folder / "ab"[k // 3] / f"{k}.npy", rng.integers(0, 256, (40, 36, 3), np.uint8))
    return folder


def test_commands_take_archives_and_arrays(patterns: dict[str, str], tmp_path: Path, capsys: Any) -> None:
    from typer.testing import CliRunner

    from augrecipes.cli.app import app

    recipe = tmp_path / "mine.yaml"
    recipe.write_text("{version: 1, recipe: mine, steps: [Resize: {height: 12, width: 10}, HorizontalFlip], eval: []}")
    arrays_ = npy_folder(tmp_path / "arrays")
    np.save(tmp_path / "all.npy", np.zeros((3, 40, 36, 3), np.uint8))
    several = sorted(map(str, Path(patterns["image"]).parent.glob("*.tar")))
    given = [
        ([patterns["image"]], 12), ([str(Path(patterns["image"]).parent)], 12), (several, 12), ([str(arrays_)], 6),
        ([str(tmp_path / "all.npy")], 3),
    ]  # fmt: skip
    for k, (words, n) in enumerate(given):
        data = [part for word in words for part in ("--data", word)]
        for command in (
            ["check-data", str(recipe), *words],
            ["pack", str(recipe), *data, "--out", str(tmp_path / f"store-{k}"), "--workers", "0"],
            ["preview", str(recipe), *words, "-o", str(tmp_path / f"grid-{k}.png")],
            ["verify", str(recipe), *words, "--samples", "3"],
        ):
            done = CliRunner().invoke(app, command)
            assert done.exit_code == 0, (command, done.output)
        assert len(ar.Packed(tmp_path / f"store-{k}", recipe)) == n
