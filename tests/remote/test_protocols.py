"""Other protocols go the way of `s3://`: a driver of the tests stands in for those of Google, Azure and others."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import shop
from fsspec.registry import _registry
from packed_kinds import KINDS, packed, recipe_of
from test_stores_elsewhere import alike, opened

import augrecipes as ar
from augrecipes.packing.parts import merge_parts
from augrecipes.recipe.parse import parse_text

IMAGE = KINDS[0]


def stand_in(protocol: str) -> type[shop.Shop]:
    """The shop under another protocol."""

    class Other(shop.Shop):
        @classmethod
        def _strip_protocol(cls, path: Any) -> str:
            return shop.Shop._strip_protocol(str(path).replace(f"{protocol}://", "shop://"))

        def put_file(self, local: Any, path: Any, callback: Any = None, **more: Any) -> None:
            super().put_file(local, self._made(path), **more)

        def pipe_file(self, path: Any, value: bytes, **more: Any) -> None:
            super().pipe_file(self._made(path), value, **more)

        def _made(self, path: Any) -> Any:
            """An object needs no folder."""
            Path(self._strip_protocol(path)).parent.mkdir(parents=True, exist_ok=True)
            return path

    Other.protocol = protocol
    return Other


@pytest.mark.parametrize("protocol", ["gs", "hf", "abfs"])
def test_a_store_is_packed_merged_and_read(
    elsewhere: Path, roots: dict[str, Path], protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_registry, protocol, stand_in(protocol))
    shutil.copytree(roots["image"], elsewhere / "files")
    recipe, data, here = parse_text(recipe_of(IMAGE)), f"{protocol}://files", packed(IMAGE, roots["image"])
    ar.pack(recipe, data, f"{protocol}://store", workers=0, shard_size=3_000)
    for part in (1, 2):
        ar.pack(recipe, data, f"{protocol}://parts", workers=0, part=f"{part}/2")
    merge_parts(f"{protocol}://parts")
    for name in ("store", "parts"):
        found = opened(f"{protocol}://{name}")
        plain = [{k: v for k, v in found[i].items() if "path" not in k} for i in range(len(found))]
        assert alike(plain, [{k: v for k, v in one.items() if "path" not in k} for one in opened(here)])
        assert ar.verify_store(f"{protocol}://{name}") == []
    pictures = ar.ImageFolder(data, recipe, seed=3)
    assert len(list(ar.loader(pictures, 2))) > 0
    assert pictures.path(0).startswith(f"{protocol}://files/")
    assert len(list(ar.loader(opened(f"{protocol}://store"), 3, shuffle=True))) > 0


def test_a_pattern_that_fits_no_picture_is_told(elsewhere: Path, roots: dict[str, Path]) -> None:
    shutil.copytree(roots["image"], elsewhere / "files")
    for pattern in ("shop://files/*.bmp", "shop://fil*/nothing/*.jpg"):
        with pytest.raises(ar.DataError, match=r"shop://.*: no picture fits this pattern: \* stops at a slash"):
            ar.ImageFolder(pattern, "folder-128")


def test_a_driver_that_is_missing_is_told(elsewhere: Path) -> None:
    for protocol, wheel in (("gs", "gcsfs"), ("abfs", "adlfs")):
        with pytest.raises(ar.AugrecipesError, match=f"pip install {wheel}"):
            ar.ImageFolder(f"{protocol}://bucket/photos", "folder-128")
