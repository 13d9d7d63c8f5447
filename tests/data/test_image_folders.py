"""ImageFolder and Views: samples, classes, what is shown, and what is said of files that are not as they should be."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from PIL import Image
from support.checks import same
from support.folders import RECIPE, class_folders, draw
from support.kinds import IMAGE, OF_VIEWS, VIEWS, Kind, arrays, by_kind, open_packed

import augrecipes as ar
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


# `classes=`: labels with the numbers of another dataset, whatever classes are there.


PLAIN = "{version: 1, recipe: plain, steps: [HorizontalFlip], eval: []}"
BAGS = "{version: 1, recipe: tiles, kind: bag, steps: [HorizontalFlip], eval: []}"


def folders(root: Path, names: str) -> Path:
    for name in names.split():
        (root / name).mkdir(parents=True)
        Image.new("RGB", (20, 20)).save(root / name / "1.png")
    return root


def labels(ds: Any) -> list[int]:
    """Of the table, of samples and of a batch: all the same."""
    found = ds.labels.tolist()
    assert [ds[k]["label"] for k in range(len(ds))] == found
    assert next(iter(ar.loader(ds, len(ds))))["label"].tolist() == found
    return [int(k) for k in found]


def test_folders_have_the_numbers_of_the_training_set(tmp_path: Path) -> None:
    recipe = parse_text(PLAIN)
    train = ar.ImageFolder(folders(tmp_path / "train", "ant bee cat"), recipe)
    root = folders(tmp_path / "val", "ant cat")
    assert labels(ar.ImageFolder(root, recipe, mode="eval")) == [0, 1]
    for classes in (train.classes, tuple(train.classes)):
        val = ar.ImageFolder(root, recipe, mode="eval", classes=classes)
        assert labels(val) == [0, 2]
        assert (val.classes, val.class_to_idx) == (train.classes, train.class_to_idx)
        assert labels(val.subset([1])) == [2]
    one = ar.ImageFolder(folders(tmp_path / "test", "cat"), recipe, classes=train.classes)
    assert labels(one) == [2]
    assert labels(ar.ImageFolder(root, recipe, classes=["cat", "ant"])) == [1, 0]


def test_folders_that_are_numbers_keep_their_places(tmp_path: Path) -> None:
    recipe = parse_text(PLAIN)
    train = ar.ImageFolder(folders(tmp_path / "train", "0 1 10 2"), recipe)
    val = ar.ImageFolder(folders(tmp_path / "val", "0 2"), recipe, classes=train.classes)
    assert labels(val) == [train.class_to_idx[name] for name in ("0", "2")] == [0, 3]


def test_a_class_that_is_not_among_them_is_named_with_its_file(tmp_path: Path) -> None:
    root = folders(tmp_path / "val", "ant elk")
    with pytest.raises(ar.DataError, match=r"elk.1\.png: class 'elk' is not among classes=, which are ant, bee"):
        ar.ImageFolder(root, parse_text(PLAIN), classes=["ant", "bee"])


@pytest.mark.parametrize("classes", ["ant", ["ant", "ant"]])
def test_what_is_no_list_of_names_is_refused(classes: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="classes= is a list of names, each once"):
        ar.ImageFolder(folders(tmp_path / "val", "ant"), parse_text(PLAIN), classes=classes)


def test_data_without_classes_of_its_own_is_refused(tmp_path: Path) -> None:
    root, recipe = folders(tmp_path / "flat", "ant"), parse_text(PLAIN)
    for given in ({"root": root, "layout": "flat"}, {"root": root / "ant"}):
        with pytest.raises((ValueError, ar.DataError), match=r"has neither|no images in this folder's subfolders"):
            ar.ImageFolder(**given, recipe=recipe, classes=["ant"])
    with pytest.raises(ValueError, match="has neither"):
        ar.Samples([(np.zeros((9, 9, 3), np.uint8), 1)], recipe, classes=["ant", "bee"])


@pytest.mark.parametrize(
    ("names", "train", "val"),
    [("ant bee cat", [0, 1, 2], [0, 2]), ("3 7 12", [3, 7, 12], [3, 12]), ("0 1 2", [0, 1, 2], [0, 2])],
)
def test_lists_of_files(names: str, train: list[int], val: list[int], tmp_path: Path) -> None:
    folders(tmp_path, "some")
    first, _, last = names.split()
    for file, some in (("train.csv", names.split()), ("val.csv", [first, last])):
        (tmp_path / file).write_text("image,label\n" + "".join(f"some/1.png,{name}\n" for name in some))
    recipe = parse_text(PLAIN)
    known = ar.ImageFolder(files=tmp_path / "train.csv", recipe=recipe)
    assert labels(known) == train
    found = ar.ImageFolder(files=tmp_path / "val.csv", recipe=recipe, classes=known.classes)
    assert labels(found) == val
    assert found.class_to_idx == known.class_to_idx


def test_bags_and_packed_datasets(tmp_path: Path) -> None:
    bags = folders(tmp_path / "bags", "slide-1 slide-2")
    (bags / "labels.csv").write_text("bag,label\nslide-1,benign\nslide-2,tumour\n")
    known = ["benign", "border", "tumour"]
    assert ar.TileBags(bags, parse_text(BAGS), classes=known).labels.tolist() == [0, 2]
    recipe = parse_text(PLAIN)
    ar.pack(recipe, str(folders(tmp_path / "val", "ant cat")), tmp_path / "store", workers=0)
    packed = ar.Packed(tmp_path / "store", recipe, classes=["ant", "bee", "cat"])
    assert labels(packed) == labels(pickle.loads(pickle.dumps(packed))) == [0, 2]


# Views as a dataset: what a sample holds, how the loader stacks it, and `transform=` of other datasets.


DENSE = OF_VIEWS.replace("kind: views", "kind: views\ncorrespondence: true")


@pytest.fixture(scope="module")
def view_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return class_folders(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def annotated(view_root: Path) -> Path:
    for k in range(4):
        mask = np.random.default_rng(k).integers(0, 9, (32, 28), np.uint8)
        assert cv2.imwrite(str(view_root.parent / f"mask{k}.png"), mask)
    rows = [f'{view_root}/cat/{k}.png,{view_root.parent}/mask{k}.png,"[[2, 2, 20, 20, 1]]"' for k in range(4)]
    file = view_root.parent / "list.csv"
    file.write_text("\n".join(["image,mask,boxes", *rows]))
    return file


def test_a_batch_has_all_views_of_a_name_side_by_side(view_root: Path) -> None:
    ds = ar.Views(view_root, parse_text(DENSE), seed=3)
    for options in (
        {"num_workers": 0},
        {"num_workers": 2, "backend": "threads"},
        {"num_workers": 2, "backend": "processes"},
    ):
        batch = next(iter(ar.loader(ds, 4, **options)))  # type: ignore[arg-type]
        assert batch["global"].shape == (4, 2, 3, 24, 20)
        assert batch["local"].shape == (4, 3, 3, 12, 10)
        assert batch["local_matrix"].shape == (4, 3, 3, 3)
        assert batch["local_matrix"].dtype == torch.float64
        for k, index in enumerate(batch["index"].tolist()):
            for name in ("global", "local", "local_matrix"):
                assert torch.equal(batch[name][k], ds[index][name])
    assert ds[0].keys() == {"global", "global_matrix", "local", "local_matrix", "label", "index", "path"}


def test_masks_boxes_and_labels_follow_each_view(annotated: Path) -> None:
    ds = ar.Views(files=annotated, recipe=parse_text(OF_VIEWS), outside=True, seed=3)
    sample = ds[1]
    assert sample["local_mask"].dtype == torch.int64
    assert sample["local_mask"].shape == (3, 12, 10)
    assert [boxes.shape[1] for boxes in sample["global_boxes"]] == [4, 4]
    assert [labels.dtype for labels in sample["global_box_labels"]] == [torch.int64] * 2
    batch = next(iter(ar.loader(ds, 2)))
    assert batch["local_mask"].shape == (2, 3, 12, 10)
    assert [len(of) for of in batch["local_boxes"]] == [3, 3]
    numbers = parse_text(OF_VIEWS + "output: {dtype: uint8}\n")
    assert ar.Views(files=annotated, recipe=numbers, outside=True)[1]["local_mask"].dtype == torch.int64


def test_any_source_can_be_read(view_root: Path) -> None:
    ds = VIEWS.open(view_root, DENSE, seed=3)
    for k in range(4):
        mask = np.random.default_rng(k).integers(0, 9, (32, 28), np.uint8)
        assert cv2.imwrite(str(view_root.parent / f"mask{k}.png"), mask)
    rows = [{"image": ds.path(k), "label": 0} for k in range(4)]
    samples: Any = ar.Samples(rows, parse_text(DENSE), seed=3)
    for name in ("global", "local", "local_matrix"):
        assert torch.equal(samples[2][name], ds[2][name])


def test_what_is_packed_gives_the_same_matrices(view_root: Path, tmp_path: Path) -> None:
    recipe = parse_text(DENSE.replace("shared:\n", "shared:\n  - Resize: {height: 30, width: 30}\n"))
    ar.pack(recipe, str(view_root), tmp_path / "store")
    packed, files = ar.Packed(tmp_path / "store", recipe, seed=3), ar.Views(view_root, recipe, seed=3)
    for name in ("global", "local", "local_matrix"):
        assert torch.equal(packed[2][name], files[2][name])
    with pytest.raises(ar.RecipeError, match="counts pixels of the files"):
        ar.pack(recipe, str(view_root), tmp_path / "other", epochs=2)


def test_as_a_transform_it_puts_the_views_in_the_place_of_the_image() -> None:
    image = np.random.default_rng(0).integers(0, 256, (32, 28, 3), np.uint8)
    recipe = parse_text(DENSE)
    transform = recipe.transform(seed=3)
    alone = transform(image, index=7)
    transform.set_epoch(0)
    first, (views, label), sample = (transform(given, index=7) for given in (image, (image, 5), {"image": image}))
    assert alone.keys() == first.keys() == {"global", "global_matrix", "local", "local_matrix"}
    for name in ("global", "local"):
        plain = recipe.view(name).transform(seed=3)
        plain.set_epoch(0)
        for of in (first, views, sample["image"]):
            assert torch.equal(of[name][0], plain(image, index=7))
    assert label == 5
    assert recipe.transform("eval")(image).shape == (3, 24, 20)
    with pytest.raises(ar.RecipeError, match="cannot be a column of a batch"):
        recipe.map_batches()
