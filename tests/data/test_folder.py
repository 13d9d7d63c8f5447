"""ImageFolder: what a sample is, and what is said of files that are not as they should be."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from support.checks import same
from support.folders import RECIPE, class_folders, draw
from support.kinds import IMAGE, Kind, arrays, by_kind, open_packed

from augrecipes import DataError, ImageFolder, Recipe, loader
from augrecipes.preview.display import rgb_of_output
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.columns import Columns
from augrecipes.sources.paths import PathTable
from augrecipes.sources.sample import DatasetView


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
    def test_a_skipped_sample_says_which_step_failed(self, tmp_path: Path, recipe: Recipe) -> None:
        draw(tmp_path / "small.png", 0, size=(8, 8))
        draw(tmp_path / "whole.png", 1)
        made = loader(ImageFolder(tmp_path, recipe, on_error="skip"))
        assert [Path(path).name for batch in made for path in batch["path"]] == ["whole.png", "whole.png"]
        (skipped,) = made.skipped
        assert (Path(skipped.path).name, skipped.reason[:18]) == ("small.png", "step RandomCrop#1:")

    def test_a_link_that_loops_is_skipped(self, tmp_path: Path, recipe: Recipe) -> None:
        draw(tmp_path / "whole.png", 1)
        (tmp_path / "loop.png").symlink_to("loop.png")
        made = loader(ImageFolder(tmp_path, recipe, on_error="skip"))
        assert [Path(path).name for batch in made for path in batch["path"]] == ["whole.png", "whole.png"]
        assert [skipped.reason for skipped in made.skipped] == ["a link to itself"]
        with pytest.raises(DataError, match=r"loop\.png: a link to itself"):
            ImageFolder(tmp_path, recipe)[0]


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

    def test_16_bits_are_blended_as_numbers(self, masked: Path) -> None:
        half = parse_text(
            "{version: 1, recipe: half, steps: [Resize: {height: 16, width: 14, mask_interpolation: area}], eval: []}"
        )
        exact, none = (
            ImageFolder(masked / "images", half, masks=masked / "masks", optimize=optimize)
            for optimize in ("exact", "none")
        )
        for one, other in zip(loader(exact, 2), loader(none, 2), strict=True):
            np.testing.assert_array_equal(one["mask"].numpy(), other["mask"].numpy())

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


# What `show` draws is what a dataset hands out, of every kind, from files and from stores, whole and in parts.


PLACES = [7, 0, 7, 3]


# A part in which an index stands twice: the second time with draws of its own.
MAKERS: dict[str, Callable[[Kind, Path], Any]] = {
    "files": lambda kind, root: kind.open(root, seed=5),
    "store": lambda kind, root: open_packed(kind, root, seed=5),
    "part": lambda kind, root: kind.open(root, seed=5).subset([3, 11, 3, 0, 5, 8, 1, 3]),
}


def of_images(roots: dict[str, Path], tmp_path: Path) -> Any:
    """A dataset of files that may be changed."""
    shutil.copytree(roots["image"], tmp_path / "files")
    return IMAGE.open(tmp_path / "files", seed=5)


def handed_out(ds: Any, index: int, epoch: int) -> list[np.ndarray]:
    """The images of a sample as an eye sees them."""
    found = arrays(ds[epoch, index])
    outputs = {name: ds.recipe.outputs.get(name, ds.recipe.output) for name in ds.pipeline.outputs}
    made = {name: found[name] for name in outputs}
    stacks = {name: image if image.ndim == 4 else image[None] for name, image in made.items()}
    return [rgb_of_output(one, outputs[name]) for name, stack in stacks.items() for one in stack]


def alike(shown: np.ndarray, image: np.ndarray) -> bool:
    """Whether both are one image, however much the first was enlarged."""
    places = [
        ((np.arange(old) + 0.5) * new / old).astype(int)
        for new, old in zip(shown.shape[:2], image.shape[:2], strict=True)
    ]
    back = shown[places[0]][:, places[1]]  # the middle of what became of each pixel
    return bool(np.abs(back.astype(float) - image).mean() < 8)


def assert_shows(sheet: Sheet, ds: Any, places: list[int], epochs: range) -> None:
    """Each row has the images of its sample, epoch by epoch; of a bag tiles that it has then."""
    assert len(sheet.rows) == len(places)
    for row, index in zip(sheet.rows, places, strict=True):
        for epoch in epochs:
            named = [group for group in row.groups if group.header.startswith(f"epoch {epoch}")]
            shown = [cell.image for group in named for cell in group.cells if cell.image is not None]
            expected = handed_out(ds, index, epoch)
            assert shown
            if ds.recipe.facts.tiles:
                assert all(any(alike(one, image) for image in expected) for one in shown)
            else:
                assert len(shown) == len(expected)
                assert all(map(alike, shown, expected))


@by_kind
@pytest.mark.parametrize("made", MAKERS)
def test_what_is_shown_is_what_is_handed_out(kind: Kind, made: str, roots: dict[str, Path]) -> None:
    ds = MAKERS[made](kind, roots[kind.name])
    assert_shows(ds.show(PLACES, draws=5 if ds.recipe.facts.tiles else 2, epoch=1), ds, PLACES, range(1, 3))
    for place in PLACES:
        given = ds.given(place)
        assert given.index == ds[0, place]["index"]
        assert set(given.images) == (set(ds.pipeline.targets) if ds.recipe.facts.scales else {"image"})


@by_kind
def test_draws_of_another_sample_are_noticed(
    kind: Kind, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: what is listed again is drawn as it was the first time."""
    ds = MAKERS["part"](kind, roots[kind.name])
    monkeypatch.setattr(DatasetView, "key", lambda self, k: self.row(k))
    rows = type(ds).given
    monkeypatch.setattr(type(ds), "given", lambda self, index, **how: _with_key_of_row(rows(self, index, **how), self))
    with pytest.raises(AssertionError):
        assert_shows(ds.show(PLACES, draws=5 if ds.recipe.facts.tiles else 2, epoch=1), ds, PLACES, range(1, 3))


def _with_key_of_row(sample: Any, ds: Any) -> Any:
    return type(sample)(sample.index % len(ds.table), sample.tile, sample.path, sample.images, sample.rest)


def test_what_cannot_be_read_is_left_out_and_named(roots: dict[str, Path], tmp_path: Path) -> None:
    ds = of_images(roots, tmp_path)
    for k in range(11):
        (tmp_path / "files" / IMAGE.files(k)).write_bytes(b"none")
    sheet = ds.show(12)
    assert [len(row.groups) for row in sheet.rows] == [1]
    assert sheet.footers[0].startswith("left out: ")
    (tmp_path / "files" / IMAGE.files(11)).write_bytes(b"none")
    with pytest.raises(DataError, match="no image can be shown"):
        ds.show(12)
    assert "without images" in ds._repr_html_()


@pytest.mark.parametrize("wrong", [0, -1, True, []])
def test_nonsense_is_refused(wrong: Any, roots: dict[str, Path]) -> None:
    ds = IMAGE.open(roots["image"])
    with pytest.raises(ValueError, match="a positive number of samples"):
        ds.show(wrong)
    with pytest.raises(ValueError, match="draws must be"):
        ds.show(draws=0)
