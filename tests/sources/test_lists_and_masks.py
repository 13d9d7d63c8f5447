"""Labels of lists, folders that are classes or none, balanced weights, and files of masks."""

import logging
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image, features
from support.annotations import A, B, Picture, draw, recipe, write
from support.checks import status
from torch.utils.data import ConcatDataset, Subset

import augrecipes as ar
from augrecipes.data.order import weights_of
from augrecipes.sources.columns import number
from augrecipes.sources.listing import list_folders


def test_numbers_sort_as_numbers(tmp_path: Path) -> None:
    assert number(["10.0", "2.0", "2"])[0].tolist() == [10, 2, 2]
    assert number(["10.5", "2.5", "1e3", "b", "10", ".5", "a"])[1] == [".5", "2.5", "10", "10.5", "1e3", "a", "b"]
    draw(tmp_path, [A, B])
    write(tmp_path / "a.csv", 'image,label,boxes\na.png,10.0,"[[1,1,5,5,10.0]]"\nb.png,2.0,"[[1,1,5,5,2]]"\n')
    ds = ar.ImageFolder(files=tmp_path / "a.csv", recipe=recipe("pascal_voc"))
    assert (ds.classes, ds.labels.tolist(), ds[0]["kinds"].tolist()) == (["2", "10"], [10, 2], [10])


@pytest.mark.parametrize("cell", ["", "nan", "NaN", " nan"])
def test_labels_that_pandas_lacks(tmp_path: Path, cell: str) -> None:
    draw(tmp_path, [A, B])
    path = write(tmp_path / "a.csv", f"image,label\na.png,cat\nb.png,{cell}\n")
    with pytest.raises(ar.DataError, match=r"a\.csv:3: no label in this row, .*: give it one, or remove it"):
        ar.ImageFolder(files=path, recipe="folder-128")


def test_folders_of_systems_are_no_classes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    skipped = "@eaDir,#recycle,lost+found,$RECYCLE.BIN,System Volume Information,.Trash-1000,@Recycle"
    for name in ("cat", "dog", *skipped.split(",")):
        draw(tmp_path / name, [A])
        draw(tmp_path / "cat" / name, [B])
    with caplog.at_level(logging.INFO, logger="augrecipes"):
        found = list_folders([tmp_path], cache=False)
    assert (found.classes, len(found)) == (("cat", "dog"), 4)  # of a cat a folder of cats, and one of dogs
    assert f"{tmp_path}: 2 classes: cat, dog" in caplog.text
    draw(tmp_path / "data" / "@eaDir", [A])
    draw(tmp_path / "data", [A, B])
    assert len(list_folders([tmp_path / "data"], cache=False)) == 2


@pytest.mark.parametrize(
    ("names", "asks"),
    [("train val", True), ("Train valid TEST", True), ("train2017", True), ("flowers", True), ("cat dog", False),
     ("train cat", False)],
)  # fmt: skip
def test_folders_that_look_like_no_classes_are_asked_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, names: str, asks: bool
) -> None:
    for name in names.split():
        draw(tmp_path / name, [A])
    list_folders([tmp_path], cache=False)
    assert ("layout='classes'" in caplog.text) is asks
    caplog.clear()
    list_folders([tmp_path], cache=False, layout="classes")
    assert not caplog.text


def test_balanced_weights_of_parts(tmp_path: Path) -> None:
    for name, count in (("cat", 3), ("dog", 1)):
        draw(tmp_path / name, [Picture(f"{k}.png", 8, 8) for k in range(count)])
    ds = ar.ImageFolder(tmp_path, "folder-128")
    both = ConcatDataset([Subset(ds, [3, 0]), ds.subset([1, 2, 3])])
    for data, wanted in ((ds, [1 / 3] * 3 + [1]), (both, [1 / 2, 1 / 3, 1 / 3, 1 / 3, 1 / 2])):
        np.testing.assert_allclose(weights_of("balanced", data), wanted)
    assert len(next(iter(ar.loader(both, 5, weights="balanced", num_workers=0)))["label"]) == 5
    with pytest.raises(ValueError, match=r"ds\.subset\(indices\)"):
        weights_of("balanced", [1, 2])
    for beyond in (99, -5):
        with pytest.raises(ar.DataError, match=f"a Subset has index {beyond}, and its data 4 samples"):
            ar.loader(Subset(ds, [1, beyond]), 2, weights="balanced", num_workers=0)


# -- masks -------------------------------------------------------------------------------------------------------------

MASKED = recipe(mask="required")
LOSSY: dict[str, dict[str, Any]] = {
    "a.jpg": {}, "a.webp": {}, "a.jp2": {"irreversible": True, "quality_layers": [20]}, "a.avif": {},
    "a.jpeg": {"format": "MPO"}, "a.tif": {"compression": "jpeg"},
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSY)
def test_lossy_masks_are_refused(tmp_path: Path, name: str) -> None:
    if name.endswith("avif") and not features.check("avif"):
        pytest.skip("this Pillow writes no AVIF")
    draw(tmp_path / "images", [A])
    file = tmp_path / "masks" / name
    file.parent.mkdir()
    Image.fromarray(np.full((30, 40), 98, np.uint8)).save(file, **LOSSY[name])
    ds = ar.ImageFolder(tmp_path / "images", MASKED, masks=tmp_path / "masks")
    with pytest.raises(ar.DataError, match=rf"{name}: a mask in a lossy .* Save masks as PNG"):
        ds[0]
    with Image.open(file) as mask:
        sample = {"image": np.zeros((30, 40, 3), np.uint8), "mask": mask}
        for read in (lambda one: ar.Samples([one], MASKED)[0], MASKED.transform("train")):
            with pytest.raises(ar.DataError, match=r"a mask in a lossy .* Save masks as PNG"):
                read(sample)


@pytest.mark.parametrize(("name", "how"), [("a.png", {}), ("a.webp", {"lossless": True}), ("a.jp2", {}), ("a.tif", {})])
def test_other_masks_of_pillow_are_read(tmp_path: Path, name: str, how: dict[str, Any]) -> None:
    Image.fromarray(np.full((30, 40), 98, np.uint8)).save(tmp_path / name, **how)
    with Image.open(tmp_path / name) as opened:
        for mask in (opened, opened.convert("L"), tmp_path / name):
            sample = {"image": np.zeros((30, 40, 3), np.uint8), "mask": mask}
            assert (np.asarray(ar.Samples([sample], MASKED)[0]["mask"]) == 98).all()


@pytest.mark.parametrize(
    "template", ["masks/{stem}_mask.png", "{stem}_mask.png", "masks/m-{stem}", "gt/{stem}.seg.png"]
)
def test_masks_by_a_template(tmp_path: Path, template: str) -> None:
    names = {"a": "a.jpg", "b.c": "b.c.png", "d_mask.x": "d_mask.x.jpg"}
    draw(tmp_path / "images", [Picture(name, 40, 30) for name in names.values()])
    folder = tmp_path if "/" in template else tmp_path / "images"
    for k, name in enumerate(names, 1):
        path = folder / (template if "." in template else f"{template}.png").replace("{stem}", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), np.full((30, 40), k, np.uint8))
    given = str(tmp_path / template) if "/" in template else template
    ds = ar.ImageFolder(tmp_path / "images", MASKED, masks=given)
    assert [(Path(ds.path(k)).name, int(ds[k]["mask"][0, 0])) for k in range(3)] == [
        *zip(names.values(), (1, 2, 3), strict=True)
    ]
    made = write(tmp_path / "s.yaml", "{version: 1, recipe: s, inputs: {mask: required}, steps: [NoOp]}")
    assert status("check-data", str(made), str(tmp_path / "images"), "--masks", given) == 0
