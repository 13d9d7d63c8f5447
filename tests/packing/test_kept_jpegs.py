"""A jpeg store of JPEGs that no step changes has their very pixels; of others, and of an asked quality, not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.drawn_jpegs import Jpeg

import augrecipes as ar
from augrecipes.native import libjpeg
from augrecipes.packing import bake
from augrecipes.packing.run import pack
from augrecipes.store import open_store

CROP = {"version": 1, "recipe": "crop", "steps": [{"RandomCrop": {"height": 24, "width": 20}}], "eval": []}
SMALLER: dict[str, Any] = CROP | {"steps": [{"Resize": {"height": 30, "width": 40}}, *CROP["steps"]]}  # type: ignore[misc]
FILES = {
    "plain": Jpeg(60, 70),
    "turned": Jpeg(60, 70, turn=6),
    "progressive": Jpeg(60, 70, progressive=True),
    "grey": Jpeg(60, 70, components=1),
    "cmyk": Jpeg(60, 70, components=4),
    "wide": Jpeg(60, 70, sampling="4:1:1", restart=3),
}


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos") / "photos"
    (folder / "one").mkdir(parents=True)
    for name, jpeg in FILES.items():
        (folder / "one" / f"{name}.jpg").write_bytes(jpeg.data)
    return folder


def differences(recipe: dict[str, Any], photos: Path, store: Path, **options: Any) -> list[bool]:
    """Of each picture, whether its sample from a jpeg store is another than that of its file."""
    pack(recipe, photos, store, format="jpeg", **options)
    packed, files = ar.Packed(store, recipe, seed=1), ar.ImageFolder(photos, recipe, seed=1)
    return [not bool((packed[i]["image"] == files[i]["image"]).all()) for i in range(len(files))]


@pytest.mark.parametrize("library", [True, False])
@pytest.mark.parametrize("optimize", ["none", "exact"])
def test_samples_are_those_of_the_files(
    library: bool, optimize: str, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not library:
        monkeypatch.setattr(bake, "codec", lambda: None)
    assert not any(differences(CROP | {"optimize": optimize}, photos, tmp_path / "store"))
    store = open_store(tmp_path / "store")
    for name, item in zip(sorted(FILES), range(len(FILES)), strict=True):
        whole = ar.read_image(photos / "one" / f"{name}.jpg")
        np.testing.assert_array_equal(store.array("image", item), whole)
        np.testing.assert_array_equal(store.encoded("image", item).region(5, 7, 30, 40), whole[5:30, 7:40])


def test_pixels_that_a_step_made_and_qualities_asked_for_are_encoded(photos: Path, tmp_path: Path) -> None:
    assert any(differences(SMALLER, photos, tmp_path / "smaller", mode="train"))
    assert all(differences(CROP, photos, tmp_path / "worse", quality=30))


def test_a_library_that_writes_another_picture_is_not_believed(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Jpeg(60, 70, seed=5).data

    class Wrong:
        def transcoded(self, data: bytes) -> bytes:
            return other

    monkeypatch.setattr(bake, "codec", Wrong)
    pack(CROP, photos, tmp_path / "store", format="jpeg")
    store = open_store(tmp_path / "store")
    for name, item in zip(sorted(FILES), range(len(FILES)), strict=True):
        whole = ar.read_image(photos / "one" / f"{name}.jpg").astype(int)
        assert 0 < np.abs(store.array("image", item) - whole).mean() < 6  # encoded anew


@pytest.mark.skipif(libjpeg.codec() is None, reason="built without libjpeg-turbo")
def test_processes_write_the_same_bytes(photos: Path, tmp_path: Path) -> None:
    for workers in (0, 2):
        pack(CROP, photos, tmp_path / str(workers), format="jpeg", workers=workers)
    one, two = (sorted((tmp_path / name).iterdir()) for name in ("0", "2"))
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in two]
