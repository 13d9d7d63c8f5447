"""ImageFolder: what a sample is, and what is said of files that are not as they should be."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from same_samples import same
from support.folders import RECIPE, class_folders, draw

from augrecipes.data.loader import loader
from augrecipes.errors import DataError
from augrecipes.kinds.image.dataset import ImageFolder
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.columns import Columns
from augrecipes.sources.paths import PathTable

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return parse_text(RECIPE)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return class_folders(tmp_path_factory.mktemp("pictures"))


@pytest.fixture
def ds(root: Path, recipe: Recipe) -> ImageFolder:
    return ImageFolder(root, recipe, seed=3)


def test_a_sample(ds: ImageFolder, root: Path) -> None:
    sample = ds[5]
    assert set(sample) == {"image", "label", "index", "path"}
    assert (sample["image"].shape, sample["image"].dtype) == ((3, 24, 20), torch.float32)
    assert (sample["label"], sample["index"], sample["path"]) == (1, 5, str(root / "dog" / "1.png"))
    assert (len(ds), ds.classes, ds.class_to_idx) == (12, ["cat", "dog", "emu"], {"cat": 0, "dog": 1, "emu": 2})
    assert ds.labels is not None
    assert ds.labels.dtype == np.int64
    assert ds.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert (ds.weights, ds.groups) == (None, None)
    assert ds.path(5) == sample["path"]


def test_keys(ds: ImageFolder) -> None:
    for key in (12, -13, (0, -13)):
        with pytest.raises(IndexError, match="out of range"):
            ds[key]
    for wrong in ("5", 5.0, slice(2), (1, 2, 3), None):
        with pytest.raises(TypeError):
            ds[wrong]


@pytest.mark.parametrize(
    ("indices", "error"),
    [([12], IndexError), ([1.5], TypeError), ([], ValueError), ([True], IndexError), ([[1]], TypeError)],
)
def test_senseless_indices_of_a_subset(ds: ImageFolder, indices: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        ds.subset(indices)


class TestBroken:
    @pytest.fixture
    def broken(self, tmp_path: Path) -> Path:
        root = class_folders(tmp_path / "some", each=3)
        (root / "cat" / "1.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing more")
        (root / "emu" / "0.png").write_bytes(b"")
        return root

    def test_a_skipped_sample_says_which_step_failed(self, tmp_path: Path, recipe: Recipe) -> None:
        draw(tmp_path / "small.png", 0, size=(8, 8))
        draw(tmp_path / "whole.png", 1)
        made = loader(ImageFolder(tmp_path, recipe, on_error="skip"))
        assert [Path(path).name for batch in made for path in batch["path"]] == ["whole.png", "whole.png"]
        (skipped,) = made.skipped
        assert (Path(skipped.path).name, skipped.reason[:18]) == ("small.png", "step RandomCrop#1:")

    def test_a_failing_step_names_file_and_step(self, tmp_path: Path, recipe: Recipe) -> None:
        path = draw(tmp_path / "small.png", 0, size=(8, 8))
        with pytest.raises(DataError) as caught:
            ImageFolder(tmp_path, recipe)[0]
        assert caught.value.path == str(path)
        assert caught.value.step == "RandomCrop#1"


class TestMasks:
    @pytest.fixture
    def masked(self, tmp_path: Path) -> Path:
        for i in range(3):
            draw(tmp_path / "images" / f"{i}.jpg", i)
            labels = np.random.default_rng(i).integers(0, 60_000, (32, 28)).astype(np.uint16)
            (tmp_path / "masks").mkdir(exist_ok=True)
            cv2.imwrite(str(tmp_path / "masks" / f"{i}.png"), labels)
        return tmp_path

    def test_are_matched(self, masked: Path, recipe: Recipe) -> None:
        ds = ImageFolder(masked / "images", recipe, masks=masked / "masks", mode="eval")
        mask = cv2.imread(str(masked / "masks" / "1.png"), cv2.IMREAD_UNCHANGED)
        sample = ds[1]
        assert sample["mask"].dtype == torch.int64
        np.testing.assert_array_equal(sample["mask"].numpy(), mask[4:28, 4:24])
        assert "label" not in sample
        assert ds.classes is None

    def test_missing_ones_are_all_listed(self, masked: Path, recipe: Recipe) -> None:
        (masked / "masks" / "0.png").unlink()
        (masked / "masks" / "2.png").rename(masked / "masks" / "two.png")
        with pytest.raises(DataError, match=r"2 problems(.|\n)*0\.jpg: no mask(.|\n)*2\.jpg: no mask"):
            ImageFolder(masked / "images", recipe, masks=masked / "masks")

    def test_one_mask_is_not_for_two_images(self, tmp_path: Path, recipe: Recipe) -> None:
        class_folders(tmp_path / "images", ("a", "b"), each=1)
        draw(tmp_path / "flat" / "0.png", 0)
        with pytest.raises(DataError, match="1 mask for 2 images of this name"):
            ImageFolder(tmp_path / "images", recipe, masks=tmp_path / "flat")
        class_folders(tmp_path / "alike", ("a", "b"), each=1)
        assert len(ImageFolder(tmp_path / "images", recipe, masks=tmp_path / "alike")) == 2

    def test_another_size_is_an_error(self, masked: Path, recipe: Recipe) -> None:
        cv2.imwrite(str(masked / "masks" / "1.png"), np.zeros((9, 9), np.uint8))
        with pytest.raises(DataError, match=r"masks/1\.png: is 9×9 px, but its image .*1\.jpg is 32×28"):
            ImageFolder(masked / "images", recipe, masks=masked / "masks")[1]

    def test_what_the_recipe_asks_for_must_be_there(self, masked: Path) -> None:
        wants = parse_text(RECIPE.replace("mask: optional", "mask: required"))
        with pytest.raises(DataError, match="requires mask"):
            ImageFolder(masked / "images", wants)
        refuses = parse_text(RECIPE.replace("mask: optional", "mask: absent"))
        with pytest.raises(DataError, match="does not take"):
            ImageFolder(masked / "images", refuses, masks=masked / "masks")


def test_arguments(root: Path, recipe: Recipe) -> None:
    for wrong, error in (
        ({"root": None}, ValueError),
        ({"files": "a.csv"}, ValueError),
        ({"recipe": None}, TypeError),
        ({"recipe": 3}, TypeError),
        ({"on_error": "ignore"}, ValueError),
        ({"split": "train"}, ValueError),
        ({"root": []}, ValueError),
        ({"samples_per_epoch": 0}, ValueError),
        ({"weights": [1]}, ValueError),
        ({"root": root / "nowhere"}, DataError),
    ):
        with pytest.raises(error):
            ImageFolder(**{"root": root, "recipe": recipe, **wrong})


def test_channels_exif_and_limit_are_passed_on(root: Path) -> None:
    recipe = parse_text("version: 1\nrecipe: test\nsteps: []")
    assert ImageFolder(root, recipe)[0]["image"].shape == (3, 32, 28)
    assert ImageFolder(root, recipe, channels=1)[0]["image"].shape == (1, 32, 28)
    with pytest.raises(DataError, match="pixels"):
        ImageFolder(root, recipe, max_pixels=32 * 28 - 1)[0]


def test_pickles_small(recipe: Recipe, ds: ImageFolder, root: Path) -> None:
    names = [f"class_{i % 10}/picture_{i:06d}.jpg" for i in range(100_000)]
    ds.table = Columns(files={"image": PathTable.from_paths(names, root="/some")})
    assert len(pickle.dumps(ds)) < 100_000 * (len(names[0]) + 8 + 4) + 20_000
    again = pickle.loads(pickle.dumps(ImageFolder(root, recipe, seed=3)))
    same(again[5], ImageFolder(root, recipe, seed=3)[5])


@pytest.mark.soak
def test_a_script_may_spawn(root: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "import augrecipes as ar\n"
        "if __name__ == '__main__':\n"
        "    ds = ar.ImageFolder(sys.argv[1], sys.argv[2])\n"
        "    dl = ar.loader(ds, batch_size=5, num_workers=1, multiprocessing_context='spawn')\n"
        "    print(sum(len(batch['index']) for batch in dl))\n"
    )
    command = [sys.executable, str(script), str(root), str(tmp_path / "recipe.yaml")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT), "PATH": ""}, timeout=120
    )
    assert done.stdout.strip() == "12", done.stderr
    (told,) = done.stderr.splitlines()  # of what the data has not, once
    assert "declares boxes and keypoints" in told


@pytest.mark.parametrize(
    "first", ["RandomResizedCrop: {size: [48, 40]}", "RandomCrop: {height: 48, width: 40}", "Blur: {p: 1.0}"]
)
def test_a_part_of_a_jpeg_is_a_part_of_the_whole(tmp_path: Path, first: str) -> None:
    noise = np.random.default_rng(5).integers(0, 256, (95, 131, 3), np.uint8)
    for k in range(3):
        cv2.imwrite(str(tmp_path / f"{k}.jpg"), cv2.GaussianBlur(noise, (0, 0), 1 + k))
    recipe = parse_text(f"version: 1\nrecipe: part\nsteps: [{{{first}}}, HorizontalFlip]\neval: []\n")
    plain, exact = (ImageFolder(tmp_path, recipe, optimize=level) for level in ("none", "exact"))
    assert exact.pipeline.reads == ("Crop" in first)
    assert not plain.pipeline.reads
    for epoch in range(3):
        for index in range(3):
            assert torch.equal(plain[epoch, index]["image"], exact[epoch, index]["image"])
