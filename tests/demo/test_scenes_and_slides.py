"""The drawn pairs and bags: named as the field names them, the same bytes for the same seed."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.demo.dataset import PAIR_SIZES, Scenes, draw_dataset, draw_scenes
from augrecipes.demo.slides import BAGS, draw_slides
from augrecipes.ops.matlab_bicubic import imresize


def digest(root: Path) -> str:
    state = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*.*") if p.is_file()):
        state.update(path.relative_to(root).as_posix().encode())
        state.update(path.read_bytes())
    return state.hexdigest()


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    return draw_scenes(tmp_path_factory.mktemp("pairs"), count=4, shrink=3)


def test_low_resolution_is_matlabs_bicubic_of_the_cropped_high(scenes: Scenes) -> None:
    for k, (height, width) in enumerate(PAIR_SIZES, start=1):
        hr = cv2.imread(str(scenes.hr / f"{k:04d}.png"))
        assert hr.shape[:2] == (height // 3, width // 3)
        for factor, folder in ((2, scenes.x2), (4, scenes.lr)):
            rows, columns = hr.shape[0] // factor, hr.shape[1] // factor
            lr = cv2.imread(str(folder / f"{k:04d}x{factor}.png"))
            np.testing.assert_array_equal(lr, imresize(hr[: rows * factor, : columns * factor], rows, columns))


def test_pairs_load_and_one_is_cropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    drawn = draw_scenes(tmp_path, count=3)
    ds = ar.PairedImages(drawn.roots("hr", "x2", "lr"), "sr-multiscale")
    assert len(ds) == 3
    assert [cut.target for cut in ds.cropped] == ["hr", "x2"]
    assert "515×386 → 512×384" in caplog.text


# What draws, how many of them with other arguments, a drawing, and one that only the larger set has.
DRAWS = {
    "dataset": (draw_dataset, {"tiles": 6, "photo_count": 3}, {"tiles": 3, "photo_count": 0},
                "tissue/stroma/tile-001.jpg", "photos/landscape/photo-001.jpg"),
    "scenes": (draw_scenes, {"count": 2}, {"count": 1}, "HR/0001.png", "LR_bicubic/X4/0002x4.png"),
    "slides": (draw_slides, {"bags": 3}, {"bags": 1}, "labels.csv", "slide-2"),
}  # fmt: skip


@pytest.mark.parametrize(("draw", "many", "few", "stays", "goes"), DRAWS.values(), ids=DRAWS)
def test_a_seed_decides_every_byte_and_drawing_again_removes_only_drawings(
    draw: Any, many: dict[str, int], few: dict[str, int], stays: str, goes: str, tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []
    for name, seed in (("a", 5), ("b", 5), ("c", -6)):
        seen.clear()
        draw(tmp_path / name, seed=seed, shrink=8, **many, progress=lambda done, total: seen.append((done, total)))
        assert seen == [(k + 1, sum(many.values())) for k in range(sum(many.values()))]
    digests = [digest(tmp_path / name) for name in "abc"]
    assert digests[0] == digests[1] != digests[2]
    assert (tmp_path / "a" / goes).exists()
    mine = (tmp_path / "a" / stays).parent / "mine.png"
    mine.write_bytes(b"kept")
    draw(tmp_path / "a", shrink=8, **few)
    assert mine.read_bytes() == b"kept"
    assert (tmp_path / "a" / stays).exists()
    assert not (tmp_path / "a" / goes).exists()


def test_slides_have_labels_places_and_sizes(tmp_path: Path) -> None:
    root = draw_slides(tmp_path, bags=3, shrink=2)
    with (root / "labels.csv").open(newline="", encoding="utf-8") as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["tumour", "stroma", "lymphocytes"]
    ds = ar.TileBags(root, "stained-tissue-bag")
    assert ds.tiles.tolist() == [count // 2 for count, _ in BAGS[:3]]
    for index, (_, side) in enumerate(BAGS[:3]):
        coords = ds[index]["coords"].numpy()
        assert (coords >= 0).all()
        assert len(np.unique(coords, axis=0)) == len(coords)
        assert (coords % max(side // 2, 64) == 0).all()
        shapes = {cv2.imread(str(path)).shape for path in (root / f"slide-{index + 1}").iterdir()}
        assert shapes == {(max(side // 2, 64),) * 2 + (3,)}
