"""Views as a dataset: what a sample holds, how the loader stacks it, and `transform=` of other datasets."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from support.folders import class_folders
from support.kinds import OF_VIEWS, VIEWS

import augrecipes as ar
from augrecipes.recipe.parse import parse_text

DENSE = OF_VIEWS.replace("kind: views", "kind: views\ncorrespondence: true")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return class_folders(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def annotated(root: Path) -> Path:
    for k in range(4):
        mask = np.random.default_rng(k).integers(0, 9, (32, 28), np.uint8)
        assert cv2.imwrite(str(root.parent / f"mask{k}.png"), mask)
    rows = [f'{root}/cat/{k}.png,{root.parent}/mask{k}.png,"[[2, 2, 20, 20, 1]]"' for k in range(4)]
    file = root.parent / "list.csv"
    file.write_text("\n".join(["image,mask,boxes", *rows]))
    return file


def test_a_batch_has_all_views_of_a_name_side_by_side(root: Path) -> None:
    ds = ar.Views(root, parse_text(DENSE), seed=3)
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


def test_any_source_can_be_read(root: Path) -> None:
    ds = VIEWS.open(root, DENSE, seed=3)
    for k in range(4):
        mask = np.random.default_rng(k).integers(0, 9, (32, 28), np.uint8)
        assert cv2.imwrite(str(root.parent / f"mask{k}.png"), mask)
    rows = [{"image": ds.path(k), "label": 0} for k in range(4)]
    samples: Any = ar.Samples(rows, parse_text(DENSE), seed=3)
    for name in ("global", "local", "local_matrix"):
        assert torch.equal(samples[2][name], ds[2][name])


def test_what_is_packed_gives_the_same_matrices(root: Path, tmp_path: Path) -> None:
    recipe = parse_text(DENSE.replace("shared:\n", "shared:\n  - Resize: {height: 30, width: 30}\n"))
    ar.pack(recipe, str(root), tmp_path / "store")
    packed, files = ar.Packed(tmp_path / "store", recipe, seed=3), ar.Views(root, recipe, seed=3)
    for name in ("global", "local", "local_matrix"):
        assert torch.equal(packed[2][name], files[2][name])
    with pytest.raises(ar.RecipeError, match="counts pixels of the files"):
        ar.pack(recipe, str(root), tmp_path / "other", epochs=2)


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
    with pytest.raises(ar.RecipeError, match="no column of a batch"):
        recipe.map_batches()
