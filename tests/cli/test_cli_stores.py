"""`augrecipes pack`, `augrecipes verify-store` and `augrecipes cache`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.folders import draw

from augrecipes import cache as caches
from augrecipes.data.packed import Packed
from augrecipes.packing.bake import Baked, Baker

PACK = "pack folder-128 --data photos --workers 0 --out"


@pytest.fixture(autouse=True)
def photos(tmp_path: Path) -> Path:
    for i in range(6):
        draw(tmp_path / "photos" / "ab"[i % 2] / f"{i}.png", i, (150, 140 + i))
    return tmp_path / "photos"


def test_pack_says_what_it_does_and_does_it(finish: Any, tmp_path: Path) -> None:
    said = " ".join(finish(f"{PACK} store --dry-run --epochs 4 --through RandomCrop").split())
    assert "6 images, each 4 times" in said
    assert "left to do in training: HorizontalFlip#1" in said
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]  # which writes nothing
    said = " ".join(finish(f"{PACK} store --shard-size 200kB").split())
    for part in ("SmallestMaxSize(interpolation: area, max_size: 128)", "for train and eval", "6 images", "free"):
        assert part in said
    assert len(Packed(tmp_path / "store", "folder-128")) == 6
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    sizes = [path.stat().st_size for path in (tmp_path / "store").glob("image-*.bin")]
    assert len(sizes) > 1
    assert max(sizes) <= 200_000


def test_unreadable_inputs_are_named_and_counted(finish: Any, photos: Path, tmp_path: Path) -> None:
    (photos / "a" / "x.png").write_bytes(b"no image")
    said = finish(f"{PACK} store", 1)
    assert "unreadable inputs: 1" in said
    assert "photos/a/x.png: not an image" in said
    (listed,) = json.loads((tmp_path / "store" / "index.json").read_text())["about"]["unreadable"]
    assert listed["path"] == "photos/a/x.png"
    finish(f"{PACK} other --on-error raise", 2)
    assert not (tmp_path / "other").exists()
    finish(f"{PACK} parts --part 1/2")
    finish(f"{PACK} parts --part 2/2", 1)
    assert "photos/a/x.png: not an image" in finish("pack --merge parts", 1)
    for k in range(6):
        (photos / "a" / f"x{k}.png").write_bytes(b"no image")
    said = finish(f"{PACK} alone --part 1/1", 1)
    assert "unreadable: 1 more, --json lists them all" in said


def test_an_interrupted_run_says_how_to_go_on(
    run: Any, finish: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, rows = Baker.several, []

    def several(self: Baker, numbers: range) -> Iterator[Baked]:
        rows.extend(numbers)
        if len(rows) == 4:
            raise KeyboardInterrupt
        return plain(self, numbers)

    monkeypatch.setattr("augrecipes.packing.run.estimate", lambda *_: (0, 3))
    monkeypatch.setattr(Baker, "several", several)
    monkeypatch.setattr("augrecipes.store.writer.SHARD_BYTES", 1)  # a row is a file
    done = run(*PACK.split(), "store")
    assert (done.exit_code, "the same command goes on behind them" in " ".join(done.stderr.split())) == (130, True)
    assert not (tmp_path / "store").exists()
    finish(f"{PACK} store")
    assert rows == [0, 1, 2, 3, 2, 3, 4, 5]  # the file that it was at is made anew


def test_verify_store_finds_a_flipped_byte(finish: Any, tmp_path: Path) -> None:
    finish(f"{PACK} store")
    assert finish("verify-store store") == "every byte is as it was packed\n"
    file = tmp_path / "store" / "image-00000.bin"
    data = bytearray(file.read_bytes())
    data[-1000] ^= 1
    file.write_bytes(data)
    assert "row 5 of image (photos/b/5.png)" in finish("verify-store store", 1)
    (fault,) = json.loads(finish("verify-store store --json", 1))["faults"]
    assert (fault["row"], fault["target"]) == (5, "image")
    finish("verify-store nowhere", 2)


def test_parts_are_merged_where_they_are(finish: Any) -> None:
    whole, part = (json.loads(finish(f"{PACK} s --dry-run --json {more}")) for more in ("", "--part 1/2"))
    assert (whole["rows"], part["rows"], part["bytes"]) == (6, 3, whole["bytes"] // 2)
    for name in ("2/2", "1/2"):
        assert "3 of 6 images" in finish(f"{PACK} parts --part {name}")
    assert "2 parts are one store, parts: 6 rows" in finish("pack --merge parts")
    found = json.loads(finish("pack --merge parts --json"))
    assert (found["store"], found["parts"], found["rows"], found["unreadable"]) == ("parts", 2, 6, [])
    finish("verify-store parts")
    assert json.loads(finish(f"{PACK} parts --part 1/2 --json"))["part"] == [1, 2]
    again = finish(f"{PACK} parts --part 1/2")
    assert ("there already, of the same recipe and files" in again, "packed in" in again) == (True, False)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(caches.CACHE, str(tmp_path / "own"))
    return tmp_path / "own"


def test_what_is_kept_is_shown_and_cleared(run: Any, kept: Path) -> None:
    assert caches.FOLDERS.write("1-2", bytes(2000))
    assert caches.SLIDES.write("v", bytes(500))
    shown = run("cache").stdout.splitlines()
    assert shown[0] == str(kept)
    assert [line.split()[0] for line in shown[2:]] == ["cache", *(one.name for one in caches.CACHES)]
    assert shown[3].split()[-5:-3] == ["2.0", "kB"]
    assert shown[3].endswith(" s ago")
    assert run("cache", "--clear", "folders").stdout.splitlines()[-1] == "cleared 1 file, 2.0 kB"
    found = {one["cache"]: one["files"] for one in json.loads(run("cache", "--json").stdout)}
    assert (found["folders"], found["slides"]) == (0, 1)
    assert run("cache", "--clear").exit_code == 0
    assert not [file for one in caches.CACHES for file in one.files()]


def test_a_cache_that_is_none(run: Any, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("cache", "--clear", "photos")
    assert result.exit_code == 2
    assert "there is no cache 'photos'; there are folders, archives" in " ".join(result.stderr.split())
    kept.write_text("mine")  # a file in the place of the folder
    assert {one["files"] for one in json.loads(run("cache", "--json").stdout)} == {0}
    assert run("cache", "--clear").stdout.splitlines()[-1] == "cleared 0 files, 0 B"
    assert kept.read_text() == "mine"
    for name in (caches.CACHE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def nobody() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr("augrecipes.cache.Path.home", nobody)
    result = run("cache")
    assert (result.exit_code, result.stderr) == (2, "error: no home\n")
