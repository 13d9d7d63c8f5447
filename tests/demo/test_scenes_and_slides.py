"""The drawn pairs and bags: named as the field names them, the same bytes for the same seed."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import cv2
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.demo.dataset import PAIR_SIZES, Scenes, draw_scenes
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


@pytest.mark.parametrize("draw", [draw_scenes, draw_slides], ids=["scenes", "slides"])
def test_the_same_seed_writes_the_same_bytes(draw: object, tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", -6)):
        few = {"count": 2} if draw is draw_scenes else {"bags": 2}
        draw(tmp_path / name, seed=seed, shrink=6, **few)  # type: ignore[operator]
    digests = [digest(tmp_path / name) for name in "abc"]
    assert digests[0] == digests[1] != digests[2]


def test_drawing_again_removes_earlier_drawings_and_nothing_else(tmp_path: Path) -> None:
    draw_scenes(tmp_path / "pairs", count=2, shrink=6)
    (tmp_path / "pairs" / "HR" / "mine.png").write_bytes(b"kept")
    drawn = draw_scenes(tmp_path / "pairs", count=1, shrink=6)
    assert sorted(path.name for path in drawn.hr.iterdir()) == ["0001.png", "mine.png"]
    assert [path.name for path in drawn.lr.iterdir()] == ["0001x4.png"]
    slides = draw_slides(tmp_path / "slides", bags=3, shrink=12)
    (slides / "slide-1" / "mine.jpg").write_bytes(b"kept")
    draw_slides(slides, bags=1, shrink=12)
    assert (slides / "slide-1" / "mine.jpg").read_bytes() == b"kept"
    assert sorted(path.name for path in slides.iterdir()) == ["labels.csv", "slide-1"]


def test_slides_have_labels_places_and_sizes(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    root = draw_slides(tmp_path, bags=3, shrink=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
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
