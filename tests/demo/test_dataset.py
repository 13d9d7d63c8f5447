"""What the demo draws, and the demo as a whole, as small as it goes."""

import csv
import hashlib
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
import torch

import augrecipes as ar
from augrecipes.demo import run, tissue
from augrecipes.demo.dataset import PAIR_SIZES, DemoData, Scenes, draw_dataset, draw_scenes
from augrecipes.demo.glyphs import GLYPHS, RECIPES, draw_glyphs, render_glyph
from augrecipes.demo.run import run_demo
from augrecipes.demo.slides import BAGS, draw_slides
from augrecipes.demo.tissue import CELL_TYPES, LABORATORIES, render_tile
from augrecipes.ops.matlab_bicubic import imresize


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DemoData]:
    root = tmp_path_factory.mktemp("drawn")
    return root, draw_dataset(root, tiles=12, photo_count=6, shrink=4, seed=3)


def rows_of(data: DemoData) -> list[dict[str, str]]:
    with data.table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_larger_set_begins_with_the_smaller_one(drawn: tuple[Path, DemoData], tmp_path: Path) -> None:
    root, data = drawn
    small = draw_dataset(tmp_path, tiles=3, photo_count=0, shrink=4, seed=3)
    for row in rows_of(small):
        assert (tmp_path / row["image"]).read_bytes() == (root / row["image"]).read_bytes()
    assert rows_of(small) == rows_of(data)[:3]


def test_the_table_lists_images_masks_and_boxes_that_fit_each_other(drawn: tuple[Path, DemoData]) -> None:
    root, data = drawn
    rows = rows_of(data)
    assert len(rows) == 12
    assert {row["label"] for row in rows} == set(tissue.CLASSES)
    assert {row["group"] for row in rows} == {lab.name for lab in LABORATORIES}
    for row in rows:
        image = cv2.imread(str(root / row["image"]))
        height, width = image.shape[:2]
        assert ar.read_mask(root / row["mask"]).shape == (height, width)
        boxes = json.loads(row["boxes"])
        assert len(boxes) >= 1
        for x0, y0, x1, y1, label in boxes:
            assert 0 <= x0 < x1 <= width
            assert 0 <= y0 < y1 <= height
            assert label in CELL_TYPES


@pytest.mark.parametrize("kind", tissue.CLASSES)
@pytest.mark.parametrize("laboratory", LABORATORIES, ids=lambda lab: lab.name)
def test_tiles_have_the_colours_of_stained_tissue(kind: str, laboratory: tissue.Laboratory) -> None:
    tile = render_tile(kind, (144, 176), laboratory, np.random.default_rng(5))
    assert tile.image.shape == (144, 176, 3)
    assert tile.image.dtype == np.uint8
    red, green, blue = tile.image.reshape(-1, 3).mean(0)
    # Of the real H&E images that it was drawn after, the means lie in 148..204, 98..167 and 144..237.
    assert 125 < red < 235
    assert 75 < green < 195
    assert 105 < blue < 235
    assert green < red, "eosin and haematoxylin both take green most"
    assert green < blue


# The drawn pairs and bags: named as the field names them, the same bytes for the same seed.


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


# What draws, how many of them with other arguments, a drawing, and one that only the larger set has.
DRAWS = {
    "dataset": (draw_dataset, {"tiles": 6, "photo_count": 3}, {"tiles": 3, "photo_count": 0},
                "tissue/stroma/tile-001.jpg", "photos/landscape/photo-001.jpg"),
    "scenes": (draw_scenes, {"count": 2}, {"count": 1}, "HR/0001.png", "LR_bicubic/X4/0002x4.png"),
    "slides": (draw_slides, {"bags": 3}, {"bags": 1}, "labels.csv", "slide-2"),
    "glyphs": (draw_glyphs, {"count": 2}, {"count": 1}, "train/b/glyph-000.png", "valid/6/glyph-001.png"),
}  # fmt: skip


@pytest.mark.parametrize(("draw", "many", "few", "stays", "goes"), DRAWS.values(), ids=DRAWS)
def test_a_seed_decides_every_byte_and_drawing_again_removes_only_drawings(
    draw: Any, many: dict[str, int], few: dict[str, int], stays: str, goes: str, tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []
    for name, seed in (("a", 5), ("b", 5), ("c", -6)):
        seen.clear()
        size = {} if draw is draw_glyphs else {"shrink": 8}
        draw(tmp_path / name, seed=seed, **size, **many, progress=lambda done, total: seen.append((done, total)))
        total = 2 * len(GLYPHS) if draw is draw_glyphs else sum(many.values())
        assert seen == [(k + 1, total) for k in range(total)]
    digests = [digest(tmp_path / name) for name in "abc"]
    assert digests[0] == digests[1] != digests[2]
    assert (tmp_path / "a" / goes).exists()
    mine = (tmp_path / "a" / stays).parent / "mine.png"
    mine.write_bytes(b"kept")
    draw(tmp_path / "a", **size, **few)
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


def ink(kind: str, seed: int = 5) -> Any:
    """What is darker than its surroundings, of 0..1."""
    image = render_glyph(kind, np.random.default_rng(seed)).astype(float)
    return np.clip(cv2.GaussianBlur(image, (0, 0), 9) - cv2.GaussianBlur(image, (0, 0), 1), 0, None)


def likeness(one: Any, other: Any) -> float:
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1])


MERGED = {
    "mirrored": (np.fliplr, ("bd", "pq")),
    "upside down": (np.flipud, ("bp", "dq")),
    "half a turn": (lambda image: image[::-1, ::-1], ("69", "bq", "dp")),
}


@pytest.mark.parametrize(("move", "pairs"), MERGED.values(), ids=MERGED)
def test_glyphs_that_merge_are_those_that_are_said(move: Any, pairs: tuple[str, ...]) -> None:
    mean = {kind: np.mean([ink(kind, seed) for seed in range(80)], axis=0) for kind in GLYPHS}
    for one, other in (tuple(each) for pair in pairs for each in (pair, pair[::-1])):
        assert max(GLYPHS, key=lambda kind: likeness(move(mean[one]), mean[kind])) == other
        assert max(GLYPHS, key=lambda kind: likeness(mean[one], mean[kind])) == one


def test_recipes_of_glyphs_are_clean_and_score_the_same_images(tmp_path: Path) -> None:
    root = draw_glyphs(tmp_path, count=2)
    assert {path.name for path in root.glob("*.yaml")} == {recipe.name for recipe in RECIPES}
    datasets = [ar.ImageFolder(root / "train", root / recipe.name, mode="eval") for recipe in RECIPES]
    first, *others = (np.stack([ds[k]["image"] for k in range(12)]) for ds in datasets)
    assert first.shape == (12, 3, 32, 32)
    assert all((other == first).all() for other in others)
    for path in RECIPES:
        assert ar.load(path).name == path.stem
        assert ar.lint(ar.load(path)) == ()


def test_digits_come_where_scikit_learn_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.random.default_rng(0).integers(0, 17, (420, 8, 8)).astype(float)
    digits = SimpleNamespace(images=images, target=np.arange(420) % 10)
    monkeypatch.setitem(sys.modules, "sklearn", ModuleType("sklearn"))
    monkeypatch.setitem(sys.modules, "sklearn.datasets", SimpleNamespace(load_digits=lambda: digits))
    root = draw_glyphs(tmp_path / "with", count=1) / "digits"
    counts = {split: [len(list((root / split / str(k)).iterdir())) for k in range(10)] for split in ("train", "valid")}
    assert counts == {"train": [40] * 10, "valid": [2] * 10}
    written = cv2.imread(str(root / "valid" / "3" / "glyph-001.png"), cv2.IMREAD_UNCHANGED)
    assert written.shape == (16, 16)
    np.testing.assert_array_equal(written[::2, 1::2], (images[413] * 255 / 16).astype(np.uint8))
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert not (draw_glyphs(tmp_path / "without", count=1) / "digits").exists()


# The demo as a whole, as small as it goes.


def test_the_demo_runs_proves_and_writes(tmp_path: Path) -> None:
    said: list[str] = []
    doing: list[Any] = []
    report = run_demo(
        tmp_path, tell=lambda each: said.append(each.text()), quick=True,
        progress=lambda: nullcontext(lambda *now: doing.append(now)),
    )  # fmt: skip
    assert report["ok"]
    assert {what for what, _, total in doing if total == 33} == {"drawing"}
    assert [done for what, done, _ in doing if what.startswith("reading ")] == [*range(6), *range(4), *range(4)]
    assert [done for what, done, _ in doing if what.startswith("drawing what ")] == list(range(12))
    assert [what.partition(",")[0] for what in report["proofs"]] == ["images", "pairs", "bags"]
    for found in report["proofs"].values():
        same = {proof.digest for proof in found if proof.expected != "different"}
        other = [proof.digest for proof in found if proof.expected == "different"]
        assert len(same) == 1
        assert len(set(other)) == len(other) >= 1
        assert not same & set(other)
        assert same.pop()[:12] in said[1]
    assert said[1].count("the same") + said[1].count("differs") == 5 + 3 + 3
    assert [path.stem for path in report["pictures"]] == [
        "stained-tissue", "segmentation", "detection", "imagenet-train", "folder-128", "jpeg-crop-256", "sr-x4",
        "sr-multiscale", "real-esrgan-x4", "stained-tissue-bag", "stained-tissue-stages", "real-esrgan-x4-stages",
    ]  # fmt: skip
    for path in report["pictures"]:
        image = cv2.imread(str(path))
        assert image.shape[1] > 300
        assert image.std() > 10


def test_a_broken_promise_is_told() -> None:
    ways: Any = {how: (expected, [{"path": ["a"], "label": [how]}]) for how, expected in
                 (("one", "reference"), ("two", "same"), ("three", "different"))}  # fmt: skip
    proofs = tuple(run._prove(ways, "images", lambda *now: None))
    assert [proof.holds for proof in proofs] == [True, False, True]
    table = run._table("images", proofs)
    assert [row[-1] for row in table.rows] == ["", "NOT AS EXPECTED", "differs, as it must"]
    assert [*table.styles] == ["", "error", ""]


def test_digests_see_every_tensor_and_not_the_batches() -> None:
    samples = [{"lr": torch.full((2,), k), "hr": torch.full((3,), k), "path": f"{k}.png"} for k in range(4)]

    def batches(size: int, *, stacked: bool = True, **change: Any) -> list[dict[str, Any]]:
        changed = [sample | change for sample in samples]
        parts = [changed[k : k + size] for k in range(0, 4, size)]
        return [
            {
                name: torch.stack([one[name] for one in part])
                if stacked and name != "path"
                else [one[name] for one in part]
                for name in part[0]
            }
            for part in parts
        ]

    first = run.digest_of(batches(4))
    assert run.digest_of(batches(1)) == first
    assert run.digest_of(batches(2, stacked=False)) == first
    assert run.digest_of(batches(4, hr=torch.zeros(3, dtype=torch.int64))) != first
    assert run.digest_of(batches(4, path="other.png")) != first
