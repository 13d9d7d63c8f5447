"""`augrecipes pack` and `augrecipes verify-store`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from augrecipes.data.packed import Packed
from augrecipes.packing.bake import Baked, Baker


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for i in range(6):
        path = tmp_path / "photos" / "ab"[i % 2] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(i).integers(0, 256, (150, 140 + i, 3), np.uint8)
        assert cv2.imwrite(str(path), noise)
    return tmp_path / "photos"


PACK = ("pack", "folder-128", "--data", "photos", "--out", "store", "--workers", "0")


def test_pack_says_what_it_does_and_does_it(run: Any, photos: Path, tmp_path: Path) -> None:
    done = run(*PACK)
    assert done.exit_code == 0, done.output
    for said in ("SmallestMaxSize(interpolation: area, max_size: 128)", "for train and eval", "6 images", "free"):
        assert said in done.output
    assert len(Packed(tmp_path / "store", "folder-128")) == 6
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_dry_run_writes_nothing(run: Any, photos: Path, tmp_path: Path) -> None:
    done = run(*PACK, "--dry-run", "--epochs", "4", "--through", "RandomCrop")
    assert done.exit_code == 0, done.output
    assert "6 images, each 4 times" in done.output
    assert "left to do in training: HorizontalFlip#1" in " ".join(done.output.split())
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]


def test_unreadable_inputs_are_named_and_counted(run: Any, photos: Path, tmp_path: Path) -> None:
    (photos / "a" / "x.png").write_bytes(b"no picture")
    done = run(*PACK)
    assert done.exit_code == 1, done.output
    assert "unreadable inputs: 1" in done.output
    assert "photos/a/x.png: not an image" in done.output
    (listed,) = json.loads((tmp_path / "store" / "index.json").read_text())["about"]["unreadable"]
    assert listed["path"] == "photos/a/x.png"
    assert run(*PACK[:5], "--out", "other", "--workers", "0", "--on-error", "raise").exit_code == 2
    assert not (tmp_path / "other").exists()


def test_an_interrupted_run_says_how_to_go_on(
    run: Any, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    done = run(*PACK)
    assert done.exit_code == 130
    assert "the same command goes on behind them" in " ".join(done.output.split())
    assert not (tmp_path / "store").exists()
    assert run(*PACK).exit_code == 0
    assert rows == [0, 1, 2, 3, 2, 3, 4, 5]  # the file that it was at is made anew


def test_verify_store_finds_a_flipped_byte(run: Any, photos: Path, tmp_path: Path) -> None:
    assert run(*PACK).exit_code == 0
    fine = run("verify-store", "store")
    assert (fine.exit_code, fine.output.strip()) == (0, "every byte is as it was packed")
    file = tmp_path / "store" / "image-00000.bin"
    data = bytearray(file.read_bytes())
    data[-1000] ^= 1
    file.write_bytes(data)
    found = run("verify-store", "store")
    assert found.exit_code == 1
    assert "row 5 of image (photos/b/5.png)" in found.output
    (fault,) = json.loads(run("verify-store", "store", "--json").output)["faults"]
    assert (fault["row"], fault["target"]) == (5, "image")
    assert run("verify-store", "nowhere").exit_code == 2


def test_a_dry_run_of_a_part_says_its_share(run: Any, photos: Path) -> None:
    whole, part = (json.loads(run(*PACK, "--dry-run", "--json", *more).stdout) for more in ((), ("--part", "1/2")))
    assert (whole["rows"], part["rows"]) == (6, 3)
    assert part["bytes"] == whole["bytes"] // 2


def test_parts_are_merged_where_they_are(run: Any, photos: Path) -> None:
    parts = [*PACK[: PACK.index("--out")], "--out", "parts", "--workers", "0"]
    for part in ("2/2", "1/2"):
        done = run(*parts, "--part", part)
        assert done.exit_code == 0, done.output
        assert "3 of 6 images" in done.output
    merged = run("pack", "--merge", "parts")
    assert (merged.exit_code, "2 parts are one store, parts: 6 rows" in merged.output) == (0, True)
    found = json.loads(run("pack", "--merge", "parts", "--json").output)
    assert (found["store"], found["parts"], found["rows"], found["unreadable"]) == ("parts", 2, 6, [])
    assert run("verify-store", "parts").exit_code == 0
    assert json.loads(run(*parts, "--part", "1/2", "--json").output)["part"] == [1, 2]
    again = run(*parts, "--part", "1/2").output
    assert ("there already, of the same recipe and files" in again, "packed in" in again) == (True, False)


def test_merging_tells_of_unreadable_inputs(run: Any, photos: Path) -> None:
    (photos / "a" / "x.png").write_bytes(b"no picture")
    for part in ("1/2", "2/2"):
        run(*PACK[: PACK.index("--out")], "--out", "parts", "--workers", "0", "--part", part)
    done = run("pack", "--merge", "parts")
    assert done.exit_code == 1
    assert "photos/a/x.png: not an image" in done.output
    for k in range(6):
        (photos / "a" / f"x{k}.png").write_bytes(b"no picture")
    done = run(*PACK[: PACK.index("--out")], "--out", "alone", "--workers", "0", "--part", "1/1")
    assert "unreadable: 1 more, --json lists them all" in done.output


def test_a_store_is_cut_into_shards(run: Any, photos: Path, tmp_path: Path) -> None:
    assert run(*PACK, "--shard-size", "200kB").exit_code == 0
    sizes = [path.stat().st_size for path in (tmp_path / "store").glob("image-*.bin")]
    assert len(sizes) > 1
    assert max(sizes) <= 200_000
